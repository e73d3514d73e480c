# SPDX-License-Identifier: BSD-3-Clause
"""--kernel: for the same frames, the eBPF program and a replay with --pcap give the same
results."""

import csv
import json
import os
import shutil
import signal
import struct

import lib
import net
import test_overload

JOINED = os.path.join(os.path.dirname(__file__), 'joined_frames.py')
DESIGNS = ('async', 'rss')
RATE = 50000  # packets per second
XDP_RATE = 10000  # lower, because the queue of veth before XDP is short
RING = 65536  # slots; more than any test fills
PACKETS = 20000
FLOWS = 256
FLOOD, FLOOD_FULL = FLOWS * 2000, FLOWS * 50000  # packets; about five seconds with --full
TCX_IN, TCX_OUT = 46, 47  # attach types of linux/bpf.h
PROG_QUERY = 16
OF_RUN = ('start', 'end', 'first', 'last')  # time columns


def needs_program(test):
    """Skips the test if the program is not built, or may not be loaded."""
    result = test.run('--kernel', 'no-such-if0', '--design', 'async', '--output', '/dev/null').expect(1)
    for reason in ('was built without it', 'may not load', 'is too old'):
        if reason in result.stderr:
            test.skip(result.stderr.strip())
    result.expect_one_line('no-such-if0', 'no such interface')


class Measuring:
    """A run with one epoch, which ends after `packets` packets."""

    def __init__(self, test, space, place, packets, *options, design='async'):
        self.test = test
        number = len(test.processes)
        self.files = {name: test.path(f'{name}{number}.csv') for name in ('output', 'stats', 'flows')}
        places = [place] if isinstance(place, str) else place
        ring = () if '--ring-size' in options or design == 'rss' else ('--ring-size', RING)
        flows = ('--flows', self.files['flows']) if 'flow-table' in options else ()
        self.process = test.start(
            *(word for one in places for word in ('--kernel', one)), '--design', design,
            '--packets', packets, '--interval', '0', '--seed', '1', '--output', self.files['output'],
            '--stats', self.files['stats'], *flows, *ring, *options, inside=space)
        net.wait_until_ready(test, self.process, self.files['stats'])

    def finish(self, status=0):
        """Returns (heavy hitters, ledger, flows)."""
        self.result = self.test.wait(self.process).expect(status)
        ledger = lib.read_stats(self.files['stats'])
        assert len(ledger) == 1, ledger
        return lib.read_output(self.files['output']), ledger[0], flows_of(self.files['flows'])


def flows_of(path):
    if not os.path.exists(path):
        return []
    return [line.split(',') for line in lib.read_text(path).splitlines()]


def truth_of(test, capture, *options):
    """Returns the same for a replay."""
    number = len(test.processes)
    flows = test.path(f'replayed{number}.csv')
    rows, ledger, _ = test.measure(
        '--pcap', capture, '--interval', '0', '--seed', '1', '--design', 'async', '--workers', '1',
        *(('--flows', flows) if 'flow-table' in options else ()), *options)
    assert len(ledger) == 1, ledger
    return rows, ledger[0], flows_of(flows)


def frames_of(test, file):
    """Returns the Ethernet frames of a capture, if they fit a cable."""
    records = lib.Oracle().records(lib.unpack(test, file))[:500]
    return [data for link, _, data, _ in records if link == 1 and 14 <= len(data) <= 1514]


def zoo(test, wanted=lambda frame: True):
    """Writes a capture of all indexed captures' frames; returns (capture, packets)."""
    frames = []
    for entry in lib.index(test.traces):
        if entry['file'].startswith('zoo/') and entry['expected'] == 'measured':
            frames += filter(wanted, frames_of(test, entry['file']))
    return lib.write_pcap(test.path('zoo.pcap'), list(enumerate(frames))), len(frames)


def without(row, columns):
    return {name: value for name, value in row.items() if name not in columns}


def by_key(rows):
    """Removes columns that depend on ties."""
    return sorted(tuple(sorted(without(row, (*OF_RUN, 'rank')).items())) for row in rows)


def without_records(rows):
    """Rows as a sketch without times and flags gives them."""
    return [without(row, ('first', 'last', 'tcp_flags')) for row in rows]


def expect_equal(test, run, truth):
    """Compares rows, ledger and flows, except times."""
    rows, ledger, flows = run.finish()
    true_rows, true_ledger, true_flows = truth
    for column in ('offered', 'received', 'measured', 'filtered', 'non_ip', 'malformed', 'nic_missed',
                   'ring_full', 'shed', 'bytes', 'distinct_keys'):
        assert ledger[column] == true_ledger[column], (
            f'{column}: {ledger[column]} instead of {true_ledger[column]}\n{ledger}')
    assert by_key(rows) == by_key(true_rows), f'other rows\n{rows[:3]}\n{true_rows[:3]}'
    if true_flows:
        header = true_flows[0]
        assert flows[0] == header and len(flows) > 5, flows
        kept = [i for i, name in enumerate(header) if name not in OF_RUN]
        assert (sorted([row[i] for i in kept] for row in flows[1:]) ==
                sorted([row[i] for i in kept] for row in true_flows[1:])), 'other flows'


def zoo_at(place, wanted, *options, design='async'):
    def check(test):
        needs_program(test)
        space = net.Namespace(test)
        space.veth('tap0', 'wire0')
        capture, packets = zoo(test, wanted)
        run = Measuring(test, space, place, packets, *options, design=design)
        send(test, space, 'wire0', capture, XDP_RATE if 'xdp' in place else RATE)
        expect_equal(test, run, truth_of(test, capture, *options))
    return check


def test_what_loops_counts_once(test):
    """On lo, each packet leaves and enters: it counts once."""
    needs_program(test)
    space = net.Namespace(test)
    space.set('lo', 'up')
    capture = lib.write_pcap(test.path('sent.pcap'), [(i, lib.udp_frame(i % 7)) for i in range(100)])
    run = Measuring(test, space, 'lo', 10**9)
    send(test, space, 'lo', capture, 1000)
    test.until(lambda: space.received('lo') >= 100, 'all came in')
    run.process.signal(net.END)
    _, ledger, _ = run.finish()
    assert ledger['measured'] == '100', ledger


TOP = ('--top', '5000')
ZOOS = (
    ('tc, in', zoo_at('tap0,direction=in', lambda frame: not net.is_cut_tag(frame), *TOP)),
    ('tc, out', zoo_at('wire0,direction=out', lambda frame: True, *TOP)),
    ('xdp', zoo_at('tap0,hook=xdp', lambda frame: True, *TOP)),
    ('tc, in, flow-table', zoo_at('tap0', lambda frame: not net.is_cut_tag(frame), '--sketch', 'flow-table', *TOP)),
    ('xdp, simple-hash by tags', zoo_at('tap0,hook=xdp', lambda frame: True, '--sketch', 'simple-hash',
                                        '--key', 'src,dst,vlan,dscp,mpls,tcp_flags', *TOP)),
    ('tc, in, iblt by tags', zoo_at('tap0', lambda frame: not net.is_cut_tag(frame), '--sketch', 'iblt',
                                    '--key', 'src,vlan,in_port', *TOP)),
    ('tc, in, counted there', zoo_at('tap0', lambda frame: not net.is_cut_tag(frame), '--sketch', 'flow-table',
                                     *TOP, design='rss')),
    ('tc, out, counted in one table', zoo_at('wire0,direction=out', lambda frame: True, '--sketch', 'flow-table',
                                             '--sharing', 'shared', *TOP, design='rss')),
    ('tc, out, counted there for iblt', zoo_at('wire0,direction=out', lambda frame: True, '--sketch', 'iblt',
                                               *TOP, design='rss')),
    ('xdp, counted there by src', zoo_at('tap0,hook=xdp', lambda frame: True, '--sketch', 'flow-table', '--key', 'src',
                                         *TOP, design='rss')),
    *((' '.join(('tc, in, 6-tuples counted there:', sketch, *more[1:])), zoo_at(
        'tap0', lambda frame: not net.is_cut_tag(frame), '--sketch', sketch, '--key', '6tuple', *more, *TOP,
        design='rss')) for sketch, more in (('flow-table', ()), ('flow-table', ('--sharing', 'shared')), ('iblt', ()),
                                            ('compact-table', ()), ('compact-table', ('--key', 'dst_port,tcp_flags')))),
    ('tc, filter', zoo_at('tap0', lambda frame: not net.is_cut_tag(frame), '--filter', 'udp or vlan', *TOP)),
    ('xdp, filter', zoo_at('tap0,hook=xdp', lambda frame: True, '--filter', 'tcp port 80 or ip6', *TOP)),
)


# ---- generated frames


def flows_capture(test, packets=PACKETS, flows=300):
    """Returns (path, truth)."""
    truth = {}
    for i in range(packets):
        key = lib.udp_key(i * i % flows)
        before = truth.get(key, (0, 0))
        truth[key] = before[0] + 1, before[1] + 60 + i * i % flows
    frames = [(i, lib.udp_frame(i * i % flows, 60 + i * i % flows)) for i in range(packets)]
    return lib.write_pcap(test.path('flows.pcap'), frames), truth


def send(test, space, interface, capture, rate=RATE, repeat=1):
    return int(test.wait(space.send(interface, capture, rate, repeat)).expect(0).stdout)


def cable(test):
    needs_program(test)
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    return space


def test_workers_and_interfaces(test):
    """Two interfaces and two workers; in_port has the ingress interface of each packet."""
    space = cable(test)
    space.veth('tap1', 'wire1')
    capture, truth = flows_capture(test)
    run = Measuring(test, space, ['tap0,direction=in', 'tap1,hook=xdp'], 2 * PACKETS, '--workers', '2',
                    '--sketch', 'simple-hash', '--key', '5tuple,in_port', *TOP)
    senders = [space.send(f'wire{i}', capture, XDP_RATE) for i in range(2)]
    for sender in senders:
        test.wait(sender).expect(0)
    rows, ledger, _ = run.finish()
    assert int(ledger['measured']) == 2 * PACKETS, ledger
    for port in ('0', '1'):
        seen = {tuple(row[column] for column in lib.KEY_COLUMNS): (int(row['packets']), int(row['bytes']))
                for row in rows if row['in_port'] == port}
        assert seen == truth, f'--kernel {port}'


def test_both_directions(test):
    """Egress and ingress packets count once each."""
    space = cable(test)
    capture, truth = flows_capture(test)
    run = Measuring(test, space, 'tap0', 2 * PACKETS, *TOP)
    send(test, space, 'tap0', capture)
    send(test, space, 'wire0', capture)
    rows, ledger, _ = run.finish()
    assert int(ledger['measured']) == 2 * PACKETS, ledger
    lib.check_top(rows, {key: (2 * packets, 2 * size) for key, (packets, size) in truth.items()}, 5000)


def test_one_table(test):
    """CPUs that count the same flows at once in a shared table."""
    space = cable(test)
    capture, truth = flows_capture(test)
    run = Measuring(test, space, 'tap0', 2 * PACKETS, '--sketch', 'flow-table', '--sharing', 'shared', *TOP,
                    design='rss')
    for sender in [space.send(interface, capture, 4 * RATE) for interface in ('tap0', 'wire0')]:
        test.wait(sender).expect(0)
    rows, ledger, _ = run.finish()
    assert int(ledger['measured']) == 2 * PACKETS, ledger
    lib.check_top(rows, {key: (2 * packets, 2 * size) for key, (packets, size) in truth.items()}, 5000)


def test_rules(test):
    """--prefixes and --prefix-stats, in both designs: the counts of each prefix equal those of a
    replay."""
    space = cable(test)
    capture, packets = zoo(test, lambda frame: not net.is_cut_tag(frame))
    rules = test.path('rules')
    with open(rules, 'w', encoding='ascii') as stream:
        stream.write('10.0.0.0/8 ten\n10.1.0.0/16 part\n192.168.0.0/16 home\n198.51.100.0/24 made up\n198.51.100.2 one\n'
                     '2001::/16 six\nfe80::/10 link\n')
    how = ('--monitor', rules, '--monitor-side', 'either', *TOP, '--sketch')
    replayed = test.path('replayed_rules.csv')
    truth = truth_of(test, capture, *how, 'flow-table', '--rules', replayed)
    for sketch, design in (('flow-table', 'async'), ('flow-table', 'rss'), ('iblt', 'rss')):
        seen = test.path(f'{sketch}_{design}.csv')
        run = Measuring(test, space, 'tap0,direction=in', packets, *how, sketch, '--rules', seen, design=design)
        send(test, space, 'wire0', capture)
        expect_equal(test, run, truth if sketch == 'flow-table' else (without_records(truth[0]), truth[1], []))
        assert int(truth[1]['filtered']) > 0 < int(truth[1]['measured']), truth[1]
        rows, true_rows = ([line.split(',')[3:] for line in lib.read_text(path).splitlines()]
                           for path in (seen, replayed))
        assert rows == true_rows and len(rows) > 4, f'{sketch}, {design}: {rows} instead of {true_rows}'


def test_what_is_not_monitored_takes_no_place(test):
    """Far more packets and flows than rings and tables hold, while the run is stopped: packets of
    the prefixes are complete."""
    space = cable(test)
    capture, truth = flows_capture(test)
    hosts = {key: value for key, value in truth.items() if key[0] == '10.0.0.4'}
    packets = sum(value[0] for value in hosts.values())
    rules = test.path('rules')
    with open(rules, 'w', encoding='ascii') as stream:
        stream.write('10.0.0.4 four\n2001::/16 none\n')
    assert 0 < packets < 1000, packets
    for design in DESIGNS:
        run = Measuring(test, space, 'tap0,direction=in', PACKETS, '--sketch', 'flow-table', '--width', '16',
                        '--monitor', rules, '--monitor-side', 'src',
                        *(('--ring-size', '1024') if design == 'async' else ()), *TOP, design=design)
        run.process.signal(signal.SIGSTOP)
        send(test, space, 'wire0', capture, 4 * RATE)
        run.process.signal(signal.SIGCONT)
        rows, ledger, _ = run.finish()
        assert [int(ledger[name]) for name in ('received', 'filtered', 'measured', 'ring_full')] == [
            PACKETS, PACKETS - packets, packets, 0], f'{design}: {ledger}'
        lib.check_top(rows, hosts, 5000)


def rules_that_change(how):
    """Prefixes are reloaded repeatedly during traffic: each packet counts in an epoch with the
    prefixes that it matched."""
    def check(test):
        space = cable(test)
        capture, _ = flows_capture(test)
        rules, stats, seen = test.path('rules'), test.path('stats.csv'), test.path('rules.csv')
        repeat = 10

        def write(turn):
            with open(rules + '.new', 'w', encoding='ascii') as stream:
                stream.write(f'10.0.0.0/{"25" if turn % 2 else "24"} first{turn}\n10.0.1.0/24 second{turn}\n'
                             '2001::/16 none\n')
            os.rename(rules + '.new', rules)

        write(0)
        process = test.start(
            '--kernel', 'tap0,direction=in', *EPOCHS[how], '--workers', '2' if how == 'async' else '1',
            '--packets', repeat * PACKETS, '--interval', '20ms',
            '--monitor', rules, '--monitor-side', 'src', '--rules', seen, '--output', '/dev/null', '--stats', stats,
            inside=space)
        net.wait_until_ready(test, process, stats)
        sender = space.send('wire0', capture, 200000, repeat)
        turn = 0
        while process.running():
            turn += 1
            write(turn)
            process.signal(signal.SIGHUP)
            test.until(lambda: not process.running() or f'second{turn}' in lib.read_text(seen), 'the new rules')
        test.wait(sender).expect(0)
        test.wait(process).expect(0)
        ledger = lib.read_stats(stats)
        assert lib.total(ledger, 'received') == repeat * PACKETS, ledger[-1]
        by_epoch = {}
        for row in csv.DictReader(lib.read_text(seen).splitlines()):
            by_epoch.setdefault(row['epoch'], {})[row['name']] = int(row['packets'])
        assert len({name for counts in by_epoch.values() for name in counts}) > 4, 'too few packets'
        for line in ledger:
            counts = by_epoch.get(line['epoch'], {})
            turns = {name.removeprefix('first').removeprefix('second') for name in counts}
            assert len(turns) <= 1 and sum(counts.values()) == int(line['measured']), (line, counts)
            assert int(line['received']) == int(line['measured']) + int(line['filtered']), line
            if turns and int(turns.pop()) % 2 == 0:  # these prefixes match all packets
                assert int(line['filtered']) == 0, (line, counts)
    return check


def test_more_flows_than_the_kernel_has_room_for(test):
    """Flows that do not fit in the kernel's table pass through the ring: every flow is exact."""
    space = cable(test)
    capture = test.path('random.pcap')
    packets = 60000
    test.run('generate', '--synthetic', f'random,packets={packets},ipv6=0.3', '--output', capture).expect(0)
    options = ('--sketch', 'flow-table', '--top', '100000')
    run = Measuring(test, space, 'tap0,direction=in', packets, *options, design='rss')
    send(test, space, 'wire0', capture)
    expect_equal(test, run, truth_of(test, capture, *options))


def test_more_flows_than_the_kernel_decodes(test):
    """All packets are measured. Decoded flows are reported, and bounds hold."""
    space = cable(test)
    plan = test.run('plan', '--kernel', 'lo', '--sketch', 'iblt').expect(0).stdout
    assert 'iblt sketches of 3 x 32768 cells' in plan, plan
    # Few packets of the first flows, many of the others.
    frames = [(i, lib.udp_frame(i % 3000 if i % 4 else i % 50, 60 + i % 50)) for i in range(PACKETS)]
    truth = {}
    for i, (_, frame) in enumerate(frames):
        key = lib.udp_key(i % 3000 if i % 4 else i % 50)
        before = truth.get(key, (0, 0))
        truth[key] = before[0] + 1, before[1] + len(frame)
    capture = lib.write_pcap(test.path('many.pcap'), frames)
    run = Measuring(test, space, 'tap0,direction=in', PACKETS, '--sketch', 'iblt', '--width', '256', '--top', '5000',
                    design='rss')
    send(test, space, 'wire0', capture)
    rows, ledger, _ = run.finish()
    assert 'were not decoded' in run.result.stderr, run.result.stderr
    assert int(ledger['measured']) == PACKETS and int(ledger['bytes']) == sum(
        size for _, size in truth.values()), ledger
    assert ledger['unaccounted'] == '0', ledger
    for row in rows:
        for name, value in zip(('packets', 'bytes'), truth[lib.row_key(row)]):
            assert int(row[f'{name}_low']) <= value <= int(row[f'{name}_high']), (row, value)
            assert int(row[name]) == int(row[f'{name}_low']), row


def test_changes_of_measurements(test):
    """With iblts in the kernel, a sketch that needs more is refused, and another iblt is
    accepted."""
    space = cable(test)
    capture, truth = flows_capture(test)
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--kernel', 'tap0', '--sketch', 'iblt', '--interval', '100ms', '--output', output,
                         '--stats', stats, *TOP, inside=space)
    net.wait_until_ready(test, process, stats)

    def ctl(*words):
        return test.run('ctl', *words, program=['env', f'RUNTIME_DIRECTORY={process.directory}', test.binary])

    test.until(lambda: ctl('stats').status == 0, 'the control socket')
    ctl('measure', 'add', 'b', 'sketch=flow-table').expect(1).expect_one_line('counts for iblt only', 'restart')
    ctl('measure', 'add', 'b', 'sketch=iblt', 'key=6tuple').expect(1).expect_one_line('counts by 5-tuple', 'restart')
    ctl('measure', 'add', 'b', 'sketch=iblt', 'key=dst', 'top=1').expect(0)
    send(test, space, 'wire0', capture, RATE)
    process.signal(net.END)
    test.wait(process).expect(0)
    lib.expect_lossless(lib.read_stats(stats))
    packets = {}
    for row in csv.DictReader(lib.read_text(output).splitlines()):
        packets[row['measurement']] = packets.get(row['measurement'], 0) + int(row['packets'])
    assert packets['main'] == sum(value[0] for value in truth.values()), packets
    assert packets.get('b', 0) > 0, packets


EPOCHS = {'async': ('--design', 'async', '--sketch', 'simple-hash', '--ring-size', RING),
          'rss': ('--design', 'rss', '--sketch', 'flow-table'),
          'one table': ('--design', 'rss', '--sketch', 'flow-table', '--sharing', 'shared'),
          'iblt': ('--design', 'rss', '--sketch', 'iblt', '--width', '4096')}


def epochs_of(design):
    return lambda test: epochs_balance(test, *EPOCHS[design])


def epochs_balance(test, *how):
    """Many epochs at a million packets per second and more: each balances, and their sum is the
    number sent."""
    space = cable(test)
    if shutil.which('ethtool') is None:
        test.skip('ethtool is not installed')
    space.call('ethtool', '-K', 'tap0', 'gro', 'on')
    packets = FLOOD_FULL if test.settings.full else FLOOD
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start(
        '--kernel', 'tap0', *how, '--packets', packets, '--interval', '20ms', '--output', output,
        '--stats', stats, *TOP, inside=space)
    net.wait_until_ready(test, process, stats)
    sender = test.start('wire0', packets, FLOWS, inside=space,
                        program=[os.path.join(test.settings.root, 'bench', 'flood.py')])
    assert test.wait(sender).expect(0).stdout.split()[0] == str(packets)
    lost_before = packets - space.received('tap0')
    if lost_before and test.settings.slow:
        test.skip('packets were lost on the cable: the machine is too slow')
    assert lost_before == 0, 'the cable lost some'
    test.wait(process).expect(0)
    ledger = lib.read_stats(stats)
    lost = lib.total(ledger, 'ring_full')
    assert len(ledger) > (50 if test.settings.full else 3), f'{len(ledger)} epochs'
    assert lib.total(ledger, 'received') == lib.total(ledger, 'measured') + lost == packets, ledger[-1]
    if 'rss' in how:  # async may lose packets if its worker gets no CPU time
        lib.expect_lossless(ledger)
    seen = {('10.0.0.1', '10.0.0.2', str(port), '2000', '17'): [0, 0] for port in range(FLOWS)}
    for row in lib.read_output(output):
        of_flow = seen[lib.row_key(row)]
        of_flow[0] += int(row['packets_low'])
        of_flow[1] += int(row['packets_high'])
        assert lost or row['packets_low'] == row['packets'] == row['packets_high'], row
        assert int(row['bytes']) == 60 * int(row['packets']), row
    for low, high in seen.values():
        assert low <= packets // FLOWS <= high and (lost or low == high), (low, high)


def cases(settings):
    chosen = ZOOS[:3] if settings.slow else ZOOS
    return [(f'the zoo at {name}', check) for name, check in chosen] + [
        (f'epochs, {design}', epochs_of(design)) for design in EPOCHS] + [
        (f'rules that change, {how}', rules_that_change(how)) for how in ('async', 'iblt')]


def test_more_joined_packets_than_are_counted(test):
    """A machine on a tap may claim any number of joined packets; program and workers agree on
    it."""
    needs_program(test)
    space = net.Namespace(test)
    machine = test.start('tap0', *(1, 1000, 7500, 65535, 65536, 65537, 100000), program=['python3', JOINED], inside=space)
    said = os.path.join(machine.directory, 'stdout')
    test.until(lambda: os.path.getsize(said) > 0 or not machine.running(), 'the tap')
    if not machine.running():
        test.skip('no tap: ' + machine.result.stderr.strip()[-200:])
    joined = [int(word) for word in lib.read_text(said).split()]
    assert joined[:3] == [1, 1000, 7500], joined
    packets = 2 * sum(min(number, 65535) for number in joined)
    for design in DESIGNS:
        run = Measuring(test, space, 'tap0,direction=in', packets, '--sketch', 'flow-table', design=design)
        machine.signal(signal.SIGUSR1)
        rows, ledger, _ = run.finish()
        assert [int(row['packets']) for row in rows] == [packets], rows
        assert int(ledger['received']) == int(ledger['measured']) == packets, ledger
        assert ledger['unaccounted'] == '0', ledger


def test_headers_longer_than_are_brought(test):
    """IPv6 extension headers that hide the ports: such packets are malformed, and do not count as
    port 0."""
    space = cable(test)
    addresses = bytes(15) + b'\1' + bytes(15) + b'\2'

    def frame(padding, proto=17):
        options = bytes([proto, padding // 8 - 1]) + b'\1\0' * (padding // 2 - 1)
        return (b'\2' * 12 + b'\x86\xdd' + struct.pack('>IHBB', 6 << 28, padding + 20, 60, 64) + addresses + options +
                struct.pack('>HHHH', 1111, 2222, 20, 0) + bytes(12))

    frames = [frame(padding, proto) for padding, proto in ((128, 17), (264, 17), (264, 58), (1024, 17))]
    capture = lib.write_pcap(test.path('long.pcap'), list(enumerate(frames)))
    for design, sketch in (('async', 'count-min'), ('rss', 'flow-table')):
        run = Measuring(test, space, 'tap0,direction=in', len(frames), '--sketch', sketch, design=design)
        send(test, space, 'wire0', capture)
        rows, ledger, _ = run.finish()
        assert (ledger['measured'], ledger['malformed']) == ('2', '2'), ledger
        assert sorted((row['src_port'], row['proto']) for row in rows) == [('0', '58'), ('1111', '17')], rows


def test_a_ring_that_is_full(test):
    """A stopped worker: packets that exceed the ring are counted, and are within the bounds."""
    space = cable(test)
    capture, truth = flows_capture(test)
    run = Measuring(test, space, 'tap0,direction=in', PACKETS, '--ring-size', '1024', *TOP)
    run.process.signal(signal.SIGSTOP)
    send(test, space, 'wire0', capture, RATE)
    run.process.signal(signal.SIGCONT)
    rows, ledger, _ = run.finish()
    lost = int(ledger['ring_full'])
    assert int(ledger['offered']) == PACKETS and lost > 0, ledger
    assert int(ledger['measured']) == PACKETS - lost >= 1024, ledger
    for row in rows:
        packets, size = truth[lib.row_key(row)]
        assert int(row['packets_low']) <= packets <= int(row['packets_high']), row
        assert int(row['bytes_low']) <= size <= int(row['bytes_high']), row


def test_idle_flows(test):
    """A flow that ends while nothing else arrives has a record with all its packets before the run ends."""
    needs_program(test)
    space = cable(test)
    run = Measuring(test, space, 'tap0', 10**9, '--sketch', 'flow-table', '--idle-timeout', '200ms', '--workers', '1')
    path = test.path('one_flow.pcap')
    lib.write_pcap(path, [(i, lib.udp_frame()) for i in range(5)])
    test.wait(space.send('wire0', path, RATE)).expect(0)
    test.until(lambda: len(flows_of(run.files['flows'])) > 1, 'the flow ends')
    run.process.signal(net.END)
    rows, ledger, flows = run.finish()
    header, *records = flows
    assert [record[header.index('packets')] for record in records] == ['5'] == [row['packets'] for row in rows], flows
    assert ledger['measured'] == '5', ledger


def test_less_detail_under_overload(test):
    """Levels that change all the time, and a stopped worker whose ring is nearly full: packets are
    skipped, none is lost, and intervals contain the truth."""
    space = cable(test)
    capture, truth = flows_capture(test)
    steps = test.path('steps.conf')
    with open(steps, 'w', encoding='ascii') as stream:
        stream.write('[measurement only]\nsketch = flow-table\nsteps = keys:1/4,rate:1/2,off\n')
    states = test_overload.write_states(test, test_overload.mixed(1, PACKETS, 4))
    for design in ((), ('--design', 'async')):
        plan = test.run('plan', '--kernel', 'lo', '--sketch', 'flow-table', '--overload', 'best', *design).expect(0).stdout
        assert 'design async' in plan, plan
    for how in (('--states-from', states, '--sketch', 'count-min'), ('--states-from', states, '--sketch', 'flow-table'),
                ('--overload', 'best', '--config', steps, '--ring-size', '32768')):
        run = Measuring(test, space, 'tap0,direction=in', PACKETS, *how, *(() if '--config' in how else TOP))
        if '--overload' in how:
            run.process.signal(signal.SIGSTOP)
        send(test, space, 'wire0', capture, RATE)
        run.process.signal(signal.SIGCONT)
        rows, ledger, _ = run.finish()
        size = sum(size for _, size in truth.values())
        test_overload.check_skipped([ledger], PACKETS, size)
        assert 0 < int(ledger['skipped']) < PACKETS and int(ledger['measured']) == PACKETS - int(ledger['skipped']), ledger
        test_overload.check_intervals(rows, truth)


def test_a_worker_that_stalls(test):
    """On-path, the kernel continues to count: nothing is lost, however long the worker is
    stopped."""
    plan = test.run('plan', '--kernel', 'lo', '--sketch', 'flow-table').expect(0).stdout
    assert 'tables of 32768 flows' in plan, plan
    space = cable(test)
    capture, truth = flows_capture(test)
    run = Measuring(test, space, 'tap0,direction=in', PACKETS, '--sketch', 'flow-table', *TOP, design='rss')
    run.process.signal(signal.SIGSTOP)
    send(test, space, 'wire0', capture, RATE)
    run.process.signal(signal.SIGCONT)
    rows, ledger, _ = run.finish()
    assert int(ledger['measured']) == PACKETS, ledger
    lib.expect_lossless([ledger])
    lib.check_top(rows, truth, 5000)
    lib.check_exact(rows, truth)


SERVE = """
import socket, sys
server = socket.socket()
server.bind(('10.9.0.2', 5001))
server.listen()
print('ready', flush=True)
peer, _ = server.accept()
total = 0
while got := peer.recv(1 << 20):
    total += len(got)
print(total)
"""
TRANSFER = """
import socket
peer = socket.create_connection(('10.9.0.2', 5001))
block = b'x' * (1 << 20)
for _ in range(50):
    peer.sendall(block)
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
"""


def test_joined_packets(test):
    """A TCP transfer in joined packets counts like packets on the cable, whose number the queue
    reports."""
    needs_program(test)
    near, far = net.Namespace(test), net.Namespace(test)
    near.veth('tap0', 'wire0')
    near.ip('link', 'set', 'wire0', 'netns', far.holder.popen.pid)
    for space, interface, address in ((near, 'tap0', '10.9.0.1'), (far, 'wire0', '10.9.0.2')):
        other = '10.9.0.2' if address == '10.9.0.1' else '10.9.0.1'
        space.ip('addr', 'add', f'{address}/24', 'dev', interface)
        space.silence(interface)
        peer = far.link('wire0') if space is near else near.link('tap0')
        space.ip('neigh', 'add', other, 'lladdr', peer['address'], 'dev', interface)
    near.call('tc', 'qdisc', 'replace', 'dev', 'tap0', 'root', 'pfifo', 'limit', '100000')
    needs_links(test, near)
    runs = [Measuring(test, space, place, 10**9, '--sketch', 'flow-table', *TOP, design=design)
            for space, place in ((near, 'tap0,direction=out'), (far, 'wire0,direction=in'))
            for design in ('async', 'rss')]
    queued = json.loads(near.call('tc', '-s', '-j', 'qdisc', 'show', 'dev', 'tap0'))[0]
    frames = far.received('wire0')
    server = test.start('-c', SERVE, program=['python3'], inside=far)
    test.until(lambda: os.path.getsize(os.path.join(server.directory, 'stdout')) > 0, 'the server is there')
    test.wait(test.start('-c', TRANSFER, program=['python3'], inside=near)).expect(0)
    assert test.wait(server).expect(0).stdout.split()[-1] == str(50 << 20)
    for run in runs:
        run.process.signal(net.END)
    ledgers = [run.finish()[1] for run in runs]
    after = json.loads(near.call('tc', '-s', '-j', 'qdisc', 'show', 'dev', 'tap0'))[0]
    packets, size = after['packets'] - queued['packets'], after['bytes'] - queued['bytes']
    frames = far.received('wire0') - frames
    for ledger in ledgers:
        assert int(ledger['measured']) == packets, f'{packets} packets: {ledger}'
        assert int(ledger['bytes']) == size, f'{size} bytes: {ledger}'
    assert frames < packets, f'nothing was joined: {frames} frames of {packets} packets'


# ---- other programs on the same hook, and leftovers

QUERY = """
import ctypes, os, socket, struct, sys
attributes = ctypes.create_string_buffer(struct.pack('II', socket.if_nametoindex(sys.argv[1]), int(sys.argv[2])), 64)
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(321, int(sys.argv[3]), attributes, 64) != 0:
    print(-ctypes.get_errno())
else:
    print(struct.unpack_from('I', attributes, 24)[0])
"""


def programs_at(space, interface, where):
    """Returns the number of programs on a hook."""
    return int(space.call('python3', '-c', QUERY, interface, where, PROG_QUERY))


def needs_links(test, space):
    """Skips the test unless tc supports several programs."""
    if programs_at(space, 'tap0', TCX_IN) < 0:
        test.skip('this kernel has no links at tc; test_kernel_program tests its filters')


def test_others_see_all(test):
    """Two programs at tc and one at XDP count every packet. A second one at XDP is refused, and the
    first continues."""
    space = cable(test)
    needs_links(test, space)
    capture, truth = flows_capture(test)
    places = ('tap0,hook=xdp', 'tap0,direction=in', 'tap0,direction=in')
    # each runs before the previous ones
    runs = [Measuring(test, space, place, PACKETS, *TOP) for place in places]
    refused = test.run('--kernel', 'tap0,hook=xdp', '--design', 'async', '--output', '/dev/null', inside=space)
    refused.expect(1).expect_one_line('tap0', 'another XDP program')
    send(test, space, 'wire0', capture, XDP_RATE)
    for run in runs:
        rows, ledger, _ = run.finish()
        assert int(ledger['measured']) == PACKETS, ledger
        lib.check_top(rows, truth, 5000)


def test_filters_of_others(test):
    """Filters of others stay unchanged before, during and after a run."""
    space = cable(test)
    needs_links(test, space)
    capture, _ = flows_capture(test)
    space.call('tc', 'qdisc', 'add', 'dev', 'tap0', 'clsact')
    for side in ('ingress', 'egress'):
        space.call('tc', 'filter', 'add', 'dev', 'tap0', side, 'prio', '7', 'bpf', 'bytecode', '1,6 0 0 4294967295,',
                   'flowid', '1:1')

    def filters():
        return [space.call('tc', 'filter', 'show', 'dev', 'tap0', side) for side in ('ingress', 'egress')]

    before = filters()
    assert 'bytecode' in before[0] and 'bytecode' in before[1], before
    run = Measuring(test, space, 'tap0', PACKETS)
    assert filters() == before
    send(test, space, 'wire0', capture)
    run.finish()
    assert filters() == before


def test_nothing_stays_behind(test):
    """After any kind of exit, no program is left on a hook, and the next run starts."""
    space = cable(test)
    needs_links(test, space)
    for end in (signal.SIGTERM, signal.SIGKILL):
        run = Measuring(test, space, ['tap0', 'wire0,hook=xdp'], 10**9)
        assert programs_at(space, 'tap0', TCX_IN) == programs_at(space, 'tap0', TCX_OUT) == 1
        assert 'xdp' in space.link('wire0'), space.link('wire0')
        run.process.signal(end)
        test.until(lambda run=run: not run.process.running(), 'it has ended')
        test.until(lambda: programs_at(space, 'tap0', TCX_IN) == programs_at(space, 'tap0', TCX_OUT) == 0 and
                   'xdp' not in space.link('wire0'), 'nothing is left')


# ---- interfaces that disappear


def test_an_interface_that_goes(test):
    """An interface deleted during a run: the run reports it, its ledger is complete, and it exits
    with 1."""
    space = cable(test)
    capture, _ = flows_capture(test)
    run = Measuring(test, space, 'tap0,direction=in', 10**9)
    send(test, space, 'wire0', capture)
    space.ip('link', 'delete', 'tap0')
    _, ledger, _ = run.finish(1)
    assert 'tap0: interface removed' in run.result.stderr, run.result.describe()
    assert int(ledger['measured']) == PACKETS, ledger


def test_an_interface_that_goes_down_or_is_renamed(test):
    """Neither ends the run: packets count under any name."""
    space = cable(test)
    capture, _ = flows_capture(test)
    run = Measuring(test, space, 'tap0,direction=in', 2 * PACKETS)
    send(test, space, 'wire0', capture)
    space.set('tap0', 'down')
    test.until_said(run.process, 'tap0: link down')
    space.set('tap0', 'name', 'other0')
    space.silence('other0')
    test.until_said(run.process, 'tap0: link up')
    send(test, space, 'wire0', capture)
    _, ledger, _ = run.finish()
    assert int(ledger['measured']) == 2 * PACKETS, ledger


# ---- unsupported cases

BAD = (
    (('--kernel', 'eth0', '--design', 'rss'), 'flow-table, compact-table and iblt', '--design async'),
    (('--kernel', 'eth0', '--design', 'rss', '--sketch', 'flow-table', '--key', '5tuple,vlan'), '6-tuple', 'async'),
    (('--kernel', 'eth0', '--design', 'rss', '--sketch', 'flow-table', '--idle-timeout', '5s'), '--idle-timeout'),
    (('--kernel', 'eth0', '--design', 'rss', '--sketch', 'flow-table', '--filter', 'udp'), 'filter', 'async'),
    (('--kernel', 'eth0', '--design', 'rss', '--sketch', 'flow-table', '--workers', '2'), 'one worker', 'async'),
    (('--kernel', 'eth0', '--design', 'sync'), '--design sync'),
    (('--kernel', 'eth0', '--design', 'rss', '--sketch', 'flow-table', '--overload', 'best'), 'no queue', 'async'),
    (('--kernel', 'eth0', '--kernel', 'eth0,direction=in'), 'eth0', 'count twice'),
    (('--kernel', 'eth0,hook=xdp,direction=out'), 'incoming packets only'),
    (('--kernel', 'eth0,hok=xdp'), "'hok=xdp'", 'hook=xdp'),
    (('--kernel', 'eth0', '--port', 'eth1'), '--kernel', '--port'),
    (('--kernel', 'eth0', '--pace', 'recorded'), '--pace', 'contradicts --kernel'),
    (('--kernel', 'eth0', '--dispatch', 'round-robin'), '--dispatch', 'with --kernel'),
    (('--kernel', 'eth0', '--mtu', '9000'), '--mtu', 'without --port'),
)


def test_bad_options(test):
    for options, *mentions in BAD:
        design = () if '--design' in options else ('--design', 'async')
        test.run(*options, *design, '--output', test.path('none.csv')).expect(2).expect_one_line(*mentions)
        assert not os.path.exists(test.path('none.csv')), options


def test_what_the_machine_refuses(test):
    space = cable(test)
    output = test.path('none.csv')
    for options, *mentions in (
            (('--kernel', 'tap9'), 'tap9', 'no such interface'),
            (('--kernel', 'tap0', '--workers', '64'), '--workers 64', 'CPU'),
            (('--kernel', 'tap0', '--filter', 'ether[1000] = 1'), '--filter', '--kernel provides 256')):
        result = test.run(*options, '--design', 'async', '--output', output, inside=space)
        result.expect(1).expect_one_line(*mentions)
        assert not os.path.exists(output), options


CAPABILITIES = ('bpf', 'net_admin')


def test_rights(test):
    """async needs two capabilities, rss three. Each missing one is reported."""
    space = cable(test)

    def without_all_but(given):
        os.chmod(test.directory, 0o777)
        words = ','.join(f'+{name}' for name in given)
        limit = ['--inh-caps', f'-all{"," if words else ""}{words}',
                 '--bounding-set', f'-all{"," if words else ""}{words}']
        return ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', *limit,
                *(['--ambient-caps', words] if words else []), '--no-new-privs', test.binary]

    def start(given, *how):
        home = test.path(f'run{len(test.processes)}')
        program = ['sh', '-c', f'chmod 777 {home} && exec "$@"', 'sh', *without_all_but(given)]
        return test.start('--kernel', 'tap0', *(how or ('--design', 'async')), '--duration', '100ms',
                          '--output', '/dev/null', program=program, inside=space)

    def run(given, status, *how):
        return test.wait(start(given, *how)).expect(status)

    # Without the third capability, the verifier of Linux 6.1 rejects a store to a part of a spilled
    # register.
    strict = tuple(int(part) for part in os.uname().release.split('.')[:2]) < (6, 12)
    bare = test.wait(start(CAPABILITIES))
    if strict and bare.status != 0:
        bare.expect(1).expect_one_line('--kernel', 'CAP_PERFMON')
    else:
        strict = False
        bare.expect(0)
    run((*CAPABILITIES, 'perfmon'), 0)
    rules = test.path('rules')
    with open(rules, 'w', encoding='ascii') as stream:
        stream.write('10.0.0.0/25 some\n2001::/16 six\n')
    run(CAPABILITIES, 1 if strict else 0, '--design', 'async', '--monitor', rules)
    for how in (('flow-table',), ('flow-table', '--sharing', 'shared'), ('iblt',)):
        run((*CAPABILITIES, 'perfmon'), 0, '--monitor', rules, '--sketch', *how)
    run(CAPABILITIES, 1, '--sketch', 'flow-table').expect_one_line('--kernel', 'CAP_PERFMON', '--design async')
    run((), 1).expect_one_line('--kernel', 'CAP_BPF')
    for missing in CAPABILITIES:
        run([name for name in CAPABILITIES if name != missing], 1).expect_one_line('--kernel')


# ---- cost


def test_bench(test):
    """Every program has a row per round. Every flow counted in the kernel is exact, and maps have their
    memory."""
    needs_program(test)
    figures = test.path('figures.csv')
    test.bench('kernel', '--quick', '--flows', '10', '--output', figures).expect(0)
    with open(figures, encoding='utf-8', newline='') as stream:
        rows = list(csv.DictReader(stream))
    sizes = {int(row['flows']): float(row['value']) for row in rows if row['unit'] == 'bytes'}
    cpus = int(lib.read_text('/sys/devices/system/cpu/possible').strip().rpartition('-')[2]) + 1
    # Two generations of heads and of the further flows of chains, 80 bytes each, with a tally of 64.
    assert len(sizes) == 16 and sizes[2550] == sizes[3043] == 2 * cpus * (2 * 4096 * 80 + 64), (cpus, sizes)
    assert sizes[217] == 2 * cpus * (2 * 256 * 80 + 64), (cpus, sizes)
    maps = {row['part']: float(row['value']) for row in rows if row['unit'] == 'KB'}
    exact = {row['part']: row['value'] for row in rows if row['unit'] == 'ratio'}
    assert {part.removeprefix('exact flows of ') for part in exact} == {
        'on-path', 'on-path, one table', 'on-path, iblt', "the kernel's table"}, exact
    assert set(exact.values()) == {'1.0000'}, exact
    # Tables of 64 flows: an entry of the kernel's table has at least key and counts.
    assert 10 * 48 / 1024 <= maps["memory of the kernel's table"] < 64 < maps['memory of on-path'], maps
    rows = [row for row in rows if row['unit'] == 'ns']
    parts = [row['part'] for row in rows if row['round'] == '0']
    assert len(set(parts)) == len(parts) == len(rows) / 2, parts
    for part in ('empty, tc', 'off-path', 'on-path, coarse times', "the kernel's table", 'on-path, iblt',
                 'on-path, one table',
                 'on-path, no prefix matches', 'off-path, a prefix matches', 'empty, xdp'):
        assert part in parts, f'{part!r} is not in {parts}'
    for refused, mention in (('none', 'not a program'), ('none.o:x', 'none.o:x')):
        test.bench('kernel', '--quick', '--rival', refused).expect_one_line(mention)

# SPDX-License-Identifier: BSD-3-Clause
"""--forward: egress equals ingress in bytes and order, measured or not; measurements equal those of
--pcap."""

import ctypes
import itertools
import os
import shutil
import signal
import time

import lib
import net
import test_overload
import test_prefixes

HOST = ('--no-huge', '--eal', '--no-pci', '--seed', '3')
LIVE = (*HOST, '--interval', '0')
DESIGNS = ('rss', 'async')
COMBINATIONS = tuple(itertools.product(DESIGNS, (1, 2, 4)))
RING = 16384  # default --ring-size, in digests
LONGEST = 16128  # longest frame in bytes that net_pcap writes completely
# Ledger columns; other columns depend on the clock.
COLUMNS = ('epoch,start,end,in,out,received,forwarded,tx_full,too_long,no_link,tx_errors,bytes,p50_ns,p99_ns,'
           'p999_ns,max_ns').split(',')
UNSENT = ('tx_full', 'too_long', 'no_link', 'tx_errors')
ACCOUNT = ('offered', 'received', 'measured', 'filtered', 'non_ip', 'malformed', 'bytes', 'distinct_keys')


def write_frames(path, frames):
    return lib.write_pcap(path, list(enumerate(frames)))


def read_frames(test, path):
    return [data for _, _, data, _ in lib.Oracle().records(path)]


def read_forwarded(path):
    """Returns rows of --forwarded; each must balance."""
    rows = lib.read_csv(path, COLUMNS)
    for row in rows:
        n = {column: int(row[column] or 0) for column in COLUMNS[5:]}
        assert n['received'] == n['forwarded'] + sum(n[reason] for reason in UNSENT), row
        assert (row['max_ns'] != '') >= (n['forwarded'] > 0), row
        assert n['p50_ns'] <= n['p99_ns'] <= n['p999_ns'] <= n['max_ns'], row
    return rows


def queues_of(design, workers):
    return workers if design == 'rss' else 1


def loop(test, frames, design, workers, *options):
    """Forwards frames through net_pcap, distributed over its queues; checks the egress of each;
    returns (rows, ledger, Result)."""
    queues = queues_of(design, workers)
    dealt = [frames[q::queues] for q in range(queues)]
    port, outs = 'net_pcap0', []
    for q, part in enumerate(dealt):
        # short, because DEVARGS are limited to some hundred characters
        name = test.path(f'{len(test.processes)}{"abcd"[q]}')
        port += f',rx_pcap={write_frames(name + "i", part)},tx_pcap={name}o'
        outs.append(name + 'o')
    ending = ('--packets', len(frames)) if frames else ('--duration', '100ms')
    rows, ledger, result = test.measure('--port', port, '--forward', 'loop', '--design', design, '--workers', workers,
                                        '--forwarded', name + '.csv', *LIVE, *ending, *options)
    short = [[frame for frame in part if len(frame) <= LONGEST] for part in dealt]
    assert [read_frames(test, out) for out in outs] == short, f'other frames came out\n{result.describe()}'
    forwarded = read_forwarded(name + '.csv')
    sent = [frame for part in short for frame in part]
    for column, count in (('received', len(frames)), ('forwarded', len(sent)), ('bytes', sum(map(len, sent))),
                          ('too_long', len(frames) - len(sent))):
        assert lib.total(forwarded, column) == count, (column, count, forwarded)
    assert f'{len(sent)} of {len(frames)} packets forwarded' in result.stderr, result.describe()
    return rows, ledger, result


def comparable(rows):
    """Removes times, and the upper bound of bytes of packets with unknown size, which is larger on
    a port."""
    return [{column: value for column, value in row.items() if column not in ('start', 'end', 'bytes_high')}
            for row in rows]


def sketch_for(workers):
    """Workers receive other packets than in a replay. Exact sketches still give equal rows."""
    return ('--sketch', 'count-min' if workers == 1 else 'iblt')


def check_capture(test, file, combinations):
    frames = read_frames(test, lib.unpack(test, file))
    capture = write_frames(test.path('all.pcap'), frames)
    for design, workers in combinations:
        sketch = sketch_for(workers)
        truth, account, _ = test.measure('--pcap', capture, '--interval', '0', '--seed', '3', '--workers', workers,
                                         '--design', design, *sketch)
        rows, ledger, _ = loop(test, frames, design, workers, *sketch)
        assert comparable(rows) == comparable(truth), f'{design}, {workers} workers: other rows'
        assert [[row[column] for column in ACCOUNT] for row in ledger] == [
            [row[column] for column in ACCOUNT] for row in account], f'{design}, {workers} workers: {ledger}, {account}'


def case(file, combinations):
    return lambda test: check_capture(test, file, combinations)


def cases(settings):
    turns = itertools.cycle(COMBINATIONS)

    def combinations(entry):
        """A worker without CPU time loses packets that exceed its ring."""
        some = COMBINATIONS if settings.full else (next(turns),)
        return some if int(entry['packets'] or 0) <= RING else [(DESIGNS[0], workers) for _, workers in some]

    return [(f'{entry["file"]} comes out as it went in', case(entry['file'], combinations(entry)))
            for entry in lib.few(settings, [entry for entry in lib.short(settings, lib.index(settings.traces))
                                             if entry['expected'] == 'measured'])]


def check_prefix_under_overload(test, frames, design, workers, rules):
    states = test_overload.write_states(test, test_overload.mixed(workers, len(frames) // workers, workers))
    seen = test.path('rules.csv')
    _, ledger, _ = loop(test, frames, design, workers, '--monitor', rules, '--rules', seen, '--force', '--states-from', states)
    assert lib.total(ledger, 'skipped') > 0, ledger
    truth = [len(frame) for frame in frames if frame[12:14] == b'\x08\x00' and frame[26:30] == b'\x0a\0\0\1']
    for row in lib.read_csv(seen, test_prefixes.RULE_COLUMNS + test_prefixes.BOUNDS):
        for figure, true in (('packets', len(truth)), ('bytes', sum(truth))):
            assert int(row[f'{figure}_low']) <= true <= int(row[f'{figure}_high']), (true, row)


def test_what_is_not_measured_leaves_too(test):
    """Filtered packets, prefixes, ARP, LLDP and garbage: everything is forwarded in order."""
    frames = [lib.udp_frame(i % 7, 60 + i) for i in range(300)]
    frames[10:10] = [b'\xff' * 12 + b'\x08\x06' + b'\1' * 46, b'\x01\x80\xc2' * 4 + b'\x88\xcc' + b'\2' * 40,
                     b'\2' * 12 + b'\x08\x00\x45', b'\0' * 60, lib.udp_frame(1)[:20]]
    rules = test.path('rules.txt')
    with open(rules, 'w', encoding='ascii') as stream:
        stream.write('10.0.0.1/32 one\n')
    for design, workers in COMBINATIONS:
        _, ledger, _ = loop(test, frames, design, workers, '--filter', 'udp port 1025 or udp port 1026')
        assert lib.total(ledger, 'measured') == sum(i % 7 in (1, 2) for i in range(300)), ledger
        assert lib.total(ledger, 'filtered') == len(frames) - lib.total(ledger, 'measured')
        _, ledger, _ = loop(test, frames, design, workers, '--monitor', rules)
        assert 0 < lib.total(ledger, 'filtered') < len(frames) and lib.total(ledger, 'malformed') > 0, ledger
        check_prefix_under_overload(test, frames, design, workers, rules)
        _, ledger, _ = loop(test, frames, design, workers, '--filter', 'less 0')
        assert lib.total(ledger, 'filtered') == len(frames), ledger


def as_tcp(frame, flags):
    """Makes a TCP segment of a UDP datagram that is long enough."""
    ip = 18 if frame[12:14] == b'\x81\x00' else 14
    ipv6 = frame[ip] >> 4 == 6
    transport = ip + (40 if ipv6 else 20)
    if len(frame) < transport + 20:
        return frame
    changed = bytearray(frame)
    changed[ip + (6 if ipv6 else 9)] = 6
    changed[transport + 12:transport + 14] = bytes((0x50, flags))
    return bytes(changed)


def test_what_digests_hold(test):
    """Digests carry times, TCP flags, tags and ports, for both IP versions."""
    spec = 'packets=3000,flows=300,size=64-400,ipv6=0.4,vlan=0.4,seed=5'
    path = test.path('mixed.pcap')
    test.run('generate', '--synthetic', spec, '--output', path).expect(0)
    frames = [as_tcp(data, number % 3 << 4) for number, (_, _, data, _) in enumerate(lib.Oracle().records(path))]
    for sketch, key in (('flow-table', '5tuple,tcp_flags'), ('compact-table', '6tuple'), ('iblt', 'src,dst,vlan,in_port'), ('iblt', 'dscp,vlan'),
                        ('flow-table', 'src/24/48,proto')):
        words = ('--sketch', sketch, '--key', key, '--top', '1000')
        expected, _, _ = loop(test, frames, 'rss', 1, *words)
        assert len({row.get('tcp_flags') for row in expected}) >= (3 if key in ('6tuple', '5tuple,tcp_flags') else 1), expected
        for workers in (1, 2):
            begin = lib.whole_second('2020-01-01T00:00:00') * 1000000
            rows, _, _ = loop(test, frames, 'async', workers, *words)
            for row, truth in zip(rows, expected, strict=True):
                for column in lib.RECORD_COLUMNS[:2]:
                    assert column not in row or lib.timestamp(row[column]) > begin, row
                    row.pop(column, None)
                    truth.pop(column, None)
            assert comparable(rows) == comparable(expected), (sketch, key, workers)


def test_packets_of_a_ring(test):
    """TCP flags take no space in a digest, other fields outside the 5-tuple take 32 bytes."""
    for key, ipv4, ipv6 in (('5tuple', 32768, 16384), ('6tuple', 32768, 16384), ('5tuple,dscp', 16384, 10922)):
        plan = test.run('plan', '--port', 'net_null0', '--forward', 'loop', '--design', 'async', '--workers', '1',
                        '--key', key).expect(0).stdout
        assert f'digests, 1 ring of {ipv4} IPv4 or {ipv6} IPv6 packets: 1.0 MB' in plan, plan


def test_pairs(test):
    """Four ports: packets of each leave by the other port of its pair."""
    ports = []
    frames = [[lib.udp_frame(100 * port + i, 60 + 10 * port) for i in range(50 * (port + 1))] for port in range(4)]
    for number, part in enumerate(frames):
        path = write_frames(test.path(f'in{number}.pcap'), part)
        ports += ['--port', f'net_pcap{number},rx_pcap={path},tx_pcap={test.path(f"out{number}.pcap")}']
    _, ledger, _ = test.measure(*ports, '--forward', 'pairs', *LIVE, '--workers', '1', '--packets',
                                sum(map(len, frames)))
    assert lib.total(ledger, 'measured') == sum(map(len, frames)), ledger
    for number, part in enumerate(frames):
        assert read_frames(test, test.path(f'out{number ^ 1}.pcap')) == part, number


def test_bad_options(test):
    for words, mentions in (
            (('--forward', 'pairs', '--port', 'net_null0'), ('--forward', 'pairs', '1 is given')),
            (('--forward', 'pairs', *(word for n in range(3) for word in ('--port', f'net_null{n}'))),
             ('--forward', '3 are given')),
            (('--forward', 'loop', '--synthetic', 'packets=10'), ('--forward', 'without --port')),
            (('--forward', 'loop', '--port', 'net_null0', '--design', 'sync'), ('--design', 'sync', 'rss')),
            (('--forward', 'twice', '--port', 'net_null0'), ('--forward', 'twice', 'pairs', 'loop'))):
        test.run(*words).expect(2).expect_one_line(*mentions)
    path = write_frames(test.path('in.pcap'), [lib.udp_frame()])
    before = os.path.getsize(path)
    test.run('--port', f'net_pcap0,rx_pcap={path},tx_pcap={path}', '--forward', 'loop').expect(2).expect_one_line(
        '--port', 'tx_pcap', path)
    assert os.path.getsize(path) == before, 'the capture is gone'


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000


def stop_lcore(test, process, number):
    """Stops one lcore of a run. It continues only when killed with the others, or after go_on()."""
    names = f'rte-worker-{number}', f'dpdk-worker{number}'  # names in DPDK 22.11 and 24.11
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] + [ctypes.c_void_p] * 3
    for task in os.listdir(f'/proc/{process.popen.pid}/task'):
        with open(f'/proc/{process.popen.pid}/task/{task}/comm', encoding='ascii') as stream:
            if stream.read().strip() not in names:
                continue
        if libc.ptrace(PTRACE_SEIZE, int(task), None, None) != 0:
            test.skip('threads cannot be traced here')
        assert libc.ptrace(PTRACE_INTERRUPT, int(task), None, None) == 0
        os.waitpid(int(task), WALL)
        return lambda: libc.ptrace(PTRACE_DETACH, int(task), None, None)
    raise AssertionError(f'no thread is named {" or ".join(names)}')


def test_a_worker_that_stands_still(test):
    """Off-path: forwarding continues, and digests that the worker does not receive are counted
    exactly."""
    spec = 'packets=20000,flows=100,size=64,ipv6=0.3,seed=1'
    path = test.path('in.pcap')
    test.run('generate', '--synthetic', spec, '--output', path).expect(0)
    cable = Cable(test)
    process, forwarded, stats = cable.start('--design', 'async', '--workers', '1', '--ring-size', '64')
    before = cable.middle.sent('far')
    go_on = stop_lcore(test, process, 2)
    test.wait(cable.left.send('fwd_l', path, 100000)).expect(0)
    test.until(lambda: cable.middle.sent('far') >= before + 20000, 'all of it has left')
    go_on()
    rows = cable.end(process, forwarded, stats)
    ledger, = lib.read_stats(stats)
    assert lib.total([row for row in rows if row['in'].endswith('near')], 'forwarded') >= 20000, rows
    assert int(ledger['ring_full']) > 20000 - 64 * 2, ledger
    assert int(ledger['measured']) + int(ledger['ring_full']) + int(ledger['non_ip']) == int(ledger['received']), ledger


def test_less_detail_under_overload(test):
    """Levels that change all the time: all packets leave in order, skipped ones are in the ledger,
    and intervals contain the truth."""
    path = test.path('flows.pcap')
    test.run('generate', '--synthetic', 'flows=500,zipf=1.1,packets=10K,size=imix,ipv6=0.2,seed=9', '--output', path).expect(0)
    frames = read_frames(test, path)
    truth, _, _ = test.measure('--pcap', path, '--sketch', 'flow-table', '--top', '0', '--threshold', '0.00001', '--interval', '0')
    truth = {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in truth}
    steps = test.path('steps.conf')
    with open(steps, 'w', encoding='ascii') as stream:
        stream.write('[measurement first]\nsketch = flow-table\nsteps = keys:1/4,rate:1/2,off\n'
                     '[measurement second]\nsketch = count-min\npriority = 2\n')
    for number, (design, workers) in enumerate(COMBINATIONS):
        states = test_overload.write_states(test, test_overload.mixed(workers, 10000 // workers, number))
        for sketch in (('--sketch', 'count-min'), ('--sketch', 'flow-table'), ('--config', steps)):
            rows, ledger, _ = loop(test, frames, design, workers, *sketch, '--top', '300', '--states-from', states, '--seed', number)
            for name in {row['measurement'] for row in ledger}:
                own = [row for row in ledger if row['measurement'] == name]
                test_overload.check_skipped(own, len(frames), sum(map(len, frames)))
                assert lib.total(own, 'skipped') > 0 and lib.total(own, 'measured') > 0, own
                test_overload.check_intervals([row for row in rows if row['measurement'] == name], truth)


def test_a_port_that_overloads(test):
    """--overload by the fill of queues: all packets leave, some are skipped, and intervals contain the truth."""
    frames = [lib.udp_frame(i % 7, 60 + i % 900) for i in range(20000)]
    truth = {lib.udp_key(flow): (len(frames[flow::7]), sum(map(len, frames[flow::7]))) for flow in range(7)}
    for design, workers in COMBINATIONS:
        rows, ledger, _ = loop(test, frames, design, workers, '--overload', 'best')
        assert lib.total(ledger, 'measured') + lib.total(ledger, 'skipped') + lib.total(ledger, 'ring_full') == len(frames), ledger
        # All polls of net_pcap are full. A ring fills only if its worker has no CPU time.
        assert lib.total(ledger, 'skipped') > 0 or design == 'async', (design, workers, ledger)
        test_overload.check_intervals(rows, truth)


class Cable:
    """Two networks, connected only by the program between `near` and `far` of a third."""

    def __init__(self, test):
        for tool in ('ethtool', 'ping'):
            if shutil.which(tool) is None:
                test.skip(f'{tool} is not installed')
        self.test = test
        self.middle, self.left, self.right = (net.Namespace(test) for _ in range(3))
        for number, (space, inside, end) in enumerate(((self.left, 'fwd_l', 'near'), (self.right, 'fwd_r', 'far')), 1):
            self.middle.veth(inside, end)
            self.middle.call('ethtool', '-K', inside, 'tx', 'off', 'tso', 'off', 'gso', 'off', 'gro', 'off')
            self.middle.call('ethtool', '-K', end, 'tx', 'off', 'gro', 'off')
            self.middle.ip('link', 'set', inside, 'netns', space.holder.popen.pid)
            space.ip('address', 'add', f'10.77.0.{number}/24', 'dev', inside)
            space.ip('link', 'set', inside, 'arp', 'on', 'up')

    def start(self, *options, interval='0', port=net.af_packet, ready=None):
        """Starts sketchtap between the ends; returns (process, its --forwarded, its --stats)."""
        number = len(self.test.processes)
        stats, forwarded = self.test.path(f'stats{number}.csv'), self.test.path(f'forwarded{number}.csv')
        process = self.test.start(
            '--port', port('near'), '--port', port('far'), '--forward', 'pairs', '--forwarded', forwarded, '--stats', stats, '--output', '/dev/null', *HOST, '--interval', interval, *options, inside=self.middle)
        net.wait_until_ready(self.test, process, stats)
        if ready is not None:
            ready(self)
        self.test.until(self.answers, 'the cable is there')
        return process, forwarded, stats

    def answers(self):
        try:
            self.left.call('ping', '-c', '1', '-W', '1', '10.77.0.2')
            return True
        except AssertionError:
            return False

    def end(self, process, forwarded, stats):
        """Returns its rows; checks that both directions were used, and that each packet was sent or
        has a loss reason."""
        process.signal(signal.SIGTERM)
        self.test.wait(process).expect(0)
        rows, ledger = read_forwarded(forwarded), lib.read_stats(stats)
        assert lib.total(rows, 'received') == lib.total(ledger, 'received'), (rows, ledger)
        for end, other in (('near', 'far'), ('far', 'near')):
            ways = [row for row in rows if row['in'].endswith(end)]
            assert lib.total(ways, 'forwarded') > 0 and all(row['out'].endswith(other) for row in ways), rows
        return rows


def check_cable(test, *options, **ports):
    size = 4 << 20 if test.slow else 24 << 20
    cable = Cable(test)
    process, forwarded, stats = cable.start(*options, **ports)
    script = ('python3', os.path.join(os.path.dirname(__file__), 'transfer.py'), '10.77.0.2', 7777, size)
    server = test.start('serve', program=script, inside=cable.right)
    said = os.path.join(server.directory, 'stdout')
    test.until(lambda: os.path.getsize(said) > 0 or not server.running(), 'the server listens')
    client = test.run(program=script, inside=cable.left).expect(0).stdout.split()
    server = test.wait(server).expect(0).stdout.split()[1:]
    assert client == server[::-1], f'{client} and {server}'
    cable.end(process, forwarded, stats)


def test_a_cable_on_path(test):
    check_cable(test, '--workers', '1')


def test_a_cable_off_path(test):
    check_cable(test, '--design', 'async', '--workers', '2')


def af_xdp(interface):
    return f'net_af_xdp_{interface},iface={interface}'


def tap(interface):
    return f'net_tap_{interface},iface=tap_{interface}'


def bridge_taps(cable):
    """Bridges each tap with the interface that it replaces."""
    for end in ('near', 'far'):
        try:
            cable.middle.ip('link', 'add', f'br_{end}', 'type', 'bridge')
        except AssertionError as reason:
            cable.test.skip(f'no bridge: {reason}')
        for port in (end, f'tap_{end}'):
            cable.middle.set(port, 'master', f'br_{end}')
        cable.middle.silence(f'br_{end}')


def test_a_cable_over_af_xdp(test):
    check_cable(test, '--design', 'async', '--workers', '1', port=af_xdp)


def test_a_cable_over_tap(test):
    check_cable(test, '--workers', '1', port=tap, ready=bridge_taps)


def test_a_cable_over_memif(test):
    """From a generator to a measurement, all in shared memory: packets not forwarded have a
    reason."""
    packets = 20000
    ends = [test.path(f'memif{number}') for number in range(2)]
    forwarded, stats = test.path('forwarded.csv'), test.path('stats.csv')

    def port(number, role):
        return f'net_memif{number},role={role},socket={ends[number]},socket-abstract=no,rsize=12,bsize=2048'

    forwarder = test.start('--port', port(0, 'server'), '--port', port(1, 'server'), '--forward', 'pairs', '--forwarded',
                           forwarded, '--stats', stats, '--output', '/dev/null', *LIVE, '--workers', '1')
    net.wait_until_ready(test, forwarder, stats)
    behind = test.path('behind.csv')
    measurer = test.start('--port', port(1, 'client'), '--wait-link', '20s', '--output', '/dev/null', '--stats', behind,
                          *LIVE, '--workers', '1')
    net.wait_until_ready(test, measurer, behind)
    test.run('generate', '--synthetic', f'packets={packets},flows=100,seed=2', '--port', port(0, 'client'), '--pace',
             '200kpps', '--linger', '1s').expect(0)
    measurer.signal(signal.SIGTERM)
    test.wait(measurer).expect(0)
    forwarder.signal(signal.SIGTERM)
    test.wait(forwarder)
    there = [row for row in read_forwarded(forwarded) if row['in'] == 'net_memif0']
    assert lib.total(there, 'received') == packets, there
    assert lib.total(there, 'forwarded') == lib.total(lib.read_stats(behind), 'received') > 0, there


def test_a_link_that_goes_down(test):
    """Packets that cannot leave are dropped and counted; when the link returns, forwarding
    resumes."""
    for options in ((), ('--design', 'async', '--workers', '1')):
        cable = Cable(test)
        process, forwarded, stats = cable.start(*options)
        cable.middle.set('far', 'down')
        test.until(lambda: 'far: link down' in process.stderr().replace('net_af_packet_', ''), 'the link is missed')
        path = write_frames(test.path('in.pcap'), [lib.udp_frame(i) for i in range(1000)])
        test.wait(cable.left.send('fwd_l', path, 50000, 40)).expect(0)
        cable.middle.set('far', 'up')
        test.until(cable.answers, 'the cable is there again')
        rows = cable.end(process, forwarded, stats)
        there = [row for row in rows if row['in'].endswith('near')]
        unsent = sum(lib.total(there, reason) for reason in UNSENT)
        assert lib.total(there, 'received') > 40000 and lib.total(there, 'no_link') > 0, rows
        assert unsent > 38000 and lib.total(there, 'too_long') == 0, rows


def test_what_lingers_leaves_beside_a_busy_port(test):
    """A packet socket sends the frames it queued while its link was down, although other ports are
    always busy."""
    for design in DESIGNS if test.settings.full else DESIGNS[:1]:
        cable = Cable(test)
        run = cable.start('--port', 'net_null0', '--port', 'net_null1', '--design', design, '--workers', '1')
        cable.middle.set('far', 'down')
        path = write_frames(test.path('in.pcap'), [lib.udp_frame(i) for i in range(100)])
        test.wait(cable.left.send('fwd_l', path, 10000)).expect(0)
        before = cable.middle.sent('far')
        cable.middle.set('far', 'up')
        test.until(lambda: cable.middle.sent('far') >= before + 50, 'queued packets have left')
        run[0].signal(signal.SIGTERM)
        test.wait(run[0]).expect(0)


def test_a_smaller_mtu_on_the_way_out(test):
    """Set before the start, and while it runs; tagged frames may be longer by the tag."""
    tagged = lib.udp_frame()[:12] + b'\x81\0\0\5'
    frames = [lib.udp_frame(0, 1014), lib.udp_frame(0, 1015), lib.udp_frame(0, 1300),
              tagged + lib.udp_frame(0, 1014)[12:], tagged + lib.udp_frame(0, 1015)[12:]]
    path = write_frames(test.path('in.pcap'), frames)
    for early in (True, False):
        cable = Cable(test)
        if early:
            cable.middle.set('far', 'mtu', '1000')
        run = cable.start(interval='100ms')
        cable.middle.set('far', 'mtu', '1000')
        sent = 0
        while sent == 0 or 'too_long' not in run[0].stderr():
            assert test.patience.spend(), 'no warning of too_long'
            test.wait(cable.left.send('fwd_l', path, 1000)).expect(0)
            sent += 1
            time.sleep(0.3)
        rows = cable.end(*run)
        too_long = lib.total([row for row in rows if row['in'].endswith('near')], 'too_long')
        assert too_long == 3 * sent if early else 0 < too_long <= 3 * sent, (too_long, sent, rows)
        assert run[0].stderr().count('too_long)') == 2, 'logged once, and in the final line'


def test_an_mtu_that_rises(test):
    """A packet socket truncates frames longer than its initial MTU: truncated frames are not
    forwarded."""
    path = write_frames(test.path('in.pcap'), [lib.udp_frame(0, 4000)] * 10)
    cable = Cable(test)
    run = cable.start()
    for space, end in ((cable.left, 'fwd_l'), (cable.middle, 'near'), (cable.middle, 'far'), (cable.right, 'fwd_r')):
        space.set(end, 'mtu', '9000')
    time.sleep(1.5)  # the egress port follows its MTU within a second
    test.wait(cable.left.send('fwd_l', path, 1000)).expect(0)
    rows = cable.end(*run)
    assert lib.total(rows, 'too_long') == 10, rows


def test_times_from_the_stamp(test):
    """A stopped run: libpcap stamped the packets when they arrived."""
    path = write_frames(test.path('in.pcap'), [lib.udp_frame(i) for i in range(40)])
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    forwarded, stats = test.path('forwarded.csv'), test.path('stats.csv')
    process = test.start('--port', 'net_pcap0,rx_iface_in=tap0,tx_iface=tap0', '--forward', 'loop', '--forwarded',
                         forwarded, '--stats', stats, '--output', '/dev/null', *LIVE, '--workers', '1', '--packets',
                         '40', inside=space)
    net.wait_until_ready(test, process, stats)
    process.signal(signal.SIGSTOP)
    test.wait(space.send('wire0', path, 1000)).expect(0)
    time.sleep(0.5)
    process.signal(signal.SIGCONT)
    result = test.wait(process).expect(0)
    row, = read_forwarded(forwarded)
    assert 'have arrival timestamps' in result.stderr and int(row['forwarded']) == 40, row
    assert int(row['p50_ns']) > 500e6, row


def test_what_the_host_sends_itself(test):
    """Packets of the host leave only by the interface on which they were sent."""
    path = write_frames(test.path('in.pcap'), [lib.udp_frame(i) for i in range(50)])
    cable = Cable(test)
    run = cable.start()
    near, far = cable.middle.sent('near'), cable.middle.sent('far')
    test.wait(cable.middle.send('near', path, 1000)).expect(0)
    test.until(cable.answers, 'a later packet has left')
    rows = cable.end(*run)
    assert cable.middle.sent('near') - near >= 50, 'not sent at all'
    assert cable.middle.sent('far') - far < 50, f'it also left by the other port: {rows}'


def test_offloads_are_warned_of(test):
    space = net.Namespace(test)
    space.veth('joins0', 'wire0')
    space.call('ethtool', '-K', 'joins0', 'gro', 'on')
    words = ('--port', 'joins0', '--output', '/dev/null', *LIVE, '--duration', '50ms', '--workers', '1')
    said = test.run(*words, '--forward', 'loop', inside=space).expect(0).stderr
    assert 'ethtool -K joins0 gro off' in said and 'tx off tso off gso off' in said, said
    said = test.run(*words, inside=space).expect(0).stderr
    assert 'tso off' not in said and '--forward' not in said, said


def test_a_port_that_sends_nowhere(test):
    path = write_frames(test.path('in.pcap'), [lib.udp_frame()])
    said = test.run('--port', f'net_pcap0,rx_pcap={path}', '--forward', 'loop', '--output', '/dev/null', *LIVE,
                    '--packets', '1', '--workers', '1').expect(0).stderr
    assert 'net_pcap0 has no destination' in said and 'tx_pcap' in said, said


def test_an_interface_that_is_deleted(test):
    """The run ends with an error that names the interface."""
    for options in ((), ('--design', 'async', '--workers', '1')):
        cable = Cable(test)
        process, forwarded, _ = cable.start(*options)
        cable.middle.ip('link', 'del', 'far')
        result = test.wait(process).expect(1)
        assert 'far: the device was removed' in result.stderr, result.describe()
        read_forwarded(forwarded)


def test_epochs(test):
    """Short epochs, off-path and on-path: each balances, and together they have all sent
    packets."""
    spec = 'packets=30000,flows=500,size=64,seed=4'
    path = test.path('in.pcap')
    test.run('generate', '--synthetic', spec, '--output', path).expect(0)
    for options in (('--design', 'async', '--workers', '2'), ('--workers', '1')):
        cable = Cable(test)
        run = cable.start(*options, interval='10ms')
        test.wait(cable.left.send('fwd_l', path, 60000)).expect(0)
        test.until(cable.answers, 'a later packet has left')
        rows = cable.end(*run)
        assert len({row['epoch'] for row in rows}) > 10, rows
        ledger = lib.read_stats(run[2])
        assert {row['epoch'] for row in rows} == {row['epoch'] for row in ledger}
        for row in ledger:
            of_epoch = [one for one in rows if one['epoch'] == row['epoch']]
            assert lib.total(of_epoch, 'received') == int(row['received']), (row, of_epoch)
        assert lib.total([row for row in rows if row['in'].endswith('near')], 'forwarded') >= 30000


def test_rules_change_while_it_runs(test):
    """Changes of measurements by a reload lose no packet."""
    config = test.path('run.conf')

    def write(key):
        with open(config, 'w', encoding='ascii') as stream:
            stream.write(f'[measurement a]\nkey = {key}\nsketch = iblt\n')
    for design in DESIGNS:
        write('src')
        cable = Cable(test)
        run = cable.start('--config', config, '--design', design, '--workers', '1', interval='20ms')
        for key in ('5tuple,tcp_flags', 'dst_port,vlan', 'src-dst'):
            write(key)
            run[0].signal(signal.SIGHUP)
            cable.left.call('ping', '-c', '20', '-i', '0.02', '-W', '1', '10.77.0.2')
        rows = cable.end(*run)
        assert sum(lib.total(rows, reason) for reason in UNSENT) == 0, rows

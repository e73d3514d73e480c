# SPDX-License-Identifier: BSD-3-Clause
"""--flows and --idle-timeout: the records of an interval add up to the truth, exactly. A record
ends only where its key paused, for any design, number of workers and file."""

import csv
import os
import shutil
import signal
import subprocess

import lib

FLOW_COLUMNS = (
    'epoch,measurement,start,src_ip,dst_ip,src_port,dst_port,proto,packets,bytes,first,last,'
    'tcp_flags,ended').split(',')
TABLE = ('--sketch', 'flow-table', '--seed', '5')
ALL = ('--top', '1000000')
# (option, in ns)
TIMEOUTS = (('1us', 10 ** 3), ('1ms', 10 ** 6), ('100ms', 10 ** 8), ('10s', 10 ** 10),
            ('1h', 36 * 10 ** 11))
DESIGNS = ('rss', 'async', 'sync')
RECORDS_MAX = 3000  # packets per capture for checks of each record


def read_flows(path):
    rows = lib.read_csv(path, FLOW_COLUMNS)
    epochs = [int(row['epoch']) for row in rows]
    assert epochs == sorted(epochs), 'records of an interval after those of a later one'
    for row in rows:
        assert row['ended'] in ('idle', 'interval', 'end'), row
        assert lib.timestamp(row['first']) <= lib.timestamp(row['last']), row
        assert int(row['packets']) > 0, row
    return rows


def sums(flows):
    """Returns {key: [packets, bytes, first, last, flags]} over the records of each key."""
    keys = {}
    for row in flows:
        first, last = lib.timestamp(row['first']), lib.timestamp(row['last'])
        key = keys.setdefault(lib.row_key(row), [0, 0, first, last, 0])
        key[0] += int(row['packets'])
        key[1] += int(row['bytes'])
        key[2], key[3] = min(key[2], first), max(key[3], last)
        key[4] |= int(row['tcp_flags'])
    return keys


def measure(test, path, *options):
    name = test.path(f'flows{len(test.processes)}.csv')
    rows, stats, result = test.measure('--pcap', path, *TABLE, *ALL, '--flows', name, *options)
    return rows, stats, read_flows(name), result


def check(rows, stats, flows):
    """Checks for each interval that the records of a key add up to its row, and all records to the
    ledger."""
    lib.expect_lossless(stats)
    for epoch in {row['epoch'] for row in stats}:
        of_epoch = sums(row for row in flows if row['epoch'] == epoch)
        reported = lib.in_epoch(rows, epoch)
        assert len(reported) == len(of_epoch), f'epoch {epoch}: other keys'
        for row in reported:
            packets, size, first, last, flags = of_epoch[lib.row_key(row)]
            for figure, true in (('packets', packets), ('bytes', size)):
                assert {row[figure], row[f'{figure}_low'], row[f'{figure}_high']} == {str(true)}, (
                    f'the records have {true} {figure}: {row}')
            assert (lib.timestamp(row['first']), lib.timestamp(row['last'])) == (first, last), row
            assert int(row['tcp_flags']) == flags, row
        [ledger] = lib.in_epoch(stats, epoch)
        assert sum(key[0] for key in of_epoch.values()) == int(ledger['measured']), ledger
        assert sum(key[1] for key in of_epoch.values()) == int(ledger['bytes']), ledger
        assert int(ledger['distinct_keys']) == len(of_epoch), ledger


def captures(test, large):
    entries = [entry for entry in lib.index(test.traces) if entry['expected'] == 'measured']
    return enumerate(test.few(entry for entry in entries if large == (
        not entry['file'].startswith('zoo/') or int(entry['packets']) > RECORDS_MAX)))


def test_sums_are_the_truth(test):
    """Every large capture, with timeouts, designs and 1 to 4 workers in turn."""
    for number, entry in captures(test, large=True):
        truth = lib.load_truth(test.traces, entry['file'])
        path = lib.unpack(test, entry['file'])
        size = max(16, len(truth))
        rows, stats, flows, _ = measure(
            test, path, '--interval', '0', '--idle-timeout', TIMEOUTS[number % 5][0],
            '--design', DESIGNS[number % 3],
            '--workers', 1 + number % 4, '--buckets', size)
        assert {key: tuple(got[:2]) for key, got in sums(flows).items()} == truth, entry
        check(rows, stats, flows)


def test_every_way(test):
    """Every design with every number of workers, also with intervals."""
    file = 'uplink'
    path, truth = lib.unpack(test, file), lib.load_truth(test.traces, file)
    ways = [(design, workers) for design in DESIGNS for workers in range(1, 5)]
    for way, (design, workers) in test.some(enumerate(ways)):
        interval = ('0', '10s', '1m')[way % 3]
        rows, stats, flows, _ = measure(
            test, path, '--design', design, '--workers', workers, '--interval', interval,
            '--idle-timeout', TIMEOUTS[1 + way % 4][0])
        assert {key: tuple(got[:2]) for key, got in sums(flows).items()} == truth
        check(rows, stats, flows)


def records_of(oracle, path, timeout):
    """Returns records as (key, packets, bytes, first in us, last in us), sorted. None if packets
    are not in order of time: idle times then depend on the worker."""
    flows, done, before = {}, [], 0
    for record in oracle.records(path):
        time = record[1]
        if time < before:
            return None
        before = time
        for key, (_, size) in oracle.count([record])[1].items():
            if key in flows and time - flows[key][3] > timeout:
                done.append((key, *flows.pop(key)))
            flow = flows.setdefault(key, [0, 0, time, time])
            flow[0] += 1
            flow[1] += size
            flow[3] = time
    done += [(key, *flow) for key, flow in flows.items()]
    return sorted((key, packets, size, first // 1000, last // 1000)
                  for key, packets, size, first, last in done)


def test_records(test):
    """Each record of the small captures, against a simple model."""
    oracle, split = lib.Oracle(), 0
    for number, entry in captures(test, large=False):
        path = lib.unpack(test, entry['file'])
        option, timeout = TIMEOUTS[number % 5]
        expected = records_of(oracle, path, timeout)
        rows, stats, flows, _ = measure(
            test, path, '--interval', '0', '--idle-timeout', option, '--workers', 1 + number % 4)
        check(rows, stats, flows)
        if expected is None:
            continue
        got = sorted((lib.row_key(row), int(row['packets']), int(row['bytes']),
                      lib.timestamp(row['first']), lib.timestamp(row['last'])) for row in flows)
        assert got == expected, f'{entry["file"]}, {option}: {set(got) ^ set(expected)}'
        split += len(got) - len({record[0] for record in got})
    assert split > (10 if test.slow else 100), (
        f'only {split} records ended before their capture')


def test_tshark(test):
    """TCP flags and times of a capture's connections match tshark."""
    if shutil.which('tshark') is None:
        test.skip('tshark is not installed')
    path = lib.unpack(test, 'uplink')
    lines = subprocess.run(
        ['tshark', '-r', path, '-Y', 'tcp && !icmp', '-T', 'fields', '-E', 'separator=,',
         *(word for field in ('ip.src', 'ip.dst', 'tcp.srcport', 'tcp.dstport', 'tcp.flags',
                              'frame.time_epoch') for word in ('-e', field))],
        capture_output=True, text=True, check=True, timeout=300).stdout.splitlines()
    expected = {}
    for source, target, sport, dport, flags, time in csv.reader(lines):
        if not flags:  # truncated
            continue
        seconds, fraction = time.split('.')
        time = int(seconds) * 1000000 + int(fraction[:6].ljust(6, '0'))
        flow = expected.setdefault((source, target, sport, dport, '6'), [time, time, 0])
        flow[:2] = min(flow[0], time), max(flow[1], time)
        flow[2] |= int(flags, 16) & 0xff
    _, _, flows, _ = measure(test, path, '--interval', '0', '--idle-timeout', '2s')
    got = {key: flow[2:] for key, flow in sums(flows).items() if key in expected}
    assert len(got) == len(expected) > 100, (len(got), len(expected))
    for key, flow in expected.items():
        assert got[key] == flow, f'{key}: tshark has {flow}, sketchtap {got[key]}'


def passing_flows(test, count, each=2):
    """A capture of `count` successive flows of `each` packets, 1 ms between packets."""
    return lib.write_pcap(test.path(f'passing{count}.pcap'), [
        (1000 * packet, lib.udp_frame(packet // each)) for packet in range(count * each)])


def test_room_for_flows_that_pass(test):
    """Forty times as many flows as entries, but few active ones: no packet is shed."""
    path = passing_flows(test, 1280)
    truth = {lib.udp_key(flow): (2, 120) for flow in range(1280)}
    rows, stats, flows, _ = measure(test, path, '--interval', '0', '--buckets', 16,
                                    '--idle-timeout', '10ms')
    lib.expect_lossless(stats)
    lib.check_exact(rows, truth)
    assert len(rows) == len(flows) == 1280
    # All except those of the last 10 ms.
    assert sum(row['ended'] == 'idle' for row in flows) == 1274
    _, stats, _, _ = measure(test, path, '--interval', '0', '--buckets', 16)
    assert int(stats[0]['shed']) > 2000, stats


def test_crowded(test):
    """More active flows than entries: upper bounds of listed keys include the packets shed."""
    path = lib.write_pcap(test.path('crowd.pcap'), [
        (1000 * packet, lib.udp_frame(packet * 37 % 96)) for packet in range(960)])
    for workers in (1, 3):
        rows, stats, flows, _ = measure(test, path, '--interval', '0', '--buckets', 16,
                                        '--workers', workers, '--idle-timeout', '30ms')
        shed = int(stats[0]['shed'])
        assert shed > 0 and int(stats[0]['measured']) == 960 - shed, stats
        assert lib.total(flows, 'packets') == 960 - shed
        keys = sums(flows)
        assert all(int(row['packets_low']) == int(row['packets']) == keys[lib.row_key(row)][0]
                   and 10 <= int(row['packets_high']) and 600 <= int(row['bytes_high'])
                   for row in rows), rows


def test_same_bytes_again(test):
    """One worker gives equal files, even if keys do not fit."""
    source = ('--synthetic', 'flows=20K,zipf=1.0,packets=300K,rate=100K,seed=1')
    first = None
    for _ in range(3):
        paths = [test.path(f'{name}{len(test.processes)}.csv') for name in ('flows', 'output')]
        test.run(*source, *TABLE, '--buckets', 500, '--idle-timeout', '20ms', '--interval', '1s',
                 '--workers', 1, '--flows', paths[0], '--output', paths[1]).expect(0)
        texts = [lib.read_text(path) for path in paths]
        assert first in (None, texts), 'another file from the same packets'
        first = texts


def test_forgotten_keys(test):
    """Beyond --max-expired, a row is not exact, its bounds hold, and a warning is logged; no record
    is missing."""
    path = passing_flows(test, 600)
    rows, stats, flows, result = measure(
        test, path, '--interval', '0', '--idle-timeout', '10ms', '--expired-keys', 100,
        '--buckets', 16)
    assert len(flows) == 600 and lib.total(flows, 'packets') == 1200
    assert 100 < len(rows) <= 132, len(rows)
    missing = 1200 - sum(int(row['packets']) for row in rows)
    assert f'{missing} packets of expired flows are missing from --output: raise expired-keys' in result.stderr, result.stderr
    exact = [row for row in rows if row['packets_low'] == row['packets_high'] == '2']
    assert len(exact) == 100, len(exact)
    assert all(int(row['packets_high']) == 2 + missing for row in rows if row not in exact), rows
    lib.expect_lossless(stats)


def test_intervals(test):
    """Records end with their interval; those of the last interval are marked `end`."""
    packets = [(time * 100000, lib.udp_frame(1)) for time in range(35)]
    path = lib.write_pcap(test.path('steady.pcap'), packets)
    for options in ((), ('--idle-timeout', '1s'), ('--sharing', 'shared')):
        rows, stats, flows, _ = measure(test, path, '--interval', '1s', *options)
        check(rows, stats, flows)
        assert [(row['epoch'], row['packets'], row['ended']) for row in flows] == [
            ('0', '10', 'interval'), ('1', '10', 'interval'), ('2', '10', 'interval'),
            ('3', '5', 'end')], flows
    # A gap equal to the timeout does not end a record.
    for timeout, records in (('100ms', 1), ('99999us', 35)):
        _, _, flows, _ = measure(test, path, '--interval', '0', '--idle-timeout', timeout)
        assert len(flows) == records, (timeout, flows)


def test_several_measurements(test):
    config = test.path('two.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('idle-timeout = 5ms\nsketch = flow-table\n[measurement flows]\n'
                     '[measurement sources]\nkey = src\nidle-timeout = 1h\n'
                     '[measurement sketched]\nsketch = count-min\nidle-timeout = 0\n')
    name = test.path('flows.csv')
    test.run('--config', config, '--pcap', passing_flows(test, 50), '--interval', '0', '--flows', name,
             '--output', test.path('out.csv')).expect(0)
    flows = read_flows(name)
    assert {row['measurement'] for row in flows} == {'flows', 'sources'}
    for measurement, ended in (('flows', {'idle', 'end'}), ('sources', {'end'})):
        own = [row for row in flows if row['measurement'] == measurement]
        assert len(own) == 50 and {row['ended'] for row in own} == ended, own[0]


def test_files(test):
    """Files work as for --output: refused, appended to, replaced, on standard output, rotated."""
    path = passing_flows(test, 2000)
    name, output = test.path('flows.csv'), test.path('out.csv')
    options = ('--pcap', path, *TABLE, '--interval', '500ms', '--idle-timeout', '10ms')
    test.run(*options, '--flows', name, '--output', output).expect(0)
    once = read_flows(name)
    test.run(*options, '--flows', name, '--output', '/dev/null').expect(2).expect_one_line(
        '--flows', '--append')
    test.run(*options, '--flows', output, '--output', output).expect(2)
    test.run(*options, '--flows', name, '--output', '-', '--append').expect(0)
    both = read_flows(name)
    assert both[:len(once)] == once and len(both) == 2 * len(once)
    assert int(both[len(once)]['epoch']) == int(once[-1]['epoch']) + 1
    test.run(*options, '--flows', name, '--output', output, '--force').expect(0)
    assert read_flows(name) == once
    result = test.run(*options, '--flows', '-', '--output', '/dev/null').expect(0)
    assert lib.read_csv(result.stdout, FLOW_COLUMNS) == once

    rotated = test.path('rotated.csv')
    test.run(*options, '--flows', rotated, '--output', '/dev/null', '--rotate', '1s').expect(0)
    names = sorted((test.path(entry) for entry in os.listdir(test.directory)
                    if entry.startswith('rotated')), key=lambda entry: (entry == rotated, entry))
    assert len(names) >= 3, names
    assert [row for entry in names for row in read_flows(entry)] == once


def lines(name):
    if not os.path.exists(name):
        return 0
    with open(name, 'rb') as stream:
        return stream.read().count(b'\n')


def test_records_come_while_the_interval_runs(test):
    """Records reach the file within seconds, before the interval ends; SIGHUP opens a new file."""
    name = test.path('flows.csv')
    process = test.start('--synthetic', 'flows=1K,packets=100G,rate=100K,seed=1', '--pace', 'recorded',
                         *TABLE, '--workers', 1, '--interval', '0', '--idle-timeout', '1ms',
                         '--flows', name, '--output', test.path('out.csv'), *ALL)

    test.until(lambda: lines(name) > 1, 'records are written')
    aside = test.path('aside.csv')
    os.rename(name, aside)
    process.signal(signal.SIGHUP)
    test.until(lambda: lines(name) > 1, 'records are in the new file')
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    flows = read_flows(aside) + read_flows(name)
    assert {flow['epoch'] for flow in flows} == {'0'}
    assert lib.total(flows, 'packets') == lib.total(lib.read_output(test.path('out.csv')), 'packets')


def test_silent_link(test):
    """Records of a silent port end."""
    path, name = passing_flows(test, 50), test.path('flows.csv')
    for design in DESIGNS:
        process = test.start(
            '--port', f'net_pcap0,rx_pcap={path}', '--eal', '--no-pci', *TABLE, '--workers', 1,
            '--design', design, '--interval', '0', '--idle-timeout', '300ms', '--flows', name,
            '--output', '/dev/null', '--force')
        test.until(lambda: lines(name) == 51, 'all records are written')
        process.signal(signal.SIGINT)
        test.wait(process).expect(0)
        flows = read_flows(name)
        assert lib.total(flows, 'packets') == 100 and {row['ended'] for row in flows} == {'idle'}
        os.remove(name)


def whole(name):
    """Returns the bytes that remain after a kill: the marked length, if the file system keeps
    marks."""
    try:
        return int(os.getxattr(name, 'user.sketchtap').split()[0])
    except OSError:
        return os.path.getsize(name) if os.path.exists(name) else 0


def test_killed(test):
    """Whole rows remain after kill -9 in the middle of an interval, and the next run continues."""
    name = test.path('flows.csv')
    source = ('--synthetic', 'flows=1K,packets=100G,rate=100K,seed=1', '--pace', 'recorded', *TABLE,
              '--workers', 1, '--interval', '0', '--idle-timeout', '1ms', '--flows', name, '--append',
              '--output', '/dev/null')
    for _ in range(3):
        before, kept = max(1, lines(name)), whole(name)
        process = test.start(*source)
        test.until(lambda: lines(name) > before and whole(name) > kept, 'records are written')
        process.kill()
        shutil.rmtree(process.directory)
    test.run(*source, '--duration', '50ms').expect(0)
    assert {row['epoch'] for row in read_flows(name)} == {'0', '1', '2', '3'}


def test_refusals(test):
    path = lib.write_pcap(test.path('one.pcap'), [(0, lib.udp_frame())])
    for options, mentions in (
            (('--idle-timeout', '1s', '--sharing', 'shared'), ('--idle-timeout', 'separate')),
            (('--idle-timeout', '1s', '--sketch', 'count-min'), ('--idle-timeout', 'flow-table')),
            (('--idle-timeout', '1s', '--sketch', 'iblt'), ('--idle-timeout', 'flow-table')),
            (('--idle-timeout', '1ns'), ('--idle-timeout',)),
            (('--idle-timeout', 'soon'), ('--idle-timeout',)),
            (('--expired-keys', '0'), ('--expired-keys',)),
            (('--expired-keys', '5'), ('--expired-keys', '--idle-timeout')),
            (('--rotate', '1h', '--output', '-'), ('--rotate', '--output FILE')),
            (('--flows', test.path('x'), '--sketch', 'count-min'), ('--flows', 'flow-table'))):
        test.run('--pcap', path, '--sketch', 'flow-table', *options).expect(2).expect_one_line(
            *mentions)
    assert not os.path.exists(test.path('x'))
    missing = test.path('no/folder')
    test.run('--pcap', path, *TABLE, '--flows', missing).expect(1).expect_one_line('--flows', missing)
    plan = test.run('plan', '--pcap', path, *TABLE, '--idle-timeout', '90s').expect(0)
    assert 'records end after 90 s' in plan.stdout, plan.stdout

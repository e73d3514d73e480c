# SPDX-License-Identifier: BSD-3-Clause
"""Packets that load shedding skips are in the ledger, and every interval still holds the truth.

--overload-schedule fixes the shedding levels, so that each run is the same.
"""

import collections
import contextlib
import ctypes
import itertools
import json
import os
import random
import time

import lib
import net

LONG = ('reporter_halted', 'one_port_floods')

STATES = ('full', 'wait', '1/2', '1/4', '1/8', '1/16', '1/32', '1/64', 'count')
SYNTHETIC = 'flows=4K,zipf=1.1,packets=100K,size=imix,ipv6=0.2,seed=9'
DESIGNS = (('rss',), ('async', '--dispatch', 'round-robin'), ('sync',), ('async',))
SHARINGS = (('separate',), ('shared',))


def write_states(test, rows, name='states.csv'):
    """rows: (worker, packet, shedding level)."""
    with open(test.path(name), 'w', encoding='utf-8') as stream:
        stream.write('epoch,worker,packet,to\n')
        stream.writelines(f'0,{worker},{packet},{state}\n' for worker, packet, state in rows)
    return test.path(name)


def mixed(workers, packets, seed, states=STATES):
    """Returns rows in which each worker changes its level about forty times."""
    choose = random.Random(seed)
    rows = []
    for worker in range(workers):
        at = 0
        while at < packets:
            rows.append((worker, at, choose.choice(states)))
            at += choose.randrange(1, max(2, packets // 20))
    return rows


def check_intervals(rows, truth, rule='5tuple'):
    """Like lib.check_bounds(), without the share, which is estimated here."""
    keys = [lib.row_key(row, rule) for row in rows]
    assert rows and len(set(keys)) == len(keys), 'no row, or a key that is reported twice'
    for key, row in zip(keys, rows):
        for figure, true in zip(('packets', 'bytes'), truth[key]):
            low, high = row[f'{figure}_low'], row[f'{figure}_high']
            assert low == '' or int(low) <= true, f'true {figure} are {true}: {row}'
            assert high == '' or true <= int(high), f'true {figure} are {true}: {row}'


def check_skipped(stats, packets, size):
    """Checks that packets add up exactly, and also bytes if all packets have keys."""
    assert lib.total(stats, 'offered') == lib.total(stats, 'received') == packets, stats
    if size is not None:
        assert lib.total(stats, 'bytes') + lib.total(stats, 'skipped_bytes') == size, stats


def options(combination, states):
    design, sharing, sketch, workers, metric = combination
    return ('--design', *design, '--sharing', *sharing, '--sketch', sketch, '--workers', workers,
            '--count', metric, '--interval', '0', '--seed', '7', '--states-from', states)


def capture_case(file, combination, state):
    """state: a fixed shedding level, or None for changing levels."""
    def check(test):
        entry = lib.entry_of(test.traces, file)
        packets, workers = int(entry['packets']), int(combination[3])
        states = write_states(test, [(worker, 0, state) for worker in range(workers)]
                              if state else mixed(workers, packets // workers, 3))
        rows, stats, _ = test.measure('--pcap', lib.unpack(test, file), '--top', '300',
                                      *options(combination, states))
        check_skipped(stats, packets, None)
        assert int(stats[0]['skipped']) > 0 and stats[0]['distinct_of'] == 'looked-at', stats
        check_intervals(rows, lib.load_truth(test.traces, file))
        for row in rows:
            looked_at = 1 - int(stats[0]['skipped']) / packets
            assert abs(float(row['looked_at']) - looked_at) < 1e-6, row
            assert int(row['weight']) == int(state[2:]) if state else int(row['weight']) > 1, row
    return check


def write_flows(test):
    """Returns (path of a generated capture, {key: (packets, bytes)}, ledger)."""
    path = test.path('flows.pcap')
    test.run('generate', '--synthetic', SYNTHETIC, '--output', path).expect(0)
    rows, stats, _ = test.measure('--pcap', path, '--sketch', 'flow-table', '--top', '0',
                                  '--threshold', '0.00001', '--workers', '1', '--interval', '0')
    return path, {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in rows}, stats


def test_every_sketch(test):
    """Weights that change all the time, on generated traffic."""
    path, truth, exact = write_flows(test)
    size = lib.total(exact, 'bytes')
    ways = itertools.cycle(itertools.product(SHARINGS, DESIGNS))
    for sketch, metric in itertools.product(lib.sketches(test.binary), ('packets', 'bytes')):
        sharing, design = next(ways)
        states = write_states(test, mixed(2, 50000, f'{sketch} {metric}'))
        rows, stats, _ = test.measure(
            '--pcap', path, *options((design, sharing, sketch, '2', metric), states))
        check_skipped(stats, 100000, size)
        check_intervals(rows, truth)


def test_the_same_each_time(test):
    """Outputs depend only on the schedule and the seed, not on bursts."""
    states = write_states(test, mixed(2, 50000, 5))
    outputs = []
    for seed in ('7', '7', '8'):
        rows, _, _ = test.measure('--synthetic', SYNTHETIC, '--workers', '2', '--seed', seed,
                                  '--states-from', states, '--interval', '0')
        outputs.append(rows)
    assert outputs[0] == outputs[1], 'two runs differ'
    assert outputs[0] != outputs[2], 'the seed does not matter'


def test_full(test):
    """At full detail, figures are unchanged, and the columns show it."""
    states = write_states(test, [(0, 0, 'full')])
    common = ('--synthetic', SYNTHETIC, '--workers', '1', '--seed', '7', '--interval', '0')
    rows, stats, result = test.measure(*common, '--states-from', states)
    expected, _, _ = test.measure(*common)
    assert all(row.pop('looked_at') == '1.000000' and row.pop('weight') == '1' for row in rows)
    assert rows == expected
    assert (stats[0]['skipped'], stats[0]['skipped_bytes'], stats[0]['distinct_of']) == (
        '0', '0', 'all'), stats
    assert 'skipped' not in result.stderr, result.describe()


def test_what_waits(test):
    """A paused measurement counts fewer packets, reports it, and its bounds include the skipped
    packets."""
    path, truth, _ = write_flows(test)
    config = test.path('two.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('[measurement first]\n[measurement second]\npriority = 2\nkey = src\n'
                     '[measurement third]\npriority = 2\nsketch = flow-table\n')
    states = write_states(test, [(0, 0, 'full'), (0, 30000, 'wait'), (0, 60000, '1/4'),
                                 (0, 80000, 'full'), (0, 90000, 'count')])
    rows, stats, _ = test.measure('--pcap', path, '--config', config, '--states-from', states,
                                  '--workers', '1', '--interval', '0', '--top', '20')
    first, second, third = (lib.in_epoch(stats, '0', name) for name in ('first', 'second', 'third'))
    skipped = int(first[0]['skipped'])
    assert 24000 < skipped < 26000, first  # three quarters of 20000, and 10000
    assert int(second[0]['skipped']) == int(third[0]['skipped']) == 60000, stats
    weights = {name: {row['weight'] for row in lib.in_epoch(rows, '0', name)}
               for name in ('first', 'second', 'third')}
    assert weights == {'first': {'4'}, 'second': {'1'}, 'third': {'1'}}, weights
    for name in ('first', 'third'):
        check_intervals(lib.in_epoch(rows, '0', name), truth)
    for row in lib.in_epoch(rows, '0', 'third'):
        # Processed packets are exact; up to 60000 may be missing.
        assert row['packets_low'] == row['packets'], row
        assert int(row['packets_high']) == int(row['packets']) + 60000, row


STEPS = {'first': ('full', 'rate:1/2', 'rate:1/8', 'off'), 'second': ('full', 'keys:1/2', 'rate:1/2', 'keys:1/8', 'rate:1/64'),
         'third': ('full', 'rate:1/4', 'off'), 'fourth': ('full', 'off')}


def write_stepping(test):
    path = test.path('stepping.conf')
    with open(path, 'w', encoding='utf-8') as stream:
        for (name, steps), more in zip(STEPS.items(), (
                '', 'sketch = flow-table\n', 'key = src\ncount = bytes\n', 'sketch = iblt\npriority = 2\n')):
            stream.write(f'[measurement {name}]\nsteps = {", ".join(steps[1:])}\n{more}')
    return path


def write_steps(test, seed, workers=2, packets=50000):
    """Writes a schedule: measurements of each worker have their own steps, in addition to changing
    levels."""
    choose = random.Random(seed)
    rows = [(worker, packet, '', state) for worker, packet, state in mixed(workers, packets, seed, ('full', '1/2', 'count'))]
    rows += [(worker, choose.randrange(packets), name, choose.choice(steps))
             for worker in range(workers) for name, steps in STEPS.items() for _ in range(20)]
    path = test.path('steps.csv')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write('worker,packet,measurement,to,share\n')
        stream.writelines(','.join(map(str, row)) + ',\n' for row in sorted(rows))
        stream.write(',,first,full,\n')  # a row for the whole interval
    return path


def test_steps(test):
    """Each measurement has its own rates: its ledger balances, and its intervals hold the truth."""
    path, truth, exact = write_flows(test)
    size = lib.total(exact, 'bytes')
    sources = collections.defaultdict(lambda: (0, 0))
    for key, (packets, length) in truth.items():
        source = tuple(value for column, value in zip(lib.key_columns('5tuple'), key)
                       if column in lib.key_columns('src'))
        sources[source] = (sources[source][0] + packets, sources[source][1] + length)
    config = write_stepping(test)
    seen = set()
    for seed in range(6):
        rows, stats, _ = test.measure('--pcap', path, '--config', config, '--states-from', write_steps(test, seed),
                                      '--workers', '2', '--interval', '0', '--top', '50')
        for name in STEPS:
            ledger, own = lib.in_epoch(stats, '0', name), lib.in_epoch(rows, '0', name)
            check_skipped(ledger, 100000, size)
            assert int(ledger[0]['measured']) + int(ledger[0]['skipped']) == 100000, ledger
            check_intervals(own, *((sources, 'src') if name == 'third' else (truth,)))
            looked_at = 1 - int(ledger[0]['skipped']) / 100000
            assert abs(float(own[0]['looked_at']) - looked_at) < 1e-6, own[0]
            seen.add(own[0]['weight'])
    assert len(seen) > 2, seen


def test_intervals_and_filter(test):
    """Epochs keep their bounds, and filtered packets are not processed packets."""
    states = write_states(test, mixed(2, 50000, 11))
    spec = SYNTHETIC + ',rate=50K'
    common = ('--synthetic', spec, '--workers', '2', '--interval', '1s', '--filter', 'udp')
    _, exact, _ = test.measure(*common)
    rows, stats, _ = test.measure(*common, '--states-from', states)
    assert [row['epoch'] for row in stats] == [row['epoch'] for row in exact] and len(stats) > 1
    for row, whole in zip(stats, exact):
        assert row['offered'] == whole['offered'], (row, whole)
        assert 0 < int(row['filtered']) < int(whole['filtered']), row
    assert rows


def test_small_table(test):
    """A flow table sheds only processed packets, not the packets that they represent."""
    states = write_states(test, [(0, 0, '1/8')])
    rows, stats, _ = test.measure(
        '--synthetic', SYNTHETIC, '--workers', '1', '--interval', '0', '--sketch', 'flow-table',
        '--buckets', '64', '--states-from', states)
    shed = int(stats[0]['shed'])
    assert 0 < shed < 100000 / 8 * 1.2, stats
    assert rows


def test_max_skip(test):
    states = write_states(test, [(0, 0, '1/2')])
    common = ('--synthetic', SYNTHETIC, '--workers', '1', '--interval', '0', '--states-from', states)
    test.measure(*common, '--max-skip', '60%', '--max-loss', '0')
    _, _, result = test.measure(*common, '--max-skip', '40%', status=1)
    result.expect_one_line('did not process', 'of 100000 packets', 'max-skip 40 %')


def test_json_and_table(test):
    """JSON and text table have the same figures."""
    states = write_states(test, [(0, 0, '1/4')])
    path = test.path('rows.json')
    common = ('--synthetic', SYNTHETIC, '--workers', '1', '--interval', '0', '--states-from', states)
    result = test.run(*common, '--output', f'json:{path}',
                      '--stats', f'json:{test.path("stats.json")}').expect(0)
    table = test.run(*common, '--format', 'table').expect(0).stdout
    with open(path, encoding='utf-8') as stream:
        rows = [json.loads(line) for line in stream]
    assert all(row['weight'] == 4 and 0.2 < row['looked_at'] < 0.3 for row in rows), rows[0]
    with open(test.path('stats.json'), encoding='utf-8') as stream:
        stats = json.loads(stream.readline())
    assert stats['skipped'] + stats['measured'] == 100000 and stats['distinct_of'] == 'looked-at'
    assert 'processed 2' in table and 'some counted as 4' in table, table
    assert f'{stats["skipped"]} skipped' in result.stderr, result.describe()


def test_bad_states(test):
    """Invalid schedules are refused, each with one line that names the position."""
    for text, *mentions in (
            ('', ':0: empty file'),
            ('worker,to\n', ":1: no column 'packet'"),
            ('worker,packet,to\n0,5\n', ':2: no to'),
            ('worker,packet,to\n0,0,full\0,1/4\n', ':2: NUL byte'),
            ('worker,packet,to\n0,0,full\n3,0,full\n', ":3: '3'", '0 to 0'),
            ('worker,packet,to\n0,0,full\n0,-1,full\n', ":3: '-1'"),
            ('worker,packet,to\n0,9,full\n0,8,full\n', ':3: packet 8', 'must be sorted by packet'),
            ('worker,packet,to\n0,0,1/3\n', ":2: '1/3'", '1/2 to 1/64'),
            ('worker,packet,to,measurement\n0,0,full,\n0,5,off,other\n',
             ":3: unknown measurement 'other'"),
            ('worker,packet,to,packet\n0,0,full,5\n', ":1: duplicate column 'packet'"),
            ('worker,packet,to\n', ':1: no row'),
            ('worker,packet,to\n0,0,full\n0,5,' + 4092 * '1' + '\n', ':3: longer than 4096 bytes'),
            ('worker,packet,to\n0,0,full\n"0"1,5,full\n', ':3: field 1: the quotes'),
            ('worker,packet,to\n0,0,full\n0,5,"full\n', ':3: field 3: the quotes')):
        path = test.path('bad.csv')
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(text)
        test.run('--synthetic', SYNTHETIC, '--workers', '1', '--output', os.devnull, '--states-from',
                 path).expect(2).expect_one_line('bad.csv', *mentions)
    test.run('--synthetic', SYNTHETIC, '--states-from', test.path('none')).expect(1).expect_one_line(
        'none', 'No such file')
    test.run('--synthetic', SYNTHETIC, '--states-from', test.path('')).expect(1).expect_one_line(
        'not a regular file')
    test.run('--synthetic', SYNTHETIC, '--max-skip', '1%').expect(2).expect_one_line('max-skip', 'without')


# ---- load shedding from queue fill


LOAD_KEYS = ('src', 'dst', 'src-dst', 'src_port', 'dst_port', 'src,dst_port', 'dst,dst_port', 'src,src_port',
             'src/24', 'dst/24', 'src/16', 'dst/16', 'src/20', 'dst/20')


def write_load(test, name='load', priority=''):
    """Writes a configuration with which a packet costs a worker far more than the feeder."""
    path = test.path(f'{name}.conf')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write('[measurement first]\n')
        for i, key in enumerate(LOAD_KEYS):
            stream.write(f'[measurement m{i}]\nkey = {key}\n{priority}sketch = reversible\n'
                         'width = 4096\ntop = 1\n')
    return path


def overload(test, path, factors, truth):
    """Yields losses (without, with load shedding) at multiples of the measured capacity."""
    ways = (('--config', write_load(test)),
            ('--config', write_load(test, 'ranked', 'priority = 2\n'), '--keep-up', 'valve'))
    common = ('--pcap', path, '--workers', '1', '--interval', '0', '--descriptors', '32768')
    _, stats, _ = test.measure(*common, *ways[0])
    first = lib.in_epoch(stats, '0', 'first')[0]
    ns = float(first['ppt_ns']) + float(first['free_ns'])
    for factor in factors:
        pace = ('--pace', f'{max(1, round(factor * 1e6 / ns))}kpps')
        lost = []
        for way in ways:
            rows, stats, result = test.measure(*common, *pace, *way)
            ledger = lib.in_epoch(stats, '0', 'first')
            assert lib.total(ledger, 'offered') == int(first['offered']), ledger
            check_intervals(lib.in_epoch(rows, '0', 'first'), truth)
            lost.append(lib.total(ledger, 'nic_missed'))
        yield factor, lost, ledger[0], result


def check_overload(test, factors):
    path, truth, _ = write_flows(test)
    for factor, (without, kept), ledger, result in overload(test, path, factors, truth):
        if factor > 1:
            # Packets also get lost while the scheduler suspends the worker.
            assert kept <= without / 2, (factor, without, kept, result.describe())
            # If the feeder is too slow, nothing needs to be shed.
            assert int(ledger['skipped']) > 0 or kept == 0, (factor, ledger)


def test_overload(test):
    """At a multiple of its capacity, a worker reduces detail instead of losing packets."""
    check_overload(test, (4,))


def until_filled(test, *arguments):
    """Repeats a run until its queue was at least half full: a feeder without CPU time fills none.
    Returns its loads."""
    queues = test.path('queues.csv')
    for _ in range(5):
        rows, stats, _ = test.measure(*arguments, '--keep-up', 'valve', '--queues', queues, '--force')
        loads = lib.read_csv(queues, lib.read_text(queues).split('\n')[0].split(','))
        if any(int(load['level_max']) >= 2 for load in loads):
            return rows, stats, loads
    raise AssertionError(f'no queue was ever half full: {loads}')


def test_calm_again(test):
    """After a burst, all packets are processed again."""
    frames = [lib.udp_frame(i * i % 300, 60) for i in range(1000)]
    packets = [(0, frames[i % 1000]) for i in range(120000)]  # at full speed
    packets += [(30000 + i * 500, frames[i % 1000]) for i in range(3000)]  # 2 kpps for 1.5 s
    path = lib.write_pcap(test.path('burst.pcap'), packets)
    rows, stats, loads = until_filled(test, '--pcap', path, '--pace', 'recorded', '--config', write_load(test),
                                      '--workers', '1', '--interval', '250ms', '--descriptors', '8192')
    assert int(loads[0]['backlog_max']) >= 4000 and int(loads[0]['skipped']) > 0, loads[0]
    assert loads[-1]['level_max'] == '0', loads
    last = stats[-1]['epoch']
    assert all(row['skipped'] == '0' and row['distinct_of'] == 'all'
               for row in stats if row['epoch'] == last), stats[-1]
    assert all(row['looked_at'] == '1.000000' and row['weight'] == '1'
               for row in rows if row['epoch'] == last)


def test_rings(test):
    """With async, the ring between receiver and worker fills."""
    path, truth, _ = write_flows(test)
    rows, stats, _ = until_filled(test, '--pcap', path, '--pace', '100Mpps', '--config', write_load(test),
                                  '--workers', '1', '--interval', '0', '--descriptors', '32768',
                                  '--design', 'async', '--ring-size', '4096')
    check_intervals(lib.in_epoch(rows, '0', 'first'), truth)
    assert int(lib.in_epoch(stats, '0', 'first')[0]['skipped']) > 0, stats


def test_unpaced(test):
    """If the feeder waits, nothing is shed, and a line says so."""
    rows, stats, result = test.measure('--synthetic', SYNTHETIC, '--workers', '1', '--interval', '0',
                                       '--keep-up', 'valve', '--descriptors', '64')
    assert 'has no effect' in result.stderr, result.describe()
    assert stats[0]['skipped'] == '0' and all(row['looked_at'] == '1.000000' for row in rows), stats


def test_unpaced_is_the_same(test):
    """Equal byte for byte, except trailing columns."""
    common = ('--synthetic', SYNTHETIC + ',rate=50K', '--workers', '1', '--interval', '1s', '--seed', '7')
    plain, kept = (test.run(*common, *way).expect(0).stdout for way in ((), ('--keep-up', 'best')))
    lines = kept.splitlines(keepends=True)
    assert len(lines) > 20 and lines[0].endswith(',looked_at,weight\n'), lines[0]
    assert all(line.endswith(',1.000000,1\n') for line in lines[1:]), lines[1]
    assert ''.join(line.rsplit(',', 2)[0] + '\n' for line in lines) == plain


def test_polls(test):
    """A port that does not report its fill: only consecutive full polls count as a full queue."""
    queues = test.path('queues.csv')
    result = test.run('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1', '--duration', '300ms',
                      '--descriptors', '512', '--keep-up', 'valve', '--output', os.devnull, '--queues', queues)
    assert 'does not report how full a queue is' in result.expect(0).stderr, result.describe()
    load = lib.read_csv(queues, lib.read_text(queues).split('\n')[0].split(','))[0]
    assert (load['level_max'], load['backlog_max']) == ('3', '512') and int(load['skipped']) > 0, load


@contextlib.contextmanager
def halted(test, thread):
    """Stops one thread of a process while the others run, which needs ptrace."""
    seize, interrupt, detach, wait_all = 0x4206, 0x4207, 17, 0x40000000  # linux/ptrace.h, linux/wait.h
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    if ptrace(seize, thread, None, None) != 0:
        test.skip(f'no thread can be halted here: {os.strerror(ctypes.get_errno())}')
    assert ptrace(interrupt, thread, None, None) == 0, os.strerror(ctypes.get_errno())
    os.waitpid(thread, wait_all)
    try:
        yield
    finally:
        assert ptrace(detach, thread, None, None) == 0, os.strerror(ctypes.get_errno())


def test_reporter_halted(test):
    """While the reporter is stopped, workers shed load by queue fill only; afterwards the ledger is
    exact."""
    path, _, _ = write_flows(test)
    plain = write_load(test)
    ranked = write_load(test, 'ranked', 'steps = rate:1/2, off\n')
    _, stats, _ = test.measure('--pcap', path, '--workers', '1', '--interval', '0', '--config', plain)
    first = lib.in_epoch(stats, '0', 'first')[0]
    rate = 4e9 / (float(first['ppt_ns']) + float(first['free_ns']))
    packets = round(2 * rate)
    common = ('--synthetic', f'{SYNTHETIC.replace("packets=100K", f"packets={packets}")},rate={round(rate)}',
              '--pace', 'recorded', '--workers', '1', '--interval', '200ms', '--descriptors', '32768')

    def missed(name, config, *ways):
        output, stats = test.path(f'rows_{name}.csv'), test.path(f'account_{name}.csv')
        process = test.start(*common, '--config', config, *ways, '--output', output, '--stats', stats)
        net.wait_until_ready(test, process, stats)
        before = lib.read_text(stats)
        with halted(test, process.popen.pid):  # the reporter is the main thread
            time.sleep(0.8)
            during = lib.read_text(stats)
        test.wait(process).expect(0)
        assert before.count('\n') >= during.count('\n') - 15, 'the reporter went on'
        ledger = [row for row in lib.read_stats(stats) if row['measurement'] == 'first']
        assert lib.total(ledger, 'offered') == packets, ledger
        return lib.total(ledger, 'nic_missed'), ledger

    for attempt in range(3):
        without, _ = missed(f'without{attempt}', plain)
        kept, ledger = missed(f'kept{attempt}', ranked, '--keep-up', 'best')
        assert kept == 0 or lib.total(ledger, 'skipped') > 0, ledger
        if kept <= without / 2:  # packets also get lost while the scheduler suspends the worker
            return
    raise AssertionError(f'lost {without} without it, and {kept} with it')


def test_one_port_floods(test):
    """The common worker sheds load; neither port loses a packet, and all columns are correct."""
    packets = 5000
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    frames = [lib.udp_frame(i % 100, 60) for i in range(packets)]
    capture = lib.write_pcap(test.path('quiet.pcap'), list(enumerate(frames)))
    truth = {lib.udp_key(i): (packets // 100, packets // 100 * 60) for i in range(100)}
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--port', 'net_null0', '--port', net.af_packet('tap0'), '--workers', '1',
                         '--interval', '0', '--sketch', 'flow-table', '--keep-up', 'best', '--output', output,
                         '--top', '1000', '--stats', stats, inside=space)
    net.wait_until_ready(test, process, stats)
    sent = test.wait(space.send('wire0', capture, 5000)).expect(0).stdout
    assert int(sent) == packets, sent
    test.until(lambda: space.received('tap0') >= packets, 'the kernel has received it all')
    time.sleep(0.2)
    process.signal(net.END)
    test.wait(process).expect(0)
    ledger, = lib.read_stats(stats)
    assert int(ledger['nic_missed']) == int(ledger['unaccounted']) == 0, ledger
    assert int(ledger['skipped']) > 0, ledger
    # Packets of the flood have 64 bytes, others 60.
    size = int(ledger['bytes']) + int(ledger['skipped_bytes']) + 64 * int(ledger['non_ip'])
    assert size == 64 * int(ledger['received']) - 4 * packets, ledger
    if int(ledger['measured']) > 0:
        check_intervals(lib.read_output(output), truth)


def full_overload(test):
    check_overload(test, (0.5, 1, 2, 4, 8))


def cases(settings):
    sketches = ('count-min', 'reversible', 'simple-hash', 'flow-table', 'iblt')
    slow = [('overload at all rates', full_overload)] if settings.full else []
    files = [entry['file'] for entry in lib.index(settings.traces)
             if entry['expected'] == 'measured' and int(entry['measured']) > 1000]
    every = list(itertools.product(DESIGNS, SHARINGS, sketches, ('1', '3'), ('packets', 'bytes')))
    random.Random(4).shuffle(every)
    ways = itertools.cycle(every)
    chosen = [(file, next(ways), state) for file in files for state in ('1/2', '1/8', '1/64', None)]
    if not settings.full:
        chosen = [(file, way, state) for file, way, state in chosen
                  if file == lib.file_of(settings.traces, 'uplink')][:3]
    return slow + [(f'{os.path.basename(file).split(".")[0]} {" ".join(way[0])} {way[1][0]} {way[2]} {way[3]} '
             f'{way[4]} {state or "mixed"}', capture_case(file, way, state))
            for file, way, state in chosen]

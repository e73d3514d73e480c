# SPDX-License-Identifier: BSD-3-Clause
"""Steps to coarser keys, and --overload with unusual measurements, workers and intervals."""

import collections
import os
import signal

import lib
import test_changes
import test_control
import test_shed_controller

LONG = ('key_steps', 'one_of_two')

RULES = ('5tuple', 'src-dst', 'src/24')  # key of each step
LOAD = {f'm{i}': f'key={key} sketch=reversible width=4096 top=1'
        for i, key in enumerate(test_shed_controller.LOAD_KEYS)}


def rule_of(row):
    return RULES[0] if row['src_port'] else RULES[1] if row['dst_ip'] else RULES[2]


def by_epoch(rows, name='first'):
    split = collections.defaultdict(list)
    for row in rows:
        if row['measurement'] == name:
            split[row['epoch']].append(row)
    return split


def key_truths(test, path, interval):
    """Returns {rule: {epoch: {key: (packets, bytes)}}}."""
    truths = {}
    for rule in RULES:
        rows, _, _ = test.measure('--pcap', path, '--interval', interval, '--workers', '1', '--key', rule,
                                  '--sketch', 'flow-table', '--top', '100K')
        truths[rule] = {epoch: {lib.row_key(row, rule): (int(row['packets']), int(row['bytes'])) for row in part}
                        for epoch, part in by_epoch(rows, 'main').items()}
    return truths


def check_keys(rows, stats, truths):
    """Checks that each interval has one key and holds its truth, exactly if nothing was skipped.
    Returns the keys seen."""
    ledgers = {row['epoch']: row for row in stats if row['measurement'] == 'first'}
    seen = set()
    for epoch, part in by_epoch(rows).items():
        rule, = {rule_of(row) for row in part}
        truth = truths[rule][epoch]
        seen.add(rule)
        if all(ledgers[epoch][column] in ('', '0') for column in ('skipped', 'nic_missed', 'no_mbuf')):
            lib.check_exact(part, truth, rule)
            assert len(part) == len(truth), (epoch, rule, len(part), len(truth))
        else:
            keys = [lib.row_key(row, rule) for row in part]
            assert len(set(keys)) == len(keys), 'a key is reported twice'
            for key, row in zip(keys, part):
                for figure, true in zip(('packets', 'bytes'), truth[key]):
                    low, high = row[f'{figure}_low'], row[f'{figure}_high']
                    assert (low == '' or int(low) <= true) and (high == '' or true <= int(high)), (true, row)
    return seen


def test_key_steps(test):
    path = test.path('live.pcap')
    test.run('generate', '--synthetic', 'flows=5K,zipf=0.9,packets=1200K,rate=3M,ipv6=0.2', '--output',
             path).expect(0)
    config = test_shed_controller.write_load(test, 'priority = 3\ntop = 100K\nwidth = 64K\nsteps = key:src-dst, key:src/24, rate:1/2\n')
    truths, seen = key_truths(test, path, '50ms'), set()
    for workers in ('2', '1', '1', '1'):
        rows, stats, _ = test.measure('--pcap', path, '--config', config, '--workers', workers, '--interval', '50ms',
                                      '--pace', 'recorded', '--keep-up', 'best', '--descriptors', '32768')
        seen |= check_keys(rows, stats, truths)
        if RULES[2] in seen:
            return
    test.skip('the machine is too busy: no run overloaded a worker')


def start(test, config, *arguments):
    """Starts a run with far more packets than any worker can measure."""
    process = test.start('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1', '--config', config, *arguments)
    return process, test_control.connect(test, process)


def stop(test, process, client):
    client.close()
    process.signal(signal.SIGTERM)
    return test.wait(process).expect(0)


def least_of(client):
    return {entry['name']: entry['least'] for entry in client.ask('states')['measurements'].values()}


def test_changes_under_load(test):
    """Measurements added under overload begin at full detail, and step down as well; ledgers
    balance."""
    config = test_changes.write_config(test.path('run.conf'), {**LOAD, 'old': 'key=src steps=rate:1/2,off'})
    stats, states = test.path('stats.csv'), test.path('states.csv')
    process, client = start(test, config, '--interval', '20ms', '--keep-up', 'best', '--output', os.devnull,
                            '--stats', stats, '--states', states)
    test.until(lambda: least_of(client)['old'] == 'off', 'the old one is off')
    test_changes.write_config(config, {**LOAD, 'new': 'key=dst steps=rate:1/4,rate:1/8'})
    process.signal(signal.SIGHUP)
    test.until(lambda: least_of(client).get('new') == 'rate:1/8', 'the new one has taken all its steps')
    assert 'old' not in least_of(client)
    name = 'n' * 63
    test_changes.ctl(test, process, 'measure', 'change', 'new', 'steps=rate:1/2,off')
    test_changes.ctl(test, process, 'measure', 'add', name, 'key=src', 'steps=off')
    test.until(lambda: least_of(client).get(name) == 'off' and least_of(client)['new'] == 'off', 'both are off')
    stop(test, process, client)
    rows = test_shed_controller.read_states(states)
    # also checks that ledgers balance
    names = {row['measurement'] for row in lib.read_stats(stats)}
    assert {'old', 'new', name} <= names, names
    changes = [row for row in test_shed_controller.changes_of(rows) if row['measurement']]
    assert {row['measurement'] for row in changes} <= names
    for one, steps in (('old', {'full', 'rate:1/2', 'off'}), (name, {'full', 'off'}),
                       ('new', {'full', 'rate:1/2', 'rate:1/4', 'rate:1/8', 'off'})):
        own = [row for row in changes if row['measurement'] == one]
        assert own and own[0]['from'] == 'full' and {row['to'] for row in own} <= steps, own


def test_one_of_two(test):
    """Only the overloaded one of two workers reduces detail."""
    frames = [lib.udp_frame(0)] * 100000  # one flow: a single worker gets all packets
    path = lib.write_pcap(test.path('one.pcap'), [(i, frame) for i, frame in enumerate(frames)])
    config = test_changes.write_config(test.path('run.conf'), LOAD)
    states = test.path('states.csv')
    for _ in range(5):
        _, stats, _ = test.measure('--pcap', path, '--config', config, '--workers', '2', '--interval', '50ms', '--pace',
                                   'recorded', '--keep-up', 'best', '--descriptors', '32768', '--states', states, '--force')
        workers = {row['worker'] for row in test_shed_controller.changes_of(test_shed_controller.read_states(states))}
        if workers:
            break
    else:
        test.skip('in each of 5 runs the feeder was slower than the worker')
    assert len(workers) == 1, workers
    assert {row['measurement'] for row in stats} == set(LOAD), stats


def test_bad_key_steps(test):
    for text, *mentions in (
            ('key = src\nsteps = key:src-dst', "'key:src-dst'", 'not coarser'),
            ('key = dst\nsteps = rate:1/2, key:src/24, off', "'key:src/24'", 'not coarser')):
        config = test.path('bad.conf')
        with open(config, 'w', encoding='utf-8') as stream:
            stream.write(f'[measurement first]\n{text}\n')
        test.run('--synthetic', 'packets=5', '--config', config, '--keep-up', 'best').expect(2).expect_one_line('bad.conf:3:', *mentions)


def write_decisions(test, *rows):
    """rows: (worker, packet, step)."""
    path = test.path('decisions.csv')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write('worker,packet,measurement,to\n')
        stream.writelines(f'{worker},{packet},main,{step}\n' for worker, packet, step in rows)
    return path


def measure_shares(test, path, rule, *decisions):
    """Measures with two workers. Returns {key: row} of all reported keys, and the ledger, which has
    all packets."""
    config = test_changes.write_config(test.path('run.conf'), {
        'main': f'key={rule} sketch=flow-table steps=keys:1/2,keys:1/4,keys:1/64,off top=1M'})
    rows, stats, _ = test.measure('--pcap', path, '--config', config, '--workers', '2', '--interval', '0', '--seed',
                                  '7', '--states-from', write_decisions(test, *decisions))
    ledger, = stats
    # Rows have all measured packets; the others were skipped.
    assert lib.total(rows, 'packets') == int(ledger['measured']) == 100000 - int(ledger['skipped']), ledger
    assert lib.total(rows, 'bytes') == int(ledger['bytes']), ledger
    for row in rows:
        assert abs(float(row['looked_at']) - int(ledger['measured']) / 100000) < 1e-6, row
        assert abs(float(row['share']) - int(row['packets']) / 100000) < 1e-6, row
    return {lib.row_key(row, rule): row for row in rows}, ledger


def test_key_shares(test):
    """Selected keys are exact, and no others are reported. Keys selected for a part of the interval
    are bounded."""
    path = test.path('flows.pcap')
    test.run('generate', '--synthetic', 'flows=8K,zipf=0.9,packets=100K,size=imix,ipv6=0.3,seed=9', '--output', path
             ).expect(0)
    steps = ((0, 5000, 'keys:1/2'), (0, 15000, 'keys:1/64'), (0, 20000, 'full'), (0, 30000, 'keys:1/4'),
             (1, 7, 'keys:1/4'))
    for rule, shares in (('5tuple', (2, 4, 64)), ('dst,src_port', (64,))):
        rows, _, _ = test.measure('--pcap', path, '--key', rule, '--sketch', 'flow-table', '--top', '1M',
                                  '--workers', '1', '--interval', '0')
        truth = {lib.row_key(row, rule): (int(row['packets']), int(row['bytes'])) for row in rows}
        larger = set(truth)
        for n in shares:
            share, ledger = measure_shares(test, path, rule, (0, 0, f'keys:1/{n}'), (1, 0, f'keys:1/{n}'))
            lib.check_exact(share.values(), truth, rule)
            assert set(share) < larger, n
            larger = set(share)
            expected = len(truth) / n
            assert abs(len(share) - expected) < 5 * expected ** 0.5, (n, len(share), len(truth))
            # All packets were counted by a HyperLogLog.
            assert abs(int(ledger['distinct_keys']) / len(truth) - 1) < 0.04, (ledger, len(truth))
            assert ledger['distinct_of'] == 'all', ledger
        # One worker takes all steps, the other one only one.
        mixed, _ = measure_shares(test, path, rule, *steps)
        lib.check_exact([row for key, row in mixed.items() if key in share], truth, rule)
        assert set(share) < set(mixed)
        unsure = 0
        for key, row in mixed.items():
            for figure, true in zip(('packets', 'bytes'), truth[key]):
                low, value, high = (int(row[name]) for name in (f'{figure}_low', figure, f'{figure}_high'))
                assert low == value <= true <= high, (true, row)
                unsure += low < true
        assert unsure > 1000, unsure
    again, _ = measure_shares(test, path, rule, *steps)
    assert again == mixed

# SPDX-License-Identifier: BSD-3-Clause
"""Drill-down measurements count exactly the packets inside networks that another measurement
reported two intervals before. Compared with figures computed from the capture, interval by
interval."""

import functools
import ipaddress
import json
import time

import lib
import test_changes
import test_overload

LONG = ('floods', 'the_same_each_time', 'too_many', 'exact')

SECOND = 10 ** 9
# name: (key, rank by, drill-down measurement, share, hold time in ns)
CHAIN = {
    'nets': ('dst/16/48', 'packets', None, 0, 0),
    'near': ('dst/24/64', 'packets', 'nets', 0.2, 0),
    'hosts': ('dst', 'packets', 'near', 0.3, 2 * SECOND),
    'flows': ('5tuple', 'packets', 'hosts', 0.3, 0),
    'pairs': ('src/24/64,dst/16/32', 'bytes', None, 0, 0),
    'ports': ('dst_port,proto', 'packets', 'pairs', 0.1, 5 * SECOND),
}


@functools.lru_cache(maxsize=None)
def network(address, lengths):
    """lengths: ('16', '48') for IPv4 and IPv6, or () for the whole address."""
    version = ipaddress.ip_address(address).version
    length = lengths[min(version == 6, len(lengths) - 1)] if lengths else None
    whole = not lengths or (version == 6 and len(lengths) == 1)
    return address if whole else str(ipaddress.ip_network(f'{address}/{length}', strict=False))


def maker(rule):
    """Returns a function from 5-tuple to the key of a rule."""
    if rule == '5tuple':
        return lambda key: key
    fields = []
    for part in rule.split(','):
        word, *lengths = part.split('/')
        place = lib.KEY_COLUMNS.index(lib.KEY_WORDS.get(word, (word,))[0])
        fields.append((place, tuple(lengths) if place < 2 else None))
    return lambda key: tuple(key[place] if lengths is None else network(key[place], lengths)
                             for place, lengths in fields)


def summed(truth, make):
    figures = {}
    for key, (packets, size) in truth.items():
        part = make(key)
        before = figures.get(part, (0, 0))
        figures[part] = (before[0] + packets, before[1] + size)
    return figures


def expect(epochs, measurements, interval):
    """epochs: [(number, end, truth)] -> {(number, name): counted 5-tuples with figures}."""
    inside, heavy, sets = {}, {name: {} for name in measurements}, {name: [set(), set()] for name in measurements}
    for i, (number, end, truth) in enumerate(epochs):
        for name, (_, _, within, share, stay) in measurements.items():
            inside[number, name] = truth
            if within is None:
                continue
            key, count = measurements[within][:2]
            make = maker(key)
            inside[number, name] = {five: figures for five, figures in truth.items()
                                    if make(five) in sets[name][i]}
            place = ('packets', 'bytes').index(count)
            reported = summed(inside[number, within], make)
            whole = sum(figures[place] for figures in reported.values())
            heavy[name].update({network: end for network, figures in reported.items()
                                if figures[place] / whole >= share})
            sets[name].append({network for network, last in heavy[name].items() if end - last <= stay})
    return inside


def truth_of(test, path, interval):
    """Returns [(number, end, truth)], and the ledger of each."""
    oracle = lib.Oracle()
    records = oracle.epochs(path, interval)
    first = records[0][0][1] // interval
    counted = [(number, oracle.count(part)) for number, part in records.items()]
    return ([(number, (first + number + 1) * interval, truth) for number, (_, truth) in counted],
            {number: ledger for number, (ledger, _) in counted})


def write_config(test, measurements, interval, words=lambda name: 'sketch = flow-table\nwidth = 16K\n'):
    path = test.path(f'within{len(test.processes)}.conf')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(f'interval = {interval // 1000}us\nseed = 3\ntop = 100K\n')
        for name, (key, count, within, share, stay) in measurements.items():
            stream.write(f'[measurement {name}]\nkey = {key}\ncount = {count}\n{words(name)}')
            if within:
                stream.write(f'within = {within}:{share * 100:g}%\nstay = {stay // 1000}us\n')
    return path


def check_stats(stats, inside, ledgers, measurements):
    assert len(stats) == len(ledgers) * len(measurements), (len(stats), len(ledgers))
    for row in stats:
        number = int(row['epoch'])
        measured = sum(packets for packets, _ in inside[number, row['measurement']].values())
        ledger = ledgers[number]
        assert int(row['measured']) == measured, (measured, row)
        assert int(row['filtered']) == ledger['measured'] - measured, (ledger, row)
        assert int(row['non_ip']) + int(row['malformed']) == ledger['non_ip'] + ledger['malformed'], row
        assert int(row['bytes']) == sum(size for _, size in inside[number, row['measurement']].values()), row


def by_epoch(rows):
    split = {}
    for row in rows:
        split.setdefault((int(row['epoch']), row['measurement']), []).append(row)
    return split


def test_exact(test):
    """From networks to smaller networks, hosts and flows: exact to the packet for any number of
    workers."""
    path = lib.unpack(test, 'mix')
    epochs, ledgers = truth_of(test, path, SECOND)
    inside = expect(epochs, CHAIN, SECOND)
    config, outputs = write_config(test, CHAIN, SECOND), []
    for workers in ('4', '1'):
        rows, stats, _ = test.measure('--config', config, '--pcap', path, '--workers', workers)
        outputs.append(rows)
    assert outputs[0] == outputs[1], '1 and 4 workers differ'
    check_stats(stats, inside, ledgers, CHAIN)
    split = by_epoch(rows)
    for (number, name), truth in inside.items():
        rule = CHAIN[name][0]
        figures = summed(truth, maker(rule))
        lib.check_exact(split.get((number, name), []), figures, rule)
        assert len(split.get((number, name), [])) == len(figures), (number, name, len(figures))
    for name in ('near', 'hosts', 'flows', 'ports'):
        assert sum(len(inside[number, name]) > 0 for number, _, _ in epochs) > 5, f'{name} saw next to nothing'


def test_floods(test):
    """Finds exactly the floods that were mixed in between second 20 and 40."""
    flooded, own = set(), 'crowd' in lib.file_of(test.traces, 'mix')
    for entry in lib.index(test.traces):
        if (entry['file'].startswith('attack/') and int(entry['keys']) > 1000 and
                own == ('__own__' in entry['file'])):
            hosts = lib.sum_by(lib.load_truth(test.traces, entry['file']), 'dst')
            flooded |= {host for host, in hosts} if len(hosts) == 1 else set()
    measurements = {'hosts': ('dst', 'packets', None, 0, 0), 'flows': ('5tuple', 'packets', 'hosts', 0.6, 0)}
    config = write_config(test, measurements, SECOND // 100, lambda name: (
        'sketch = flow-table\nwidth = ' + ('1K\ntop = 5\n' if name == 'hosts' else '4K\n')))
    rows, _, _ = test.measure('--config', config, '--pcap', lib.unpack(test, 'mix'), '--workers', '1')
    flows = {}
    for row in rows:
        if row['measurement'] == 'flows':
            flows.setdefault((row['dst_ip'], int(row['epoch'])), set()).add(lib.row_key(row))
    found = {(host, epoch) for (host, epoch), keys in flows.items() if len(keys) > 50}
    assert {host for host, _ in found} == flooded, (found, flooded)
    assert all(2000 <= epoch < 4000 for _, epoch in found), found


def attack_case(file, interval, design, sharing, workers):
    """Each sketch drills into the keys of an exact measurement."""
    def check(test):
        measurements = {'nets': ('dst/24/64', 'packets', None, 0, 0)}
        sketches = lib.sketches(test.binary, sharing)
        for sketch in sketches:
            measurements[sketch] = ('src,dst_port', 'packets', 'nets', 0.5, 0)
        config = write_config(test, measurements, interval, lambda name: (
            f'sketch = {name if name in sketches else "flow-table"}\ntop = 50\nwidth = 16K\n'))
        path = lib.unpack(test, file)
        epochs, ledgers = truth_of(test, path, interval)
        inside = expect(epochs, measurements, interval)
        rows, stats, _ = test.measure('--config', config, '--pcap', path, '--design', design, '--sharing', sharing,
                                      '--workers', workers)
        check_stats(stats, inside, ledgers, measurements)
        split, seen = by_epoch(rows), 0
        for number, _, _ in epochs:
            for sketch in sketches:
                truth = summed(inside[number, sketch], maker('src,dst_port'))
                found = split.get((number, sketch), [])
                lib.check_bounds(found, truth, 'src,dst_port')
                assert bool(found) == bool(truth), (number, sketch, len(truth))
                seen += len(found)
        assert seen >= 5 * len(sketches), f'{seen} rows: almost nothing was drilled into'
    return check


def cases(settings):
    files = (('flood6', SECOND // 2),
             ('reflection', SECOND // 25))
    ways = (('rss', 'separate', '4'), ('async', 'shared', '2'), ('sync', 'separate', '2'), ('rss', 'shared', '1'))
    return [(f'{file}: {", ".join(way)}', attack_case(file, interval, *way))
            for (file, interval), way in zip(files * 2, ways)]


def test_the_same_each_time(test):
    """Unpaced, with estimates: two runs are equal byte for byte."""
    measurements = {'hosts': ('dst', 'packets', None, 0, 0), 'pairs': ('src-dst', 'bytes', 'hosts', 0.02, 0),
                    'flows': ('5tuple', 'packets', 'pairs', 0.1, 0)}
    config = write_config(test, measurements, SECOND // 100, lambda name: 'width = 4K\n')
    outputs = [test.measure('--config', config, '--synthetic', 'flows=4K,zipf=1.2,packets=50K,seed=9,rate=500kpps',
                            '--workers', '2')[0] for _ in range(2)]
    assert outputs[0] == outputs[1], 'two runs differ'
    assert any(row['measurement'] == 'flows' for row in outputs[0]), 'nothing was drilled into'


def test_sampled(test):
    """The ledger has packets of paused or sampled measurements, and bounds hold the truth inside
    the heavy keys."""
    capture = test.path('flows.pcap')
    test.run('generate', '--synthetic', 'flows=2K,zipf=1.1,packets=60K,ipv6=0.3,seed=5,rate=600kpps', '--output',
             capture).expect(0)
    interval = SECOND // 100
    measurements = {'nets': ('src', 'packets', None, 0, 0), 'pairs': ('src-dst', 'bytes', 'nets', 0.02, 0)}
    config = write_config(test, measurements, interval, lambda name: 'sketch = flow-table\nwidth = 16K\n' + (
        'steps = keys:1/2, rate:1/2, rate:1/8, off\n' if name == 'pairs' else ''))
    whole, _, _ = test.measure('--pcap', capture, '--interval', '10ms', '--workers', '1', '--sketch', 'flow-table',
                               '--top', '100K', '--seed', '3')
    truth = {}
    for row in whole:
        truth.setdefault(int(row['epoch']), {})[lib.row_key(row)] = (int(row['packets']), int(row['bytes']))
    own = test.path('own.csv')
    with open(own, 'w', encoding='utf-8') as stream:
        stream.write('worker,packet,measurement,to\n')
        for packet, name, to in ((0, 'pairs', 'rate:1/2'), (9000, 'nets', 'rate:1/4'), (14000, 'pairs', 'keys:1/2'),
                                 (20000, 'pairs', 'full'),
                                 (31000, 'pairs', 'off'), (37000, 'pairs', 'rate:1/8'), (50000, 'nets', 'full')):
            stream.write(f'0,{packet},{name},{to}\n')
    of_three = test_overload.write_states(test, test_overload.mixed(3, 20000, 5), 'three.csv')
    for workers, states in (('1', test_overload.write_states(test, test_overload.mixed(1, 60000, 3))), ('1', own),
                            ('3', of_three)):
        rows, stats, _ = test.measure('--config', config, '--pcap', capture, '--workers', workers,
                                      '--states-from', states)  # also checks that ledgers balance
        split, checked = by_epoch(rows), 0
        assert lib.total(stats, 'skipped') > 0, stats
        for number in sorted(truth)[2:]:
            heavy = {row['src_ip'] for row in split.get((number - 2, 'nets'), []) if float(row['share']) >= 0.02}
            inside = summed({key: figures for key, figures in truth[number].items() if key[0] in heavy},
                            maker('src,dst'))
            found = split.get((number, 'pairs'), [])
            for row in found:
                for figure, true in zip(('packets', 'bytes'), inside[lib.row_key(row, 'src-dst')]):
                    assert int(row[f'{figure}_low']) <= true <= int(row[f'{figure}_high']), (true, row)
            checked += len(found)
        assert checked > 20, f'{checked} rows: almost nothing was drilled into'


def test_bad_input(test):
    for text, line, *mentions in (
            ('[measurement a]\nwithin = b:5%\n', 2, "'b': no such measurement"),
            ('[measurement a]\nwithin = a:5%\n', 2, "'a': is this measurement; name another one"),
            ('[measurement a]\nwithin = b:5%\n[measurement b]\nwithin = c:5%\n[measurement c]\nwithin = a:5%\n', 2,
             "'b' also drills"),
            ('[measurement a]\nwithin = b:5%\n[measurement b]\nkey = dst,vlan\n', 2, "'b' has key = dst,vlan"),
            ('[measurement a]\nwithin = b\n[measurement b]\n', 2, "'b': not MEASUREMENT:FRACTION"),
            ('[measurement a]\nwithin = b:\n[measurement b]\n', 2, "share not a fraction"),
            ('[measurement a]\nwithin = b:0\n[measurement b]\n', 2, 'more than 0'),
            ('[measurement a]\nwithin = b:100%\n[measurement b]\n', 2, 'below 1'),
            ('[measurement a]\nwithin = b:5\n[measurement b]\n', 2, 'share'),
            (f'[measurement a]\nwithin = {"b" * 64}:5%\n[measurement b]\n', 2, 'not MEAS'),
            ('[measurement a]\nstay = 5s\n', 2, 'if within is not set'),
            ('[measurement a]\nwithin = b:5%\nstay = -1\n[measurement b]\n', 3, 'stay'),
            ('keep-up = best\n[measurement a]\nsteps = key:src\nwithin = b:5%\n[measurement b]\n', 4, 'must not change; omit key:KEY'),
            ('keep-up = best\n[measurement a]\nwithin = b:5%\n[measurement b]\nsteps = rate:1/2, key:src\n', 3, 'omit key:KEY'),
            ('interval = 0\n[measurement a]\nwithin = b:5%\n[measurement b]\n', 3, 'with --interval 0')):
        config = test.path('bad.conf')
        with open(config, 'w', encoding='utf-8') as stream:
            stream.write(text)
        result = test.run('--config', config, '--synthetic', 'packets=5', '--output', test.path('none')).expect(2)
        result.expect_one_line(f'bad.conf:{line}:', *mentions)
    result = test.run('--within', 'main:5%', '--synthetic', 'packets=5').expect(2)
    result.expect_one_line('--within', 'is this measurement')


def test_planned(test):
    """A plan includes the memory for drilled-down keys, and for load shedding."""
    def planned(*arguments):
        text = test.run('plan', '--config', config, '--synthetic', 'packets=5', '--workers', '1', *arguments).expect(0).stdout
        size, unit = text.split('total memory: ')[1].split()[:2]
        return float(size) * {'MB': 1, 'GB': 1024}[unit], text

    measurements = {f'm{i}': ('dst', 'packets', 'nets', 0.1, 0) for i in range(15)}
    sizes = []
    for within in (None, 'nets'):
        config = write_config(test, {'nets': ('dst/16', 'packets', None, 0, 0),
                                     **{name: (key, count, within, share, stay)
                                        for name, (key, count, _, share, stay) in measurements.items()}}, SECOND)
        sizes.append(planned())
    (without, text), (size, closer) = sizes
    assert 3.5 < size - without < 4.5, sizes  # 15 times 260 KB
    assert 'drill-down' not in text and closer.count('drill-down keys 260.') == 15, closer
    states, text = planned('--keep-up', 'best', '--states', test.path('states.csv'))
    assert 0.8 < states - size < 1.3 and 'load shedding state' in text, (states, size, text)


TABLE = 'sketch=flow-table width=1024'
SETS = (
    {'nets': f'key=src/28 {TABLE}', 'near': f'key=src {TABLE} within=nets:10% stay=1s'},
    {'more': 'key=dst', 'closer': f'key=src {TABLE} within=nets:10% stay=1s', 'nets': f'key=src/28 {TABLE}'},
    {'other': f'key=src/28 {TABLE}', 'near': f'key=src {TABLE} within=other:10%'},
)


def expect_answer(answer, rows):
    """Checks that the control socket lists the keys that were heavy in the epoch it names."""
    reported = [json.loads(line) for line in rows[answer['epoch']]]
    heavy = [row['src_ip'] for row in reported if row['measurement'] == 'other' and row['share'] >= 0.1]
    assert heavy and {key['src_ip'] for key in answer['keys'].values()} == set(heavy), (answer, heavy)
    assert (answer['within'], answer['looked_into'], answer['left_out']) == ('other', len(heavy), 0), answer


def test_reload(test):
    """A reload that changes other measurements or the name keeps the heavy keys; another source
    measurement drops them."""
    arguments = ('--workers', '2', '--interval', '100ms', '--seed', '1')
    config = test_changes.write_config(test.path('run.conf'), SETS[0])
    feed = test_changes.Feed(test.path('fed.pcap'), 5, fast=200)
    stats, out = test.path('stats.csv'), test.path('out.json')
    with feed.into(test, '--config', config, '--stats', stats, '--output', f'json:{out}', *arguments) as process:
        held = [(0, SETS[0])]
        for measurements in (SETS[1], SETS[0], SETS[2]):
            time.sleep(0.05)
            epoch = test_changes.change_by(test, process, config, held[-1][1], measurements, 'reload')
            held.append((epoch, measurements))
        last = epoch
        test.until(lambda: json.loads(test_changes.ctl(test, process, '--format', 'json', 'stats').stdout)
                   ['/sketchtap/stats']['epoch'] > last + 4, 'the last change has held a while')
        answer = json.loads(test_changes.ctl(test, process, '--format', 'json', 'within', 'near').stdout)
        assert 'has no within' in test_changes.ctl(test, process, 'within', 'other', status=1).stderr
        test_changes.ctl(test, process, 'within', 'nobody', status=1)
        test_changes.ctl(test, process, 'within', status=2)
    test.wait(process).expect(0)
    found = test_changes.stats_rows(stats), test_changes.json_rows(out)
    expect_answer(answer['/sketchtap/within'], found[1])
    near = [row for epoch in (last, last + 1) for row in found[0][epoch] if 'near' in row]
    assert [row[6] for row in near] == ['0', '0'], near  # no keys of the new source are known yet
    for kind in found:
        for epoch in (last, last + 1):
            kind.pop(epoch, None)
    truths = [test_changes.measure_all(test, feed.path, measurements, arguments, f'truth{i}')
              for i, measurements in enumerate(SETS)]
    for epoch in found[0]:
        truth = truths[SETS.index([what for since, what in held if since <= epoch][-1])]
        for kind in range(2):
            assert found[kind].get(epoch) == truth[kind].get(epoch), (epoch, held, found[kind].get(epoch))


def test_too_many(test):
    """Drills into at most 1024 keys, the heaviest first, with one warning."""
    measurements = {'hosts': ('dst', 'packets', None, 0, 0), 'flows': ('dst', 'packets', 'hosts', 0.0001, 0)}
    config = write_config(test, measurements, SECOND // 100)
    rows, stats, result = test.measure('--config', config, '--synthetic',
                                       'flows=5K,zipf=0.5,packets=50K,seed=9,rate=500kpps', '--workers', '1')
    split = by_epoch(rows)
    for number in range(2, 10):
        heavy = {row['dst_ip'] for row in split[number - 2, 'hosts'][:1024]}
        seen = {row['dst_ip'] for row in split[number, 'hosts']} & heavy
        assert {row['dst_ip'] for row in split[number, 'flows']} == seen, number
    warnings = [line for line in result.stderr.splitlines() if 'beyond the limit of 1024' in line]
    assert len(warnings) == 1 and 'flows: ' in warnings[0] and 'within' in warnings[0], result.describe()


def test_forward(test):
    """Forwarded packets are drilled into like others."""
    file = lib.unpack(test, 'reflection')  # traffic to one host
    measurements = {'hosts': ('dst', 'packets', None, 0, 0), 'flows': ('5tuple', 'packets', 'hosts', 0.9, 0)}
    config = write_config(test, measurements, SECOND // 20)
    for design in ('rss', 'async'):
        _, stats, _ = test.measure(
            '--config', config, '--port', f'net_pcap0,rx_pcap={file},tx_pcap={test.path(design)},infinite_rx=1',
            '--forward', 'loop', '--design', design, '--workers', '1', '--duration', '250ms', '--no-huge', '--eal',
            '--no-pci')
        counted = {name: {int(row['epoch']): int(row['measured']) for row in stats if row['measurement'] == name}
                   for name in ('hosts', 'flows')}
        assert max(counted['hosts']) > 2, stats
        assert counted['flows'] == {number: packets if number > 1 else 0
                                    for number, packets in counted['hosts'].items()}, stats

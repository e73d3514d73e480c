# SPDX-License-Identifier: BSD-3-Clause
"""[query NAME]: packets, bytes, flows and detail of each query equal the truth; overload turns the
lowest ranks off; a reload loses nothing; mistakes end with one line."""

import csv
import datetime
import ipaddress
import os
import random
import signal

import lib
import test_shed_controller

LONG = ('cost_of_new_flows', 'ranks_off_live')

COLUMNS = ('epoch,measurement,start,end,query,rank,state,on,packets,packets_low,packets_high,bytes,'
           'bytes_low,bytes_high,flows,flows_high,deep_packets').split(',')
PROTOCOLS = {'tcp': 6, 'udp': 17, 'sctp': 132}
STATES = 'count', 'rate', 'tcp'


def condition(chance, keys):
    """Returns (text, function of a key) of one condition, made from a random key."""
    src, dst, sport, dport, proto = chance.choice(keys)
    kind = chance.randrange(5)
    side = chance.choice(('src', 'dst', ''))
    if kind == 0:
        name = chance.choice(list(PROTOCOLS))
        return name, lambda key: int(key[4]) == PROTOCOLS[name]
    if kind == 1:
        return f'proto {proto}', lambda key: key[4] == proto
    if kind == 2:
        low, high = sorted((int(sport), int(dport)))
        low, high = max(low, 1), max(high, 1)
        return f'{side} portrange {low}-{high}', lambda key: any(
            low <= int(key[field]) <= high for field in (2, 3) if side in ('', ('src', 'dst')[field - 2]))
    address = ipaddress.ip_address(chance.choice((src, dst)))
    length = chance.choice((8, 16, 24, 32, 48, 64, 128) if kind == 3 else (address.max_prefixlen,))
    network = ipaddress.ip_network((address, min(length, address.max_prefixlen)), strict=False)
    return f'{side} net {network}', lambda key: any(
        inside(key[field], network) for field in (0, 1) if side in ('', ('src', 'dst')[field]))


def inside(text, network):
    address = ipaddress.ip_address(text)
    return address.version == network.version and address in network


def expression(chance, keys):
    text, test = condition(chance, keys)
    for _ in range(chance.randrange(3)):
        more, other = condition(chance, keys)
        word = chance.choice(('and', 'or', 'and not'))
        text = f'{text} {word} {more}'
        test = combine(test, other, word)
    return text, test


def combine(first, second, word):
    if word == 'or':
        return lambda key: first(key) or second(key)
    negated = word == 'and not'
    return lambda key: first(key) and second(key) != negated


class Queries:
    def __init__(self, n, keys, seed, states=STATES):
        chance = random.Random(seed)
        self.list = []
        for i in range(n):
            text, matches = expression(chance, keys)
            self.list.append((f'q{i}', text, matches, chance.choice(states), chance.randrange(1, 255)))

    def write(self, path, head=''):
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(head)
            for name, text, _, state, rank in self.list:
                stream.write(f'[query {name}]\nmatch = {text}\nstate = {state}\nrank = {rank}\n')
        return path

    def sums(self, truth):
        """Returns {name: (packets, bytes, flows)}."""
        result = {}
        for name, _, matches, _, _ in self.list:
            found = [figures for key, figures in truth.items() if matches(key)]
            result[name] = (sum(n for n, _ in found), sum(size for _, size in found), len(found))
        return result

    def ranks(self, key):
        """Returns the lowest ranks at which the flow is in rate, and in tcp."""
        rate = tcp = 999
        for _, _, matches, state, rank in self.list:
            if state == 'count' or not matches(key):
                continue
            rate = min(rate, rank)
            if state == 'tcp' and key[4] == '6':
                tcp = min(tcp, rank)
        return rate, tcp


def read(path):
    return lib.read_csv(path, COLUMNS)


def measure(test, *arguments):
    test.run('--output', '/dev/null', '--force', *arguments).expect(0)


def read_flows(path):
    with open(path, encoding='utf-8') as stream:
        return list(csv.DictReader(stream))


def figures(row):
    return int(row['packets']), int(row['bytes']), int(row['flows'])


def both_captures(test):
    """Returns the arguments of two captures, and their truth."""
    files = [lib.file_of(test.traces, role) for role in ('uplink', 'ipv6')]
    captures = [argument for file in files for argument in ('--pcap', lib.unpack(test, file))]
    return captures, lib.merged_truth(test.traces, files)


def test_truth(test):
    """Random queries on IPv4 and IPv6 with every design: exact sums, and states of each flow."""
    captures, truth = both_captures(test)
    for seed, design in enumerate(('rss', 'async')):
        queries = Queries(60, list(truth), seed)
        config = queries.write(test.path('run.conf'))
        out, flows = test.path('queries.csv'), test.path('flows.csv')
        measure(test, *captures, '--config', config, '--interval', '0', '--design', design, '--workers',
                '2', '--sketch', 'flow-table', '--flow-detail', 'tcp,max=1M', '--width', '64K', '--seed',
                '1', '--export', f'queries={out}', '--export', f'flows={flows}')
        rows = {row['query']: row for row in read(out)}
        expected = queries.sums(truth)
        assert set(rows) == set(expected)
        deep = {}
        for row in read_flows(flows):
            key = lib.row_key(row)
            rate, tcp = queries.ranks(key)
            packets = int(row['packets'])
            # The first packet of a flow is only counted.
            deep[key] = packets - 1 if rate < 999 else 0
            assert int(row['deep_packets'] or 0) == deep[key], (row, rate, tcp)
            if packets > 1 and tcp == 999:
                assert row['state'] == ('rate' if rate < 999 else 'count'), row
            elif packets > 1:
                assert row['state'] in ('tcp', 'rate'), row
        for name, _, matches, state, rank in queries.list:
            row = rows[name]
            assert figures(row) == expected[name], (seed, row, expected[name])
            for column in ('packets', 'bytes'):
                assert row[f'{column}_low'] == row[column] == row[f'{column}_high'], row
            assert row['flows'] == row['flows_high'] and float(row['on']) == 1, row
            assert (row['state'], int(row['rank'])) == (state, rank), row
            assert int(row['deep_packets']) == sum(n for key, n in deep.items() if matches(key)), row


def test_4096_queries(test):
    """4096 queries are exact; one more is refused."""
    captures, truth = both_captures(test)
    keys = sorted(truth, key=lambda key: -truth[key][0])[:2000]
    queries = Queries(0, keys, 1)
    chance = random.Random(2)
    for i in range(4096):
        key = chance.choice(keys)
        address = ipaddress.ip_address(key[0])
        network = ipaddress.ip_network((address, chance.choice((16, 24, address.max_prefixlen))), strict=False)
        proto = key[4]
        queries.list.append((f'q{i}', f'src net {network} and proto {proto}',
                             lambda key, network=network, proto=proto: key[4] == proto and inside(key[0], network),
                             chance.choice(STATES), chance.randrange(1, 255)))
    out = test.path('queries.csv')
    common = (*captures, '--interval', '0', '--sketch', 'flow-table', '--flow-detail', 'tcp,max=1M', '--width',
              '64K', '--workers', '2', '--export', f'queries={out}')
    measure(test, *common, '--config', queries.write(test.path('run.conf')))
    rows = {row['query']: row for row in read(out)}
    assert len(rows) == 4096
    chosen = chance.sample(queries.list, 200)
    queries.list, every = chosen, queries.list
    for name, sums in queries.sums(truth).items():
        assert figures(rows[name]) == sums, (rows[name], sums)
    queries.list = every + [('more', 'tcp', None, 'count', 1)]
    result = test.run(*common, '--config', queries.write(test.path('more.conf')))
    result.expect(2)
    assert '[query more]: one too many; the limit is 4096' in result.stderr, result.describe()


def test_ranks_off(test):
    """A schedule turns ranks off: counts stay exact, and detail ends with the rank."""
    path = test.path('flows.pcap')
    lib.write_pcap(path, [(i * 100, lib.udp_frame(i % 4)) for i in range(4000)])
    config = test.path('run.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('[measurement m]\nsketch = flow-table\nflow-detail = rate\n')
        for i, rank in enumerate((1, 5, 9)):
            stream.write(f'[query q{rank}]\nmatch = host 10.0.0.{i}\nstate = rate\nrank = {rank}\n')
        stream.write('[query all]\nmatch = udp\nrank = 9\n')
    states = test.path('states.csv')
    with open(states, 'w', encoding='utf-8') as stream:
        stream.write('worker,packet,measurement,to\n0,1000,m,ranks:5\n0,2000,m,ranks:0\n0,3000,m,flows:crt\n')
    out = test.path('queries.csv')
    measure(test, '--pcap', path, '--config', config, '--states-from', states, '--interval', '0', '--workers', '1',
            '--export', f'queries={out}')
    rows = {row['query']: row for row in read(out)}
    assert all(figures(row) == (1000, 60000, 1) for name, row in rows.items() if name != 'all'), rows
    assert figures(rows['all']) == (4000, 240000, 4), rows
    assert [float(rows[name]['on']) for name in ('q1', 'q5', 'q9', 'all')] == [0.75, 0.75, 0.5, 0.5], rows
    assert [int(rows[name]['deep_packets']) for name in ('q1', 'q5', 'q9')] == [749, 749, 499], rows
    assert int(rows['all']['deep_packets']) == 749 + 749 + 499, rows


RANKED = (1, 60, 120, 150, 190, 220, 240, 254)
FLOWS_EACH = 5


def write_ranked(test):
    """Little traffic, then far more than 1 % of a worker's time allows, then little again. Returns the
    arguments of a run, and the times of the packets of each query, in us."""
    head = 'reserve = 99%\n[measurement m]\nsketch = flow-table\nflow-detail = rate\nsteps = rate:1/2\n'
    with open(test.path('run.conf'), 'w', encoding='utf-8') as stream:
        stream.write(head)
        for i, rank in enumerate(RANKED):
            port = 1024 + FLOWS_EACH * i
            stream.write(f'[query q{rank}]\nmatch = src portrange {port}-{port + FLOWS_EACH - 1}\n'
                         f'state = rate\nrank = {rank}\n')
    packets, time = [], 0
    for rate, count in ((1000, 600), (400000, 120000), (1000, 4000)):
        for _ in range(count):
            packets.append((int(time), len(packets) % (FLOWS_EACH * len(RANKED))))
            time += 1e6 / rate
    path = lib.write_pcap(test.path('ranked.pcap'), [(time, lib.udp_frame(flow)) for time, flow in packets])
    times = {f'q{rank}': [time for time, flow in packets if flow // FLOWS_EACH == i] for i, rank in enumerate(RANKED)}
    return ('--pcap', path, '--config', test.path('run.conf'), '--pace', 'recorded', '--workers', '1',
            '--interval', '200ms', '--overload', 'best', '--descriptors', '32768'), times


def micros(text):
    since = datetime.datetime.fromisoformat(text.replace('Z', '+00:00')) - datetime.datetime.fromtimestamp(
        0, datetime.timezone.utc)
    return since // datetime.timedelta(microseconds=1)


def check_ranked(rows, times):
    """Checks each interval. Returns {rank: sum of `on` over all intervals}."""
    sums = dict.fromkeys(RANKED, 0)
    epochs = {}
    for row in rows:
        epochs.setdefault(row['epoch'], []).append(row)
    for epoch in epochs.values():
        assert [int(row['rank']) for row in epoch] == list(RANKED), epoch
        on = [float(row['on']) for row in epoch]
        assert on == sorted(on, reverse=True) and 0 <= on[-1] and on[0] <= 1, epoch
        for row in epoch:
            start, end = (micros(row[column]) for column in ('start', 'end'))
            true = sum(start <= time < end for time in times[row['query']])
            assert int(row['packets_low']) <= true <= int(row['packets_high']), (row, true)
            assert int(row['bytes_low']) <= 60 * true <= int(row['bytes_high']), (row, true)
            assert float(row['on']) > 0 or row['deep_packets'] == '0', row
            sums[int(row['rank'])] += float(row['on'])
    return sums


def test_ranks_off_live(test):
    """Overload turns ranks off before it samples packets. Queries of better ranks are off for less
    time, `on` says so, and bounds contain the truth."""
    arguments, times = write_ranked(test)
    out, log, stats = (test.path(f'{name}.csv') for name in ('queries', 'overload', 'stats'))
    changes = None
    # Without CPU time, a feeder overloads no worker, and calibration may find that state rate costs nothing.
    for _ in range(8):
        measure(test, *arguments, '--export', f'queries={out}', '--export', f'overload={log}', '--stats', stats)
        if lib.total(lib.read_stats(stats), 'nic_missed') > 0:  # may count in the next interval
            continue
        sums = check_ranked(read(out), times)
        changes = [row for row in test_shed_controller.read_states(log) if row['worker'] and row['measurement']]
        # The log has changes of steps before those of ranks at the same packet.
        changes.sort(key=lambda row: (int(row['packet']), row['time'], row['to'] in ('full', 'rate:1/2')))
        if not any(row['to'].startswith('ranks:') for row in changes):
            continue
        rank, limits = 254, []
        for row in changes:
            if row['to'] not in ('full', 'rate:1/2'):
                after = int(row['to'][6:]) if row['to'].startswith('ranks:') else 254
                assert (after < rank) == (row['reason'] == 'load'), (row, changes)
                rank = after
                limits.append(rank)
            assert row['to'] != 'rate:1/2' or rank == 0, (row, changes)
        if any(0 < limit < 254 for limit in limits):
            break
    else:
        raise AssertionError(f'no rank was off alone: {changes}')
    assert sums[1] > sums[254], (sums, changes)


def test_bounds(test):
    """With a table that is too small, or with sampled packets, the bounds contain the truth."""
    captures, truth = both_captures(test)
    queries = Queries(40, list(truth), 5, ('count', 'rate'))
    states = test.path('states.csv')
    expected = queries.sums(truth)
    for seed, step in enumerate(('', 'keys:1/4', 'keys:1/16') + ('rate:1/4', 'rate:1/16') * 5):
        head = '[measurement m]\nsketch = flow-table\nflow-detail = rate\n'
        # A small table sheds new flows; without it, only sampling widens the bounds.
        head += f'steps = {step}\n' if step else 'width = 256\n'
        config = queries.write(test.path('run.conf'), head)
        with open(states, 'w', encoding='utf-8') as stream:
            stream.write(f'worker,packet,measurement,to\n0,300,m,{step}\n0,9000,m,full\n')
        arguments = ('--states-from', states) if step else ()
        out = test.path('queries.csv')
        measure(test, *captures, '--config', config, '--interval', '0', '--workers', '1', '--seed',
                str(seed), *arguments, '--export', f'queries={out}')
        wide = 0
        for row in read(out):
            packets, size, flows = expected[row['query']]
            assert int(row['packets_low']) <= packets <= int(row['packets_high']), (step, row, packets)
            assert int(row['bytes_low']) <= size <= int(row['bytes_high']), (step, row, size)
            assert int(row['flows']) <= flows <= int(row['flows_high']), (step, row, flows)
            wide += int(row['packets_low']) < int(row['packets_high'])
        assert wide > 0, step


def test_cost_of_new_flows(test):
    """With 4096 queries that match, a new flow costs less than 20 times as much as with one: of
    each state, only the first query is read."""
    config, stats = test.path('run.conf'), test.path('stats.csv')

    def cost(n):
        with open(config, 'w', encoding='utf-8') as stream:
            stream.write('sketch = flow-table\nflow-detail = tcp\nwidth = 256K\n')
            for i in range(n):
                stream.write(f'[query q{i}]\nmatch = ip or ip6\nstate = {STATES[i % 3]}\nrank = {1 + i % 254}\n')
        measure(test, '--synthetic', 'packets=100K,flows=100K,uniform', '--config', config, '--interval', '0',
                '--workers', '1', '--stats', stats)
        return min(float(row['ppt_ns']) for row in lib.read_stats(stats))

    one, many = (min(cost(n) for _ in range(3)) for n in (1, 4096))
    assert many < 20 * one, (one, many)


def test_states_of_measurements(test):
    """A measurement that does not permit a state counts in its deepest state."""
    captures, truth = both_captures(test)
    head = ('[measurement tcp]\nsketch = flow-table\nflow-detail = tcp,max=1M\nwidth = 64K\n'
            '[measurement rate]\nsketch = flow-table\nflow-detail = rate,max=1M\nwidth = 64K\n'
            '[measurement plain]\nsketch = flow-table\nwidth = 64K\n'
            '[measurement compact]\nsketch = compact-table\nwidth = 64K\n')
    queries = Queries(20, list(truth), 3)
    config, out, flows = queries.write(test.path('run.conf'), head), test.path('queries.csv'), test.path('flows.csv')
    measure(test, *captures, '--config', config, '--interval', '0', '--workers', '1', '--export',
            f'queries={out}', '--export', f'flows={flows}')
    expected, rows = queries.sums(truth), {}
    for row in read(out):
        rows[row['measurement'], row['query']] = row
    for name, _, _, state, _ in queries.list:
        of = [rows[measurement, name] for measurement in ('tcp', 'rate', 'plain', 'compact')]
        assert all(figures(row) == expected[name] for row in of), of
        assert [row['state'] for row in of] == [state, 'count' if state == 'count' else 'rate', 'count', 'count'], of
        assert of[0]['deep_packets'] == of[1]['deep_packets'] and of[2]['deep_packets'] == '0', of
    states = {(row['measurement'], row['state']) for row in read_flows(flows)}
    assert ('tcp', 'tcp') in states and ('rate', 'rate') in states and ('rate', 'tcp') not in states, states


@lib.alone
def test_reload(test):
    """Queries change during a run, and all are removed: each interval has the queries of one file,
    no packet is lost, and an invalid file changes nothing."""
    sets = [[(f'{name}{i}', f'dst net 198.18.{i * 8}.0/21') for i in range(32)] for name in ('a', 'b')]
    config, out, stats = test.path('run.conf'), test.path('queries.csv'), test.path('stats.csv')

    def write(queries, extra=''):
        with open(config + '.new', 'w', encoding='utf-8') as stream:
            stream.write('sketch = flow-table\nflow-detail = rate\n')
            for name, match in queries:
                stream.write(f'[query {name}]\nmatch = {match}\nstate = rate\n')
            stream.write(extra)
        os.rename(config + '.new', config)

    write(sets[0])
    process = test.start(
        '--synthetic', 'packets=100G,flows=1K,rate=200kpps', '--pace', 'recorded', '--duration', '2h', '--interval',
        '50ms', '--workers', '1', '--config', config, '--filter', 'dst net 198.18.0.0/16', '--export',
        f'queries={out}', '--stats', stats, '--output', '/dev/null')
    test.until(lambda: os.path.exists(out) and os.path.getsize(out) > 10000, 'intervals are reported')
    for number in range(6):
        write(sets[(number + 1) % 2])
        said = process.stderr().count('configuration reloaded')
        process.signal(signal.SIGHUP)
        test.until(lambda: process.stderr().count('configuration reloaded') > said, f'reload {number}')
    for number, queries in enumerate(([], sets[1], [], sets[0])):
        write(queries)
        said = process.stderr().count('configuration reloaded')
        process.signal(signal.SIGHUP)
        test.until(lambda: process.stderr().count('configuration reloaded') > said, f'removal {number}')
        size = os.path.getsize(stats)
        test.until(lambda: os.path.getsize(stats) > size + 1000, 'it goes on')
    write(sets[0], '[query wrong]\nmatch = portt 5\n')
    process.signal(signal.SIGHUP)
    test.until_said(process, 'unknown condition')
    size = os.path.getsize(out)
    test.until(lambda: os.path.getsize(out) > size + 10000, 'it goes on')
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    epochs = {}
    for row in read(out):
        epochs.setdefault(row['epoch'], []).append(row)
    seen, without = set(), 0
    for row in lib.read_stats(stats):
        rows = epochs.get(row['epoch'], [])
        without += not rows
        if not rows:
            continue
        names = {found['query'][0] for found in rows}
        assert len(rows) == 32 and len(names) == 1, (row, len(rows), names)
        assert sum(int(found['packets']) for found in rows) == int(row['measured']), row
        seen |= names
    assert seen == {'a', 'b'} and without > 1, (seen, without)


def test_mistakes(test):
    """One line each, status 2."""
    head = 'sketch = flow-table\nflow-detail = rate\n'
    many = ' or '.join(f'port {i}' for i in range(100, 160))
    half = ' or '.join(f'port {i}' for i in range(100, 130))
    for text, line in (
            ('[query a]\nstate = rate\n', ': [query a]: missing key; write match = EXPRESSION'),
            ('[query a]\nmatch = tcp port\n', "match: '': not a port number; example: 443"),
            ('[query a]\nmatch = tcp[13] = 2\n', "match: 'tcp[13] = 2': unknown condition"),
            ('[query a]\nmatch = net 10.0.0.1/8\n', "match: '10.0.0.1/8': bits are set beyond"),
            ('[query a]\nmatch = tcp\nstate = deep\n', "state: 'deep': not allowed; allowed: count, rate, tcp"),
            ('[query a]\nmatch = tcp\nstate = tcp\n', 'state: tcp: more than flow-detail of measurement main'),
            ('[query a]\nmatch = tcp\nrank = 255\n', 'rank: '),
            ('[query a]\nmatch = tcp\nrank = 0\n', 'rank: '),
            ('[query a]\nmatch = tcp\n[query a]\nmatch = udp\n', '[query a]: already on line'),
            (f'[query a]\nmatch = ({many}) and (net 10.0.0.0/8 or net 192.0.2.0/24)\n', 'combinations of ranges; use several queries'),
            (''.join(f'[query a{i}]\nmatch = {half}\n' for i in range(300)),
             'the limit is 16384')):
        config = test.path('bad.conf')
        with open(config, 'w', encoding='utf-8') as stream:
            stream.write(head + text)
        result = test.run('--config', config, '--synthetic', 'packets=100', '--output', '/dev/null')
        result.expect(2)
        assert line in result.stderr and result.stderr.count('\n') == 1, (text[:200], result.describe())
    config = test.path('bad.conf')
    for sketch, advice in (('compact-table', 'no measurement has states; give --sketch flow-table --flow-detail rate'),
                           ('flow-table', 'measurement main permits; give it flow-detail = rate')):
        with open(config, 'w', encoding='utf-8') as stream:
            stream.write(f'sketch = {sketch}\n[query a]\nmatch = tcp\nstate = rate\n')
        result = test.run('--config', config, '--synthetic', 'packets=100', '--output', '/dev/null')
        result.expect(2)
        assert advice in result.stderr and result.stderr.count('\n') == 1, result.describe()
        measure(test, '--config', config, '--synthetic', 'packets=100', '--sketch', 'flow-table', '--flow-detail', 'rate')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('[query a]\nmatch = tcp\n')
    result = test.run('--config', config, '--synthetic', 'packets=100', '--output', '/dev/null')
    result.expect(2)
    assert 'match: no measurement counts flows; give --sketch flow-table' in result.stderr, result.describe()

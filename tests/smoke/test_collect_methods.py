# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect --dedup: each method against its rule, record by record, with lossy routers."""

import collections
import functools
import random

import datagrams
import exports
import lib
from collected import EVERYTHING, collect, generate, truth_of

LONG = ('routers_that_die',)

SECOND = 10**9
OVERHEAD = 14
ONCE = 'flows=800,zipf=1.0,size=100-1400,packets=1600,rate=800,seed=7'  # 2 s: routers export each flow once
EDGES = range(101, 105)  # ingress ports of all routers of generate --export-format
EDGE = ('--exporter', '192.0.2.0/24,edge=101-104')
METHODS = ('best', 'exporter', 'window', 'edge', 'none')
DROPS = (0, 0.05, 0.3)
PROTOCOLS = ('v5', 'ipfix', 'sflow', 'v9', 'v5', 'ipfix')  # for 1, 2, ... routers
SMALL = 'flows=800,zipf=1.0,size=100-1400,packets=8K,rate=400,seed=7'  # 20 s
# more than the flows of the traffic; the default takes longer to start
FLOWS = ('--observed-flows', '16K')


# ---- the rules, in simple form


class Flow:
    def __init__(self):
        self.told = {}  # {exporter: [packets, bytes, sampled]}, in the order of their first records
        # the exporter that counts, and the time of its last record
        self.owner = self.owner_last = None
        self.last = None
        self.packets = self.bytes = 0  # counted so far
        self.window = None  # when an unsampled record counted
        self.waiting = {}  # `window`: {exporter: [packets, bytes]} of samples


def best(flow, record, packets, size):
    """Counts the maximum reported by one exporter. Only for unsampled exporters, or a single
    one."""
    share = flow.told[record['exporter']]
    fresh = max(0, share[0] - flow.packets)
    if fresh == 0:
        return 0, 0
    if share[2]:
        assert len(flow.told) == 1
        return part(fresh, packets, size)
    most = max(size for _, size, sampled in flow.told.values() if not sampled)
    return fresh, max(0, most - flow.bytes)


def part(fresh, packets, size):
    fresh = min(fresh, packets)
    return fresh, size if fresh == packets else int(size * fresh / packets + 0.5)


def exporter(flow, record, packets, size):
    """The first exporter of the flow counts, until it is silent for the timeout."""
    name, when = record['exporter'], record['when']
    if flow.owner is None or (name != flow.owner and later(when, flow.owner_last, record['timeout'])):
        flow.owner = name
    if name != flow.owner:
        return 0, 0
    flow.owner_last = when
    return packets, size


def window(flow, record, packets, size):
    """Samples wait for the end; an unsampled record discards them."""
    told, when = flow.waiting, record['when']
    if record['sampling'] == 1 and 'pool' not in record:  # sFlow is sampled even at 1:1
        if flow.window is not None and not later(when, flow.window, record['timeout']):
            return 0, 0
        flow.window = when
        told.clear()
        return packets, size
    if flow.window is None or later(when, flow.window, 2 * record['timeout']):
        flow.window = None
        share = told.setdefault(record['exporter'], [0, 0])
        share[:] = share[0] + packets, share[1] + size
    return 0, 0


def mean_of_samples(flow):
    """Counts the samples of `window` at the end of the interval."""
    told = flow.waiting.values()
    return [sum(column) // len(told) for column in zip(*told)] if told else (0, 0)


def edge(_, record, packets, size):
    return (packets, size) if record['input'] in EDGES else (0, 0)


def none(_, record, packets, size):
    return packets, size


RULES = {'best': best, 'exporter': exporter, 'window': window, 'edge': edge, 'none': none}


def later(when, before, timeout):
    """Returns true after the timeout. The collector's clock has 1 ms steps, so times must not be
    too close."""
    assert abs(when - before - timeout) > 4000000, 'too close to the timeout for this test'
    return when - before > timeout


@functools.lru_cache(maxsize=4)
def told(path):
    return list(exports.told(path))


def records_of(path, timeout):
    """Yields the records of flows, with exporter and sampling."""
    sampling = {}
    for when, router, record in told(path):
        if 'key' not in record:
            if 'sampling' in record:
                sampling[router] = record['sampling']
            continue
        protocol = 'sflow' if 'pool' in record else 'netflow'
        yield {'sampling': sampling.get(router, 1), **record, 'when': when, 'timeout': timeout,
               'exporter': (router, protocol)}


def expected(method, path, timeout=120 * SECOND, count=None):
    """Returns ({5-tuple: (packets, bytes)} that count, packets of all records)."""
    flows, sums, received = {}, {}, 0
    for record in records_of(path, timeout):
        flow = flows.get(record['key'])
        if flow is None or later(record['when'], flow.last, timeout * (2 if method == 'window' else 1)):
            flow = flows[record['key']] = Flow()
        flow.last = record['when']
        packets = record['packets'] * record['sampling']
        size = (record['bytes'] + OVERHEAD * record['packets']) * record['sampling']
        share = flow.told.setdefault(record['exporter'], [0, 0, False])
        share[:] = share[0] + packets, share[1] + size, record['sampling'] > 1
        received += packets
        fresh, size = RULES[method](flow, record, packets, size)
        flow.packets, flow.bytes = flow.packets + fresh, flow.bytes + size
        if fresh:
            exports.add(sums, record['key'], fresh, size)
            if count is not None:
                count(record, fresh, size)
    for key, flow in flows.items():
        packets, size = mean_of_samples(flow)
        if packets:
            exports.add(sums, key, packets, size)
    return sums, received


# ---- lossy routers


def lossy(test, whole, drop, protocol):
    """Returns a capture of exports without random datagrams. Each router's first datagram stays if
    it has templates."""
    if drop == 0:
        return whole
    chance = random.Random(int(drop * 100))
    seen = set()

    def stays(datagram):
        first = protocol in ('v9', 'ipfix') and datagram[1] not in seen
        seen.add(datagram[1])
        return chance.random() >= drop or first

    return exports.write(test.path(f'lossy{drop}.pcap'),
                         [datagram for datagram in exports.datagrams(whole) if stays(datagram)])


def figures(rows):
    return {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in rows}


def differences(got, truth):
    wrong = [(key, got.get(key), truth.get(key)) for key in got.keys() | truth.keys()
             if got.get(key) != truth.get(key)]
    return f'{len(wrong)} differ, such as (got, expected) {wrong[:3]}'


def check_rule(test, method, path, *options, timeout=120 * SECOND):
    """Checks that the collector counts like the rule, flow by flow. Returns its counts."""
    rows, ledger, _, _ = collect(test, '--pcap', path, *EVERYTHING, *FLOWS, '--dedup', method, *options)
    rule, received = expected(method, path, timeout)
    got = figures(rows)
    assert got == rule, f'{method}: {differences(got, rule)}'
    assert lib.total(ledger, 'received') == received, (method, received, ledger)
    assert lib.total(ledger, 'measured') == sum(packets for packets, _ in rule.values()), (method, ledger)
    return got


def heard_whole(whole, path):
    """Flows that one router reported without loss."""
    before = exports.by_router((router, record) for _, router, record in told(whole))
    after = exports.by_router((router, record) for _, router, record in told(path))
    return {key for router, sums in before.items() for key, figures in sums.items()
            if after.get(router, {}).get(key) == figures}


def check_best(test, truth, whole, path, *options):
    """Checks that no row exceeds the truth, and that nearly all flows without loss at one router
    are exact: timestamps, to 20 ms, match the packets of partial reports. Returns figures, and
    those flows."""
    rows, _, _, _ = collect(test, '--pcap', path, *EVERYTHING, *FLOWS, '--dedup', 'best', *options)
    healed, got = heard_whole(whole, path), figures(rows)
    wrong = [(key, got.get(key), truth[key]) for key in healed if got.get(key) != truth[key]]
    assert len(wrong) <= (0 if path == whole else 0.03 * len(healed)), f'{len(wrong)}, such as {wrong[:3]}'
    for row in rows:
        packets, size = truth[lib.row_key(row)]
        assert int(row['packets_low']) <= packets and int(row['bytes_low']) <= size, (row, packets, size)
    return got, healed


def routers_in_a_row(count):
    def check(test):
        protocol, truth = PROTOCOLS[count - 1], truth_of(test, SMALL)
        whole = generate(test, 'whole.pcap', '--as', protocol, '--routers', count, '--path', count,
                         spec=SMALL)
        for drop in DROPS:
            path = lossy(test, whole, drop, protocol)
            got = {method: check_rule(test, method, path, *EDGE) for method in METHODS if method != 'best'}
            got['best'], healed = check_best(test, truth, whole, path, *EDGE)
            if drop == 0:
                assert len(healed) == len(truth) and got['edge'] == got['exporter'] == truth
                assert got['none'] == {key: (packets * count, size * count)
                                       for key, (packets, size) in truth.items()}
            elif count == 1:
                assert 0 < len(healed) < len(truth), len(healed)
            elif drop == 0.3:
                assert sum(packets for packets, _ in got['exporter'].values()) < sum(
                    packets for packets, _ in got['best'].values()), 'nothing was healed'
    return check


def test_windows_of_time(test):
    """Routers report a flow every ten seconds: other records within the timeout are duplicates."""
    whole = generate(test, 'whole.pcap', '--as', 'v5', '--routers', '3', '--path', '3', spec=SMALL)
    path = lossy(test, whole, 0.3, 'v5')
    seen = []
    for seconds in (2.4, 7.4, 12.4):  # nor is twice the time near the multiples of 5 s at which routers export
        for method in ('exporter', 'window'):
            seen.append(sum(packets for packets, _ in check_rule(
                test, method, path, '--export-timeout', f'{int(seconds * 1000)}ms',
                timeout=int(seconds * SECOND)).values()))
    # Exporters export every 10 s: silence for 2.4 s also lasts 7.4 s.
    assert len(set(seen)) >= len(seen) - 1, f'the timeout makes no difference: {seen}'


def test_routers_that_die(test):
    """Routers die at the start or midway; the record of one other router is the truth."""
    whole = generate(test, 'whole.pcap', '--as', 'v9', '--routers', '4', '--path', '4', spec=SMALL)
    truth = truth_of(test, SMALL)
    begin = next(exports.datagrams(whole))[0]
    for number, dead in enumerate((('192.0.2.1',), ('192.0.2.2', '192.0.2.4'),
                                   ('192.0.2.1', '192.0.2.3', '192.0.2.4'))):
        for after in (0, 12 * SECOND):
            path = exports.write(test.path(f'dead{number}-{after}.pcap'), [
                datagram for datagram in exports.datagrams(whole)
                if datagram[1] not in dead or datagram[0] < begin + after])
            got = {method: check_rule(test, method, path) for method in ('exporter', 'window')}
            best_of, healed = check_best(test, truth, whole, path)
            assert len(healed) == len(truth) and best_of == truth, differences(best_of, truth)
            if after:
                assert got['exporter'] != truth, 'no flow was of a router that died'


def test_lost_templates(test):
    """Datagrams are lost at random, including those with templates: waiting data counts later."""
    for protocol in ('v9', 'ipfix'):
        exported = ('--as', protocol, '--routers', '3', '--path', '3')
        whole, truth = generate(test, f'{protocol}.pcap', *exported), truth_of(test)
        path = generate(test, f'{protocol}-lossy.pcap', *exported, '--drop', '30%')
        rows, _, exporters, _ = collect(test, '--pcap', path, *EVERYTHING, *FLOWS)
        kept = {data for *_, data in exports.datagrams(path)}
        lost = collections.Counter(router for _, router, _, data in exports.datagrams(whole) if data not in kept)
        for row in exporters:
            # Losses at both ends cause no gap, nor those before the unit of the sequence numbers is
            # known.
            assert 0.6 * lost[row['exporter']] <= int(row['lost_network']) <= lost[row['exporter']] + 2, (row, lost)
        for row in rows:
            packets, size = truth[lib.row_key(row)]
            assert int(row['packets_low']) <= packets and int(row['bytes_low']) <= size, (row, packets, size)


# ---- several protocols for one flow


def moved(test, name, path, seconds, address=lambda router: router):
    """Returns the same exports, earlier or later, from other routers."""
    def payload(data, router):
        agent = exports.socket.inet_aton(address(router))
        return data[:8] + agent + data[12:] if data[:4] == b'\0\0\0\5' else data

    return exports.write(test.path(name), [
        (when + seconds * SECOND, address(router), port, payload(data, router))
        for when, router, port, data in exports.datagrams(path)])


def test_unsampled_wins(test):
    """Unsampled NetFlow and sampled sFlow from the same routers: later samples add nothing."""
    truth = truth_of(test)
    netflow = generate(test, 'netflow.pcap', '--as', 'v5', '--routers', '3', '--path', '3')
    sflow = generate(test, 'sflow.pcap', '--as', 'sflow', '--routers', '3', '--path', '3', '--sampling', '5')
    after = moved(test, 'after.pcap', sflow, 15)
    for method in ('best', 'window'):
        rows, _, exporters, _ = collect(
            test, '--pcap', netflow, '--pcap', after, *EVERYTHING, *FLOWS, '--dedup', method)
        got = figures(rows)
        if method == 'best':
            assert got == truth, differences(got, truth)
        samples = [row for row in exporters if row['protocol'] == 'sflow']
        assert len(samples) == 3 and {row['counted'] for row in samples} == {'0'}, exporters


def test_window_of_dead_exporter(test):
    """An unsampled exporter reports a flow once and dies. Samples of the flow then add nothing for
    two timeouts, but upper bounds contain them."""
    capture = datagrams.Capture()
    dead, other, sampled = (datagrams.Router(protocol, f'192.0.2.{i}')
                            for i, protocol in enumerate(('v5', 'v5', 'sflow'), 1))
    flow, second = (datagrams.Flow(number, 500, 100) for number in (2, 1))
    flow.src = second.src
    capture.add(1, dead.address, dead.message(1, [flow]))
    for interval in range(6):
        when = 10 * interval + 5
        if interval % 2 == 0:
            capture.add(when, other.address, other.message(when, [second]))
        for i in range(5 if interval > 0 else 0):
            at = when + 1 + i / 10
            capture.add(at, sampled.address, sampled.sflow(at, [sampled.sample(flow, 100, step=100, size=514)]))
    rows, _, _, _ = collect(
        test, '--pcap', capture.write(test.path('dead.pcap')), '--no-huge', '--interval', '10s', '--sketch',
        'flow-table', '--key', 'src', '--dedup', 'window', '--active-timeout', '20s', '--set', 'link-overhead=0')
    assert [int(row['packets']) for row in rows] == [1000, 500, 500, 500], rows
    waiting, _, samples = rows[1:]
    # 500 packets of the other exporter, and those that the same five samples allow where they count.
    assert int(waiting['packets_high']) >= 500 + int(samples['packets_high']), (waiting, samples)


def merged(test, name, *paths):
    return exports.write(test.path(name), sorted(
        (datagram for path in paths for datagram in exports.datagrams(path)), key=lambda datagram: datagram[0]))


def test_paper_with_both_at_once(test):
    """`exporter` and `window` with alternating NetFlow and sFlow of a flow; samples count as in the
    paper."""
    netflow = generate(test, 'netflow.pcap', '--as', 'v9', '--routers', '3', '--path', '2', spec=SMALL)
    sflow = generate(test, 'sflow.pcap', '--as', 'sflow', '--routers', '3', '--path', '2', '--sampling', '5',
                     spec=SMALL)
    both = merged(test, 'both.pcap', netflow, sflow)
    for path in (both, sflow):
        for method in ('exporter', 'window', 'none'):
            check_rule(test, method, path)


def test_unsampled_wins_over_samples_before(test):
    """The samples of a flow arrive first: within an epoch, the unsampled records decide. Each router exports a
    flow once to `window`."""
    truth = truth_of(test)
    for routers in ('1', '3'):
        captures = [generate(test, f'{protocol}-{routers}.pcap', '--as', protocol, '--routers', routers,
                             '--path', routers, '--sampling', sampling)
                    for protocol, sampling in (('v5', '1'), ('sflow', '20'))]
        rows, _, _, _ = collect(test, '--pcap', captures[0], '--pcap', captures[1], *EVERYTHING, *FLOWS)
        got = figures(rows)
        assert got == truth, differences(got, truth)
    once = generate(test, 'once.pcap', '--as', 'v5', '--routers', '3', '--path', '2', spec=ONCE)
    samples = generate(test, 'samples.pcap', '--as', 'sflow', '--routers', '3', '--path', '2', '--sampling', '5',
                       spec=ONCE)
    truth = truth_of(test, ONCE)
    for seconds in (-15, 0, 15):
        both = merged(test, f'both{seconds}.pcap', once, moved(test, f'moved{seconds}.pcap', samples, seconds))
        got = check_rule(test, 'window', both)
        assert got == truth, differences(got, truth)


def test_sampled_by_one_router(test):
    """Each sample counts as many packets as its interval, in every format."""
    for protocol, sampling in (('v5', 4), ('v9', 7), ('ipfix', 10), ('sflow', 100)):
        path = generate(test, f'{protocol}.pcap', '--as', protocol, '--routers', '1', '--sampling', sampling)
        check_rule(test, 'best', path)


def test_mixed_sampling(test):
    """A fine and a coarse sampler on one path: figures are as good as those of the fine one, and
    bounds hold."""
    truth = truth_of(test)
    captures = [
        moved(test, f'moved{sampling}.pcap',
              generate(test, f'sampled{sampling}.pcap', '--as', 'sflow', '--routers', '1', '--sampling', sampling),
              0, lambda _, number=sampling: f'198.51.100.{number}')
        for sampling in (4, 40)]
    rows, _, exporters, _ = collect(test, '--pcap', captures[0], '--pcap', captures[1], *EVERYTHING, *FLOWS)
    assert sorted(row['sampling'] for row in exporters) == ['4', '40'], exporters
    check_intervals(rows, truth)
    heavy = sorted(truth, key=lambda key: truth[key][0], reverse=True)[:40]
    got = figures(rows)
    # Variance of the weighted sum: packets / sum of 1 / (N - 1).
    squares = sum((got[key][0] - truth[key][0]) ** 2 / (truth[key][0] / (1 / 3 + 1 / 39)) for key in heavy)
    assert squares / len(heavy) < 2.2, f'{squares / len(heavy)} times the variance that should be'


def check_intervals(rows, truth):
    assert rows
    for row in rows:
        for figure, true in zip(('packets', 'bytes'), truth[lib.row_key(row)]):
            assert int(row[f'{figure}_low']) <= true <= int(row[f'{figure}_high']), (true, row)


def branches(test, split, heard):
    """v5 records of 200 flows by r1 to r4; r2 and r3 are branches. split(flow, packet) selects the
    branch."""
    begin, chance = 1700000000, random.Random(4)
    truth, sums = {}, collections.defaultdict(dict)
    ways = {1: (101, 2, None), 2: (1, 4, '192.0.2.4'), 3: (1, 4, '192.0.2.4'), 4: (2, 101, '0.0.0.0')}
    for flow in range(200):
        key = lib.udp_key(flow)
        for packet in range(chance.randrange(1, 60)):
            size, middle = chance.randrange(60, 1400), split(flow, packet)
            exports.add(truth, key, 1, size + OVERHEAD)
            for router in (1, middle, 4):
                exports.add(sums[router], key, 1, size)
    found = []
    for router in heard:
        put_in, out, hop = ways[router]
        records = [{'key': key, 'next_hop': hop or '192.0.2.2', 'input': put_in, 'output': out,
                    'packets': packets, 'bytes': size} for key, (packets, size) in sums[router].items()]
        for start in range(0, len(records), 30):
            found.append((begin * SECOND + start * 1000 + router, f'192.0.2.{router}', 2055,
                          exports.v5_datagram(start, begin, records[start:start + 30])))
    return exports.write(test.path(f'branches{"".join(map(str, heard))}.pcap'), sorted(found)), truth, sums


def test_two_branches_by_flow(test):
    """Flows that take a single branch are complete from any of the routers on their path."""
    for heard in ((1, 2, 3, 4), (2, 3), (1, 4), (4,)):
        path, truth, _ = branches(test, lambda flow, packet: 2 + flow % 2, heard)
        got = check_rule(test, 'best', path)
        assert got == truth, differences(got, truth)


def test_two_branches_by_packet(test):
    """Packets count completely at routers that carry all branches; with only the branches, the
    larger one counts."""
    def split(flow, packet):
        return 2 + (packet % 3 == 0)

    for heard in ((1, 2, 3, 4), (2, 3, 4), (2, 3)):
        path, truth, sums = branches(test, split, heard)
        got = check_rule(test, 'best', path)
        if 4 in heard:
            assert got == truth, differences(got, truth)
        else:
            for key, (packets, _) in got.items():
                assert packets == max(sums[router].get(key, (0, 0))[0] for router in (2, 3)), key


# ---- more flows than the flow cache holds


def test_few_observed_flows(test):
    """The edge rule decides about flows that do not fit; they are counted, and the sums match."""
    truth = truth_of(test)
    packets = sum(packets for packets, _ in truth.values())
    for protocol in ('v9', 'sflow'):
        path = generate(test, f'{protocol}.pcap', '--as', protocol, '--routers', '5', '--path', '3')
        for method in ('best', 'exporter'):
            rows, ledger, exporters, _ = collect(test, '--pcap', path, *EVERYTHING, '--observed-flows', '64',
                                                 '--dedup', method, *EDGE)
            got = figures(rows)
            # A flow is in the table from its first record, or never: no flow ends within the
            # capture.
            assert got == truth, f'{protocol} {method}: {differences(got, truth)}'
            assert lib.total(ledger, 'received') == 3 * packets, ledger
            assert lib.total(exporters, 'edge_only') > lib.total(exporters, 'records') / 2, exporters
            assert all(int(row['edge_only']) > 0 for row in exporters), exporters
        rows, ledger, exporters, _ = collect(test, '--pcap', path, *EVERYTHING, '--observed-flows', '64')
        assert lib.total(exporters, 'edge_only') > 0, exporters
        # Without configured edges, the collector learns the first exporter of each network: each
        # flow counts at least once, possibly more.
        assert packets <= lib.total(ledger, 'measured') <= 3 * packets, ledger


# ---- the top 100 of the network equals that of a tap


TOP_SPEC = 'flows=20K,zipf=1.1,size=100-1400,packets=200K,rate=10K,seed=11'


def tap(test, key, spec=TOP_SPEC):
    rows, _, _ = test.measure('--synthetic', spec, *EVERYTHING, '--key', key)
    return {lib.row_key(row, key): (int(row['packets']), int(row['bytes'])) for row in rows}


def top_of(protocol, key, metric):
    def check(test):
        path = generate(test, 'exports.pcap', '--as', protocol, '--routers', '6', '--path', '4', spec=TOP_SPEC)
        rows, ledger, _, _ = collect(test, '--pcap', path, '--interval', '0', '--top', '100', '--key', key,
                                     '--count', metric, '--seed', '5')
        lib.check_top(rows, tap(test, key), 100, key, metric)
        assert lib.total(ledger, 'measured') == 200000, ledger
        assert lib.total(ledger, 'duplicate') == 600000, ledger
    return check


TOPS = [(f'top 100, {protocol} by {key}, {metric}', top_of(protocol, key, metric)) for protocol, key, metric in (
    ('v9', '5tuple', 'packets'), ('ipfix', 'src-dst', 'bytes'), ('v5', 'src/24', 'packets'),
    ('sflow', '5tuple', 'bytes'), ('v5', 'src-dst', 'packets'), ('ipfix', 'src/24', 'bytes'))]
EXACT = ('flow-table', 'compact-table', 'iblt')


def every_sketch(sketch):
    """Separate and shared, with one and three workers: bounds hold, and a repetition gives the same
    result."""
    def check(test):
        path = generate(test, 'exports.pcap', '--as', 'ipfix', '--routers', '5', '--path', '3')
        truth, texts = truth_of(test), {}
        runs = [(sharing, workers, seed) for sharing in ('separate', 'shared') for workers in (1, 2, 3)
                for seed in (3, 4) if sharing == 'separate' or lib.shares(sketch)]
        for sharing, workers, seed in [*runs, ('separate', 1, 3), ('separate', 3, 3)]:
            options = ('--sketch', sketch, '--sharing', sharing, '--workers', workers, '--seed', seed)
            rows, ledger, _, _ = collect(test, '--pcap', path, '--interval', '0', '--top', '200', *FLOWS, *options)
            lib.check_bounds(rows, truth)
            assert len(rows) == 200 and lib.total(ledger, 'measured') == 40000, (options, len(rows), ledger)
            with open(test.path(f'output{len(test.processes) - 1}.csv'), 'rb') as stream:
                text = stream.read()
            if sketch in EXACT:
                lib.check_exact(rows, truth)
                lib.check_top(rows, truth, 200)
                # Equal for every sharing, number of workers and seed.
                assert texts.setdefault('any', text) == text, options
            if sharing == 'separate':
                assert texts.setdefault((workers, seed), text) == text, f'{options}: twice, two results'
    return check


# ---- joint coverage of sampled figures


CONFIDENCE = 0.9


def coverage(protocol, sampling, routers):
    """Returns the fraction of runs in which all intervals hold the truth, over traffic seeds."""
    def check(test):
        runs = 100 if test.settings.full else 6
        failed = rows_seen = 0
        for seed in range(runs):
            spec = f'flows=200,zipf=1.0,size=100-1400,packets=6K,rate=2K,seed={seed + 1}'
            path = generate(test, f'exports{seed}.pcap', '--as', protocol, '--routers', routers, '--path', routers,
                            '--sampling', sampling, spec=spec)
            truth = exports.traffic(generate(test, f'traffic{seed}.pcap', spec=spec))
            truth = {key: (packets, size + OVERHEAD * packets) for key, (packets, size) in truth.items()}
            output = test.path(f'rows{seed}.csv')
            test.run('collect', '--pcap', path, '--interval', '0', '--top', '1K', '--sketch', 'flow-table',
                     '--memory', '1MB', '--confidence', CONFIDENCE, '--output', output, *FLOWS).expect(0)
            rows = lib.read_output(output)
            rows_seen += len(rows)
            failed += any(not int(row[f'{figure}_low']) <= true <= int(row[f'{figure}_high'])
                          for row in rows for figure, true in zip(('packets', 'bytes'), truth[lib.row_key(row)]))
        assert rows_seen > runs * 10, rows_seen
        # More failures have a probability below 1e-4 if each run may fail with 1 - CONFIDENCE.
        allowed = {6: 4, 100: 22}[runs]
        assert failed <= allowed, f'{failed} of {runs} failed at a confidence of {CONFIDENCE}'
    check.timeout = 600
    return check


COVERAGE = [(f'coverage, {protocol} 1:{sampling}, {routers} routers', coverage(protocol, sampling, routers))
            for protocol, sampling, routers in (('sflow', 2, 1), ('sflow', 10, 2), ('v9', 5, 3), ('ipfix', 20, 1),
                                                ('sflow', 100, 4), ('v5', 50, 2))]


def cases(settings):
    return lib.some(settings, [
        *[(f'{count} routers in a row', routers_in_a_row(count)) for count in range(1, 7)], *TOPS, *COVERAGE,
        *[(f'{sketch} of records', every_sketch(sketch)) for sketch in lib.sketches(settings.binary)]])

# SPDX-License-Identifier: BSD-3-Clause
"""--prefixes and --prefix-stats: measured packets and the counts of each prefix equal the truth;
reloads lose nothing."""

import ipaddress
import os
import signal
import time

import lib
import test_overload

RULE_COLUMNS = 'epoch,start,end,prefix,name,packets,bytes,flows'.split(',')
BOUNDS = ['packets_low', 'packets_high', 'bytes_low', 'bytes_high']  # with --overload
SIDES = {'dst': ('dst_ip',), 'src': ('src_ip',), 'either': ('dst_ip', 'src_ip')}
RELOADS_LEAST = 3
RELOADS, RELOADS_SECONDS = 60, 40  # on a busy machine, fewer: as many as fit in this time
RELOADS_FULL = 1000  # without a time limit


def write_rules(test, rules, name='rules'):
    path = test.path(name)
    with open(path, 'w', encoding='utf-8') as stream:
        stream.writelines(f'{prefix} {label}\n' for prefix, label in rules)
    return path


def credited(key, networks, side):
    """Returns the prefixes that contain an address of the key."""
    key = dict(zip(lib.KEY_COLUMNS, key))
    addresses = [ipaddress.ip_address(key[column]) for column in SIDES[side]]
    return {str(network) for network in networks
            if any(address.version == network.version and address in network for address in addresses)}


def test_truth(test):
    """Every side and design, IPv4 and IPv6 in one run, overlapping prefixes."""
    files = [lib.file_of(test.traces, role) for role in ('uplink', 'ipv6')]
    truth = lib.merged_truth(test.traces, files)
    heavy = sorted(truth, key=lambda key: -truth[key][0])[:20]
    hosts = {address for key in heavy for address in key[:2]}
    networks = {ipaddress.ip_network(host) for host in hosts if host != '0.0.0.0'}
    networks |= {network.supernet(new_prefix=20) for network in networks if network.version == 4}
    networks |= {network.supernet(new_prefix=12) for network in networks
                 if network.version == 4 and network.prefixlen == 20}
    networks.add(ipaddress.ip_network('2001::/16'))
    rules = write_rules(test, [(network, f'rule "{network}", quoted') for network in networks])
    captures = [argument for file in files for argument in ('--pcap', lib.unpack(test, file))]
    for side, design in zip(SIDES, ('rss', 'async', 'sync')):
        totals, measured = {}, [0, 0]
        for key, figures in truth.items():
            prefixes = credited(key, networks, side)
            measured = [a + b * bool(prefixes) for a, b in zip(measured, figures)]
            for prefix in prefixes:
                before = totals.get(prefix, (0, 0, 0))
                totals[prefix] = (before[0] + figures[0], before[1] + figures[1], before[2] + 1)
        name = test.path(f'rules_{side}.csv')
        _, stats, _ = test.measure(
            *captures, '--monitor', rules, '--monitor-side', side, '--rules', name, '--interval', '0',
            '--design', design, '--workers', '3', '--seed', '1')
        assert [int(stats[0]['measured']), int(stats[0]['bytes'])] == measured, (side, stats[0], measured)
        assert int(stats[0]['filtered']) == sum(n for n, _ in truth.values()) - measured[0]
        rows = {row['prefix']: row for row in lib.read_csv(name, RULE_COLUMNS)}
        assert set(rows) == set(totals), side
        for prefix, (packets, size, flows) in totals.items():
            row = rows[prefix]
            assert row['name'] == f'rule "{prefix}", quoted'
            assert (int(row['packets']), int(row['bytes'])) == (packets, size), (side, row, packets, size)
            assert abs(int(row['flows']) - flows) <= 1 + 0.5 * flows, (row, flows)


def test_no_more_flows_than_packets(test):
    """If each packet is its own flow, the estimate of flows is limited to the packets."""
    rules = write_rules(test, [(f'{i * 16}.0.0.0/4', f'part {i}') for i in range(16)])
    name = test.path('rules.csv')
    test.measure('--synthetic', 'random,packets=20K', '--interval', '0', '--monitor', rules, '--monitor-side', 'dst',
                 '--rules', name, '--seed', '1')
    rows = lib.read_csv(name, RULE_COLUMNS)
    assert len(rows) == 16, rows
    for row in rows:
        assert int(row['packets']) / 2 < int(row['flows']) <= int(row['packets']), row


def test_with_a_filter(test):
    """Filter and prefixes both drop packets: `filtered` counts each once."""
    rules = write_rules(test, [('198.18.0.0/17', 'half')])
    everything = test.measure('--synthetic', 'packets=50K,flows=1K', '--interval', '0')[1]
    _, stats, _ = test.measure(
        '--synthetic', 'packets=50K,flows=1K', '--filter', 'dst net 198.18.0.0/17', '--monitor', rules,
        '--monitor-side', 'src', '--interval', '0')
    _, same, _ = test.measure(
        '--synthetic', 'packets=50K,flows=1K', '--filter',
        'dst net 198.18.0.0/17 and src net 198.18.0.0/17', '--interval', '0')
    assert stats[0]['measured'] == same[0]['measured'] and stats[0]['filtered'] == same[0]['filtered']
    assert 0 < int(stats[0]['measured']) < int(everything[0]['measured'])


def lines(path):
    with open(path, encoding='utf-8') as stream:
        return len(stream.readlines())


@lib.alone
def test_reload(test):
    """Repeated reloads under load: the ledger of every epoch balances, and its packets match the
    prefixes of a single file. An invalid file changes nothing."""
    halves = [('198.18.0.0/16', 'low'), ('198.19.0.0/16', 'high')], [('198.18.0.0/15', 'all')]
    rules = write_rules(test, halves[0])
    stats, out = test.path('stats.csv'), test.path('rules.csv')
    wanted = RELOADS_FULL if test.settings.full else RELOADS
    process = test.start(
        '--synthetic', 'packets=100G,flows=1K,rate=200kpps', '--pace', 'recorded', '--duration', '2h',
        '--interval', '20ms', '--workers', '1', '--monitor', rules, '--monitor-side', 'dst', '--rules', out,
        '--stats', stats, '--output', '/dev/null')
    test.until(lambda: os.path.exists(stats) and lines(stats) > 2, 'epochs are reported')
    began = time.monotonic()
    for number in range(wanted):
        if not test.settings.full and number >= RELOADS_LEAST and time.monotonic() - began > RELOADS_SECONDS:
            break
        count = process.stderr().count('prefixes, in effect')
        write_rules(test, halves[(number + 1) % 2])
        process.signal(signal.SIGHUP)
        test.until(lambda: process.stderr().count('prefixes, in effect') > count, f'reload {number}')
    with open(rules, 'w', encoding='utf-8') as stream:
        stream.write('198.18.0.0/16 fine\n198.18.0.0/8 wrong\n')
    process.signal(signal.SIGHUP)
    test.until_said(process, 'stay unchanged')
    assert 'line 2: 198.18.0.0/8 has host bits set; write 198.0.0.0/8' in process.stderr()
    before = lines(out)
    test.until(lambda: lines(out) > before + 10, 'it goes on')
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    epochs, credited_in = {}, {}
    for row in lib.read_csv(out, RULE_COLUMNS):
        epochs.setdefault(row['epoch'], set()).add(row['name'])
        credited_in[row['epoch']] = credited_in.get(row['epoch'], 0) + int(row['packets'])
    for row in lib.read_stats(stats):
        assert int(row['filtered']) == 0 and int(row['measured']) == credited_in.get(row['epoch'], 0), row
    seen = {frozenset(names) for names in epochs.values()}
    assert frozenset(('all',)) in seen and all(
        names <= {'low', 'high'} or names == {'all'} for names in seen), seen


test_reload.timeout = 3600


def test_under_overload(test):
    """Fixed levels, and levels that change all the time: intervals of each prefix and of each key
    contain the truth."""
    path = test.path('flows.pcap')
    test.run('generate', '--synthetic', 'flows=2K,zipf=1.1,packets=20K,size=imix,ipv6=0.2,seed=4', '--output', path).expect(0)
    rules = write_rules(test, [(f'198.18.{i * 32}.0/19', f'r{i}') for i in range(8)] + [('198.18.0.0/16', 'outer')])
    common = ('--pcap', path, '--monitor', rules, '--monitor-side', 'either', '--interval', '0')
    exact, seen = test.path('exact.csv'), test.path('seen.csv')
    rows, ledger, _ = test.measure(*common, '--rules', exact, '--sketch', 'flow-table', '--top', '0', '--threshold', '0.00001')
    keys = {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in rows}
    truth = {row['prefix']: row for row in lib.read_csv(exact, RULE_COLUMNS)}
    assert len(truth) > 5 and lib.total(ledger, 'filtered') > 0, (truth, ledger)
    narrow = bounds = 0
    for seed in range(24):
        workers = 1 + seed % 2
        fixed = [(worker, 0, test_overload.STATES[2 + seed % 6]) for worker in range(workers)]
        states = test_overload.write_states(test, fixed if seed % 3 else test_overload.mixed(workers, 20000 // workers, seed))
        design = ('--design', 'async') if seed % 5 == 0 else ()
        found, stats, _ = test.measure(*common, *design, '--rules', seen, '--force', '--workers', workers, '--seed', seed,
                                       '--states-from', states)
        assert lib.total(stats, 'offered') == 20000 and lib.total(stats, 'skipped') > 0, stats
        test_overload.check_intervals(found, keys)
        for row in lib.read_csv(seen, RULE_COLUMNS + BOUNDS):
            for figure in ('packets', 'bytes'):
                true, got, low, high = (int(value) for value in (
                    truth[row['prefix']][figure], row[figure], row[f'{figure}_low'], row[f'{figure}_high']))
                assert low <= got <= high and low <= true <= high, (true, row)
                bounds += 1
                narrow += not got - (got - low) / 8 <= true <= got + (high - got) / 8
    assert bounds > 200 and narrow > 10, 'the test could not fail'


def test_mistakes(test):
    synthetic = ('--synthetic', 'packets=10')
    bad = write_rules(test, [('10.0.0.0/8', 'a'), ('10.1.2.3/24', 'b')], 'bad')
    test.run(*synthetic, '--monitor', bad).expect(2).expect_one_line('bad, line 2', 'write 10.1.2.0/24')
    test.run(*synthetic, '--monitor', test.path('none')).expect(1).expect_one_line('cannot open')
    test.run(*synthetic, '--rules', '-').expect(2).expect_one_line('--rules', '--prefixes')
    good = write_rules(test, [('10.0.0.0/8', 'a')])
    test.run(*synthetic, '--monitor', good, '--monitor-side', 'both').expect(2)
    test.run(*synthetic, '--monitor', good, '--rules', test.path('x'), '--stats', test.path('x')).expect(2)

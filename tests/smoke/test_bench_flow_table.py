# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap-bench flow-table: a row per combination; chain lengths add up and match crafted keys;
oversized tables are reported; the advice of tune runs. Times are not judged."""

import math
import os
import subprocess

import lib
from test_bench import TUNE, read_config, read_rows

LONG = ('every_combination', 'capture', 'hosts', 'ratios', 'tune')

HASHES = ('aes', 'rss', 'coralreef', 'jenkins', 'murmur3', 'crc32', 'fnv1a', 'hsieh', 'xxh3')
STRUCTURES = ('list', 'tree', 'cuckoo')
TRAFFICS = ('single', 'deterministic', 'random', 'zipf', 'netscan', 'portscan', 'crafted')
CRAFTED = ('coralreef', 'jenkins', 'murmur3', 'crc32')
CHAIN = 450  # number of the 512 crafted keys per hash that occur in 8000 packets
BENCH = ('flow-table', '--no-huge', '--seed', '1', '--rounds', '1', '--packets', '8K')


def measure(test, *options, within=()):
    """Returns (rows of tables, rows of the fastest). within: prefix command that limits the
    bench."""
    result = test.run(*BENCH, *options, '--output', '-', program=[*within, test.bench_binary]).expect(0)
    rows = read_rows(result.stdout)
    return ([row for row in rows if row['bench'] == 'flow-table'],
            [row for row in rows if row['bench'] == 'flow-table fastest'])


def check_chains(row):
    """Checks that E[L] x buckets in use = keys, and that shares are consistent."""
    used = float(row['occupancy']) * int(row['buckets'])
    assert abs(float(row['mean_length']) * used - int(row['distinct'])) <= (
        0.006 * used + 0.0006 * int(row['buckets']) * float(row['mean_length'])), row
    assert 0 <= float(row['p_tail']) <= 1 - float(row['p_single']) + 0.001 <= 1.001, row
    assert 1 <= float(row['mean_length']) <= int(row['longest']), row


def test_every_combination(test):
    """Structures x hashes x sizes x traffics, once each; every key fits in as many buckets."""
    sizes = ('4096', '5003')
    rows, fastest = measure(test, '--width', '4K', '--buckets', '5003', '--flows', '2K')
    kinds = {(row['traffic'], row['buckets'], row['collision'], row['hash']) for row in rows}
    assert kinds == {(traffic, size, structure, name) for traffic in TRAFFICS for size in sizes
                     for structure in STRUCTURES for name in HASHES} | {
                         (traffic, size, 'compact', 'aes') for traffic in TRAFFICS for size in sizes}, kinds
    assert len(rows) == len(kinds), 'a row is there twice'
    for row in rows:
        assert row['note'] == '' and row['packets'] == '8000', row
        least = {'compact': 53 * int(row['buckets']), 'cuckoo': 208 * int(row['buckets'])}.get(
            row['collision'], 64 * (int(row['buckets']) + int(row['distinct'])))
        assert float(row['refused']) == 0 and int(row['bytes']) > least, row
        assert float(row['ns_min']) <= float(row['ns']) <= float(row['ns_max']), row
        if row['collision'] in ('cuckoo', 'compact'):
            assert row['mean_length'] == row['longest'] == '', row
        else:
            check_chains(row)
    for row in rows:
        if row['traffic'] == 'crafted' and row['longest']:
            longest = int(row['longest'])
            assert longest >= CHAIN if row['hash'] in CRAFTED else longest < 20, row
        if row['traffic'] in ('deterministic', 'netscan', 'portscan'):
            assert row['distinct'] == '2000', row
        assert row['traffic'] != 'single' or row['distinct'] == '1', row
    assert {row['traffic'] for row in fastest} == set(TRAFFICS), fastest
    assert len(fastest) == len(TRAFFICS), fastest


def test_lengths(test):
    """Chain lengths follow the distribution of their mean; keyed hashes behave like chance."""
    result = test.bench(*BENCH, '--width', '4K', '--flows', '4K', '--packets', '64K', '--traffic', 'single,random',
                        '--collision', 'list', '--table-hash', 'aes', '--output', '-').expect(0)
    rows = read_rows(result.stdout)
    for table in (row for row in rows if row['bench'] == 'flow-table'):
        lengths = {int(row['length']): float(row['probability']) for row in rows
                   if row['bench'] == 'flow-table chains' and row['traffic'] == table['traffic']}
        assert list(lengths) == sorted(lengths) and max(lengths) == int(table['longest']) and min(lengths.values()) > 0, lengths
        assert abs(sum(lengths.values()) - 1) < 0.005, lengths
        assert abs(lengths[1] - float(table['p_single'])) < 0.002, (lengths, table)
        assert abs(sum(n * share for n, share in lengths.items()) - float(table['mean_length'])) < 0.02, (lengths, table)
        load = int(table['distinct']) / 4096
        assert abs(float(table['chance_length']) - load / (1 - math.exp(-load))) < 0.006, table
        assert abs(float(table['mean_length']) - float(table['chance_length'])) < 0.05, table


def test_long_chains(test):
    """The distribution includes the longest chain, at its exact share of the buckets in use."""
    result = test.bench(*BENCH, '--width', '4K', '--traffic', 'crafted', '--collision', 'list',
                        '--table-hash', 'coralreef', '--output', '-').expect(0)
    rows = read_rows(result.stdout)
    table = next(row for row in rows if row['bench'] == 'flow-table')
    lengths = {int(row['length']): float(row['probability']) for row in rows if row['bench'] == 'flow-table chains'}
    used = round(float(table['occupancy']) * 4096)
    assert max(lengths) == int(table['longest']) >= CHAIN, lengths
    assert abs(lengths[max(lengths)] * used - 1) < 0.02, (lengths, used)
    assert abs(sum(n * share for n, share in lengths.items()) - float(table['mean_length'])) < 0.02, (lengths, table)


def printed_rows(test, *options, within=()):
    """Returns {(item, setting, quantity): row} of the figures that the paper prints."""
    result = test.run(*BENCH, *options, '--output', '-', program=[*within, test.bench_binary]).expect(0)
    rows = read_rows(result.stdout)
    return rows, {(row['item'], row['setting'], row['quantity']): row for row in rows if row['bench'] == 'flow-table printed'}


def test_printed(test):
    """Figures of the paper in its units: chains at the paper's loads equal those of the table, and
    ratios those of the rates. Tables that do not fit have a reason. Other rows do not appear."""
    few = ('--traffic', 'zipf', '--collision', 'list,tree', '--table-hash', 'coralreef', '--flows', '500')
    rows, _ = printed_rows(test, *few, '--width', '1K')
    distinct = int(rows[0]['distinct'])
    near, prime = round(distinct / 0.13), 16411
    rows, printed = printed_rows(test, *few, '--width', '16K', '--buckets', f'{near},{prime}')
    assert printed['Sec. 3.1', 'emulation', 'tuple in memory']['ours'] == '16', printed
    rate = {(row['buckets'], row['collision']): 1000 / float(row['ns']) for row in rows if row['bench'] == 'flow-table'}
    table = next(row for row in rows if row['buckets'] == str(near) and row['collision'] == 'list')
    for quantity, value in (('P(L=1)', table['p_single']), ('E[L]', table['mean_length'])):
        row = printed['Fig. 4', 'CoralReef', quantity]
        assert abs(float(row['ours']) - float(value)) < 0.006 and row['how'] == 'measured', (row, table)
    assert (printed['Fig. 4', 'CoralReef', 'P(L=1)']['printed'], printed['Fig. 4', 'CoralReef', 'E[L]']['printed']) == ('0.94', '1.068')
    for key, value in ((('Fig. 4', 'CoralReef', 'rate'), rate[str(near), 'list']),
                       (('Fig. 3', 'smallest', 'tree / list'), rate['16384', 'tree'] / rate['16384', 'list']),
                       (('Fig. 5', 'CoralReef; list; power of two against not', 'rate lost'),
                        rate[str(prime), 'list'] / rate['16384', 'list']),
                       (('Fig. 5', 'CoralReef; tree; power of two against not', 'rate lost'),
                        100 * (1 - rate['16384', 'tree'] / rate[str(prime), 'tree']))):
        assert abs(float(printed[key]['ours']) - value) < 0.02 * abs(value) + 0.5 * (printed[key]['unit'] == '%'), (printed[key], value)
    assert not any(item in ('Fig. 2', 'Table 1') for item, _, _ in printed), printed
    if test.sanitized:
        return  # a sanitizer takes more address space than the limit
    _, printed = printed_rows(test, '--buckets', '54000000', '--traffic', 'single,zipf', '--collision', 'list', '--table-hash',
                              'coralreef', '--flows', '500', within=('prlimit', f'--as={3 << 30}'))
    assert {(key[1], row['printed'], row['ours'], row['how']) for key, row in printed.items() if key[0] == 'Table 1'} == {
        ('deterministic (one tuple); list; CoralReef; 54 M rows', '58.1', '', ''),
        ('CAIDA; list; CoralReef; 54 M rows', '14.6', '', '')}, printed
    assert all('out of memory' in row['note'] for row in printed.values()), printed


def test_ratios(test):
    """Ratios to the list and to the next lower power of two. The paper's figure appears only for
    its own size, hash and traffic."""
    rows, _ = measure(test, '--width', '4K,8K', '--buckets', '4099,6000', '--flows', '500', '--traffic', 'single,zipf',
                      '--collision', 'list,tree', '--table-hash', 'coralreef,aes')
    ns = {tuple(row[name] for name in ('traffic', 'buckets', 'collision', 'hash')): float(row['ns']) for row in rows}
    for row in rows:
        key = tuple(row[name] for name in ('traffic', 'buckets', 'collision', 'hash'))
        assert abs(float(row['of_list']) - ns[key] / ns[(*key[:2], 'list', key[3])]) < 0.02, row
        assert (row['of_power'] != '') == (row['buckets'] == '4099'), row
        if row['of_power']:
            assert abs(float(row['of_power']) - ns[key] / ns[(key[0], '4096', *key[2:])]) < 0.02, row
        assert row['paper_mpps'] == '', row
    # Each of these tables needs 3 GB, which the limit denies. The row still has the paper's
    # figure.
    rows, _ = measure(test, '--buckets', '54000000', '--traffic', 'single,zipf', '--collision', 'list,tree',
                      '--table-hash', 'coralreef,aes', '--flows', '500', within=('prlimit', f'--as={3 << 30}'))
    assert len(rows) == 8 and all('out of memory' in row['note'] for row in rows), rows
    assert {(row['traffic'], row['collision'], row['hash']): row['paper_mpps'] for row in rows if row['paper_mpps']} == {
        ('single', 'list', 'coralreef'): '58.1', ('single', 'tree', 'coralreef'): '44.6'}, rows


def test_plot(test):
    """A chart with a panel for each traffic and figure."""
    path, picture = test.path('tables.csv'), test.path('tables.svg')
    test.bench(*BENCH, '--width', '1K,4K', '--flows', '500', '--traffic', 'zipf,netscan',
             '--table-hash', 'aes,crc32', '--output', path).expect(0)
    plot = os.path.join(os.path.dirname(__file__), '..', '..', 'bench', 'plot')
    done = subprocess.run([plot, path, picture], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    with open(picture, encoding='utf-8') as file:
        drawn = file.read()
    for traffic in ('zipf', 'netscan'):
        for figure in ('ns by structure', 'ns by hash', 'E[L]', 'longest chain'):
            assert any(traffic in line and figure in line for line in drawn.splitlines()), figure


def test_full(test):
    """Lists and trees store every key in too few buckets; cuckoo and compact tables report the share
    of refused packets."""
    rows, fastest = measure(test, '--width', '1K', '--flows', '4K', '--traffic', 'netscan',
                            '--table-hash', 'aes')
    assert [row['collision'] for row in rows] == [*STRUCTURES, 'compact'] and len(fastest) == 1, rows
    for row in rows[:2]:
        assert float(row['refused']) == 0 and float(row['load']) == 3.906 and (1024 + 4000) * 64 < int(row['bytes']) < (1024 + 4000) * 64 + 4096, row
    # 4000 keys have two packets each; 2047 of them fit.
    assert abs(4000 * (1 - float(rows[2]['refused'])) - 2047) < 3, rows[2]
    assert float(rows[3]['refused']) == 0.744, rows[3]  # 1024 of the keys fit


def test_too_large(test):
    """Tables that do not fit in memory are marked; the others are measured."""
    if test.sanitized:
        test.skip('a sanitizer takes more address space than the limit')
    rows, _ = measure(test, '--width', '256M,1K', '--flows', '100', '--traffic', 'zipf',
                      '--collision', 'list,cuckoo', '--table-hash', 'aes', within=('prlimit', f'--as={8 << 30}'))
    assert [(row['buckets'], row['ns'] == '', 'not measured: out of memory' in row['note'])
            for row in rows] == [('1024', False, False)] * 2 + [('268435456', True, True)] * 2, rows


def test_capture(test):
    """The capture's own keys in their order; other traffic only on request."""
    capture = test.path('some.pcap')
    test.run('generate', '--synthetic', 'flows=50,packets=2K,ipv6=0.5', '--output',
             capture).expect(0)
    one = ('--pcap', capture, '--width', '1K', '--collision', 'list', '--table-hash', 'aes')
    rows, _ = measure(test, *one)
    assert [(row['traffic'], row['distinct'], row['flows']) for row in rows] == [
        (capture[:95], '50', '')], rows
    rows, _ = measure(test, *one, '--traffic', 'zipf,crafted')
    assert [row['traffic'] for row in rows] == [capture[:95], 'zipf', 'crafted'], rows
    test.bench(*BENCH, '--pcap', test.path('none.pcap'), '--log-level', 'warning').expect(1).expect_one_line('none.pcap')


def test_hosts(test):
    """Tables 2 and 3 of Zha et al.: FCAP and SMON count every flow exactly. Their numbers of
    flows, and their memory without a ring and with one."""
    result = test.bench('flow-table', '--no-huge', '--seed', '1', '--rounds', '1', '--hosts', '3,200,1400',
                        '--duration', '20ms', '--output', '-').expect(0)
    rows = read_rows(result.stdout)
    assert [(row['kpps'], row['hosts'], row['structure'], row['sketch'], row['design']) for row in rows] == [
        (kpps, hosts, *structure, design) for kpps in ('160', '80') for hosts in ('3', '200', '1400')
        for structure in (('FCAP', 'compact-table'), ('FCAP', 'flow-table'), ('SMON', 'iblt'))
        for design in ('rss', 'async')], rows
    cpus = len(os.sched_getaffinity(0))
    paper = {('160', '200'): 346, ('160', '1400'): 2550, ('80', '200'): 217, ('80', '1400'): 1456}
    for row in rows:
        ring, kind = row['design'] == 'async', (row['kpps'], row['hosts'])
        assert row['exact'] == ('' if ring else '1.0000'), row
        assert int(row['flows']) <= int(row['packets']) <= int(row['kpps']) * 500, row
        assert row['paper_flows'] == str(paper.get(kind, '')), row
        assert kind not in paper or abs(int(row['flows']) / paper[kind] - 1) < 0.15, row
        assert (row['paper_bytes'] != '') == (kind in paper and (ring or kind == ('160', '1400'))), row
        assert row['ring_bytes'] == ('1048576' if ring else ''), row
        lossless = int(row['kpps']) * 500 * 32  # a digest, also with TCP flags in the key
        assert row['ring_bytes_lossless'] == (str(lossless) if ring else ''), row
        copies = 2 if row['sketch'] == 'flow-table' else 3  # the others may be changing their size
        assert int(row['run_bytes']) == copies * int(row['bytes']) + (1048576 if ring else 0), row
        assert row['off_path_bytes'] == (str(int(row['bytes']) + lossless) if ring else ''), row
        if row['sketch'] == 'compact-table' and kind == ('160', '1400'):
            assert int(row['bytes']) < 149.58 * 1024, row
            assert ring or row['paper_bytes'] == '153170', row
        if row['structure'] == 'SMON' and kind == ('160', '1400'):
            assert int(row['bytes']) < 96.97 * 1024, row
        assert float(row['count_ns']) > 0 and float(row['delay_ns']) >= float(row['count_ns']), row
        assert (row['ring_ns'] != '') == ring, row
        threads = 2 + ring
        assert ('not comparable' in row['note']) == (cpus < threads), row


def test_tune(test):
    """tune tries sizes that hold every key; the resulting file names the best one and runs."""
    csv_path, conf = test.path('tune.csv'), test.path('tuned.conf')
    result = test.run(*TUNE, '--synthetic', 'flows=3K', '--sketch', 'ft', '--workers', '1',
                      '--design', 'rss', '--output', csv_path).expect(0)
    with open(csv_path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    kinds = {(row['sharing'], row['atomic'], row['width']) for row in rows}
    assert kinds == {(*way, width) for way in (('separate', ''), ('shared', 'cas'), ('shared', 'add'))
                     for width in ('2048', '4096', '8192', '16384')}, kinds
    chosen = [row for row in rows if row['chosen']]
    assert len(rows) == len(kinds) and len(chosen) == 1 and chosen[0]['note'] == '', rows
    config = read_config(result.stdout)
    assert (config['sketch'], config['width']) == ('flow-table', chosen[0]['width']), config

    with open(conf, 'w', encoding='utf-8') as file:
        file.write(result.stdout)
    report = test.run('--config', conf, '--synthetic', 'flows=10,packets=1K', '--interval', '0',
                      '--format', 'csv').expect(0)
    assert len(report.stdout.splitlines()) == 11, report.stdout


def test_tune_finds_no_table(test):
    """tune does not recommend a table that cannot hold all keys."""
    result = test.run(*TUNE, '--synthetic', 'flows=3K', '--sketch', 'ft', '--width', '128',
                      '--log-level', 'warning').expect(1).expect_one_line('room for all keys')
    assert 'has no room for every key' in result.stdout, result.describe()
    assert read_config(result.stdout) == {}, result.describe()


def test_mistakes(test):
    for arguments, mentions in (
            (('flow-table', '--traffic', 'magic'), ('magic', 'netscan')),
            (('flow-table', '--collision', 'heap'), ('heap', 'cuckoo')),
            (('flow-table', '--table-hash', 'md5'), ('md5', 'xxh3')),
            (('flow-table', '--width', '1000'), ('1000',)),
            (('flow-table', '--buckets', '15'), ('--buckets',)),
            (('flow-table', '--hosts', '0'), ('--hosts',)),
            (('flow-table', '--hosts', '14001'), ('--hosts', '14000')),
            (('flow-table', '--hosts', '20', '--packets', '8K'), ('--packets', '--hosts')),
            (('flow-table', '--hosts', '20', '--traffic', 'zipf'), ('--traffic', '--hosts')),
            (('flow-table', '--hosts', '20', '--pcap', 'none.pcap'), ('--pcap', '--hosts')),
            (('flow-table', '--duration', '1s'), ('--duration', '--hosts')),
            (('flow-table', '--sketch', 'iblt'), ('--sketch',))):
        result = test.bench(*arguments).expect(2).expect_one_line(*mentions)
        assert result.stdout == '', result.describe()

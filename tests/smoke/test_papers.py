# SPDX-License-Identifier: BSD-3-Clause
"""papers: every printed figure of five papers has a row of papers.csv, with the right figure of ours."""

import csv
import fnmatch
import math
import os
import re
import shutil
import signal
import xml.etree.ElementTree

import lib

LONG = ('of_this_host',)

PAPERS = ('wu2016', 'zha2022', 'nassopoulos2014', 'emc2', 'tangari2018')
KINDS = ('measured', 'modelled', 'not measurable: ', 'not run: ', 'description')
ADDED = ['ours', 'ours_min', 'ours_max', 'how', 'command', 'machine', 'date']


def folder_of(test):
    return os.path.join(test.settings.root, 'bench', 'papers')


def read(path):
    with open(path, newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file, strict=True))


def printed_of(test, paper):
    return read(os.path.join(folder_of(test), paper + '.csv'))


def lines_of(test):
    return read(os.path.join(folder_of(test), 'ours.csv'))


def write(directory, name, rows):
    """Writes a CSV file whose columns are those of the first row."""
    with open(os.path.join(directory, name + '.csv'), 'w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, rows[0], lineterminator='\r\n' if name == 'paper' else '\n')
        writer.writeheader()
        writer.writerows(rows)


def prepare(test, **files):
    """Creates a directory in which no bench has to run: a file without rows for each that has none here."""
    directory = test.path('figures')
    os.mkdir(directory)
    for name in {line['file'] for line in lines_of(test)} - {''}:
        with open(os.path.join(directory, name + '.csv'), 'w', encoding='utf-8') as file:
            file.write('bench\n')
    for name, rows in files.items():
        write(directory, name.replace('_', '-'), rows)
    return directory


def join(test, directory):
    result = test.bench('paper', '--all', directory).expect(0)
    assert '== ' not in result.stdout, result.describe()
    return read(os.path.join(directory, 'papers.csv'))


def check_rows(test, rows):
    """Checks that each printed row has its counterpart, and each figure its command."""
    printed = [row for paper in PAPERS for row in printed_of(test, paper)]
    assert len(printed) == 478, len(printed)
    assert [{name: row[name] for name in printed[0]} for row in rows] == printed
    assert list(rows[0]) == list(printed[0]) + ADDED, list(rows[0])
    for row in rows:
        assert row['how'].startswith(KINDS) and 'ours.csv' not in row['how'], row
        has_figure = row['how'].startswith(('measured', 'modelled'))
        assert (row['ours'] != '') == has_figure == (row['command'] != ''), row
        assert (row['ours_min'] == '') == (row['ours_max'] == ''), row
        if has_figure and not re.search(' (<|=|to) |^none$', row['ours']):
            assert math.isfinite(float(row['ours'])), row
        if row['ours_min']:
            assert float(row['ours_min']) <= float(row['ours']) <= float(row['ours_max']), row


def one(rows, paper, **wanted):
    found = [row for row in rows if row['paper'].startswith(paper) and all(row[name] == value for name, value in wanted.items())]
    assert len(found) == 1, (wanted, found)
    return found[0]


def test_without_figures(test):
    """Without figures, every printed row is there and says so."""
    rows = join(test, prepare(test))
    check_rows(test, rows)
    kinds = {row['how'].split(':')[0] for row in rows}
    assert kinds == {'description', 'not measurable', 'not run'}, kinds


def test_lines(test):
    """Each line of ours.csv can answer a printed row, and only lines with a file have a selection."""
    unused = {number: line for number, line in enumerate(lines_of(test), 2)}
    for paper in PAPERS:
        for row in printed_of(test, paper):
            answers = [number for number, line in enumerate(lines_of(test), 2)
                       if line['paper'] == paper and all(fnmatch.fnmatchcase(row[name], line[name])
                                                         for name in ('item', 'setting', 'quantity', 'unit'))]
            assert answers, row
            for number in answers:
                line = unused.pop(number, None) or lines_of(test)[number - 2]
                if line['file'] == '':
                    break
    assert not unused, unused
    for line in lines_of(test):
        assert line['how'].startswith(KINDS + ('',)) and line['paper'] in PAPERS, line
        assert not line['how'].startswith('not run'), line
        figure = line['how'].startswith(('measured', 'modelled'))
        assert (figure or line['how'] == '') == (line['file'] != '') == (line['value'] != ''), line
        assert figure == (line['rows'] != '') and (figure or not line['op']), line
        for rows in (line['rows'], line['of_rows']):  # a cost of bench/edge is of one rate
            assert 'what=cost' not in rows or 'asked_pps=<max>' in rows and ' {asked_pps} pps' in line['how'], line
        for condition in filter(None, (line['rows'] + ';' + line['of_rows']).split(';')):
            assert re.fullmatch(r'[a-z_]+(=|!=).+', condition) and '..' not in condition, line
        assert re.fullmatch(r'([\d.]+[/-])?[a-z]\w*', line['value'] or 'a'), line
        assert line['op'] in ('', '+', '/', '-', 'above', 'to', 'order', 'rise', 'range') and (line['op'] or not line['of_rows'] + line['of_value']), line


PRINTED = {'experiment': 'printed figures', 'item': 'Table 3', 'setting': 'RSS-Separate-SHT', 'quantity': 'PDR', 'unit': 'ratio',
           'ours': '0.25', 'ours_min': '0.125', 'ours_max': '0.5', 'how': 'modelled', 'note': 'from 2 workers; "x"',
           'design': '', 'sharing': '', 'sketch': '', 'workers': '', 'traffic': '', 'offered_mpps': '', 'drop_rate': '',
           'drop_rate_min': '', 'drop_rate_max': '', 'mbufs': '', 'width': '',
           'machine': 'CPU "A", 8 CPUs', 'date': '2026-11-29 11:00 UTC',
           'command': '/opt/bin/sketchtap-bench paper --output /tmp/x y.csv --force'}
MODEL = PRINTED | {'experiment': 'model (Tables 3 and 4)', 'item': '', 'setting': '', 'quantity': '', 'unit': '', 'ours': '',
                   'design': 'rss', 'sharing': 'separate', 'sketch': 'simple-hash', 'traffic': 'random', 'offered_mpps': '72.00',
                   'note': 'costs come from this run'}


def test_selection(test):
    """Medians, spreads, ratios, nearest and extreme rows, and lines that are tried in their order."""
    times = PRINTED | {'quantity': 'PPT', 'unit': 'ns', 'how': 'measured', 'note': '', 'ours_min': '', 'ours_max': '',
                       'command': 'sketchtap-bench paper --output - --seed 1'}
    many = [{'traffic': 'zipf', 'collision': 'list', 'hash': 'jenkins', 'bench': 'flow-table', 'buckets': str(buckets), 'mpps': mpps,
             'note': '', 'command': 'sizes'}
            for buckets, mpps in ((16384, '80'), (4000000, '100'), (67108864, '60'))]
    compared = [{'figure': figure, 'load': load, 'monitor': monitor, 'sampling': sampling, 'value': value, 'min': least, 'max': largest,
                 'conditions': conditions, 'quantity': 'throughput', 'command': 'compare'}
                for figure, load, monitor, sampling, value, least, largest, conditions in (
                    ('3', '100mbit', 'sflow', '1', '12', '11', '13', ''), ('3', '100mbit', 'sflow', '10', '9', '8', '10', ''),
                    ('3', '100mbit', 'sflow', '100', '7.5', '7', '8', ''), ('3', '100mbit', 'sflow', '800', '7', '6', '7.9', ''),
                    ('3', 'unbounded', 'sflow', '1', '8', '7', '9', ''), ('3', 'unbounded', 'sflow', '5', '9', '8', '9.5', ''),
                    ('3', 'unbounded', 'sflow', '800', '5', '4', '6', ''),
                    ('9', 'unbounded', 'sflow', '10', '70', '60', '90', 'seconds 5 instead of 300'),
                    ('9', 'unbounded', 'netflow', '1', '2', '1', '4', ''),
                    ('R1', '100mbit', 'none again', '', '-50', '-60', '-40', ''), ('R1', '100mbit', 'sflow', '1', '-2', '-3', '-1', ''))]
    lookups = [{'part': 'sketch', 'unit': 'lookup', 'traffic': traffic, 'state': 'count', 'mean_ns': mean, 'command': 'profile'}
               for traffic, mean in (('uncached', '250'), ('cached', '30'))]
    single = MODEL | {'workers': '1', 'how': 'measured'}
    sizes = [single | {'experiment': experiment, column: size, 'drop_rate': rate, 'drop_rate_min': least, 'drop_rate_max': largest}
             for experiment, column, size, rate, least, largest in (
                 ('mempool (Figure 8)', 'mbufs', '4096', '0.3', '0.2', '0.4'), ('mempool (Figure 8)', 'mbufs', '16384', '0.25', '0.2', '0.31'),
                 ('mempool (Figure 8)', 'mbufs', '262144', '0.6', '0.5', '0.7'), ('table size (Figure 11)', 'width', '1024', '0.45', '0.4', '0.5'),
                 ('table size (Figure 11)', 'width', '262144', '0.4', '0.3', '0.5'), ('table size (Figure 11)', 'width', '8388608', '0.5', '0.4', '0.6'))]
    hosts = {'sketch': 'compact-table', 'design': 'async', 'hosts': '1400', 'kpps': '160', 'flows': '2517', 'exact': '0.75',
             'bytes': '1048576', 'ring_bytes_lossless': '524288', 'off_path_bytes': '1572864', 'note': 'not comparable: 3 threads', 'command': 'hosts'}
    directory = prepare(test, paper=[
        PRINTED,
        times | {'setting': 'RSS-Separate-RS', 'ours': '77'}, times | {'setting': 'RSS-Shared-SHT', 'ours': '', 'how': ''},
        times | {'setting': 'RSS-Separate-CMS', 'ours': '20'}, times | {'setting': 'RSS-Shared-CMS', 'ours': '50'},
        MODEL | {'workers': '2', 'drop_rate': '0.4'}, MODEL | {'workers': '6', 'drop_rate': '0.1', 'note': 'from 2 workers'},
        *sizes,
    ], flow_sizes=many, living_edge_compared=compared, profile=lookups, flow_sharing=[
        {'name': 'simple-hash', 'threads': '2', 'sharing': 'separate', 'bytes': '4096', 'width': '64', 'command': 'kernels'}], flow_hosts=[
        hosts | {'hosts': '1200', 'exact': '0.5'}, hosts, hosts | {'design': 'rss'}, hosts | {'kpps': '80', 'exact': '0.5'}],
        forward=[{'part': f'{part} off-path compact-table, 2550 flows{above}'.strip(), 'value': value, 'command': command}
                 for part, above, value, command in (('', ', above io', '1', ''), ('', ', above io', '2', ''),
                                                     ('exact flows of', '', '0.25', 'forward'))])
    rows = join(test, directory)
    check_rows(test, rows)

    # The bench names the row, and has its kind.
    row = one(rows, 'Wu', item='Table 3', setting='RSS-Separate-SHT', quantity='PDR')
    assert [row[name] for name in ADDED] == ['0.25', '0.125', '0.5', 'modelled: from 2 workers; "x"', 'sketchtap-bench paper y.csv',
                                             'CPU "A", 8 CPUs', '2026-11-29 11:00 UTC'], row
    row = one(rows, 'Wu', item='Table 3', setting='RSS-Separate-RS', quantity='PPT')
    assert (row['ours'], row['ours_min'], row['how']) == ('77', '', 'measured'), row
    row = one(rows, 'Wu', item='Table 3', setting='RSS-Shared-SHT', quantity='PPT')
    assert row['how'] == 'not run: paper.csv has no such figure', row
    row = one(rows, 'Wu', item='Sec. 4.5.1', quantity='PPT, shared of separate')
    assert (row['ours'], row['command']) == ('2.5', 'sketchtap-bench paper --seed 1'), row
    row = one(rows, 'Wu', item='Fig. 9', setting='2 to 6 cores')
    assert row['ours'] == '40 to 10' and row['how'].startswith('modelled: '), row
    row = one(rows, 'Wu', item='Sec. 4.4.2', setting='SHT')
    assert row['ours'] == '32', row  # of two tables
    row = one(rows, 'Wu', item='Sec. 4.4.2', setting='memory')
    assert row['ours'] == '220', row
    row = one(rows, 'Wu', item='Fig. 8')
    assert (row['ours'], row['ours_min']) == ('16384 = 4096 < 262144', ''), row  # spreads of the first two overlap
    row = one(rows, 'Wu', item='Fig. 11')
    assert (row['ours'], row['ours_min']) == ('10', ''), row  # 0.5 less 0.4

    row = one(rows, 'Nass', item='Fig. 2', setting='CAIDA; Bob; beyond the knee')
    assert row['ours'] == '40', row  # the largest table, below the best

    row = one(rows, 'Mann', item='Fig. 3', quantity='server CPU begins to rise at')
    assert (row['ours'], row['ours_min']) == ('10', ''), row  # at 100 the spread has values of 800
    row = one(rows, 'Mann', item='Fig. 3', setting='sFlow; OVS; 10 Gbps')
    assert row['ours'] == '800 < 1 = 5', row
    row = one(rows, 'Mann', item='Fig. 9', setting='sFlow; 10000 servers')
    assert (row['ours'], row['ours_min'], row['ours_max']) == ('700', '600', '900'), row
    assert row['how'] == 'modelled: from one server; seconds 5 instead of 300', row
    row = one(rows, 'Mann', item='Sec. III', setting='R1')
    assert (row['ours'], row['ours_min'], row['ours_max']) == ('2', '1', '3'), row
    row = one(rows, 'Mann', item='Fig. 9', setting='NetFlow; OVS')
    assert row['how'].endswith('two connections'), row
    row = one(rows, 'Mann', item='Sec. V-D', setting='sFlow against NetFlow of 100 flows')
    assert (row['ours'], row['ours_min'], row['ours_max']) == ('0.35', '0.15', '0.9'), row  # spread of extremes

    for path, exact in (('on-path', '75'), ('off-path', '25')):
        row = one(rows, 'Zha', item='Table 1', setting=f'{path} FCAP', quantity='measurement accuracy')
        assert row['ours'] == exact, row
    row = one(rows, 'Zha', item='Table 2', setting='160 Kpps; 1400 hosts; off-path FCAP')
    assert row['ours'] == '1.5', row
    row = one(rows, 'Zha', item='Table 1', setting='off-path FCAP', quantity='forwarding latency added')
    assert row['how'] == 'not run: forward.csv has no such figure', row  # figures without a command do not count
    row = one(rows, 'Zha', item='Fig. 11', setting='order')
    assert row['ours'] == '', row


def test_missing_file(test):
    """A file that only a program of the source tree writes is named with this program."""
    directory = prepare(test)
    os.unlink(os.path.join(directory, 'living-edge-compared.csv'))
    row = one(join(test, directory), 'Mann', item='Fig. 3', setting='sFlow; OVS; 100 Mbps; 1:1')
    assert row['how'] == 'not run: no living-edge-compared.csv, which is written by bench/living-edge compare', row


def test_bad_input(test):
    """A damaged file, a wrong directory and settings of other benches end with one line. An earlier result stays."""
    directory = prepare(test)
    join(test, directory)
    before = lib.read_text(os.path.join(directory, 'papers.csv'))
    for text, line in (('part,value\na\n', 2), ('part,value\na,"b\n', 3), ('part,value\na,1\nb,"1"x\n', 3), ('a,b\n1,2,3\n', 2),
                       ('a,b\n1,2"\n', 2), ('', 1)):
        with open(os.path.join(directory, 'kernel.csv'), 'w', encoding='utf-8') as file:
            file.write(text)
        test.bench('paper', '--all', directory).expect(1).expect_one_line(f'kernel.csv: line {line} ')
        assert lib.read_text(os.path.join(directory, 'papers.csv')) == before
    test.bench('paper', '--all', os.path.join(directory, 'kernel.csv', 'below')).expect(1).expect_one_line('below: ')
    for option, value in (('zipf', '1.2'), ('workers', '2'), ('output', '-'), ('rounds', '3'), ('experiment', 'size')):
        test.bench('paper', '--all', directory, f'--{option}', value).expect(2).expect_one_line(f'--{option}', '--all')
    assert not [name for name in os.listdir(directory) if name.endswith('.part')]


def test_stop(test):
    """A stop leaves no file of an incomplete bench, and no papers.csv."""
    directory = prepare(test)
    os.unlink(os.path.join(directory, 'paper.csv'))
    process = test.start('paper', '--all', directory, '--no-huge', program=[test.bench_binary])
    test.until(lambda: os.path.exists(os.path.join(directory, 'paper.csv')), 'a bench that writes paper.csv')
    process.signal(signal.SIGTERM)
    test.wait(process).expect(1)
    left = set(os.listdir(directory))
    assert 'paper.csv' not in left and 'papers.csv' not in left, left


# With --quick --seed 7. {(kpps, hosts): (monitored flows, bytes of a compact table, of an iblt)}
HOSTS = {
    (160, 200): (339, 18624, 89728), (160, 400): (693, 37504, 89728), (160, 600): (1049, 56512, 89728),
    (160, 800): (1401, 75264, 89728), (160, 1000): (1746, 93696, 89728), (160, 1200): (2144, 114880, 89728),
    (160, 1400): (2517, 134784, 97664), (160, 1600): (2894, 154944, 112192),
    (80, 200): (193, 10880, 89728), (80, 400): (392, 21440, 89728), (80, 600): (613, 33280, 89728),
    (80, 800): (802, 43328, 89728), (80, 1000): (1002, 54016, 89728), (80, 1200): (1237, 66560, 89728),
    (80, 1400): (1454, 78144, 89728), (80, 1600): (1660, 89088, 89728)}
STRUCTURES = {'FCAP': ('compact-table', 1), 'SMON': ('iblt', 2)}  # name here, index in HOSTS
DIGEST = {'FCAP': 32, 'SMON': 32}  # bytes on a ring
EXACT = (
    ('Nass', 'Fig. 4', 'CoralReef', 'P(L=1)', (0.9369, 0.9369, 0.9369)), ('Nass', 'Fig. 4', 'CoralReef', 'E[L]', (1.066, 1.066, 1.066)),
    ('Nass', 'Fig. 4', 'Bob', 'P(L=1)', (0.8097, 0.8097, 0.8097)), ('Nass', 'Fig. 4', 'Bob', 'E[L]', (1.222, 1.222, 1.222)),
    ('Nass', 'Fig. 4', 'Murmur', 'P(L=1)', (0.9588, 0.9588, 0.9588)), ('Nass', 'Fig. 4', 'Murmur', 'E[L]', (1.043, 1.043, 1.043)),
    ('Tangari', 'Sec. IV-C', 'nearest mean; K = 1000', 'error of P', (2.488,)),
    ('Tangari', 'Fig. 3', 'CDF rule; K = 1000', 'error of P', (0.9241,)),
    ('Tangari', 'Fig. 5a', 'ramp 0 to 14.8 Mpps in 1 s; without', 'first loss at', (0.8237,)),
    ('Tangari', 'Fig. 5a', 'ramp; adapted', 'lossless up to', (14.8,)), ('Tangari', 'Fig. 5a', 'ramp; adapted', 'above without', (1.754,)),
    ('Tangari', 'Fig. 5a', 'ramp; adapted', 'adaptations at', (0.84, 0.71, 0.97)),
    ('Tangari', 'Fig. 5a', 'ramp; without; 1 MB', 'loss later by', (23.65,)),
    ('Tangari', 'Fig. 5b', 'sine 0 to 14.8 Mpps; T = 250 ms; adapted', 'lost', (0, 0, 0)),
    ('Tangari', 'Fig. 5c', 'sine; T = 100 ms; adapted', 'less lost than without', (99.02, 98.04, 100)),
    ('Tangari', 'Fig. 5d', '1; 2; 3 co-runners; 1/3 s each', 'loss; without', (0.09373, 0.09114, 0.09633)),
    ('Tangari', 'Fig. 5d', '3 co-runners; adapted', 'loss', (0.000612, 0, 0.001224)),
    ('Tangari', 'Fig. 5e', 'without', 'starves from alpha', (1.225, 1.22, 1.23)),
    ('Tangari', 'Fig. 5e', 'adapted', 'loss from alpha', (1.075, 1.07, 1.08)))


def check_not_run(test, rows, missing):
    """Exactly the rows of missing files, and those of large tables, have no figure."""
    large = {('paper', 'Fig. 11'), ('flow-traffic', 'Table 1'), ('flow-sizes', 'Fig. 2'), ('flow-sizes', 'Fig. 3')}
    files, items = set(), set()
    printed = [(paper, row) for paper in PAPERS for row in printed_of(test, paper)]
    for (paper, fact), row in zip(printed, rows, strict=True):
        of_files = {line['file'] for line in lines_of(test) if line['paper'] == paper and all(
            fnmatch.fnmatchcase(fact[name], line[name]) for name in ('item', 'setting', 'quantity', 'unit'))}
        no_file = re.fullmatch(r'not run: no ([\w-]+)\.csv(, which is written by .*)?', row['how'])
        no_row = re.fullmatch(r'not run: ([\w-]+)\.csv has no such figure', row['how'])
        assert bool(no_file or no_row) == row['how'].startswith('not run: '), row
        assert not (of_files and of_files <= missing) or no_file, row
        if no_file:
            files.add(no_file.group(1))
        if no_row:
            items.add((no_row.group(1), row['item']))
    assert files == missing and items == large, (files, items)


def check_hosts(rows, runs):
    """Flows, memory and accuracy of Zha et al. follow from the seed. A ring holds the packets of 0.5 s."""
    for (kpps, hosts), expected in HOSTS.items():
        item, setting = {160: 'Table 2', 80: 'Table 3'}[kpps], f'{kpps} Kpps; {hosts} hosts'
        assert int(one(rows, 'Zha', item=item, setting=setting)['ours']) == expected[0], (setting, expected)
        for structure, (sketch, column) in STRUCTURES.items():
            own = [run for run in runs if (run['kpps'], run['hosts'], run['sketch']) == (str(kpps), str(hosts), sketch)]
            assert [(run['flows'], run['bytes']) for run in own] == 2 * [(str(expected[0]), str(expected[column]))], (own, expected)
            row = one(rows, 'Zha', item=item, setting=f'{setting}; off-path {structure}')
            off_path = expected[column] + kpps * 500 * DIGEST[structure]
            assert math.isclose(float(row['ours']) * 2 ** 20, off_path, rel_tol=1e-3), (row, off_path)
    for structure, (_, column) in STRUCTURES.items():
        flows, size = HOSTS[160, 1400][0], HOSTS[160, 1400][column]
        for setting, quantity, value in (('on-path', 'measurement accuracy', 100), ('off-path', 'measurement accuracy', 100),
                                         ('on-path', 'kernel memory', size / 1024)):
            row = one(rows, 'Zha', item='Table 1', setting=f'{setting} {structure}', quantity=quantity)
            assert math.isclose(float(row['ours']), value, rel_tol=1e-3), (row, value)
        assert size / 1024 < float(row['value']), row
        row = one(rows, 'Zha', item='derived', setting=f'on-path {structure}; 2550 flows')
        assert math.isclose(float(row['ours']), size / flows, rel_tol=1e-3), row


def check_rings(rows, directory):
    """Rings hold the packets of a time. A generation is half of the memory of the kernel."""
    for item, setting, quantity, wanted in (('Sec. 4.1', '160 Kpps', 'ring buffer so that nothing is lost', 80000 * 32), (
            'Sec. 4.3', '1.2 Mpps', 'ring buffer', 600000 * 32), ('Sec. 4.3', 'ring buffer', 'memory per rate', 40000 * 32)):
        row = one(rows, 'Zha', item=item, setting=setting, quantity=quantity)
        assert abs(float(row['ours']) * 2 ** 20 / wanted - 1) < 0.001, row
    fcap, smon = (float(one(rows, 'Zha', item='Table 1', setting=f'off-path {structure}', quantity='kernel memory')['ours'])
                  for structure in ('FCAP', 'SMON'))
    row = one(rows, 'Zha', item='Sec. 4.2', setting='off-path FCAP')
    assert abs(float(row['ours']) - 100 * (fcap / smon - 1)) < 0.2, (row, fcap, smon)
    if os.geteuid() == 0:
        tables = {row['part']: float(row['value']) for row in read(os.path.join(directory, 'kernel.csv'))
                  if row['flows'] == '2550' and row['unit'] == 'bytes'}
        row = one(rows, 'Zha', item='Table 1', setting='eBPF', quantity='kernel memory')
        assert abs(float(row['ours']) * 1024 / tables['on-path, memory of a generation'] - 1) < 0.001, (row, tables)
        assert tables['on-path, memory'] == 2 * tables['on-path, memory of a generation'], tables


def check_wu(rows, runs):
    """Each cell of Tables 3 and 4 has the loss of its model, with its error, or the time of the measured run."""
    names = {'SHT': 'simple-hash', 'CMS': 'count-min', 'RS': 'reversible'}
    cells = [row for row in rows if row['paper'].startswith('Wu') and row['item'] in ('Table 3', 'Table 4')]
    assert len(cells) == 28, cells
    for row in cells:
        design, sharing, sketch = row['setting'].split('-')
        loss = row['quantity'] == 'PDR'
        assert row['how'].startswith('modelled: from ' if loss else 'measured') and (not loss or ' off in ' in row['how']), row
        own = [run for run in runs if run['experiment'].startswith('model') and run['traffic'] == 'random'
               and (run['design'], run['sharing'], run['sketch']) == (design.lower(), sharing.lower(), names[sketch])
               and (run['how'] == 'modelled' if loss else run['offered_mpps'] == '72.00' and 'costs come' in run['note'])]
        most = max(own, key=lambda run: int(run['workers']))
        assert 0 <= float(row['ours']) <= (1 if loss else 1e6), row
        for end in ('', '_min', '_max') if loss else ('',):  # papers.csv has four digits
            run = most[f'drop_rate{end}' if loss else 'count_ns']
            assert math.isclose(float(row['ours' + end]), float(run), rel_tol=1e-3), (row, most)


def test_of_this_host(test):
    """The whole table at a small scale. Exact quantities are compared; times only exist."""
    if test.sanitized:
        test.skip('takes minutes with a sanitizer, and other tests run the same code')
    directory = test.path('figures')
    result = test.bench('paper', '--all', directory, '--quick', '--no-huge', '--seed', '7')
    if os.geteuid() == 0:
        result.expect(0)
    else:  # the eBPF program needs root
        result.expect(1)
        assert not os.path.exists(os.path.join(directory, 'kernel.csv')) and 'kernel failed' in result.stderr, result.describe()
    rows = read(os.path.join(directory, 'papers.csv'))
    check_rows(test, rows)
    check_not_run(test, rows, {'edge', 'living-edge-compared'} | ({'kernel'} if os.geteuid() != 0 else set()))
    check_hosts(rows, read(os.path.join(directory, 'flow-hosts.csv')))
    check_rings(rows, directory)
    check_wu(rows, read(os.path.join(directory, 'paper.csv')))
    assert all(row['how'].startswith('measured: ') for row in rows if row['item'] == 'Table III')
    for paper, item, setting, quantity, ours in EXACT:
        row = one(rows, paper, item=item, setting=setting, quantity=quantity)
        for name, value in zip(('ours', 'ours_min', 'ours_max'), ours):
            assert math.isclose(float(row[name]), value, rel_tol=1e-3, abs_tol=1e-6), (name, value, row)
    row = one(rows, 'Tangari', item='Fig. 6', setting='processing time to fall by 25 %')
    us = {entry['quantity']: float(entry['value']) for entry in read(os.path.join(directory, 'adaptive.csv'))
          if (entry['figure'], entry['setting']) == ('6', '64 states, -25 %')}
    order = re.split(' [<=] ', row['ours'])
    assert set(order) == set(us) == {'Greedy', 'LSF'} and us[order[0]] <= us[order[1]], (row, us)
    for setting in ('P; K = 1000', 'P; K = 1000; CDF tabulated'):
        assert float(one(rows, 'Tangari', item='Sec. VI-B', setting=setting)['ours']) > 0
    assert all(re.match(r'sketchtap-bench \S', row['command']) for row in rows if row['command']), 'a command of another program'
    before = lib.read_text(os.path.join(directory, 'papers.csv'))
    if os.geteuid() == 0:
        join(test, directory)
    assert lib.read_text(os.path.join(directory, 'papers.csv')) == before


def tool_of(test, name):
    return [os.path.join(test.settings.root, 'bench', name)]


def test_document(test):
    """docs/PAPERS.md is what bench/tables makes of bench/results/papers.csv, which has each printed row."""
    root = test.settings.root
    figures = os.path.join(root, 'bench', 'results', 'papers.csv')
    check_rows(test, read(figures))
    os.mkdir(test.path('figures'))
    shutil.copy(figures, test.path('figures'))
    page = lib.read_text(os.path.join(root, 'docs', 'PAPERS.md'))
    for section in page.split('\n## '):
        shown = re.findall(r'!\[(.*?)\]\((papers/[\w.-]+)\)', section)
        assert len({caption for caption, _ in shown}) == len(shown), shown
        for _, name in shown:
            assert os.path.exists(os.path.join(root, 'docs', name)), name
    with open(test.path('PAPERS.md'), 'w', encoding='utf-8') as file:
        file.write(re.sub(r'(<!-- figures \w+ -->\n).*?(<!-- end -->)', r'\1old\n\2', page, flags=re.DOTALL))
    test.run(test.path('figures'), test.path('PAPERS.md'), program=tool_of(test, 'tables')).expect(0)
    assert lib.read_text(test.path('PAPERS.md')) == page
    for row in read(figures):
        assert not row['how'].startswith('not run'), row
        if row['how'].startswith('not '):
            assert row['how'].split(': ', 1)[1] in ' '.join(page.split()), row


def test_pictures(test):
    """Pictures are valid, inside their frame, and have each series in the legend. Without figures there is none."""
    directory = prepare(test, flow_sizes=[
        {'bench': 'flow-table', 'traffic': 'zipf', 'collision': collision, 'hash': 'coralreef', 'buckets': buckets, 'mpps': '100',
         'ns': ns, 'ns_min': '8', 'ns_max': '20', 'of_power': '', 'occupancy': '0.5', 'note': '', 'machine': 'CPU <A> & B', 'date': '2026-11-29 11:00 UTC',
         'command': 'sizes'} for collision, buckets, ns in (('list', '16384', '10'), ('list', '67108864', '16'), ('tree', '16384', '9'))],
        edge=[{'what': what, 'contestant': contestant, 'flows': '2550', 'asked_pps': asked, 'pps': '40000', 'all_ns': '15000', 'mover_kb': kb,
               'machine': 'CPU <A> & B', 'date': '2026-11-29 11:00 UTC', 'command': 'edge'}
              for what, asked in (('cost', '40000'), ('cost', '5000'), ('highest', ''))
              for contestant, kb in (('ovs again', '1024'), ('ovs, umon', '5120'), ('sketchtap --forward --design async', ''))])
    row = one(join(test, directory), 'Zha', item='Table 2', setting='160 Kpps; UMON')
    assert (row['ours'], row['how']) == ('4', 'measured: added to a user-space switch at 40000 pps'), row
    test.run(directory, test.path('pictures'), program=tool_of(test, 'plot_papers')).expect(0)
    assert sorted(os.listdir(test.path('pictures'))) == [
        'nassopoulos-2-density.svg', 'nassopoulos-2.svg', 'nassopoulos-3.svg', 'zha-10.svg', 'zha-2.svg', 'zha-8.svg']
    for name in os.listdir(test.path('pictures')):
        root = xml.etree.ElementTree.parse(os.path.join(test.path('pictures'), name)).getroot()
        width, height = float(root.get('width')), float(root.get('height'))
        assert width == 800, width
        texts = [element for element in root if element.tag.endswith('text')]
        assert all(0 <= float(text.get('x')) < width and 0 <= float(text.get('y')) < height for text in texts)
        words = [text.text for text in texts]
        assert 'CPU <A> & B; 2026-11-29' in words and ('rows of the table' in words) == name.startswith('nass'), words
        if name == 'nassopoulos-2.svg':
            assert {'CoralReef, list', 'CoralReef, tree', 'CoralReef, list: paper', 'Mpps', '2^14', '54 M', 'paper: knee',
                    'paper: 20 % below best list'} <= set(words), words
        if name.startswith('zha'):
            assert {'UMON', 'eBPF', 'off-path FCAP'} <= {word.removeprefix('paper: ') for word in words}, words
        circles = [element for element in root if element.tag.endswith('circle')]
        assert len(circles) == {'nassopoulos-2.svg': 6, 'nassopoulos-3.svg': 4, 'zha-2.svg': 29}.get(name, 0), len(circles)  # with those of the legend
    test.run(test.path('nothing'), test.path('pictures'), program=tool_of(test, 'plot_papers')).expect(2)
    write(directory, 'accuracy', [  # half of the keys are reported, with half of their count
        {'name': name, 'traffic': traffic, 'bytes': str(size << 20), 'ns': str(size), 'recall': '1', 'relative_error': '0',
         'recall_1000': '0.5', 'relative_error_1000': error, 'machine': 'CPU', 'date': '2026-11-29'}
        for name in ('elastic', 'count-min') for traffic in ('zipf=1.3', 'uniform') for size, error in ((2, '0.5'), (200, '0'))])
    test.run(directory, test.path('pictures'), program=tool_of(test, 'plot_papers')).expect(0)
    root = xml.etree.ElementTree.parse(os.path.join(test.path('pictures'), 'accuracy.svg')).getroot()
    texts = [(text.text, float(text.get('y'))) for text in root if text.tag.endswith('text')]
    assert {'count-min', 'elastic', 'Zipf 1.3', 'uniform', 'memory, MB', 'CPU time of an update, ns'} <= dict(texts).keys(), texts
    whole, tenth = (dict(texts)[tick] - 4 for tick in ('1', '0.1'))
    for shape, y, middle in (('rect', 'y', 3), ('circle', 'cy', 0)):  # a sketch here and a rival
        marks = [float(element.get(y)) + middle for element in root
                 if element.tag.endswith(shape) and (element.get('width') == '6' or element.get('r'))]
        assert len(marks) == 1 + 8, marks  # of the legend and of panels
        assert whole < marks[-2] < marks[-1] < tenth, (marks, texts)

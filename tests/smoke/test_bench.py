# SPDX-License-Identifier: BSD-3-Clause
"""bench: every row is printed, the CSV is valid, bad options are refused. Times are not judged."""

import csv
import glob
import io
import os
import re
import shutil

import lib

LONG = ('worker', 'forward', 'collect', 'exports', 'pipeline', 'paper', 'paper_model', 'pipeline_of_a_port', 'pipeline_of_a_mixed_port',
        'tune', 'tune_a_capture', 'pipeline_of_nobody')

FACTS = ('machine', 'kernel', 'dpdk', 'compiler', 'date', 'command')
SMALL = ('--packets', '8K', '--rounds', '2', '--flows', '1K', '--width', '4K', '--seed', '1')


def read_rows(text):
    """Reads the rows of a CSV with facts in each, strictly."""
    reader = csv.reader(io.StringIO(text, newline=''), strict=True)
    header = next(reader)
    assert header[-len(FACTS):] == list(FACTS), header
    rows = []
    for fields in reader:
        assert len(fields) == len(header), fields
        rows.append(dict(zip(header, fields)))
        assert all(rows[-1][fact] for fact in FACTS), rows[-1]
    assert rows, 'no row'
    return rows


def skip_with_sanitizers(test):
    if test.sanitized:
        test.skip('takes minutes with a sanitizer, and other tests run the same code')


def check_times(row, floor):
    """Checks that times are present. The cost of reading keys is subtracted, so that noise of a
    busy machine may leave nothing."""
    assert float(row['ns_min']) <= float(row['ns']) <= float(row['ns_max']), row
    assert float(row['bytes']) > 0, row
    for column in ('ns', 'ns_max', 'mpps', 'floor_ratio', 'member_ratio'):
        drowned = float(row['ns_min']) <= 0 or (float(floor['ns_min']) <= 0 and column == 'floor_ratio')
        assert float(row[column]) > 0 or drowned, (column, row)


PUBLISHED = ('octosketch', 'octosketch 63', 'elastic', 'cocosketch', 'space-saving')


def test_kernels_quick(test):
    """Every sketch, sharing, atomic and thread count for every traffic, including floor and
    rivals."""
    skip_with_sanitizers(test)
    path = test.path('kernels.csv')
    result = test.bench('kernels', '--quick', '--no-huge', '--packets', '20K',
                      '--output', path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    traffics = {(row['traffic'], row['flows']) for row in rows}
    assert traffics == {('uniform', '1000'), ('uniform', '100000'), ('zipf=1.05', '1000'),
                        ('zipf=1.05', '100000'), ('random', '')}, traffics
    cpus = len(os.sched_getaffinity(0))
    for traffic in traffics:
        group = [row for row in rows if (row['traffic'], row['flows']) == traffic]
        kinds = {(row['name'], row['sharing'], row['atomic'], row['threads']) for row in group}
        assert len(kinds) == len(group), 'a row is there twice'
        for rival in ('rte_member', 'rte_member bytes', 'rte_hash', *PUBLISHED):
            assert (rival, '', '', '1') in kinds, kinds
        for threads in ('1', '2'):
            assert ('floor', '', '', threads) in kinds, kinds
            for sketch in ('count-min', 'reversible', 'simple-hash'):
                assert (sketch, 'separate', '', threads) in kinds, kinds
                for atomic in ('cas', 'add', 'lock'):
                    assert (sketch, 'shared', atomic, threads) in kinds, kinds
        for row in group:
            if int(row['threads']) > cpus:
                assert 'more threads than CPUs' in row['note'] and row['ns'] == '', row
            else:
                assert row['note'] == '', row
                check_times(row, next(other for other in group if other['name'] == 'floor'
                                      and other['threads'] == row['threads']))
    for row in rows:
        if row['name'] == 'rte_hash' and row['traffic'] != 'random':
            assert (row['recall'], row['precision']) == ('1.00', '1.00'), row
            assert float(row['relative_error']) == 0, row
        if row['traffic'] == 'random':
            assert row['recall'] == '' and row['recall_1000'] == '', row
        elif row['name'] in PUBLISHED + ('rte_hash',):
            assert 0 <= float(row['recall_1000']) <= 1, row
        # OctoSketch lists a key when one of its counters reaches the threshold, which few packets
        # do not reach.
        if row['name'] in PUBLISHED[2:] and row['traffic'] == 'zipf=1.05':
            assert float(row['recall']) > 0.9 and float(row['relative_error']) < 0.1, row
    lines = result.stdout.splitlines()
    titles = [i for i, line in enumerate(lines) if line.split()[-5:] == ['recall', 'prec.', 'error', 'rec.1000', 'error']]
    assert len(titles) == len(traffics), result.stdout
    for i in titles:
        place = lines[i].index('ready') + len('ready')
        assert lines[i + 1][:place].split() == ['ns', 'ns', 'ns'], lines[i + 1]
        assert lines[i + 1].split()[-2:] == ['ratio', 'ratio'], lines[i + 1]
    names = {row['name'] for row in rows}
    printed = {line.split('  ')[1].strip() for line in result.stdout.splitlines()
               if line.startswith('  ')}
    assert names <= printed, (names, printed)


def test_kernels_subset(test):
    """Options select rows; CSV on standard output has no table."""
    result = test.bench('kernels', *SMALL, '--no-huge', '--sketch', 'cms', '--sharing', 'shared',
                      '--atomic', 'add', '--threads', '1,64', '--zipf', '1.3', '--output',
                      '-').expect(0)
    rows = read_rows(result.stdout)
    ours = [row for row in rows if row['sharing'] != '']
    assert [(row['name'], row['sharing'], row['atomic'], row['threads']) for row in ours] == [
        ('count-min', 'shared', 'add', '1'), ('count-min', 'shared', 'add', '64')], ours
    assert {row['traffic'] for row in rows} == {'zipf=1.3'}, rows
    assert {row['packets'] for row in rows} == {'8000'}, rows
    if len(os.sched_getaffinity(0)) < 64:
        assert 'more threads than CPUs' in ours[1]['note'], ours[1]


def test_worker(test):
    """A row for receiving and freeing, and one for each sketch, sharing and atomic."""
    path = test.path('worker.csv')
    arguments = ('worker', '--no-huge', '--packets', '20K', '--rounds', '1', '--flows',
                 '1K', '--zipf', '1.05', '--width', '4K', '--output', path)
    if len(os.sched_getaffinity(0)) < 2:
        test.bench(*arguments).expect(1).expect_one_line('two CPUs')
        return
    test.bench(*arguments).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    kinds = [(row['name'], row['sharing'], row['atomic']) for row in rows]
    assert kinds[0] == ('receive and free', '', ''), kinds
    for sketch in ('count-min', 'reversible', 'simple-hash'):
        assert (sketch, 'separate', '') in kinds, kinds
        for atomic in ('cas', 'add', 'lock'):
            assert (sketch, 'shared', atomic) in kinds, kinds
    for row in rows:
        assert float(row['rx_ns']) > 0 and float(row['total_ns']) > 0, row
        assert (row['added_ns'] == '') == (row['name'] == 'receive and free'), row


def script_of(test):
    return os.path.join(test.settings.root, 'bench', 'targets')


def targets_of(test, *benches):
    with open(os.path.join(os.path.dirname(script_of(test)), 'targets.csv'), newline='', encoding='utf-8') as file:
        return [target for target in csv.DictReader(file) if target['bench'] in benches]


def judge(test, *arguments, benches=('parts',)):
    """Runs bench/targets; returns its CSV rows by target, and its output."""
    path = test.path(f'targets{len(test.processes)}.csv')
    result = test.run('--output', path, *arguments, program=[script_of(test)]).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    named = {row['target']: row for row in rows}
    assert len(named) == len(rows) == len(targets_of(test, *benches)) > 20, list(named)
    assert rows[0]['bench'] == 'targets', rows[0]
    assert all(name in result.stdout for name in named), result.describe()
    return named


def test_forward(test):
    """Plain forwarding, and every way to measure it; all forwarded packets are counted."""
    path = test.path('forward.csv')
    if len(os.sched_getaffinity(0)) < 2:
        test.skip('needs two CPUs')
    test.bench('forward', '--no-huge', '--packets', '20K', '--rounds', '1', '--output', path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    parts = [row['part'] for row in rows]
    assert parts[:2] == ['io', 'nothing measured'] and len(set(parts)) == len(parts), parts
    assert {part.split()[0].strip(',') for part in parts[2:]} == {
        'io', 'nothing', 'on-path', 'off-path', 'p50', 'p99', 'exact'}, parts
    for row in rows:
        exact = row['part'].startswith('exact flows of ')
        assert row['packets'] == '20000' and row['unit'] == ('ratio' if exact else 'ns') and row['round'] == '0', row
        assert not exact or row['value'] == '1.0000', row
        assert 'above' in row['part'] or float(row['value']) > 0, row
        assert row['lost'] in ('', '0.0000'), row
    # Table 1 of Zha et al. has one baseline.
    assert {part for part in parts if 'compact-table' in part or '2550' in part} == {
        name.format(path, sketch) for path in ('on-path', 'off-path') for sketch in ('compact-table', 'iblt')
        for name in ('{} {}, 2550 flows, above io', 'exact flows of {} {}, 2550 flows')}, parts
    assert {target[column] for target in targets_of(test, 'forward') for column in ('figure', 'of')} <= {*parts, ''}


def test_targets(test):
    """Every part has a row per round. Every target is judged from existing parts, or names the
    reason why not."""
    skip_with_sanitizers(test)
    path = test.path('parts.csv')
    test.bench('parts', '--quick', '--rounds', '2', '--no-huge', '--output', path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    parts = {row['part'] for row in rows}
    assert sorted((row['part'], row['round']) for row in rows) == sorted(
        (part, turn) for part in parts for turn in '01'), rows
    for row in judge(test, path).values():
        assert row['command'] == rows[0]['command'], row
        if 'not measured' in row['note']:
            assert len(os.sched_getaffinity(0)) < 2 and row['met'] == '', row
            continue
        assert row['met'] in ('met', 'not met') and row['relation'] in ('<=', '>='), row
        assert float(row['min']) <= float(row['value']) <= float(row['max']), row
        assert float(row['limit']) > 0 and row['unit'] and row['rounds'] == '2', row


def test_targets_of_figures(test):
    """Medians, ratios within rounds, and the effects that make a target easier or harder, on
    invented figures."""
    parts, collect = ({target[column]: [('5', '1', '0.5')] * 3 for target in targets_of(test, bench)
                       for column in ('figure', 'of', 'beside') if target[column]} for bench in ('parts', 'collect'))
    parts.update({
        'start-up': [('0.05', '', ''), ('0.02', '', ''), ('0.03', '', '')],
        'replay': [('4', '', '')] * 3, 'libpcap only': [('4', '', ''), ('9', '', ''), ('2', '', '')],
        'count-min': [('2', '0.98', '0.01'), ('4', '0.98', '0.01'), ('8', '0.98', '0.01')],
        'floor': [('1', '', ''), ('1', '', ''), ('8', '', '')],
        'rte_member': [('40', '0.99', '0.01')] * 3,
        'worker': [('', '', '')] * 3,
    })
    path = test.path('parts.csv')

    def write_parts(bench='parts', figures=None, to=path):
        with open(to, 'w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file, lineterminator='\n')
            writer.writerow(('bench', 'part', 'value', 'unit', 'recall', 'relative_error', 'note', *FACTS))
            for part, turns in (figures or parts).items():
                writer.writerows((bench, part, value, 'ns', recall, error, '' if value else 'not measured: so', *FACTS)
                                 for value, recall, error in turns)

    def judged():
        write_parts()
        return judge(test, path)

    def said(row, *names):
        return tuple(row[name] for name in names)

    rows = judged()
    assert said(rows['start-up: --pcap of 10 packets, wall'], 'value', 'min', 'max', 'limit', 'met') == (
        '0.03', '0.02', '0.05', '0.08', 'met')
    assert said(rows['replay of a capture file, start-up left out'], 'limit', 'met', 'note') == (
        '3.60', 'met', 'libpcap only: 4.00 ns')
    assert said(rows['count-min, separate: of the floor of 4 random increments'], 'value', 'max', 'unit', 'met') == (
        '2.00', '4.00', 'times', 'met')
    assert said(rows['simple-hash, separate'], 'met', 'note') == ('met', 'recall 1.00, error 0.5000')
    assert said(rows['whole worker, count-min: more than receiving and freeing'], 'value', 'met', 'note') == (
        '', '', 'not measured: so')
    faster = 'count-min, separate: faster than rte_member in packet mode'
    assert said(rows[faster], 'value', 'met') == ('10.00', 'not met'), 'its recall is lower'
    parts['rte_member'] = [('40', '0.98', '0.01')] * 3
    assert judged()[faster]['met'] == 'met'
    parts['rte_member'] = [('40', '0.98', '0.001')] * 3
    assert judged()[faster]['met'] == 'not met', 'its error is larger'
    parts['libpcap only'] = [('90', '', '')] * 3
    assert said(judged()['replay of a capture file, start-up left out'], 'limit', 'met') == ('8.00', 'not met')

    bench = test.path('bench')
    with open(bench, 'w', encoding='utf-8') as file:
        file.write(f'#!/bin/sh\n[ "$1" = forward ] || [ "$1" = exports ] && exit 0\n[ "$1" = parts ] && file={path} || file={path}.$1\n'
                   '[ "$*" = "$1 --output - --rounds 3 --seed 1" ] && cat $file\n')
    os.chmod(bench, 0o755)
    write_parts('collect', collect, f'{path}.collect')
    both = judge(test, bench, '--rounds', '3', '--seed', '1', benches=('parts', 'collect'))
    assert both[faster]['rounds'] == both['decode IPFIX: of libfixbuf']['rounds'] == '3'
    kernel = test.path('kernel.csv')
    with open(kernel, 'w', newline='', encoding='utf-8') as file:
        csv.writer(file, lineterminator='\n').writerows([
            ('bench', 'part', 'flows', 'round', 'value', 'unit', 'note', *FACTS),
            *(('kernel', part, flows, turn, value, 'ns', '', *FACTS) for turn in '01' for flows in ('1000', '64000')
              for part, value in (('off-path', '17' if flows == '1000' else '5'),
                                  ('rival tcx_ingress_flow_parse', '100'), ('on-path, iblt', '40'), *(
                                      (f'{who}, {times} times', value) for times in ('exact', 'coarse')
                                      for who, value in (('on-path', '30'), ("the kernel's table", '40')))))])
    rows = judge(test, path, kernel, benches=('parts', 'kernel'))
    assert said(rows['--kernel, off-path, 1 K flows'], 'value', 'met') == ('17.00', 'not met')
    assert said(rows['--kernel, off-path, 64 K flows'], 'value', 'met') == ('5.00', 'met')
    of_rival = '--kernel, on-path, exact times, 64 K flows: of netobserv'
    assert said(rows[of_rival], 'value', 'rounds', 'met') == ('0.30', '2', 'met')
    with open(kernel, encoding='utf-8') as file:
        lines = [line for line in file if 'rival' not in line]
    with open(kernel, 'w', encoding='utf-8') as file:
        file.writelines(lines)
    table = test.run(kernel, program=[script_of(test)]).expect(0).stdout
    assert "of the kernel's table" in table and 'netobserv' not in table, table
    test.run(bench, '--rounds', '4', program=[script_of(test)]).expect(1)
    test.run(test.path('nothing'), program=[script_of(test)]).expect(1).expect_one_line('nothing: No such file')
    del parts['floor']
    write_parts()
    test.run(path, program=[script_of(test)]).expect(1).expect_one_line("no 'floor'")


def test_collect(test):
    """Every figure in every round, or a reason; the bench itself compares its counts with the
    truth."""
    skip_with_sanitizers(test)
    path = test.path('collect.csv')
    test.bench('collect', '--quick', '--rounds', '1', '--no-huge', '--seed', '1', '--output', path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    parts = [row['part'] for row in rows]
    assert len(set(parts)) == len(parts) > 60, parts
    for row in rows:
        if 'not measured' in row['note']:
            assert row['value'] == '' and row['part'].removeprefix('lost by ').startswith(
                ('libfixbuf', 'nfcapd', 'goflow2')), row
        elif row['unit'] != 'datagrams':
            assert float(row['value']) > 0, row
    for row in judge(test, path, benches=('collect',)).values():
        assert row['met'] in ('met', 'not met') or 'not measured' in row['note'], row


# Figures of other projects or optional builds (Kafka, --metrics); a worker needs its own CPU.
MAY_BE_MISSING = ('encode: libfixbuf', 'encode: goflow2', 'kafka: ', 'a scrape', 'worker')


def test_exports(test):
    """Every figure, or a reason; the bench itself checks that all records were encoded."""
    skip_with_sanitizers(test)
    path = test.path('exports.csv')
    test.bench('exports', '--quick', '--rounds', '1', '--no-huge', '--seed', '1', '--output', path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    for row in rows:
        if 'not measured' in row['note']:
            assert row['value'] == '' and row['part'].startswith(MAY_BE_MISSING), row
        else:
            assert float(row['value']) > 0 or row['part'] == 'of them lost on loopback', row
    assert {target[column] for target in targets_of(test, 'exports') for column in ('figure', 'of')} <= {
        *(row['part'] for row in rows), ''}, rows


def test_pipeline(test):
    """The generator's maximum, and a row per setting; lost and measured packets add up."""
    path = test.path('pipeline.csv')
    test.bench('pipeline', '--quick', '--no-huge', '--experiment', 'width,mempool',
             '--output', path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    assert rows[0]['experiment'] == 'generator' and float(rows[0]['offered_mpps']) > 0, rows[0]
    settings = [(row['design'], row['mbufs'], row['width']) for row in rows[1:]]
    assert settings == [*(('rss', mbufs, '262144') for mbufs in ('4096', '16384', '65536', '262144')),
                        *((design, '16384', width) for design in ('rss', 'sync')
                          for width in ('1024', '262144', '8388608'))], settings
    for row in rows[1:]:
        assert 0 <= float(row['drop_rate']) <= 1, row
        assert float(row['measured_mpps']) <= float(row['offered_mpps']), row
        parts = sum(float(row[column]) for column in ('rx_ns', 'count_ns', 'free_ns'))
        assert abs(parts - float(row['delay_ns'])) < 0.05 and parts > 0, row
        threads = 2 + (row['design'] == 'sync')
        assert ('not comparable' in row['note']) == (len(os.sched_getaffinity(0)) < threads), row


def paper_figures(test):
    """Returns {(design, sharing, sketch): {PDR: ..., PPT: ...}} of Tables 3 and 4 of Wu et al."""
    figures = {}
    with open(os.path.join(os.path.dirname(script_of(test)), 'papers', 'wu2016.csv'), newline='', encoding='utf-8') as file:
        for row in csv.DictReader(file):
            if row['item'] in ('Table 3', 'Table 4'):
                design, sharing, sketch = row['setting'].split('-')
                figures.setdefault((design.lower(), sharing.lower(), SKETCHES_OF_PAPER[sketch]), {})[row['quantity']] = row['value']
    return figures


def test_all(test):
    """One file per bench, with the command that reproduces it. Existing files stay; missing ones
    are measured."""
    directory = test.path('figures')
    arguments = ('all', directory, '--quick', '--no-huge', '--seed', '7', '--which', 'flow-chains,flow-sizes')
    with_one = test.bench(*arguments[:-1], 'flow-chains').expect(0)
    chains = os.path.join(directory, 'flow-chains.csv')
    assert os.listdir(directory) == ['flow-chains.csv'] and 'flow-chains.csv' in with_one.stdout, with_one.describe()
    with open(chains, newline='', encoding='utf-8') as file:
        before = file.read()
    result = test.bench(*arguments).expect(1)
    assert 'flow-chains.csv: exists' in result.stderr and result.stderr.endswith('failed benches: flow-chains\n'), result.describe()
    with open(chains, newline='', encoding='utf-8') as file:
        assert file.read() == before
    for name in ('flow-chains', 'flow-sizes'):
        with open(os.path.join(directory, f'{name}.csv'), newline='', encoding='utf-8') as file:
            command = read_rows(file.read())[0]['command']
        words = command.split()
        assert words[:2] == ['sketchtap-bench', 'flow-table'] and '--seed 7 --no-huge' in command, command
        assert words[words.index('--output') + 1] == os.path.join(directory, f'{name}.csv'), command
    test.bench(*arguments, '--force').expect(0)
    test.bench('all', os.path.join(directory, 'flow-chains.csv', 'below')).expect(1).expect_one_line('below: ')


def script_run(test, name, *arguments):
    return test.run(*arguments, program=[os.path.join(os.path.dirname(script_of(test)), name)]).expect(0)


def test_tables(test):
    """A document's tables are replaced by the figures of a directory; other text stays."""
    directory, document = test.path('figures'), test.path('document.md')
    test.bench('all', directory, '--quick', '--no-huge', '--seed', '7', '--which', 'flow-chains').expect(0)
    before = '# Head\n\n<!-- figures flow_sizes -->\nold\n<!-- end -->\n\n<!-- figures flow_chains -->\nold\n<!-- end -->\n\ntail\n'
    with open(document, 'w', encoding='utf-8') as file:
        file.write(before)
    said = script_run(test, 'tables', directory, document).stderr
    assert 'flow_sizes: no figures' in said and 'flow_chains' not in said, said
    with open(document, encoding='utf-8') as file:
        text = file.read()
    assert text.startswith(before[:before.index('flow_chains -->')]) and text.endswith('<!-- end -->\n\ntail\n'), text
    table = [line.split(' | ') for line in text.splitlines() if line.startswith(('| 17150', '| 52780', '| 68610'))]
    assert [row[1] for row in table] == 3 * ['coralreef', 'jenkins', 'murmur3'], text
    with open(os.path.join(directory, 'flow-chains.csv'), newline='', encoding='utf-8') as file:
        measured = [row for row in read_rows(file.read()) if row['bench'] == 'flow-table']
    assert [row[4] for row in table] == [row['mpps'] for row in measured], text
    assert all(measured[0][fact] in ' '.join(text.split()) for fact in ('machine', 'kernel', 'dpdk', 'compiler', 'date')), text


def test_tables_of_quick_runs(test):
    """Figures of a --quick run are only printed; those of one round need named documents. Nothing
    else changes."""
    tree, figures = test.path('tree'), test.path('figures')
    root = os.path.dirname(os.path.dirname(script_of(test)))
    for name in 'bench', 'docs':
        shutil.copytree(os.path.join(root, name), os.path.join(tree, name), ignore=shutil.ignore_patterns('__pycache__'))
    shutil.copy(os.path.join(root, 'README.md'), tree)
    os.mkdir(figures)
    document = os.path.join(tree, 'bench', 'results', 'performance.md')
    test.bench('worker', '--quick', '--rounds', '3', '--packets', '8K', '--sketch', 'count-min', '--no-huge', '--output',
               os.path.join(figures, 'worker.csv')).expect(0)
    quick = lib.read_text(os.path.join(figures, 'worker.csv'))
    program = [os.path.join(tree, 'bench', 'tables')]

    def contents():
        return {path: open(path, 'rb').read() for folder in (tree, figures)
                for path in glob.glob(os.path.join(folder, '**'), recursive=True) if os.path.isfile(path)}

    for text, documents, why in (
            (quick, (), '--quick'), (quick, (document,), '--quick'), (quick.replace('--quick', '--quick=yes'), (), '--quick'),
            (quick.replace('--quick --rounds 3', '--rounds 1'), (), '--rounds 1'),
            # Only the last row is quick.
            (quick.replace('--quick ', '', quick.count('--quick') - 1), (), '--quick')):
        with open(os.path.join(figures, 'worker.csv'), 'w', encoding='utf-8') as file:
            file.write(text)
        before = contents()
        refused = test.run(figures, *documents, program=program).expect(2)
        refused.expect_one_line('worker.csv, line ', f'a run with {why} ')
        assert contents() == before, (text, documents)
    before = contents()
    printed = test.run('--print', figures, program=program).expect(0).stdout
    assert printed.startswith('## worker\n') and '| receive and free |' in printed, printed
    assert all(contents()[path] == text for path, text in before.items()), 'a document changed'
    for text, documents in ((quick.replace('--quick ', ''), ()),
                            (quick.replace('--quick --rounds 3', '--rounds 1'), (document,))):
        with open(os.path.join(figures, 'worker.csv'), 'w', encoding='utf-8') as file:
            file.write(text)
        before = contents()
        test.run(figures, *documents, program=program).expect(0)
        assert {path for path, text in contents().items() if before.get(path) != text} >= {document}


def measure_paper(test, *arguments):
    path = test.path('paper.csv')
    test.bench('paper', '--quick', '--no-huge', '--duration', '10ms', *arguments, '--output', path, '--force').expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    assert {row['bench'] for row in rows} == {'paper'} and rows[0]['experiment'] == 'generator', rows[0]
    for row in rows[1:]:
        threads = int(row['workers']) + 1 + (row['design'] != 'rss')
        if 'not possible' in row['note']:
            assert row['count_ns'] == row['drop_rate'] == '' and row['place'] == 'other node', row
            continue
        assert 0 <= float(row['drop_rate']) <= 1 and float(row['count_ns']) > 0, row
        assert ('not comparable' in row['note']) == (len(os.sched_getaffinity(0)) < threads), row
    return rows[1:]


def test_paper(test):
    """Every combination once, with the paper's figures. Other loads and NUMA placements have
    none."""
    printed = paper_figures(test)
    rows = measure_paper(test, '--experiment', 'combinations', '--zipf', 'random', '--workers', '6')
    found = {(row['design'], row['sharing'], row['sketch']): row for row in rows}
    assert len(rows) == len(found) and set(found) == set(printed) and len(printed) == 14, rows
    for combination, row in found.items():
        beside = printed[combination]
        assert (row['paper_drop_rate'], row['paper_count_ns']) == (beside['PDR'], beside['PPT']), row
    script_run(test, 'plot', test.path('paper.csv'), test.path('paper.svg'))
    with open(test.path('paper.svg'), encoding='utf-8') as file:
        drawn = file.read()
    assert '>sketchtap-bench paper --' in drawn and '--output' not in drawn, 'the command, and no path of this machine'
    assert drawn.count('fill-opacity') == 3 * len(rows), 'a bar for each row in each of three panels'
    assert drawn.count('stroke-width="2"') == sum(len(figures) for figures in printed.values()), 'a line for each of the paper'
    rows = measure_paper(test, '--experiment', 'numa', '--workers', '1')
    loads = [(row['traffic'], row['workers'], row['place'], row['design']) for row in rows]
    assert loads == [(traffic, '1', f'{place} node', design) for traffic in ('random', 'zipf=1.05')
                     for place in ('same', 'other') for design in ('rss', 'sync')], loads
    assert all(row['paper_drop_rate'] == row['paper_count_ns'] == '' for row in rows), rows
    refused = test.bench('paper', '--port', 'net_null0', '--zipf', '1').expect(2).expect_one_line('--zipf', '--port')
    assert refused.stdout == '', refused.describe()


SKETCHES_OF_PAPER = {'SHT': 'simple-hash', 'CMS': 'count-min', 'RS': 'reversible'}


def check_model_error(row, runs):
    """The note states the largest error of all runs of the design, except those with the costs."""
    own = [run for run in runs if run['design'] == (row['design'] or row['setting'].split('-')[0].lower())]
    more = [run for run in own if 'from one worker' in run['note']]
    same = [run for run in own if run not in more and 'costs come' not in run['note']]
    assert same and len(same) == 2 * len({(run['sharing'], run['sketch'], run['workers']) for run in same}), own
    stated = re.findall(r'([\d.]+) (?:off )?in (\d+) ', row['note'])
    assert len(stated) == (2 if more else 1), row
    for part, (largest, number) in zip((same, more), stated):
        assert abs(float(largest) - max(abs(float(run['drop_error'])) for run in part)) < 6e-4, (row, part)
        assert int(number) == len(part), (row, len(part))
    assert ('not tested' in row['note']) and (('more workers not tested' in row['note']) == (not more)), row


def test_paper_model(test):
    """Each cell of Tables 3 and 4 has a figure. Runs that the host can do are measured and modelled;
    six workers are modelled. Counts are exact: otherwise the command fails."""
    printed, path = paper_figures(test), test.path('model.csv')
    cpus = len(os.sched_getaffinity(0))
    if cpus < 2 or cpus > 6:
        test.skip('the rows below are those of 2 to 6 CPUs')
        return
    test.bench('paper', '--quick', '--no-huge', '--duration', '10ms', '--experiment', 'model', '--zipf', 'random', '--output',
               path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = [row for row in read_rows(file.read()) if row['experiment'] != 'generator']
    cells = {(row['item'], row['setting'], row['quantity']): row for row in rows if row['item']}
    assert len(cells) == 28 == sum(row['item'] != '' for row in rows), cells
    for (item, setting, quantity), row in cells.items():
        design, sharing, sketch = setting.split('-')
        of = printed[design.lower(), sharing.lower(), SKETCHES_OF_PAPER[sketch]]
        assert item == ('Table 3' if design == 'RSS' else 'Table 4') and row['printed'] == of[quantity], row
        assert float(row['ours_min']) <= float(row['ours']) <= float(row['ours_max']), row
        assert (row['how'], row['workers']) == (('modelled', '6') if quantity == 'PDR' else
                                                ('measured', str(cpus - (design != 'RSS')))), row
    six = [row for row in rows if row['how'] == 'modelled' and row['workers'] == '6' and not row['item']]
    assert len(six) == 14, six
    for row in six:
        assert 0 <= float(row['drop_rate']) <= 1 and float(row['delay_ns']) > 0, row
        assert row['paper_drop_rate'] == printed[row['design'], row['sharing'], row['sketch']]['PDR'], row
    runs = [row for row in rows if row['how'] == 'measured' and not row['item']]
    assert {int(row['workers']) for row in runs} <= set(range(1, cpus + 1)), runs
    for row in runs:
        assert -1e-9 <= float(row['drop_rate']) <= 1 and 0 <= float(row['model_drop_rate']) <= 1, row
        assert abs(float(row['model_drop_rate']) - float(row['drop_rate']) - float(row['drop_error'])) < 2e-4, row
        assert abs(float(row['rx_ns']) + float(row['count_ns']) + float(row['free_ns']) - float(row['delay_ns'])) < 0.1 * float(
            row['delay_ns']) + 0.1, row
        assert float(row['measured_mpps']) <= float(row['offered_mpps']) * 1.001 + 0.01, row
    for row in six + [row for row in cells.values() if row['quantity'] == 'PDR']:
        check_model_error(row, runs)
    one = str(min(os.sched_getaffinity(0)))
    rows = read_rows(test.run('paper', '--quick', '--no-huge', '--duration', '10ms', '--experiment', 'model', '--zipf', 'random', '--output',
                              '-', program=['taskset', '-c', one, test.bench_binary]).expect(0).stdout)
    for row in (row for row in rows if row['item']):
        assert (row['ours'] == row['how'] == '' and 'need 2 CPUs' in row['note']) == (row['item'] == 'Table 4'), row
        assert row['item'] == 'Table 4' or float(row['ours']) >= 0, row
    rows = read_rows(test.bench('paper', '--no-huge', '--port', 'net_null0', '--experiment', 'model', '--output', '-').expect(0).stdout)
    assert len(rows) == 1 and 'the sender sets the rate' in rows[0]['note'], rows


def test_pipeline_of_a_port(test):
    """Packets of an external sender: received or lost. Its parameters are not measured, and missing
    NUMA nodes are not invented."""
    path = test.path('pipeline.csv')
    result = test.bench('pipeline', '--quick', '--no-huge', '--port', 'net_null0,size=64', '--duration', '20ms',
                      '--experiment', 'size,width,numa', '--output', path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    for row in rows:
        if 'packet size' in row['experiment']:
            assert 'with --port the sender sets it' in row['note'] and row['delay_ns'] == '', row
        elif 'NUMA' in row['experiment']:
            assert 'not possible' in row['note'] and row['delay_ns'] == '', row
        else:
            assert float(row['drop_rate']) == 0, row
            assert float(row['offered_mpps']) > 0 or row['design'] == 'sync', row
            assert '100 % were not IP packets: not measured' in row['note'], row
            assert float(row['measured_mpps']) == 0 and row['count_ns'] == row['delay_ns'] == '', row
            assert row['paper_count_ns'] == '' and row['traffic'] == 'net_null0' and row['flows'] == '', row
    assert [row['width'] for row in rows if 'table' in row['experiment']] == ['1024', '262144', '8388608'] * 2, rows
    assert len(result.stderr.splitlines()) == len(set(result.stderr.splitlines())), 'a repeated line'


def test_pipeline_of_a_mixed_port(test):
    """40 of 50 repeated packets are IP: four fifths of the offered packets are measured."""
    arp = bytes(12) + b'\x08\x06' + bytes(46)
    path = lib.write_pcap(test.path('mixed.pcap'), [
        (i, arp if i % 5 == 0 else lib.udp_frame(i)) for i in range(50)])
    for capture, share in ((path, 0.8), (lib.write_pcap(test.path('ip.pcap'), [(0, lib.udp_frame())] * 32), 1)):
        rows = read_rows(test.bench(
            'pipeline', '--no-huge', '--port', f'net_pcap0,rx_pcap={capture},infinite_rx=1', '--duration',
            '50ms', '--rounds', '1', '--experiment', 'width', '--output', '-').expect(0).stdout)
        for row in rows:
            assert ('were not IP packets' in row['note']) == (share < 1), row
            measured, offered = float(row['measured_mpps']), float(row['offered_mpps'])
            assert float(row['count_ns']) > 0 and (measured > 0 or row['design'] == 'sync'), row
            assert abs(measured - offered * share) < 0.05 * offered + 0.01, row


def test_pipeline_places(test):
    """The worker is measured on the node of its packets, and on another node if there is one."""
    path = test.path('pipeline.csv')
    test.bench('pipeline', '--quick', '--no-huge', '--experiment', 'numa', '--output', path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())[1:]
    assert [row['place'] for row in rows] == ['same node'] * 2 + ['other node'] * 2, rows
    nodes = len([name for name in os.listdir('/sys/devices/system/node') if name[4:].isdigit()])
    for row in rows:
        possible = row['place'] == 'same node' or nodes > 1
        assert (row['delay_ns'] != '') == possible, row
        assert ('one NUMA node' in row['note']) == (not possible), row


def test_pipeline_of_nobody(test):
    """A port without a sender ends the bench, with advice."""
    test.bench('pipeline', '--quick', '--no-huge', '--port', 'net_ring0', '--experiment',
             'width').expect(1).expect_one_line('no packet received', 'start the sender first')


def read_config(text):
    """NAME = VALUE lines of a configuration file; the rest must be comments."""
    lines = [line for line in text.splitlines() if not line.startswith('#')]
    return dict(line.split(' = ') for line in lines)


TUNE = ('tune', '--no-huge', '--seed', '1', '--packets', '20K', '--rounds', '1', '--duration',
        '10ms')


def test_tune(test):
    """The printed configuration runs as it is; the table gives the reason for the choice."""
    path = test.path('tune.csv')
    result = test.run(*TUNE, '--synthetic', 'flows=1K', '--width', '1K,16K', '--workers', '1,16', '--memory', '16MB', '--error', '0.05', '--output', path).expect(0)
    with open(path, newline='', encoding='utf-8') as file:
        rows = read_rows(file.read())
    cpus = len(os.sched_getaffinity(0))
    kinds = {(row['design'], row['sharing'], row['sketch'], row['atomic'], row['workers'],
              row['width']) for row in rows}
    assert len(kinds) == len(rows), 'a row is there twice'
    for design in ('rss', 'sync', 'async'):
        for sketch in ('count-min', 'simple-hash', 'flow-table'):
            assert (design, 'separate', sketch, '', '1', '16384') in kinds, kinds
            for atomic in ('cas', 'add'):
                assert (design, 'shared', sketch, atomic, '1', '1024') in kinds, kinds
    chosen = [row for row in rows if row['chosen']]
    assert len(chosen) == 1, chosen
    chosen = chosen[0]
    assert int(chosen['memory_bytes']) <= 16 << 20 and float(chosen['error']) <= 0.05, chosen
    fits = [row for row in rows if row['error'] and int(row['memory_bytes']) <= 16 << 20
            and float(row['error']) <= 0.05]
    for row in rows:
        threads = int(row['workers']) + (row['design'] != 'rss') + 1
        if row in fits:
            assert ('CPUs' in row['note']) == (threads > cpus), row
        else:
            assert row['note'] and row['measured_mpps'] == '', row
    if cpus >= 2:
        measured = [row for row in fits if row['measured_mpps']]
        assert all(row['note'] == '' for row in measured), measured
        best = max(float(row['measured_mpps']) for row in measured)
        assert float(chosen['measured_mpps']) >= 0.96 * best, (chosen, best)
    config = read_config(result.stdout)
    for name in ('design', 'sketch', 'workers', 'width'):
        assert config[name] == chosen[name], (config, chosen)
    assert config['sharing'] == ':'.join(filter(None, (chosen['sharing'], chosen['atomic']))), (config, chosen)

    tuned = test.path('tuned.conf')
    with open(tuned, 'w', encoding='utf-8') as file:
        file.write(result.stdout)
    plan = test.run('plan', '--config', tuned, '--port', 'net_null0').expect(0)
    assert 'total memory: %.1f MB' % (int(chosen['memory_bytes']) / 2**20) in plan.stdout, (
        plan.stdout, chosen)
    report = test.run('--config', tuned, '--synthetic', 'flows=10,packets=1K', '--interval', '0',
                      '--format', 'csv').expect(0)
    rows = list(csv.DictReader(io.StringIO(report.stdout)))
    assert sum(int(row['packets']) for row in rows) >= 1000, report.stdout


def test_tune_a_capture(test):
    """A capture's own packets are counted, including IPv6; a capture without any is refused."""
    capture = test.path('mixed.pcap')
    test.run('generate', '--synthetic', 'flows=50,ipv6=0.5,packets=2K', '--output', capture).expect(0)
    small = ('--design', 'rss', '--workers', '1', '--sharing', 'separate', '--width', '4K')
    result = test.run(*TUNE, *small, '--pcap', capture, '--sketch', 'ft', '--error', '0',
                      '--output', '-').expect(0)
    rows = [row for row in read_rows(result.stdout) if row['bench'] == 'tune']
    assert [(row['source'], row['error'], row['recall'], row['chosen']) for row in rows] == [
        (capture[:95], '0.000000', '1.00', 'chosen')], rows
    assert 'IPv6' in result.stderr, result.describe()
    with open(capture, 'rb') as file:
        head = file.read(24)
    empty = test.path('empty.pcap')
    with open(empty, 'wb') as file:
        file.write(head)
    test.run(*TUNE, *small, '--pcap', empty).expect(1).expect_one_line('')


def test_tune_finds_nothing(test):
    """Nothing that misses the targets is chosen: status 1, the table, and sufficient settings."""
    small = ('--design', 'rss', '--workers', '1', '--sharing', 'separate', '--log-level', 'warning')
    for arguments, mentions in (
            (('--memory', '1MB'), ('--memory', 'smallest configuration takes')),
            (('--sketch', 'rs', '--width', '4K', '--error', '0'), ('--error', 'reversible', '4096'))):
        result = test.run(*TUNE, *small, *arguments).expect(1).expect_one_line(*mentions)
        assert 'more than --' in result.stdout and read_config(result.stdout) == {}, result.describe()


def test_output_is_kept(test):
    path = test.path('kernels.csv')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('precious\n')
    test.bench('kernels', *SMALL, '--output', path).expect(2).expect_one_line(
        path, '--force')
    with open(path, encoding='utf-8') as file:
        assert file.read() == 'precious\n'


def test_mistakes(test):
    for arguments, mention in (
            ((), 'kernels'),
            (('magic',), 'kernels'),
            (('kernels', '--sketch', 'magic'), 'magic'),
            (('kernels', '--width', '1000'), '1000'),
            (('kernels', '--rounds', '0'), '--rounds'),
            (('kernels', '--zipf', 'steep'), 'steep'),
            (('kernels', '--interval', '1s'), '--interval')):
        result = test.bench(*arguments).expect(2).expect_one_line(mention)
        assert result.stdout == '', result.describe()


def test_bench_is_no_command(test):
    """The former command reports its new name."""
    test.run('bench', 'kernels', '--quick').expect(2).expect_one_line('sketchtap-bench kernels')
    test.run('bench', 'tune').expect(2).expect_one_line('sketchtap tune')
    test.run('bench').expect(2).expect_one_line('sketchtap-bench kernels|worker')


def test_mistakes_of_tune(test):
    for arguments, mention in (
            (('--synthetic', 'magic'), 'magic'),
            (('--port', 'eth0'), '--port')):
        result = test.run('tune', *arguments).expect(2).expect_one_line(mention)
        assert result.stdout == '', result.describe()


def test_help(test):
    result = test.bench('kernels', '--help').expect(0)
    for option in ('--sketch', '--sharing', '--threads', '--flows', '--zipf',
                   '--width', '--rounds', '--quick', '--output'):
        assert option in result.stdout, f'{option} is not in the help'

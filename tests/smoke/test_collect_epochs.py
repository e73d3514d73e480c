# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect: a record counts in the interval of its arrival; outputs work as for other
sources."""

import glob
import json
import signal

import exports
import lib
from collected import collect, generate, read_exporters, truth_of
from test_collect_methods import SECOND, differences, expected

ALL = ('--sketch', 'flow-table', '--memory', '4MB', '--top', '1M', '--observed-flows', '16K')
SPEC = 'flows=800,zipf=1.0,size=100-1400,packets=8K,rate=400,seed=9'  # 20 s


def exported(test, *options):
    return generate(test, 'exports.pcap', '--as', 'v5', '--routers', '3', '--path', '3', *options, spec=SPEC)


def sums_of(rows):
    sums = {}
    for row in rows:
        exports.add(sums, lib.row_key(row), int(row['packets']), int(row['bytes']))
    return sums


def test_a_record_counts_when_it_came(test):
    """Checked for each method and interval; records that arrive after an interval's end are not
    counted again."""
    path = exported(test)
    begin = next(exports.datagrams(path))[0] // SECOND
    for method in ('best', 'exporter', 'none'):
        for workers in (1, 3):
            rows, ledger, exporters, _ = collect(test, '--pcap', path, *ALL, '--interval', '1s', '--dedup', method,
                                                 '--workers', workers)
            got = {}
            for row in rows:
                got[lib.row_key(row), int(row['epoch'])] = int(row['packets']), int(row['bytes'])
                assert lib.timestamp(row['start']) == (begin + int(row['epoch'])) * 1000000, row
            true = {}
            expected(method, path, count=lambda record, packets, size, sums=true: exports.add(
                sums, (record['key'], record['when'] // SECOND - begin), packets, size))
            assert got == true, f'{method}: {differences(got, true)}'
            came = {}
            for when, router, _, _ in exports.datagrams(path):
                exports.add(came, (router, str(when // SECOND - begin)), 1, 0)
            for row in exporters:
                assert int(row['datagrams']) == came.get((row['exporter'], row['epoch']), (0, 0))[0], row
            assert sum(int(row['datagrams']) for row in exporters) == sum(n for n, _ in came.values())
            if method == 'best':
                assert sums_of(rows) == truth_of(test, SPEC)
                assert lib.total(ledger, 'measured') == 8000, ledger


def test_times_of_exporters_move_no_epoch(test):
    """Clocks that are years off in any field of the datagrams."""
    path = exported(test)
    wrong = exports.write(test.path('wrong.pcap'), [
        (when, router, port, data[:8] + (int.from_bytes(data[8:12], 'big') + 40 * 365 * 86400).to_bytes(4, 'big') +
         data[12:]) for when, router, port, data in exports.datagrams(path)])
    right, _, _, _ = collect(test, '--pcap', path, *ALL, '--interval', '1s')
    rows, _, _, result = collect(test, '--pcap', wrong, *ALL, '--interval', '1s')
    times = ('first', 'last')
    assert [{k: v for k, v in row.items() if k not in times} for row in rows] == [
        {k: v for k, v in row.items() if k not in times} for row in right]
    assert 'warning' in result.stderr, result.describe()


def read_json(path):
    with open(path, encoding='utf-8') as stream:
        return [json.loads(line) for line in stream]


def test_json_says_what_csv_says(test):
    files = {kind: (test.path(f'{kind}.csv'), test.path(f'{kind}.json'))
             for kind in ('output', 'stats', 'exporters', 'paths', 'links')}
    arguments = [word for kind, (text, objects) in files.items()
                 for word in (f'--{kind}', text, f'--{kind}', f'json:{objects}')]
    test.run('collect', '--pcap', exported(test), '--interval', '2s', *ALL, *arguments).expect(0)
    for kind, (text, objects) in files.items():
        with open(text, encoding='utf-8') as stream:
            lines = stream.read().splitlines()
        rows = read_json(objects)
        assert len(rows) == len(lines) - 1 > 0, f'{kind}: {len(rows)} and {len(lines)}'
        for line, row in zip(lines[1:], rows):
            fields = line.split(',')
            for column, field in zip(lines[0].split(','), fields):
                if field and '"' not in line and column in ('epoch', 'packets', 'records', 'measured', 'duplicate'):
                    assert str(row[column]) == field, (kind, column, row, line)


def test_append_force_and_refusal(test):
    path, output, exporters = exported(test), test.path('output.csv'), test.path('exporters.csv')
    common = ('collect', '--pcap', path, *ALL, '--interval', '5s', '--output', output, '--exporters', exporters)
    test.run(*common).expect(0)
    once = lib.read_output(output)
    test.run(*common).expect(2).expect_one_line('output.csv', 'exists')
    assert lib.read_output(output) == once, 'changed'
    test.run(*common, '--append').expect(0)
    rows = lib.read_output(output)
    last = max(int(row['epoch']) for row in once)
    assert rows[:len(once)] == once and len(rows) == 2 * len(once)
    assert {int(row['epoch']) for row in rows[len(once):]} == {
        int(row['epoch']) + last + 1 for row in once}
    told = read_exporters(exporters)
    assert {row['epoch'] for row in told} == {row['epoch'] for row in rows}
    assert sum(int(row['records']) for row in told) == 2 * sum(
        'key' in record for _, _, record in exports.told(path))
    test.run(*common, '--force').expect(0)
    assert lib.read_output(output) == once


def test_rotation(test):
    """All rotated files of --exporters together equal an unrotated one."""
    path, whole, parts = exported(test), test.path('whole.csv'), test.path('parts.csv')
    common = ('collect', '--pcap', path, '--interval', '1s', '--output', '/dev/null')
    test.run(*common, '--exporters', whole).expect(0)
    test.run(*common, '--exporters', parts, '--rotate', '5s').expect(0)
    files = sorted(glob.glob(test.path('parts-*.csv'))) + [parts]
    assert len(files) >= 4, files
    assert [row for file in files for row in read_exporters(file)] == read_exporters(whole)


def test_limits_of_a_capture(test):
    """--packets counts datagrams; --duration is in capture time."""
    path = exported(test)
    datagrams = list(exports.datagrams(path))
    for count in (1, 57):
        _, _, exporters, _ = collect(test, '--pcap', path, *ALL, '--interval', '0', '--packets', count)
        assert lib.total(exporters, 'datagrams') == count, exporters
    _, _, exporters, _ = collect(test, '--pcap', path, *ALL, '--interval', '0', '--duration', '7s')
    within = sum(when - datagrams[0][0] < 7 * SECOND for when, *_ in datagrams)
    assert 0 < within < len(datagrams)
    assert lib.total(exporters, 'datagrams') == within, (within, exporters)


def test_configuration(test):
    """Options of collect in a file have the same effect as on the command line; a mistake is
    reported with its line."""
    path, config = exported(test), test.path('collect.conf')
    options = {'dedup': 'exporter', 'export-timeout': '7500ms', 'observed-flows': '16K', 'link-overhead': '18',
               'exporters-max': '100', 'interval': '0', 'sketch': 'flow-table', 'top': '1M', 'memory': '4MB',
               'exporter': '192.0.2.0/24,edge=101-104'}
    with open(config, 'w', encoding='utf-8') as stream:
        stream.writelines(f'{name} = {value}\n' for name, value in options.items())
    rows, ledger, _, _ = collect(test, '--pcap', path, '--config', config)
    others, other, _, _ = collect(test, '--pcap', path,
                                  *(word for name, value in options.items() for word in (f'--{name}', value)))
    assert rows == others and lib.total(ledger, 'bytes') == lib.total(other, 'bytes') > 0
    plain, _, _, _ = collect(test, '--pcap', path, *ALL, '--interval', '0')
    assert rows != plain, 'the file makes no difference'
    with open(config, 'a', encoding='utf-8') as stream:
        stream.write('receive-buffer = 1\n')
    test.run('collect', '--pcap', path, '--config', config).expect(2).expect_one_line(
        f'{config}:{len(options) + 1}', 'receive-buffer')


def test_kill_and_append(test):
    """kill -9 leaves whole intervals on disk; --append continues after them."""
    path, output, stats = exported(test), test.path('output.csv'), test.path('stats.csv')
    common = ('collect', '--pcap', path, *ALL, '--interval', '1s', '--output', output, '--stats', stats, '--append')
    for lines in (3, 6, 9):
        process = test.start(*common, '--pace', 'recorded')

        def written():
            assert process.running(), process.result.describe()
            try:
                with open(stats, 'rb') as stream:
                    return stream.read().count(b'\n') >= lines
            except FileNotFoundError:
                return False

        test.until(written, f'{stats} has {lines} lines')
        process.signal(signal.SIGKILL)
        test.wait(process).expect(-signal.SIGKILL)
    before = max(int(row['epoch']) for row in lib.read_stats(stats))
    result = test.run(*common).expect(0)
    ledger, rows = lib.read_stats(stats), lib.read_output(output)
    numbers = [int(row['epoch']) for row in ledger]
    assert numbers == sorted(set(numbers)), numbers
    if 'unfinished last epoch' not in result.stderr:  # some files lacked rows of the last interval
        last = [row for row in rows if int(row['epoch']) > before]
        assert sums_of(last) == truth_of(test, SPEC)
    assert {row['epoch'] for row in rows} == {row['epoch'] for row in ledger if int(row['measured'])}

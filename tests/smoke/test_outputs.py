# SPDX-License-Identifier: BSD-3-Clause
"""Destinations of rows: files, standard output, text tables; --append, --force; failing disks and
pipes."""

import os
import re
import subprocess

import lib

LONG = ('rates_in_the_table',)

SOURCE = ('--synthetic', 'flows=1K,zipf=1.0,packets=200K,rate=100K,seed=1', '--seed', '1')


def test_standard_output_is_csv_where_it_is_no_terminal(test):
    result = test.run(*SOURCE, '--top', '5').expect(0)
    rows = lib.read_output(result.stdout)
    assert {row['rank'] for row in rows} == {'1', '2', '3', '4', '5'}, rows
    named = test.run(*SOURCE, '--top', '5', '--output', '-').expect(0)
    assert named.stdout == result.stdout


def test_nothing_on_standard_error(test):
    """A successful measurement logs nothing if standard error is not a terminal."""
    result = test.run(*SOURCE, '--workers', '1').expect(0)
    assert result.error_lines() == [], result.describe()


def test_table(test):
    output, stats = test.path('output.csv'), test.path('stats.csv')
    result = test.run(*SOURCE, '--interval', '0', '--top', '20', '--format', 'table', '--output',
                      output, '--stats', stats).expect(0)
    rows, ledger = lib.read_output(output), lib.read_stats(stats)
    assert len(rows) == 20, len(rows)
    for row in rows:
        lines = [line for line in result.stdout.splitlines()
                 if row['src_ip'] in line and row['dst_ip'] in line and row['src_port'] in line]
        assert lines, f'not in the table: {row}\n{result.stdout}'
    plain = re.sub(r"[,' _]", '', result.stdout)
    assert ledger[0]['offered'] in plain, f'no ledger in the table:\n{result.stdout}'
    assert max(map(len, result.stdout.splitlines())) <= 160, 'lines of more than 160 columns'


def human(value):
    """Formats a value like the text table: three digits and a letter."""
    unit = -1
    while value >= 999.5 and unit < 5:
        value, unit = value / 1000, unit + 1
    if unit < 0:
        return str(value)
    return f'{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{"KMGTPE"[unit]}'


def shown_rates(row):
    """Returns pps and bps as in the text table, from packets, bytes and times of the row."""
    ns = (lib.timestamp(row['end']) - lib.timestamp(row['start'])) * 1000
    for name, factor, unit in (('packets', 1, ''), ('bytes', 8, 'b')):
        exact = row[name] == row[f'{name}_low'] == row[f'{name}_high']
        known = row[name] != '' and ns > 0
        rate = (int(row[name]) * factor * 2 * 10**9 + ns) // (2 * ns) if known else None
        yield ('' if exact else '~') + human(rate) + unit if known else '-'


def test_rates_in_the_table(test):
    """Intervals of whole seconds, so that printed times are exact; an interval of no duration has
    no rates."""
    shown = 0
    for entry in lib.index(test.traces)[::6]:
        if entry['expected'] != 'measured' or entry['file'].endswith('.xz'):
            continue
        output = test.path('output.csv')
        result = test.run('--pcap', os.path.join(test.traces, entry['file']), '--interval', '1s', '--format',
                          'table', '--output', output, '--force').expect(0)
        rows = [row for row in lib.read_output(output)]
        cells = [line.split() for line in result.stdout.splitlines() if re.match(r' *[0-9]+ .*%$', line)]
        assert len(cells) == len(rows), result.describe()
        for row, line in zip(rows, cells):
            if row['start'][20:26] == row['end'][20:26]:
                assert line[-3:-1] == list(shown_rates(row)), f'{line} of {row}'
                shown += 1
    assert shown > 100, shown


def test_existing_file(test):
    for option in ('--output', '--stats'):
        path, other = test.path(f'kept{option}'), test.path(f'other{option}')
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write('mine\n')
        rest = ('--stats', other) if option == '--output' else ('--output', other)
        test.run(*SOURCE, option, path, *rest).expect(2).expect_one_line(path)
        with open(path, encoding='utf-8') as stream:
            assert stream.read() == 'mine\n', 'changed'
        assert not os.path.exists(other), 'the other file was made'
        test.run(*SOURCE, option, path, *rest, '--force').expect(0)
        with open(path, encoding='utf-8') as stream:
            assert stream.readline().startswith('epoch,'), 'not replaced'


def test_append_goes_on_numbering(test):
    output, stats = test.path('output.csv'), test.path('stats.csv')
    for _ in range(3):
        test.run(*SOURCE, '--interval', '1s', '--output', output, '--stats', stats, '--append'
                 ).expect(0)
    rows, ledger = lib.read_output(output), lib.read_stats(stats)  # fails if a header is repeated
    numbers = [int(row['epoch']) for row in ledger]
    assert numbers == list(range(len(numbers))), numbers
    assert lib.total(ledger, 'measured') == 600000
    assert {row['epoch'] for row in rows} == {row['epoch'] for row in ledger}


def test_append_to_something_else(test):
    """A foreign file is not modified."""
    path = test.path('letter.txt')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write('Dear reader,\n')
    result = test.run(*SOURCE, '--output', path, '--append').expect_one_line(path)
    assert result.status in (1, 2), result.describe()
    with open(path, encoding='utf-8') as stream:
        assert stream.read() == 'Dear reader,\n', 'changed'


def test_append_to_a_file_of_an_earlier_version(test):
    """Later versions add columns at the end. The file continues without them."""
    stats = test.path('stats.csv')
    lines = []
    for _ in range(2):
        result = test.run(*SOURCE, '--interval', '1s', '--output', '/dev/null', '--stats', stats, '--append').expect(0)
        if lines:
            assert 'continues a file of an earlier version, without sketch;' in result.stderr, result.describe()
            assert lib.read_text(stats).startswith(''.join(lines)), lib.read_text(stats)
        else:
            lines = [line.rsplit(',', 2)[0] + '\n' for line in lib.read_text(stats).splitlines()]
            with open(stats, 'w', encoding='ascii') as stream:
                stream.writelines(lines)
    rows = lib.read_text(stats).splitlines()
    assert len(rows) == 2 * len(lines) - 1 and {row.count(',') for row in rows} == {lines[0].count(',')}, rows
    columns = rows[0].split(',')
    assert [int(row.split(',')[columns.index('epoch')]) for row in rows[1:]] == list(range(len(rows) - 1)), rows


def test_link_that_leads_nowhere(test):
    """A symbolic link to a missing file is refused with a clear reason, and the file is not
    created."""
    link = test.path('link.csv')
    os.symlink(test.path('nowhere.csv'), link)
    for mode in (), ('--force',), ('--append',):
        test.run(*SOURCE, '--output', link, *mode).expect(1).expect_one_line(link, 'symbolic link')
        assert not os.path.exists(test.path('nowhere.csv'))


def test_what_is_read_is_never_an_output(test):
    """An input is never overwritten under any of its names: files are compared, not names."""
    capture, rules, settings = test.path('in.pcap'), test.path('rules.txt'), test.path('tap.conf')
    linked, hard = test.path('linked'), test.path('hard')
    lib.write_pcap(capture, [(i, lib.udp_frame(i)) for i in range(50)])
    with open(rules, 'w', encoding='utf-8') as stream:
        stream.write('0.0.0.0/0 all\n')
    with open(settings, 'w', encoding='utf-8') as stream:
        stream.write('packets = 10\n')
    os.symlink(capture, linked)
    os.link(capture, hard)
    inputs = {path: open(path, 'rb').read() for path in (capture, rules, settings)}
    read = ('--pcap', capture, '--monitor', rules, '--config', settings)
    for options, output in (
            (read, capture), (read, rules), (read, settings), (read, linked), (read, hard),
            (('--pcap', '-'), capture), (('--pcap', '/dev/stdin'), capture),
            (('--pcap', '/dev/fd/0'), linked), (('--pcap', '-'), '/dev/fd/0')):
        for option in ('--output', '--stats'):
            rest = () if option == '--output' else ('--output', '/dev/null')
            with open(capture, 'r+b') as stream:
                result = test.run(*options, option, output, *rest, '--force', stdin=stream)
            assert {path: open(path, 'rb').read() for path in inputs} == inputs, result.describe()
            result.expect(2).expect_one_line(output)
    with open(capture, 'r+b') as stream, open(capture, 'r+b') as out:
        result = test.run('--pcap', '-', '--output', '-', stdin=stream, stdout=out).expect(2)
    assert open(capture, 'rb').read() == inputs[capture], result.describe()
    port = f'net_pcap0,rx_pcap={capture}'
    test.run('--port', port, '--no-huge', '--duration', '1s', '--output', linked,
             '--force').expect(2).expect_one_line(linked, '--port')
    assert open(capture, 'rb').read() == inputs[capture], 'destroyed'
    result = test.run('generate', '--config', settings, '--synthetic', 'flows=10', '--output',
                      settings, '--force').expect(2).expect_one_line(settings, '--config')
    assert open(settings, 'rb').read() == inputs[settings], result.describe()
    result = test.run('tune', '--pcap', capture, '--output', linked, '--force').expect(2).expect_one_line(linked, '--pcap')
    assert open(capture, 'rb').read() == inputs[capture], result.describe()
    for output in ((), ('--output', '-')):
        with open(capture, 'r+b') as out:
            result = test.run('tune', '--pcap', capture, '--no-huge', *output, stdout=out).expect(2)
        assert open(capture, 'rb').read() == inputs[capture], result.describe()


def test_same_file_twice(test):
    path = test.path('one.csv')
    result = test.run(*SOURCE, '--output', path, '--stats', path)
    assert result.status in (1, 2), result.describe()
    result.expect_one_line(path)


def close_early(test, *arguments, bytes_read=100, program=None):
    """Reads a little of the output and closes the pipe like head; returns the Result."""
    reading, writing = os.pipe()
    process = test.start(*arguments, program=program, stdout=writing)
    os.close(writing)
    assert os.read(reading, bytes_read), 'nothing was printed'
    os.close(reading)
    result = test.wait(process)
    for word in ('could not be written', 'cannot be written', 'closed by its reader;', 'rows are lost'):
        assert word not in result.stderr or 'the other outputs go on' in result.stderr, result.describe()
    return result


def test_reader_wants_no_more(test):
    """Closing standard output ends an endless run without an error."""
    for output in ('csv', 'table'):
        close_early(test, '--synthetic', 'flows=1K,packets=0,rate=100K,seed=1', '--interval', '100ms',
                    '--format', output).expect(0)
    capture = lib.write_pcap(test.path('live.pcap'), [(i, lib.udp_frame(i)) for i in range(100)])
    close_early(test, '--port', f'net_pcap0,rx_pcap={capture},infinite_rx=1', '--no-huge', '--interval',
                '50ms').expect(0)


def test_other_outputs_go_on(test):
    """The reader closes, and a file remains: everything is measured, and the run ends with 0."""
    stats = test.path('stats.csv')
    result = close_early(test, '--synthetic', 'flows=1K,packets=500K,rate=100K,seed=1', '--interval', '100ms',
                         '--stats', stats, '--output', '-').expect(0)
    assert 'the other outputs go on' in result.stderr, result.describe()
    assert lib.total(lib.read_stats(stats), 'measured') == 500000


def test_reader_of_a_fifo_goes(test):
    """The reader of a named output closes: an error, and status 1."""
    fifo, stats = test.path('fifo'), test.path('stats.csv')
    os.mkfifo(fifo)
    process = test.start('--synthetic', 'flows=1K,packets=500K,rate=100K,seed=1', '--interval', '100ms',
                         '--stats', stats, '--output', fifo)
    with open(fifo, 'rb', buffering=0) as reader:
        assert reader.read(100)
    result = test.wait(process).expect(1)
    assert 'could not be written' in result.stderr, result.describe()
    assert lib.total(lib.read_stats(stats), 'measured') == 500000


def test_reader_of_a_generated_capture_goes(test):
    close_early(test, 'generate', '--synthetic', 'packets=0', '--output', '-').expect(0)


def test_reader_of_a_bench_goes(test):
    """The bench stops when its reader closes."""
    close_early(test, 'kernels', '--no-huge', '--sketch', 'cms', '--sharing', 'separate', '--threads', '1', '--zipf', '1.05', '--packets', '100K', '--rounds', '20', '--width', ','.join(['4K'] * 16), '--flows',
                ','.join(str(1000 + i) for i in range(16)), bytes_read=10, program=[test.bench_binary]).expect(0)


def test_full_device(test):
    stats = test.path('stats.csv')
    # Unpaced runs shed nothing: no row follows the header.
    result = test.run(*SOURCE, '--keep-up', 'best', '--states', '/dev/full', '--output', os.devnull).expect(1)
    assert '1 rows could not be written' in result.stderr, result.describe()
    result = test.run(*SOURCE, '--output', '/dev/full', '--stats', stats, '--force').expect(1)
    assert '/dev/full' in result.stderr, result.describe()
    assert lib.total(lib.read_stats(stats), 'measured') == 200000


def test_disk_full(test):
    """A tmpfs of 64 KB: whole rows until it is full, everything is measured, status 1."""
    small, stats = test.path('small'), test.path('stats.csv')
    os.mkdir(small)
    mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small],
                             capture_output=True, check=False)
    if mounted.returncode != 0:
        test.skip('a tmpfs needs root')
    try:
        output = os.path.join(small, 'output.csv')
        result = test.run(*SOURCE, '--interval', '50ms', '--output', output, '--stats', stats
                          ).expect(1)
        assert output in result.stderr, result.describe()
        rows = lib.read_output(output)
        assert rows, 'nothing was written before the disk was full'
        ledger = lib.read_stats(stats)
        assert lib.total(ledger, 'measured') == 200000
        # No gap: the written rows are a prefix of the complete output.
        expected = test.run(*SOURCE, '--interval', '50ms').expect(0).stdout
        with open(output, encoding='utf-8') as stream:
            assert expected.startswith(stream.read()), 'rows are missing in between'
    finally:
        subprocess.run(['umount', small], check=True)

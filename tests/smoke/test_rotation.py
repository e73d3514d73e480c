# SPDX-License-Identifier: BSD-3-Clause
"""--rotate: names of complete files have their time; they hold whole epochs, and no file is
overwritten."""

import csv
import datetime
import io
import os
import re
import signal
import subprocess

import lib

LONG = ('names_that_are_taken',)

SOURCE = ('--synthetic', 'flows=1K,zipf=1.0,packets=40K,rate=1K,seed=1', '--seed', '1', '--top', '3')
READERS = (('output', lib.read_output), ('stats', lib.read_stats))


def complete_files(path):
    """Returns [(time in the name, path)] of the complete files of `path`, sorted by name."""
    folder, file = os.path.split(path)
    stem, extension = os.path.splitext(file)
    pattern = re.escape(stem) + r'-(\d{8}T\d{6}Z)(_\d{4})?' + re.escape(extension)
    found = []
    for name in sorted(os.listdir(folder)):
        match = re.fullmatch(pattern, name)
        if match:
            when = datetime.datetime.strptime(match[1], '%Y%m%dT%H%M%SZ')
            found.append((int(when.replace(tzinfo=datetime.timezone.utc).timestamp()),
                          os.path.join(folder, name)))
    return found


def second(row):
    return lib.timestamp(row['start']) // 1000000


def body(path):
    """Returns the text after the header."""
    with open(path, encoding='utf-8') as stream:
        return stream.read().split('\n', 1)[1]


def expect_whole(path, read):
    """Checks complete files and the current one: each has a header, and no epoch is in two of them.

    Returns the epoch numbers in the order of the files.
    """
    seen = []
    for when, name in complete_files(path) + [(None, path)]:
        rows = read(name)
        assert when is None or when == second(rows[0]), f'{name} begins with {rows[0]}'
        numbers = list(dict.fromkeys(int(row['epoch']) for row in rows))
        assert not set(numbers) & set(seen), f'{name}: epochs that are elsewhere too: {numbers}'
        seen += numbers
    return seen


def run_rotated(test, *options, name=''):
    paths = [test.path(f'{kind}{name}.csv') for kind, _ in READERS]
    test.run(*SOURCE, '--output', paths[0], '--stats', paths[1], *options).expect(0)
    return paths


def expect_nothing_lost(test, paths, interval):
    """Checks that all files together equal an unrotated run."""
    plain = run_rotated(test, '--interval', interval, name='-plain-run')
    for path, expected, (_, read) in zip(paths, plain, READERS):
        expect_whole(path, read)
        if read is lib.read_output:  # the ledger has times that differ between runs
            rotated = ''.join(body(name) for _, name in complete_files(path)) + body(path)
            assert rotated == body(expected), 'other rows than without --rotate'


def test_by_time(test):
    """40 seconds of traffic in files of 10 s, which begin at multiples of 10 seconds."""
    paths = run_rotated(test, '--interval', '1s', '--rotate', '10s')
    for path, (_, read) in zip(paths, READERS):
        files = complete_files(path)
        assert len(files) == 4, files
        for when, name in files:
            assert {second(row) // 10 for row in read(name)} == {when // 10}, name
    expect_nothing_lost(test, paths, '1s')


def test_by_size(test):
    limit = 4096
    paths = run_rotated(test, '--interval', '500ms', '--rotate', f'{limit}')
    for path in paths:
        files = complete_files(path)
        assert len(files) > 2, files
        for _, name in files:
            assert os.path.getsize(name) <= limit, f'{name} has {os.path.getsize(name)} bytes'
    expect_nothing_lost(test, paths, '500ms')


def test_every_file_rotates(test):
    """A single output with other time columns also rotates."""
    queues = test.path('queues.csv')
    for expected in ([0], [0, 0, 10]):  # the second run continues in an incomplete file
        test.run(*SOURCE, '--queues', queues, '--rotate', '10s', '--append', '--duration', '15s'
                 ).expect(0)
        files = complete_files(queues)
        assert [when % 86400 for when, _ in files] == expected, files
    for name in [name for _, name in files] + [queues]:
        with open(name, encoding='utf-8') as stream:
            assert stream.readline().startswith('epoch,'), name


def test_an_epoch_larger_than_the_size_has_a_file_of_its_own(test):
    paths = run_rotated(test, '--interval', '10s', '--top', '30', '--rotate', '1KB')
    for _, name in complete_files(paths[0]):
        assert len({row['epoch'] for row in lib.read_output(name)}) == 1, name
    assert len(complete_files(paths[0])) == 3  # plus the current one


def test_by_both(test):
    paths = run_rotated(test, '--interval', '1s', '--rotate', '4KB,10s')
    for _, name in complete_files(paths[0]):
        assert os.path.getsize(name) <= 4096, name
        assert len({second(row) // 10 for row in lib.read_output(name)}) == 1, name
    expect_nothing_lost(test, paths, '1s')


def test_names_that_are_taken(test):
    """Many files within a second, and a foreign one: nothing is overwritten."""
    strange = test.path('output-20000101T000000Z.csv')
    with open(strange, 'w', encoding='utf-8') as stream:
        stream.write('mine\n')
    paths = run_rotated(test, '--interval', '100ms', '--rotate', '1KB')
    with open(strange, encoding='utf-8') as stream:
        assert stream.read() == 'mine\n', 'overwritten'
    assert os.path.exists(test.path('output-20000101T000000Z_0001.csv'))
    os.remove(strange)
    expect_nothing_lost(test, paths, '100ms')


def test_next_start(test):
    """A restart refuses, or continues the numbering with --append, even after a stop that left an
    empty file."""
    paths = run_rotated(test, '--interval', '1s', '--rotate', '10s')
    result = test.run(*SOURCE, '--output', paths[0], '--rotate', '10s').expect(2)
    result.expect_one_line(paths[0], '--append')
    for last in (39, 79):
        before = {name: body(name) for _, name in complete_files(paths[0])}
        if last == 79:  # like a stop between completing one file and beginning the next
            for path in paths:
                os.remove(path)
        run_rotated(test, '--interval', '1s', '--rotate', '10s', '--append')
        for path, (_, read) in zip(paths, READERS):
            numbers = expect_whole(path, read)
            assert sorted(numbers) == list(range(last + 41)), numbers
        assert all(body(name) == text for name, text in before.items()), 'a complete file changed'


def test_silence_completes_a_file_too(test):
    """A silent live port: its file is complete when its time is over."""
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i)) for i in range(50)])
    output = test.path('output.csv')
    process = test.start('--port', f'net_pcap0,rx_pcap={capture}', '--eal', '--no-pci', '--workers',
                         '1', '--interval', '100ms', '--rotate', '1s', '--output', output)
    test.until(lambda: complete_files(output), 'a complete file')
    process.signal(signal.SIGTERM)
    test.wait(process).expect(0)
    (_, name), = complete_files(output)
    assert len(lib.read_output(name)) == 50
    assert lib.read_output(output) == []


def test_a_file_that_cannot_be_renamed_grows(test):
    """A mount point cannot be renamed: rows continue in it, with one warning."""
    output = test.path('output.csv')
    with open(output, 'w', encoding='utf-8'):
        pass
    if subprocess.run(['unshare', '-m', 'true'], check=False).returncode != 0:
        test.skip('no mount namespace available')
    script = 'mount --bind "$0" "$0" && exec "$@"'
    process = test.start(test.binary, *SOURCE, '--interval', '1s', '--rotate', '10s', '--output',
                         output, '--append', program=['unshare', '-m', 'sh', '-c', script, output])
    result = test.wait(process).expect(0)
    assert complete_files(output) == []
    assert [row['epoch'] for row in lib.read_output(output)] == [
        str(epoch) for epoch in range(40) for _ in range(3)]
    assert result.stderr.count('cannot be rotated') == 1, result.describe()


def moved(path):
    """Renames the file, which exists most of the time."""
    try:
        os.rename(path, path + '.moved')
    except FileNotFoundError:
        return False
    return True


def test_moved_away_and_emptied(test):
    """External rotation by logrotate together with --rotate: nothing is lost or mixed up."""
    stats = test.path('stats.csv')
    process = test.start('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1', '--interval',
                         '50ms', '--rotate', '1s', '--output', '/dev/null', '--stats', stats)
    test.until(lambda: complete_files(stats), 'a complete file')
    test.until(lambda: moved(stats), 'it is moved away')
    test.until(lambda: os.path.exists(stats), 'a new file')
    count = len(complete_files(stats))
    process.signal(signal.SIGHUP)
    test.until(lambda: len(complete_files(stats)) > count, 'another complete file')
    process.signal(signal.SIGTERM)
    test.wait(process).expect(0)
    rows = []
    for path in [name for _, name in complete_files(stats)] + [stats, stats + '.moved']:
        with open(path, encoding='utf-8') as stream:
            rows += list(csv.DictReader(io.StringIO(stream.read())))
    numbers = [int(row['epoch']) for row in rows]
    assert len(set(numbers)) == len(numbers), 'an epoch twice'
    by_number = sorted(rows, key=lambda row: int(row['epoch']))
    for before, after in zip(by_number, by_number[1:]):
        assert before['end'] == after['start'], f'{before} and {after}'


def test_mistakes(test):
    for value in ('', '0', '1', '0s', '10ms', '100', '1h,2h', '1GB,1MB', '1h,', ',1h', 'daily',
                  '1h,1GB,1d', '-1h', '1h ' * 40):
        test.run(*SOURCE, '--output', test.path('x.csv'), '--rotate', value).expect(
            2).expect_one_line('--rotate')
    test.run(*SOURCE, '--rotate', '1h').expect(2).expect_one_line('--rotate', 'standard output')
    assert not os.path.exists(test.path('x.csv'))

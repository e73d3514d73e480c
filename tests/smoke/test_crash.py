# SPDX-License-Identifier: BSD-3-Clause
"""Contents of the disk after kill -9, after a power failure, and with a full disk."""

import collections
import os
import random
import re
import shutil
import signal
import time

import lib

LONG = ('many_kills', 'kills_while_files_rotate', 'epochs_are_whole_after_kills')

LIVE = ('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1')
PACED = ('--synthetic', 'flows=1K,packets=100G,rate=100K,seed=1', '--pace', 'recorded', '--workers',
         '1', '--interval', '10ms')


def contents(folder):
    """Returns {name: bytes} of the files in a folder."""
    while True:
        found = {}
        try:
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name), 'rb') as stream:
                    found[name] = stream.read()
            return found
        except FileNotFoundError:  # renamed meanwhile
            pass


def without_last_epoch(content):
    lines = content[:content.rfind(b'\n') + 1].splitlines(keepends=True)
    last = lines[-1].split(b',')[0] if lines else b''
    return b''.join(line for line in lines if line.split(b',')[0] != last or last == b'epoch')


def expect_only_grown(before, after, stderr):
    """Checks that written bytes are unchanged. An epoch truncated by a kill is removed with a
    warning.

    Files may have been renamed between the two.
    """
    for name, old in before.items():
        if any(new.startswith(old) for new in after.values()):
            continue
        heirs = [new for new in after.values() if new.startswith(without_last_epoch(old))]
        assert heirs, f'{name} was changed'
        assert 'unfinished last epoch' in stderr, f'{name}: truncated without a warning'


def kill_again_and_again(test, count, *options):
    folder = test.path('files')
    os.mkdir(folder)
    output, stats = os.path.join(folder, 'output.csv'), os.path.join(folder, 'stats.csv')
    chance = random.Random()
    # Kills may come at any time, from the first moment on.
    for _ in range(count):
        before = contents(folder)
        process = test.start(*PACED, '--append', '--output', output, '--stats', stats, *options)
        if chance.random() < 0.8:
            test.until(lambda: contents(folder) != before, 'something is written')
        time.sleep(chance.random() * 0.2)
        process.kill()
        expect_only_grown(before, contents(folder), process.stderr())
        shutil.rmtree(process.directory)
    before = contents(folder)
    process = test.start(*PACED, '--append', '--output', output, '--stats', stats, '--duration',
                         '100ms', *options)
    test.wait(process).expect(0)
    expect_only_grown(before, contents(folder), process.stderr())
    return folder


def expect_one_numbering(folder, kind, read):
    """Checks that the epochs of all files are unique and in order."""
    names = sorted((name for name in os.listdir(folder) if name.startswith(kind)),
                   key=lambda name: (name == f'{kind}.csv', name))
    numbers = []
    for name in names:
        numbers += dict.fromkeys(int(row['epoch']) for row in read(os.path.join(folder, name)))
    assert sorted(set(numbers)) == sorted(numbers), f'{kind}: an epoch twice'
    return numbers


@lib.alone
def test_many_kills(test):
    folder = kill_again_and_again(test, 200 if test.settings.full else 20)
    for kind, read in (('output', lib.read_output), ('stats', lib.read_stats)):
        numbers = expect_one_numbering(folder, kind, read)
        assert numbers == sorted(numbers) and len(numbers) > 20, numbers


@lib.alone
def test_kills_while_files_rotate(test):
    folder = kill_again_and_again(test, 15, '--rotate', '8KB')
    assert len(os.listdir(folder)) > 2, 'no file was complete'
    for kind, read in (('output', lib.read_output), ('stats', lib.read_stats)):
        expect_one_numbering(folder, kind, read)


def size_of(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


@lib.alone
def test_epochs_are_whole_after_kills(test):
    """Epochs of several megabytes in two files: each is there with all its flows, or not at all."""
    output, stats = test.path('output.csv'), test.path('stats.csv')
    common = ('--sketch', 'flow-table', '--width', '64K', '--top', '1M', '--interval', '1s',
              '--workers', '1', '--append', '--output', output, '--stats', stats)
    for part in range(8 if test.settings.full else 4):
        size = size_of(output) + part * 800000 + 400000
        process = test.start('--synthetic', 'packets=100G,rate=100K,flows=20K,uniform', *common)
        begin = time.monotonic()
        while size_of(output) < size and process.running() and time.monotonic() < begin + 30:
            pass  # approximately in the middle of a write
        process.kill()
        shutil.rmtree(process.directory)
    test.run('--synthetic', 'packets=10,rate=1K', *common).expect(0)
    rows, ledger = lib.read_output(output), lib.read_stats(stats)
    reported = collections.Counter(row['epoch'] for row in rows)
    assert reported == {row['epoch']: int(row['distinct_keys']) for row in ledger}, reported
    assert [int(row['epoch']) for row in ledger] == list(range(len(ledger))), reported


def test_after_a_power_cut(test):
    """Half a row, or zeros that the file system did not fill: removed with a warning."""
    source = ('--synthetic', 'flows=1K,packets=20K,rate=10K,seed=1', '--output', '/dev/null')
    for rest in (b'2,main,2000-01-01T00:00:02.0', b'\0' * 4096, b'2', b'2,main,2\0\0\0\0'):
        stats = test.path(f'stats{len(rest)}.csv')
        test.run(*source, '--stats', stats).expect(0)
        with open(stats, 'ab') as stream:
            stream.write(rest)
        result = test.run(*source, '--stats', stats, '--append').expect(0)
        assert f'unfinished last row of {len(rest)} bytes' in result.stderr, result.describe()
        assert [row['epoch'] for row in lib.read_stats(stats)] == ['0', '1', '2', '3']
    with open(stats, 'ab') as stream:  # too large for one row: probably foreign data
        stream.write(b'\0' * 100000)
    size = os.path.getsize(stats)
    test.run(*source, '--stats', stats, '--append').expect(1).expect_one_line(stats, 'too long')
    assert os.path.getsize(stats) == size, 'changed'


class SmallDisk:
    """A tmpfs in its own mount namespace, which a process holds open."""

    def __init__(self, test, size):
        self.test = test
        self.mount = test.path('disk')
        os.mkdir(self.mount)
        script = 'mount -t tmpfs -o size="$1" tmpfs "$0" && echo mounted && exec sleep 600'
        self.holder = test.start(self.mount, str(size), program=['unshare', '-m', 'sh', '-c', script])
        test.until(lambda: not self.holder.running() or self.mounted(), 'the disk is mounted')
        if not self.holder.running():
            test.skip('no mount namespace available')

    def mounted(self):
        with open(os.path.join(self.holder.directory, 'stdout'), encoding='utf-8') as stream:
            return 'mounted' in stream.read()

    def start(self, *options):
        return self.test.start(*options, program=[
            'nsenter', '-t', str(self.holder.popen.pid), '-m', self.test.binary])

    def inside(self, name):
        """Returns the path of a file on the disk, as seen from outside."""
        return f'/proc/{self.holder.popen.pid}/root{self.mount}/{name}'

    def fill(self, leave):
        """Fills the disk except for `leave` bytes."""
        free = os.statvfs(self.inside(''))
        with open(self.inside('filler'), 'wb') as stream:
            os.posix_fallocate(stream.fileno(), 0, free.f_bavail * free.f_bsize - leave)

    def make_room(self):
        os.remove(self.inside('filler'))


def measure_on_a_full_disk(test, leave, *options):
    """A live run whose disk is temporarily full. Returns the rows of all its files."""
    disk = SmallDisk(test, 2 << 20)
    disk.fill(leave)
    process = disk.start(*LIVE, '--interval', '20ms', '--output', '/dev/null', '--stats',
                         os.path.join(disk.mount, 'stats.csv'), '--log-level', 'info', *options)
    test.until_said(process, 'No space left on device')
    begin = time.monotonic()
    test.until(lambda: time.monotonic() > begin + 0.5, 'some epochs have passed')
    disk.make_room()
    test.until_said(process, 'resumed')
    process.signal(signal.SIGTERM)
    result = test.wait(process)
    rows = []
    for name in os.listdir(disk.inside('')):
        rows += lib.read_stats(disk.inside(name))  # complete rows, and a header in each file
    measured = result.account()['epochs']
    lost = re.search(r'(\d+) rows could not be written', result.stderr)
    lost = int(lost[1]) if lost else 0
    assert len(rows) + lost == measured, f'{len(rows)} + {lost}, {result.describe()}'
    result.expect(1 if lost else 0)  # the header is not a row
    assert result.stderr.count('No space left') == 1, result.describe()
    assert len({row['epoch'] for row in rows}) == len(rows), 'an epoch twice'
    return rows


def test_a_full_disk_that_gets_room_again(test):
    rows = measure_on_a_full_disk(test, 8192)
    numbers = [int(row['epoch']) for row in rows]
    assert numbers == sorted(numbers), numbers


def test_a_disk_that_is_full_from_the_start(test):
    """Not even the header fits."""
    measure_on_a_full_disk(test, 0)


def test_a_full_disk_and_rotation(test):
    measure_on_a_full_disk(test, 12288, '--rotate', '4KB')


def test_the_disk_is_full_at_the_end(test):
    """The run measures to the end; the status shows that rows are missing."""
    disk = SmallDisk(test, 1 << 20)
    disk.fill(4096)
    process = disk.start('--synthetic', 'flows=1K,packets=200K,rate=100K,seed=1', '--interval',
                         '10ms', '--stats', os.path.join(disk.mount, 'stats.csv'), '--output',
                         os.path.join(disk.mount, 'output.csv'))
    result = test.wait(process).expect(1)
    assert 'rows could not be written' in result.stderr, result.describe()
    for name, read in (('stats.csv', lib.read_stats), ('output.csv', lib.read_output)):
        if os.path.getsize(disk.inside(name)) > 0:
            read(disk.inside(name))

# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap top: the screen equals the files; keys; a run that ends and one that starts; invalid
terminals."""

import argparse
import csv
import importlib
import os
import re
import signal
import sys
import threading

import lib
import terminal as terminals

PACED = ('--synthetic', 'flows=200,zipf=1.1,ipv6=0.3,packets=100G,rate=20K,seed=1', '--pace', 'recorded', '--interval',
         '200ms')
TITLE = re.compile(r'^sketchtap.*  epoch (\d+)  ')
ROW = re.compile(r'^ *(\d+) +(\S+) +(\S+) +([0-9.]+%|-) (.{10}) (\S.*)$')
UNITS = {'K': 1e3, 'M': 1e6, 'G': 1e9}


def emulator(test):
    """Imports pyte, also if Debian's package is for another interpreter."""
    try:
        return importlib.import_module('pyte')
    except ImportError:
        sys.path.append('/usr/lib/python3/dist-packages')
    try:
        return importlib.import_module('pyte')
    except ImportError:
        return test.skip('python3-pyte is not installed')


class Terminal(terminals.Terminal):
    """`sketchtap top` on a terminal, and its screen."""

    def __init__(self, test, run, *words, rows=24, columns=80, name='xterm', encoding='C.UTF-8'):
        pyte = emulator(test)
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.lock = threading.Lock()
        super().__init__(test, rows, columns, 'top', *words, reads=True,
                         program=['env', f'RUNTIME_DIRECTORY={run.directory}', f'TERM={name}', f'LC_ALL={encoding}',
                                  test.binary])

    def take(self, part):
        with self.lock:
            self.stream.feed(part)

    def resize(self, rows, columns):
        with self.lock:
            self.screen.resize(rows, columns)
        self.set_size(rows, columns)
        self.process.signal(signal.SIGWINCH)

    def lines(self):
        with self.lock:
            return [line.rstrip() for line in self.screen.display]

    def style(self, row):
        """Returns (foreground, bold, reverse) of a line's first character."""
        with self.lock:
            character = self.screen.buffer[row][0]
            return character.fg, character.bold, character.reverse

    def press(self, keys):
        os.write(self.master, keys.encode())

    def until(self, found, what):
        self.test.until(lambda: found(self.lines()) or not self.process.running(), what)
        assert self.process.running(), self.process.result.describe()
        return self.lines()

    def epoch(self):
        title = TITLE.match(self.lines()[0])
        return int(title[1]) if title else None

    def settle(self):
        """Returns the lines after pending output is drawn: opens and closes a prompt, which is
        drawn after it."""
        self.press('/')
        self.until(lambda lines: lines[-1] == '/_', 'a prompt')
        self.press('\n')
        self.until(lambda lines: lines[-1].startswith('q quit'), 'and none')
        return self.lines()

    def freeze(self):
        """Freezes the screen; returns its lines."""
        self.press(' ')
        self.until(lambda lines: 'FROZEN' in lines[0], 'it is frozen')
        return self.settle()

    def rows(self):
        return [match.groups() for match in map(ROW.match, self.lines()) if match]

    def ended(self):
        """Returns the result of a run that must not draw."""
        result = self.finish()
        assert '\x1b' not in ''.join(self.lines()), self.lines()
        return result

    def quit(self):
        self.press('q')
        result = self.finish().expect(0)
        assert result.stderr == '', result.describe()


def start(test, *words, name=None):
    words = (*words, '--name', name) if name else words
    output, stats = test.path('output.csv'), test.path('stats.csv')
    run = test.start(*PACED, '--output', output, '--stats', stats, *words)
    socket = run.control_socket(name) if name else run.control_socket()
    test.until(lambda: os.path.exists(socket) or not run.running(), 'the socket is there')
    return run, output, stats


def end(test, run):
    run.signal(signal.SIGTERM)
    test.wait(run).expect(0)


def value(text):
    return float(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else float(text)


def check_rows(shown, epoch, output, stats, bits=False, seconds=0.2):
    """Compares rows on the screen with those of --output."""
    ledger, = [row for row in lib.read_stats(stats) if row['epoch'] == str(epoch)]
    rows = lib.in_epoch(lib.read_output(output), str(epoch))
    assert len(shown) > 5, shown
    for row, (rank, rate, _, share, past, flow) in zip(rows, shown):
        assert row['rank'] == rank and past.strip() != '', (row, shown)
        assert flow.startswith(row['src_ip'][:12]) or flow.startswith('[' + row['src_ip'][:12]), (row, flow)
        exact = int(row['bytes']) * 8 / seconds if bits else int(row['packets']) / seconds
        assert abs(value(rate) - exact) <= exact * 0.006 + 1, (row, rate)
        assert share == '-' if bits else share == f'{float(row["share"]) * 100:.1f}%', (row, share)
    return ledger


def test_shows_the_files(test):
    """80x24 in UTF-8, then 120x40: rows, ledger and rates of an epoch equal those of --output and
    --stats."""
    run, output, stats = start(test)
    terminal = Terminal(test, run)
    terminal.until(lambda lines: len(terminal.rows()) > 5 and (terminal.epoch() or 0) > 4, 'rows of a few epochs')
    for size in (None, (40, 120)):
        if size:
            terminal.press(' ')
            terminal.resize(*size)
            terminal.until(lambda lines: 'FROZEN' not in lines[0] and lines[-1].startswith('q quit'), 'it is larger')
        lines = terminal.freeze()
        epoch, shown = terminal.epoch(), terminal.rows()
        ledger = check_rows(shown, epoch, output, stats)
        lost = sum(int(ledger[name]) for name in lib.LOSSES)
        assert lines[2].startswith(f'{int(ledger["offered"]):,} packets, {lost} lost'), lines
        assert any(line.startswith('workers busy ') for line in lines), lines
        assert any(line.startswith('main: 5tuple by packets, count-min; ') for line in lines), lines
        assert any(bar in shown[0][4] for bar in '▁▂▃▄▅▆▇█'), shown
    terminal.press('b')
    terminal.until(lambda lines: any('bit/s  error' in line for line in lines), 'bits are shown')
    terminal.settle()
    check_rows(terminal.rows(), epoch, output, stats, bits=True)
    terminal.quit()
    end(test, run)


def test_keys(test):
    """Keys for measurements, help, find, scrolling and order; ASCII without UTF-8; a small
    terminal."""
    config = test.path('some.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('[measurement flows]\nkey = 5tuple\n[measurement senders]\nkey = src/24\n')
    run, _, _ = start(test, '--config', config, name='tap7')
    terminal = Terminal(test, run, 'tap7', rows=14, columns=60, name='vt100', encoding='C')
    terminal.until(lambda lines: lines[0].startswith('sketchtap tap7  epoch') and terminal.rows(), 'it begins')
    assert all(len(line) <= 60 for line in terminal.lines())
    terminal.press('m')
    terminal.until(lambda lines: any(line.startswith('senders: src/24') for line in lines), 'the other measurement')
    terminal.press('\t')
    terminal.until(lambda lines: any(line.startswith('flows: 5tuple') for line in lines), 'and the first again')
    terminal.freeze()
    assert terminal.rows()[0][4].isascii(), terminal.rows()
    first = terminal.rows()[0]
    terminal.press('\x1bOB')
    terminal.until(lambda lines: terminal.rows()[0][0] == '2', 'one row down')
    terminal.press('\x1bOA')
    terminal.until(lambda lines: terminal.rows()[0] == first, 'and up')
    terminal.press('/198.1')
    terminal.until(lambda lines: lines[-1] == '/198.1_', 'what is typed')
    terminal.press('\n')
    terminal.until(lambda lines: lines[-1].startswith('q quit'), 'it is taken')
    for at, line in enumerate(terminal.lines()):
        row = ROW.match(line)
        # The matching part of a flow may be outside the screen; IPv6 flows do not match.
        if row and ('198.1' in line or row[6].startswith('[')):
            assert terminal.style(at)[2] == ('198.1' in line), line
    terminal.press('oo')
    terminal.until(lambda lines: any('by flow' in line for line in lines), 'another order')
    terminal.press('?')
    terminal.until(lambda lines: any('the next measurement' in line for line in lines), 'help')
    terminal.quit()
    end(test, run)


def test_losses_are_red(test):
    """Losses have a reason: here, a table that is too small sheds."""
    run, _, _ = start(test, '--sketch', 'flow-table', '--width', '16')
    terminal = Terminal(test, run)
    terminal.until(lambda lines: any(' lost (' in line for line in lines), 'losses')
    lines = terminal.freeze()
    at, = [number for number, line in enumerate(lines) if ' lost (' in line]
    assert terminal.style(at)[:2] == ('red', True), terminal.style(at)
    # A busy machine may lose most or all packets before the table.
    why = re.match(r'(\w+): \w+', lines[at + 1])[1]
    assert why in ('shed', 'nic_missed') and f' {why}' in lines[at], lines
    terminal.quit()
    run.signal(signal.SIGTERM)
    test.wait(run)


def test_a_run_ends_and_another_begins(test):
    """The last screen stays; the next run of the same name is shown from its beginning."""
    run, _, _ = start(test, name='again')
    terminal = Terminal(test, run, 'again')
    terminal.until(lambda lines: len(terminal.rows()) > 5, 'rows')
    end(test, run)
    terminal.until(lambda lines: 'THE RUN ENDED' in lines[0] and len(terminal.rows()) > 5, 'it is reported')
    other = test.start(*PACED, '--output', os.devnull, '--name', 'again',
                       program=['env', f'RUNTIME_DIRECTORY={run.directory}', test.binary])
    terminal.until(lambda lines: 'ENDED' not in lines[0] and len(terminal.rows()) > 5, 'the other is shown')
    terminal.quit()
    other.signal(signal.SIGTERM)
    test.wait(other)


def test_bad_terminals(test):
    """Each is refused at once, with advice."""
    test.run('top').expect(2).expect_one_line('top draws on a terminal', 'follow --json')
    test.run('top', '--nonsense').expect(2).expect_one_line("top '--nonsense': allowed: NAME, or FILE.csv")
    test.run('top', 'one', 'two').expect(2).expect_one_line("top 'two'")
    assert 'Usage: sketchtap top [NAME]' in test.run('top', '--help').expect(0).stdout


def test_deliveries(test):
    """A line sums deliveries, red if rows failed; key d lists each destination with the figures of
    --deliveries."""
    deliveries = test.path('deliveries.csv')
    run, output, _ = start(test, '--stats', '/dev/full', '--deliveries', deliveries)
    terminal = Terminal(test, run, columns=120)
    terminal.until(lambda lines: (terminal.epoch() or 0) > 3 and any(' not, most' in line for line in lines), 'a loss')
    lines = terminal.freeze()
    at, = [number for number, line in enumerate(lines) if re.match(r'rows [0-9,]+ delivered', line)]
    assert lines[at].endswith(' not, most of them at /dev/full') and terminal.style(at)[0] == 'red', lines
    terminal.press('d')
    terminal.until(lambda lines: any('taken  failed' in line for line in lines), 'places')
    lines, epoch = terminal.settle(), terminal.epoch()
    assert not terminal.rows(), lines
    places = {match[7]: [value(part) for part in match.groups()[:6]]
              for match in (re.match(r' *([0-9.]+[KMG]?)' + r' +([0-9.]+[KMG]?)' * 5 + r' (\S.*)$', line) for line in lines) if match}
    failed = places['/dev/full, stats']
    assert failed[0] == failed[2] + failed[5] > 0 and failed[1] == 0, places
    run.signal(signal.SIGTERM)
    test.wait(run).expect(1)
    with open(deliveries, encoding='utf-8', newline='') as stream:
        rows = [row for row in csv.DictReader(stream) if row['export'] == output]
    told = places[f'{output}, heavy-hitters']
    # Deliveries are requested after the epoch; more epochs may have closed meanwhile.
    sums = [lib.total([row for row in rows if int(row['epoch']) < last], 'rows') for last in range(epoch, len(rows) + 1)]
    assert any(abs(told[0] - expected) <= told[0] * 0.006 for expected in sums), (told, sums)
    terminal.press('d')
    terminal.until(lambda lines: terminal.rows(), 'flows again')
    terminal.quit()


class Replay(Terminal):
    """top with files instead of a run."""

    def __init__(self, test, *words, **how):
        super().__init__(test, argparse.Namespace(directory=test.directory), *words, **how)


def record(test, *words):
    """Writes files of --output and --stats with 40 intervals of 50 ms."""
    output, stats = test.path('flows.csv'), test.path('stats.csv')
    test.run('--synthetic', 'flows=200,zipf=1.1,ipv6=0.3,packets=40K,rate=20K,seed=1', '--interval', '50ms', '--output',
             output, '--stats', stats, *words).expect(0)
    return output, stats


def test_files(test):
    """A file of --output is shown interval by interval, step by step while frozen, with the ledger
    of --stats."""
    output, stats = record(test)
    terminal = Replay(test, output, '--stats', stats)
    terminal.until(lambda lines: terminal.rows(), 'it begins')
    terminal.freeze()
    steps = []
    for _ in range(3):
        epoch, shown = terminal.epoch(), terminal.rows()
        ledger = check_rows(shown, epoch, output, stats, seconds=0.05)
        assert f'{int(ledger["offered"]):,} packets, 0 lost' in terminal.lines()[2], terminal.lines()
        assert any(line.startswith(f'main: by packets, count-min; {int(ledger["distinct_keys"]):,} keys')
                   for line in terminal.lines()), terminal.lines()
        steps.append(epoch)
        terminal.press('\x1bOC')
        terminal.until(lambda lines, before=epoch: terminal.epoch() == before + 1, 'the next interval')
        terminal.settle()
    terminal.press(' ')
    terminal.until(lambda lines: 'THE END' in lines[0], 'all of it')
    assert terminal.epoch() == 39 and steps[0] < steps[1] < steps[2] < 39, steps
    terminal.quit()


def test_rotated_files(test):
    """Two rotated files without a ledger; a measurement ranked by bytes shows bits per second."""
    output, _ = record(test, '--count', 'bytes')
    text = lib.read_text(output).splitlines(keepends=True)
    half = next(n for n, line in enumerate(text) if line.startswith('20,'))
    first, second = test.path('flows-1.csv'), test.path('flows-2.csv')
    for path, lines in ((first, text[:half]), (second, text[:1] + text[half:] + ['40,half a r'])):
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(''.join(lines))
    terminal = Replay(test, first, second, rows=30, columns=100)
    lines = terminal.until(lambda lines: 'THE END' in lines[0], 'all of it')
    lines = terminal.settle()
    assert terminal.epoch() == 39 and lines[1] == 'main: by bytes', lines
    rows = lib.in_epoch(lib.read_output(output), '39')
    for row, (rank, rate, *_) in zip(rows, terminal.rows()):
        exact = int(row['bytes']) * 8 / 0.05
        assert row['rank'] == rank and abs(value(rate) - exact) <= exact * 0.006 + 1, (row, rate)
    terminal.quit()


def test_rotated_accounts(test):
    """Files of --stats one after the other, in any position."""
    output, stats = record(test)
    text = lib.read_text(stats).splitlines(keepends=True)
    accounts = test.path('stats-1.csv'), test.path('stats-2.csv')
    for path, lines in zip(accounts, (text[:12], text[:1] + text[12:])):
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(''.join(lines))
    terminal = Replay(test, '--stats', accounts[0], output, '--stats', accounts[1], rows=30, columns=100)
    terminal.until(lambda lines: 'THE END' in lines[0], 'all of it')
    terminal.settle()
    epoch = terminal.epoch()
    ledger = check_rows(terminal.rows(), epoch, output, stats, seconds=0.05)
    assert f'{int(ledger["offered"]):,} packets, 0 lost' in terminal.lines()[2], terminal.lines()
    terminal.quit()


def test_lines_of_windows(test):
    """Files with CR LF line ends and a byte order mark are read like others."""
    output, stats = record(test)
    for path in (output, stats):
        text = lib.read_text(path)
        with open(path + '.crlf.csv', 'w', encoding='utf-8-sig', newline='\r\n') as stream:
            stream.write(text)
    screens = []
    for end in ('', '.crlf.csv'):
        terminal = Replay(test, output + end, '--stats', stats + end, rows=30, columns=100)
        terminal.until(lambda lines: 'THE END' in lines[0], 'all of it')
        screens.append(terminal.settle()[1:])
        terminal.quit()
    assert screens[0] == screens[1], screens


def test_bad_files(test):
    """Invalid files are refused with the line, before anything is drawn; later damage ends the
    display."""
    output, stats = record(test)
    header, row = lib.read_text(output).splitlines()[:2]
    cases = (
        ('', 2, 'no header'),
        ('\0\n', 2, 'NUL byte'),
        ('x' * 70000, 2, ':1: more than 65535 bytes'),
        (header + '\n' + '1' * 65536, 2, ':2: more than 65535 bytes'),
        ('{"epoch":0}\n', 2, "no column 'epoch'"),
        (header.replace('packets_high', 'x') + '\n', 2, "no column 'packets_high'"),
        (header + '\n' + row + ',1\n', 2, ':2: 19 fields'),
        (header + '\n"' + row + '\n', 2, ':2: field 1: the quotes'),
        (header + '\n' + row.replace('0,main', 'x,main', 1) + '\n', 2, ":2: 'x': not a number"),
        (header + '\n' + row.replace('0,main', ',main', 1) + '\n', 2, ':2: interval'),
        (header + '\n' + row.replace('0,main', '99999999999999999999,main', 1) + '\n', 2, 'not a number'),
    )
    for text, status, says in cases:
        path = test.path('bad.csv')
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(text)
        ended = Replay(test, path).ended()
        assert ended.status == status and says in ended.stderr, (text, ended.describe())
    assert ':1: NUL byte' in Replay(test, '/dev/zero').ended().expect(2).stderr
    assert 'No such file' in Replay(test, './nowhere').ended().expect(1).stderr
    assert "no column 'rank'" in Replay(test, stats).ended().expect(2).stderr
    assert "no column 'distinct_keys'" in Replay(test, output, '--stats', output).ended().expect(2).stderr
    for words in ((output, '--stats'), ('--stats', stats), (output, 'name'), ('name', output), (output, '--nonsense')):
        Replay(test, *words).ended().expect(2)
    with open(output, 'a', encoding='utf-8') as stream:
        stream.write(row + '\n')
    terminal = Replay(test, output)
    terminal.until(lambda lines: 'DAMAGED' in lines[0], 'the damage')
    terminal.press('q')
    ended = terminal.finish().expect(2)
    assert 'after interval 39' in ended.stderr, ended.describe()

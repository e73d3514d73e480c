# SPDX-License-Identifier: BSD-3-Clause
"""Output on a terminal."""

import os
import re
import signal

import lib
import net
import terminal as terminals

ROWS, COLUMNS = 24, 90
UPLINK = 'uplink'
HEADLINE = re.compile(r'^epoch (\d+)  \d{4}-', re.M)


class Screen:
    """The subset of a terminal that sketchtap uses; other sequences are an error."""

    CODE = re.compile(r'\x1b\[(\?7[lh]|[0-9;]*[HJ])')

    def __init__(self):
        self.lines = [''] * ROWS
        self.gone = []  # lines that have scrolled out
        self.row = self.column = 0

    def feed(self, text):
        at = 0
        while at < len(text):
            code = self.CODE.match(text, at)
            if code:
                self.obey(code[1])
                at = code.end()
                continue
            assert text[at] >= ' ' or text[at] in '\r\n', f'{text[at:at + 20]!r}'
            self.put(text[at])
            at += 1

    def obey(self, code):
        if code[-1] == 'H':
            self.row = min(int(code[:-1].split(';')[0]), ROWS) - 1
            self.column = 0
        elif code[-1] == 'J':
            self.lines[self.row:] = [self.lines[self.row][:self.column]] + [''] * (ROWS - self.row - 1)

    def put(self, character):
        if character == '\r':
            self.column = 0
        elif character == '\n' and self.row < ROWS - 1:
            self.row += 1
        elif character == '\n':
            self.gone.append(self.lines.pop(0))
            self.lines.append('')
        elif self.column < COLUMNS:  # lines are not wrapped
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1

    def text(self):
        return '\n'.join(self.lines)


class Terminal(terminals.Terminal):
    """A run on a terminal, and its output."""

    def __init__(self, test, *arguments, errors=False, name='vt100', inside=None):
        self.raw = b''
        program = ['env', f'TERM={name}', test.binary]
        if errors:
            program = [*program[:2], 'sh', '-c', 'exec "$0" "$@" 2>&1', test.binary]
        super().__init__(test, ROWS, COLUMNS, *arguments, program=program, inside=inside)

    def take(self, part):
        self.raw += part

    def text(self):
        return self.raw.decode()

    def screen(self):
        screen = Screen()
        screen.feed(self.text())
        return screen


def rows_shown(text):
    return len(re.findall(r'^ *\d+  .*%', text, re.M))


def test_capture(test):
    """More than a minute with up to 100 flows per second: one interval with 20 rows, unless options
    change it."""
    capture = ('--pcap', lib.unpack(test, UPLINK))

    def show(*options):
        terminal = Terminal(test, *capture, *options)
        result = terminal.finish().expect(0)
        assert '\x1b' not in terminal.text(), 'a capture is not drawn over'
        return terminal.text().replace('\r\n', '\n'), result

    text, result = show()
    assert len(HEADLINE.findall(text)) == 1 and rows_shown(text) == 20, text
    assert result.account()['offered'] == int(lib.entry_of(test.traces, UPLINK)['packets']) and result.account()['epochs'] == 1, result.describe()
    text, _ = show('--interval', '30s', '--top', '5')
    assert len(HEADLINE.findall(text)) == 4 and rows_shown(text) == 20, text
    text, result = show('--format', 'csv')
    assert text.startswith('epoch,measurement') and result.account()['epochs'] > 80, text[:300]
    # Files do not depend on the terminal.
    stats = test.path('stats.csv')
    _, result = show('--stats', stats)
    lib.check_account(result, lib.read_stats(stats))
    assert result.account()['epochs'] > 80


def test_nothing_but_what_has_no_key(test):
    """Without any flow, the ledger is still printed."""
    arp = lib.write_pcap(test.path('arp.pcap'), [(0, b'\x02' * 12 + b'\x08\x06' + bytes(46))])
    terminal = Terminal(test, '--pcap', arp)
    terminal.finish().expect(0)
    assert 'no flow reached the threshold' in terminal.text(), terminal.text()


def endless(test):
    """Returns options of a port that repeats packets of 50 flows."""
    capture = lib.write_pcap(test.path('few.pcap'), [(i, lib.udp_frame(i % 50)) for i in range(500)])
    return ('--port', f'net_pcap0,rx_pcap={capture},infinite_rx=1', '--workers', '1', '--interval',
            '100ms')


def test_live_port(test):
    """A single screen is redrawn, and nothing scrolls."""
    terminal = Terminal(test, *endless(test))
    test.until(lambda: len(HEADLINE.findall(terminal.text().replace('\x1b[J', '\n'))) > 4, 'five epochs')
    terminal.process.signal(signal.SIGINT)
    terminal.finish().expect(0)
    screen = terminal.screen()
    assert not any(screen.gone), screen.gone
    assert len(HEADLINE.findall(screen.text())) == 1, screen.text()
    assert HEADLINE.match(screen.lines[0]) and 'packets offered' in screen.lines[1], screen.text()
    assert rows_shown(screen.text()) >= ROWS - 12, screen.text()


def test_what_others_say_is_kept(test):
    """A line on standard error scrolls up with the table above it; the table continues below."""
    rules = test.path('rules')
    with open(rules, 'w', encoding='utf-8') as stream:
        stream.write('0.0.0.0/0 all\n')
    terminal = Terminal(test, *endless(test), '--monitor', rules, errors=True)
    test.until(lambda: len(HEADLINE.findall(terminal.screen().text())) == 1, 'an epoch')
    terminal.process.signal(signal.SIGHUP)
    test.until(lambda: ': 1 prefixes' in terminal.text(), 'the rules were read')
    test.until(lambda: any(': 1 prefixes' in line for line in terminal.screen().gone), 'it moved up')
    terminal.process.signal(signal.SIGINT)
    terminal.finish().expect(0)
    screen = terminal.screen()
    everything = '\n'.join(screen.gone + screen.lines)
    assert everything.count(': 1 prefixes') == 1 and everything.count(' measured, ') >= 2, everything
    assert len(HEADLINE.findall(screen.text())) == 1, screen.text()
    assert lib.ACCOUNT.search(screen.text()), screen.text()


def test_live_port_told_otherwise(test):
    """Tables one after the other: on request, and on a terminal without cursor movement."""
    for options, name in ((('--format', 'table'), 'vt100'), ((), 'dumb')):
        terminal = Terminal(test, *endless(test), *options, name=name)
        test.until(lambda: len(HEADLINE.findall(terminal.text())) > 2, 'three epochs')
        terminal.process.signal(signal.SIGINT)
        terminal.finish().expect(0)
        assert '\x1b' not in terminal.text()


def test_silent_port(test):
    """Silence is reported, and the last epoch with packets stays on the screen."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    terminal = Terminal(test, '--port', net.af_packet('tap0'), '--workers', '1', '--interval', '100ms',
                        inside=space)
    test.until(lambda: 'no packets until ' in terminal.screen().text(), 'silence')
    capture = lib.write_pcap(test.path('sent.pcap'), [(i, lib.udp_frame(i)) for i in range(5)])
    test.wait(space.send('wire0', capture, 10000)).expect(0)
    test.until(lambda: 'no packets from then until ' in terminal.screen().text(), 'silence again')
    terminal.process.signal(signal.SIGINT)
    assert terminal.finish().expect(0).account()['measured'] == 5
    screen = terminal.screen()
    assert HEADLINE.match(screen.lines[0]) and rows_shown(screen.text()) > 0, screen.text()
    assert screen.text().count('no packets') == 1, screen.text()

# SPDX-License-Identifier: BSD-3-Clause
"""A master (sketchtap collect --collectors) reports what one collector reports that hears all exporters."""

import csv
import functools
import os
import re
import select
import signal
import socket
import threading
import time

import collected
import datagrams
import lib
import networks

INTERVALS = 24
METHODS = {'best': 'unsampled', 'exporter': 'sflow: elephants', 'window': 'mixed', 'edge': 'sflow',
           'none': 'unsampled: loss'}
MORE = ('unsampled: both sides', 'unsampled: router fails', 'sflow: mice', 'caches')
WAIT = '3s'  # of the master for a silent collector
COLUMNS = ('epoch,start,end,row,time_ns,socket,dropped,source,source_port,destination,destination_port,payload,'
           'last').split(',')


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def split(capture, parts):
    """Divides a capture by exporter. Equal times become different: a master cannot know their order."""
    made, last = [datagrams.Capture() for _ in range(parts)], -1
    for when, data, size in sorted(capture.packets, key=lambda packet: packet[0]):
        last = max(round(when * datagrams.SECOND), last + 1)
        made[data[29] % parts].packets.append((last / datagrams.SECOND, data, size))
    whole = datagrams.Capture()
    whole.packets = [packet for part in made for packet in part.packets]
    return whole, made


class Master:
    """A master, and the arguments of all collectors of its network."""

    def __init__(self, test, arguments, collectors=2, port=None, wait=WAIT):
        self.test, self.arguments, self.port = test, [*arguments], port or free_port()
        self.output, self.stats, self.exporters = (test.path(f'master-{kind}.csv')
                                                   for kind in ('output', 'stats', 'exporters'))
        self.collectors, self.wait = collectors, wait
        self.start()

    def start(self):
        self.process = self.test.start('collect', *self.arguments, '--collectors', f'127.0.0.1:{self.port},{self.collectors}',
                                       '--set', f'collectors-wait={self.wait}', '--output', self.output,
                                       '--stats', self.stats, '--exporters', self.exporters)
        self.test.until(self.listens, 'the master listens')

    def listens(self):
        assert self.process.running(), self.process.stderr()
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', self.port)) == 0

    def url(self):
        return f'tcp://127.0.0.1:{self.port}'

    def rows(self):
        return lib.read_stats(self.stats) if os.path.exists(self.stats) and os.path.getsize(self.stats) else []

    def kill(self):
        """Ends the master by kill -9. The next one appends to its files."""
        self.process.signal(signal.SIGKILL)
        self.test.until(lambda: not self.process.running(), 'the master is dead')
        if '--append' not in self.arguments:
            self.arguments.append('--append')

    def until(self, end):
        """Waits until the interval with this end has a row, then stops the master."""
        self.test.until(lambda: any(row['end'] >= end for row in self.rows()), f'{end} is reported')
        self.process.signal(signal.SIGINT)
        return self.test.wait(self.process).expect(0)


def read(path):
    with open(path, encoding='utf-8') as stream:
        return stream.read().splitlines()


def rows_before(path, epoch):
    """The rows of intervals before `epoch`. The end of a run settles what its last interval left open, and the
    run of a master does not end with it."""
    lines = read(path)
    return lines[:1] + [line for line in lines[1:] if int(line.split(',')[0]) < epoch]


def compare(master, one):
    """The rows of a master and those of one collector."""
    last = max(int(row['epoch']) for row in lib.read_stats(one['stats']))
    for kind in ('output', 'exporters'):
        ours, theirs = (rows_before(path, last) for path in (getattr(master, kind), one[kind]))
        assert len(theirs) > last
        assert ours == theirs, f'{kind}: {[pair for pair in zip(ours, theirs) if pair[0] != pair[1]][:3]}'


def collect_alone(test, arguments, capture):
    one = {kind: test.path(f'one-{kind}.csv') for kind in ('output', 'stats', 'exporters')}
    test.run('collect', *arguments, '--pcap', capture, '--output', one['output'], '--stats', one['stats'],
             '--exporters', one['exporters']).expect(0)
    return one


def world_of(test, name, method, collectors):
    """Returns the arguments of a collector, the captures of all collectors together and of each."""
    world = networks.World(name, 1, INTERVALS).run()
    whole, parts = split(world.capture, collectors)
    arguments = networks.arguments(world, method, test.directory)
    at = arguments.index('--pcap')
    paths = [part.write(test.path(f'part{number}.pcap')) for number, part in enumerate(parts)]
    return arguments[1:at] + arguments[at + 2:], whole.write(test.path('whole.pcap')), paths


def is_equal(test, method, name, collectors, workers=1):
    arguments, whole, parts = world_of(test, name, method, collectors)
    arguments[arguments.index('--workers') + 1] = str(workers)
    one = collect_alone(test, arguments, whole)
    master = Master(test, arguments, collectors)
    running = [test.start('collect', *arguments, '--pcap', part, '--output', '/dev/null',
                          '--export', f'datagrams={master.url()}') for part in parts]
    for process in running:
        test.wait(process).expect(0)
    master.until(lib.read_stats(one['stats'])[-1]['end'])
    compare(master, one)


# ---- collectors whose rows the test sends


def rows_of(test, arguments, capture, name):
    """The rows that a collector of this capture sends, by interval."""
    path = test.path(f'{name}.csv')
    test.run('collect', *arguments, '--pcap', capture, '--output', '/dev/null', '--export',
             f'datagrams={path}').expect(0)
    rows = {}
    for row in lib.read_csv(path, COLUMNS):
        rows.setdefault(int(row['epoch']), []).append(row)
    return rows


class Sender:
    """Sends rows as the collector HOST does in its run RUN."""

    def __init__(self, master, host, run, spooled=False):
        self.identity, self.spooled = f',{host},{run:016x}\n', spooled
        self.out = socket.create_connection(('127.0.0.1', master.port))
        self.out.sendall((','.join(COLUMNS) + ',host,run\n').encode())

    def send(self, rows, offset=0):
        """offset: of the collector's clock, in ns"""
        text = ''.join(','.join(self.moved(row, offset).values()) + self.identity for row in rows)
        spooled = ' spooled' * self.spooled
        self.out.sendall(f'#now {time.time_ns() + offset}{spooled}\n{text}'.encode())

    def answered(self, seconds):
        """Returns true if the master answers within this time."""
        return bool(select.select([self.out], [], [], seconds)[0]) and self.out.recv(4096) != b''

    @staticmethod
    def moved(row, offset):
        if offset == 0:
            return row
        times = {name: shifted(row[name], offset) for name in ('start', 'end')}
        return {**row, **times, 'time_ns': str(int(row['time_ns']) + offset)}

    def close(self):
        """Ends the connection after the master has read everything; unread answers would reset it."""
        self.out.shutdown(socket.SHUT_WR)
        while self.out.recv(4096):
            pass
        self.out.close()


def shifted(text, offset):
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(lib.timestamp(text) // 10**6 + offset // 10**9)) + text[19:]


class Pair:
    """A master of two collectors, their rows, and what one collector reports."""

    def __init__(self, test, name='unsampled', method='best', wait=WAIT):
        self.test = test
        self.world = networks.World(name, 1, INTERVALS).run()
        arguments, whole, parts = world_of(test, name, method, 2)
        self.one = collect_alone(test, arguments, whole)
        self.rows = [rows_of(test, arguments, part, f'rows{number}') for number, part in enumerate(parts)]
        self.master = Master(test, arguments, wait=wait)
        self.last = lib.read_stats(self.one['stats'])[-1]['end']

    def send(self, sender, number, first, end, **options):
        for interval in range(first, end):
            sender.send(self.rows[number][interval], **options)

    def finish(self):
        result = self.master.until(self.last)
        return result, [line for line in result.stderr.splitlines() if 'warning' in line]

    def judge(self):
        """All bounds of the master hold."""
        rows = lib.read_output(self.master.output)
        for rule, verdict in networks.judge_all(self.world, self.world.truth(), rows).items():
            assert not networks.is_unlikely(verdict.bad, verdict.intervals), (rule, verdict.examples)
        return rows

    def open_intervals(self, rows):
        """Intervals whose rows have no upper bound."""
        return {int(row['epoch']) for row in rows if row['packets_high'] == ''}


def hears_twice(test):
    """Whole and half intervals that come again count once."""
    pair = Pair(test)
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, 6)
    pair.send(first, 0, 5, 6)
    half = pair.rows[0][6]
    first.send(half[:len(half) // 2])
    first.close()
    first = Sender(pair.master, 'a', 1)
    pair.send(first, 0, 6, INTERVALS)
    pair.send(other, 1, 0, INTERVALS)
    _, warnings = pair.finish()
    compare(pair.master, pair.one)
    assert len(warnings) == 1 and 'interval 5 came again' in warnings[0], warnings


def clocks_differ(test, method, seconds):
    """Times of a wrong clock are corrected: only the delay of the line remains."""
    pair = Pair(test, method=method)
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, INTERVALS, offset=seconds * 10**9)
    pair.send(other, 1, 0, INTERVALS)
    _, warnings = pair.finish()
    side = 'ahead' if seconds > 0 else 'behind'
    assert len(warnings) == 1 and f's {side}: its times are corrected' in warnings[0], warnings
    if method == 'best':
        pair.judge()
    else:
        ours, theirs = ({row['end']: row['received'] for row in lib.read_stats(path)}
                        for path in (pair.master.stats, pair.one['stats']))
        assert ours == theirs, [pair for pair in zip(ours.items(), theirs.items()) if pair[0] != pair[1]]


def interval_missing(test):
    """A collector dropped interval 10: that interval has no upper bounds, and later ones have."""
    pair = Pair(test)
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, 10)
    pair.send(first, 0, 11, INTERVALS)
    pair.send(other, 1, 0, INTERVALS)
    _, warnings = pair.finish()
    assert len(warnings) == 1 and 'rows are missing between intervals 9 and 11' in warnings[0], warnings
    rows = pair.judge()
    assert pair.open_intervals(rows) - pair.open_intervals(lib.read_output(pair.one['output'])) <= {10, 11}
    assert 10 in pair.open_intervals(rows)


def dies_and_returns(test):
    """Intervals without a dead collector have no upper bounds. After its return, only the datagrams are missing
    that it did not deliver."""
    pair = Pair(test, 'sflow')
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, 8)
    first.close()
    pair.send(other, 1, 0, 11)
    for row in pair.rows[1][11]:
        if 'silent' not in pair.master.process.stderr():
            time.sleep(1)
        other.send([row])
    test.until_said(pair.master.process, 'collector a: silent for')
    test.until(lambda: any(int(row['epoch']) == 10 for row in pair.master.rows()), 'intervals end without it')
    first = Sender(pair.master, 'a', 3)
    pair.send(first, 0, 12, INTERVALS)
    pair.send(other, 1, 12, INTERVALS)
    _, warnings = pair.finish()
    assert len(warnings) == 1 and 'collector a: silent for' in warnings[0], warnings
    rows = pair.judge()
    assert set(range(8, 12)) <= pair.open_intervals(rows)
    assert not pair.open_intervals(rows) & set(range(16, INTERVALS)), pair.open_intervals(rows)
    lost = sum(int(row['lost_network'] or 0) for row in collected.read_exporters(pair.master.exporters))
    missed = sum(row['payload'] != '' for interval in range(8, 12) for row in pair.rows[0][interval])
    assert lost == missed, f'{lost} datagrams lost, {missed} not delivered'


def begins_late(test):
    """A collector that comes when intervals have ended without it counts in a later one."""
    pair = Pair(test, method='none')
    first = Sender(pair.master, 'a', 1)
    pair.send(first, 0, 0, 10)
    test.until(lambda: any(int(row['epoch']) == 8 for row in pair.master.rows()), 'intervals begin without it')
    other = Sender(pair.master, 'b', 2)
    pair.send(other, 1, 0, INTERVALS)
    pair.send(first, 0, 10, INTERVALS)
    _, warnings = pair.finish()
    assert len(warnings) == 2, warnings
    assert 'only 1 of 2 collectors send' in warnings[0] and 'collector b: datagrams came after' in warnings[1], warnings
    ours, theirs = (lib.read_stats(path) for path in (pair.master.stats, pair.one['stats']))
    assert lib.total(ours, 'received') == lib.total(theirs, 'received')


def never_comes(test):
    """Without a collector that never comes, no interval has upper bounds."""
    pair = Pair(test)
    first = Sender(pair.master, 'a', 1)
    pair.send(first, 0, 0, INTERVALS)
    _, warnings = pair.finish()
    assert len(warnings) == 1 and 'only 1 of 2 collectors send' in warnings[0], warnings
    rows = lib.read_output(pair.master.output)
    assert pair.open_intervals(rows) == {int(row['epoch']) for row in rows}


def stops(test):
    """After a collector was stopped, intervals have no upper bounds until it runs again."""
    pair = Pair(test)
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, 7)
    first.send([*pair.rows[0][7][:-1], {**pair.rows[0][7][-1], 'last': '1'}])
    first.close()
    pair.send(other, 1, 0, 12)
    test.until(lambda: any(int(row['epoch']) == 10 for row in pair.master.rows()), 'intervals end without it')
    first = Sender(pair.master, 'a', 3)
    pair.send(first, 0, 12, INTERVALS)
    pair.send(other, 1, 12, INTERVALS)
    _, warnings = pair.finish()
    assert not warnings, warnings
    rows = pair.judge()
    assert set(range(8, 12)) <= pair.open_intervals(rows)
    assert not pair.open_intervals(rows) & (set(range(8)) | set(range(16, INTERVALS))), pair.open_intervals(rows)


def same_host(test):
    """The runs of two collectors of one host name overlap, so none replaces the other while it reconnects."""
    pair = Pair(test)
    first = Sender(pair.master, 'a', 1)
    pair.send(first, 0, 0, 2)
    first.close()
    other = Sender(pair.master, 'a', 2)
    pair.send(other, 1, 0, INTERVALS)
    test.until_said(pair.master.process, 'collector a (run 0000000000000002) sends')
    first = Sender(pair.master, 'a', 1)
    pair.send(first, 0, 2, INTERVALS)
    _, warnings = pair.finish()
    assert not warnings, warnings
    compare(pair.master, pair.one)


def floods(test):
    """A connection that always has rows to read stops neither other collectors nor the end of the run."""
    pair = Pair(test)
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, 10)
    ends = threading.Event()

    def flood():
        clock = f'#now {time.time_ns()}\n'.encode()
        try:
            with socket.create_connection(('127.0.0.1', pair.master.port)) as out:
                out.sendall((','.join(COLUMNS) + ',host,run\n').encode())
                while not ends.is_set():
                    out.sendall(clock * 20000)
        except ConnectionError:
            pass

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        time.sleep(1)
        pair.send(first, 0, 10, INTERVALS)
        pair.send(other, 1, 0, INTERVALS)
        pair.finish()
    finally:
        pair.master.process.signal(signal.SIGKILL)
        ends.set()
        thread.join()
    compare(pair.master, pair.one)


def lies(test):
    """Rows with impossible times, clocks and interval numbers are refused and counted."""
    pair = Pair(test)
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, 10)
    pair.send(other, 1, 0, 10)
    test.until(lambda: len(pair.master.rows()) > 5, 'intervals are reported')
    row, end = pair.rows[0][0][0], pair.rows[0][0][-1]
    future = time.strftime('%Y-%m-%dT%H:%M:%S.000000Z', time.gmtime(time.time() + 3600))
    far = {'start': '2200-01-01T00:00:00.000000Z', 'end': '2200-01-01T00:00:01.000000Z'}
    lines = [{**row, **far, 'time_ns': str(8 * 10**18)}, {**end, **far, 'last': '1'}, {**row, 'end': future},
             {**end, 'start': '1970-01-01T00:00:00.000000Z', 'end': '2255-01-01T00:00:00.000000Z', 'last': '1'}]
    liar = Sender(pair.master, 'liar', 9)
    liar.send(lines)
    for clock in (0, 9 * 10**18):
        liar.out.sendall(f'#now {clock}\n'.encode() + (','.join(row.values()) + liar.identity).encode())
    spoof = Sender(pair.master, 'a', 1)
    spoof.send([{**row, 'epoch': str(10**15)}])
    test.until_said(pair.master.process, 'a row is refused')
    liar.close()
    spoof.close()
    pair.send(first, 0, 10, INTERVALS)
    pair.send(other, 1, 10, INTERVALS)
    _, warnings = pair.finish()
    assert len(warnings) == 2 and 'collector liar: a row is refused: a time in the future' in warnings[0], warnings
    assert '7 rows of collectors were refused' in warnings[1], warnings
    compare(pair.master, pair.one)


def idle(test):
    """Connections that send nothing do not lock out collectors."""
    pair = Pair(test)
    idle_ones = [socket.create_connection(('127.0.0.1', pair.master.port)) for _ in range(100)]
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, INTERVALS)
    pair.send(other, 1, 0, INTERVALS)
    _, warnings = pair.finish()
    for connection in idle_ones:
        connection.close()
    assert len(warnings) == 1 and 'more than 64 connections: closed one without rows, from 127.0.0.1' in warnings[0], warnings
    compare(pair.master, pair.one)


def datagrams_of(path):
    """Returns {end of the interval: datagrams}."""
    sums = {}
    for row in collected.read_exporters(path):
        sums[row['end']] = sums.get(row['end'], 0) + int(row['datagrams'])
    return sums


def master_killed(test):
    """kill -9 of a master: an interval that it has answered was written, and any other one counts once in its
    next run."""
    pair = Pair(test, wait='5m')

    def senders():
        return [Sender(pair.master, host, run, spooled=True) for run, host in enumerate('ab', 1)]

    both = senders()
    for interval in range(10):
        for number, sender in enumerate(both):
            pair.send(sender, number, interval, interval + 1)
        for sender in both:
            test.until(lambda sender=sender: sender.answered(0.1), f'interval {interval} is answered')
        assert pair.rows[0][interval][0]['end'] in {row['end'] for row in pair.master.rows()}, interval
    pair.send(both[0], 0, 10, 11)
    assert not both[0].answered(2)
    pair.master.kill()
    pair.master.start()
    for number, sender in enumerate(senders()):
        pair.send(sender, number, 10, INTERVALS)
    pair.finish()
    ours, theirs = datagrams_of(pair.master.exporters), datagrams_of(pair.one['exporters'])
    del theirs[max(theirs)]  # a master does not end with its collectors
    assert {end: ours.get(end) for end in theirs} == theirs, (ours, theirs)


def slow_one(test):
    """A collector without a spool is answered even if another one sends nothing."""
    pair = Pair(test, wait='5m')
    first = Sender(pair.master, 'a', 1)
    for interval in range(4):
        pair.send(first, 0, interval, interval + 1)
        test.until(lambda: first.answered(0.1), f'interval {interval} is answered')
    assert not pair.master.rows()
    other = Sender(pair.master, 'b', 2)
    pair.send(first, 0, 4, INTERVALS)
    pair.send(other, 1, 0, INTERVALS)
    pair.finish()
    compare(pair.master, pair.one)


def drops(test):
    """Datagrams that the kernel of a collector dropped are lost_socket at the master too."""
    pair = Pair(test, 'sflow')
    for interval in (4, 9):
        rows = pair.rows[0][interval]
        gone = rows.pop(1)
        assert gone['payload']
        empty = dict.fromkeys(('source', 'source_port', 'destination', 'destination_port', 'payload'), '')
        rows.insert(1, {**gone, **empty, 'dropped': '1'})
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, INTERVALS)
    pair.send(other, 1, 0, INTERVALS)
    pair.finish()
    exporters = collected.read_exporters(pair.master.exporters)
    assert [sum(int(row[name] or 0) for row in exporters) for name in ('lost_socket', 'lost_network')] == [2, 0]
    assert {4, 9} <= pair.open_intervals(pair.judge())


def garbage(test):
    """Other programs on the port are disconnected with one line, and collectors count as before."""
    pair = Pair(test)
    first, other = Sender(pair.master, 'a', 1), Sender(pair.master, 'b', 2)
    pair.send(first, 0, 0, 10)
    for text in (b'x' * 300000, b'GET / HTTP/1.1\r\n\r\n', b'{"epoch":0}\n', b'epoch,start\n', bytes(100) + b'\n'):
        with socket.create_connection(('127.0.0.1', pair.master.port)) as bad:
            try:
                bad.sendall(text)
                bad.settimeout(20)
                assert bad.recv(1) == b''
            except ConnectionError:
                pass
    pair.send(first, 0, 10, INTERVALS)
    pair.send(other, 1, 0, INTERVALS)
    _, warnings = pair.finish()
    compare(pair.master, pair.one)
    assert warnings and all('connection from 127.0.0.1 closed: line' in line for line in warnings), warnings
    assert 'line 1: is too long' in warnings[0], warnings


# ---- live collectors


class Exporter:
    """Sends v9 datagrams of ten new flows of one packet each."""

    def __init__(self, number, port):
        self.router, self.port, self.sent = datagrams.Router('v9', '127.0.0.1', number), port, 0
        self.out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # not connected: a dead receiver is no error

    def send(self, n=1):
        for _ in range(n):
            flows = [datagrams.Flow(self.sent * 10 + i) for i in range(10)]
            payload = self.router.message(time.time() - datagrams.START, flows, template=True)
            self.out.sendto(payload, ('127.0.0.1', self.port))
            self.sent += 1
            time.sleep(0.02)


def start_collector(test, port, url, *arguments):
    """url: None if a configuration of `arguments` has it."""
    export = ('--export', f'datagrams={url}') if url else ()
    running = test.start('collect', '--no-huge', '--listen', f'127.0.0.1:{port}', '--dedup', 'none', '--interval', '200ms',
                         '--output', '/dev/null', *export, *arguments)
    test.until_said(running, 'run ID')
    return running


def measured(master):
    return lib.total(master.rows(), 'measured')


def killed(test):
    """kill -9 of a collector costs the datagrams that it had not delivered. Exporters' sequence numbers show
    exactly these, and nothing counts twice."""
    master = Master(test, ('--no-huge', '--dedup', 'none', '--interval', '200ms'))
    ports = free_port(), free_port()
    first, other = (start_collector(test, port, master.url()) for port in ports)
    exporters = [Exporter(number, port) for number, port in enumerate(ports)]
    for _ in range(30):
        for exporter in exporters:
            exporter.send()
    test.until(lambda: measured(master) > 0, 'packets are counted')
    exporters[0].send(5)
    first.signal(signal.SIGKILL)
    test.until(lambda: not first.running(), 'the collector is dead')
    for exporter in exporters:
        exporter.send(5)
    first = start_collector(test, ports[0], master.url())
    exporters[0].send(40)
    sent = sum(exporter.sent for exporter in exporters) * 10
    lost = 0

    def complete():
        nonlocal lost
        rows = collected.read_exporters(master.exporters)
        lost = sum(int(row['lost_network'] or 0) for row in rows)
        return measured(master) + 10 * lost == sent

    test.until(complete, 'everything is counted or lost')
    for process in (first, other, master.process):
        process.signal(signal.SIGINT)
        test.wait(process).expect(0)
    assert 5 <= lost < 40, lost
    assert measured(master) + 10 * lost == sent
    rows = lib.read_output(master.output)
    assert any(row['packets_high'] == '' for row in rows)


def restarted(test):
    """Collectors keep the intervals that a master has not answered. So no packet counts twice, and the master
    logs those that it heard and did not count."""
    master = Master(test, ('--no-huge', '--dedup', 'none', '--interval', '200ms'), collectors=1)
    port, deliveries = free_port(), test.path('deliveries.csv')
    collector = start_collector(test, port, master.url(), '--export', f'deliveries={deliveries}')
    exporter = Exporter(1, port)
    exporter.send(20)
    test.until(lambda: measured(master) > 0, 'packets are counted')
    master.process.signal(signal.SIGINT)
    exporter.send(20)
    left = re.search(r'(\d+) datagrams of collectors did not count', test.wait(master.process).expect(0).stderr)
    left = 10 * int(left.group(1)) if left else 0
    exporter.send(20)
    master.arguments.append('--append')
    master.start()
    exporter.send(20)
    test.until(lambda: measured(master) + left >= 800, 'all packets are counted')
    collector.signal(signal.SIGINT)
    test.wait(collector).expect(0)
    master.process.signal(signal.SIGINT)
    test.wait(master.process).expect(0)
    assert measured(master) + left == 800, left
    assert lib.total(collected.read_exporters(master.exporters), 'repeated') == 0
    with open(deliveries, encoding='utf-8', newline='') as stream:
        rows = [row for row in csv.DictReader(stream) if row['kind'] == 'datagrams']
    assert sum(int(row['acknowledged']) for row in rows) == sum(int(row['rows']) for row in rows) > 80


def spool_section(test, port):
    return (f'[export up]\nwhat = datagrams\nurl = tcp://127.0.0.1:{port}\n'
            f'spool = {test.path("spool")},100MB\n')


def master_killed_live(test):
    """With a spool, kill -9 of a master loses nothing. At most the interval is repeated that it wrote last."""
    master = Master(test, ('--no-huge', '--dedup', 'none', '--interval', '200ms'), collectors=1)
    configuration = test.path('spool.conf')
    with open(configuration, 'w', encoding='utf-8') as stream:
        stream.write(spool_section(test, master.port))
    port = free_port()
    collector = start_collector(test, port, None, '--config', configuration)
    exporter = Exporter(1, port)
    for _ in range(3):
        exporter.send(20)
        test.until(lambda: measured(master) > 0, 'packets are counted')
        master.kill()
        exporter.send(20)
        master.start()
    exporter.send(20)
    sent = 10 * exporter.sent
    test.until(lambda: measured(master) >= sent, 'all packets are counted')
    collector.signal(signal.SIGINT)
    test.wait(collector).expect(0)
    master.process.signal(signal.SIGINT)
    test.wait(master.process).expect(0)
    assert sent <= measured(master) < sent + 3 * 200, sent
    assert measured(master) % 10 == 0


def stopped_while_waiting(test):
    """A collector ends although its master still waits for another one. Its spool has the rest for the next run."""
    master = Master(test, ('--no-huge', '--dedup', 'none', '--interval', '200ms'), collectors=2, wait='5m')
    configuration = test.path('spool.conf')
    with open(configuration, 'w', encoding='utf-8') as stream:
        stream.write(spool_section(test, master.port))
    port = free_port()
    exporter = Exporter(1, port)
    collector = start_collector(test, port, None, '--config', configuration)
    exporter.send(20)
    test.until_said(master.process, 'sends datagrams')
    collector.signal(signal.SIGINT)
    assert 'stay in the spool' in test.wait(collector).expect(0).stderr
    master.kill()
    master.collectors = 1
    master.start()
    collector = start_collector(test, port, None, '--config', configuration)
    exporter.send(20)
    test.until(lambda: measured(master) >= 10 * exporter.sent, 'all packets are counted')
    collector.signal(signal.SIGINT)
    test.wait(collector).expect(0)
    assert measured(master) == 10 * exporter.sent


def spooled(test):
    """The next run of a collector sends what its spool holds of the last one."""
    arguments, whole, parts = world_of(test, 'unsampled', 'best', 2)
    one, port = collect_alone(test, arguments, whole), free_port()
    configuration, with_spool = test.path('keys.conf'), test.path('spool.conf')
    with open(configuration, encoding='utf-8') as keys, open(with_spool, 'w', encoding='utf-8') as stream:
        stream.write(f'{keys.read()}\n{spool_section(test, port)}')
    spool = [with_spool if word == configuration else word for word in arguments]
    test.run('collect', *spool, '--pcap', parts[0], '--output', '/dev/null')
    master = Master(test, arguments, port=port)
    other = test.start('collect', *arguments, '--pcap', parts[1], '--output', '/dev/null',
                       '--export', f'datagrams={master.url()}')
    again = test.start('collect', *spool, '--listen', f'127.0.0.1:{free_port()}', '--output', '/dev/null')
    test.wait(other).expect(0)
    master.until(lib.read_stats(one['stats'])[-2]['end'])
    again.signal(signal.SIGINT)
    test.wait(again)
    compare(master, one)


def wrong_options(test):
    for text, words in (('127.0.0.1', 'must be ADDRESS:PORT'), ('127.0.0.1:9000,0', 'the number of collectors'),
                        ('127.0.0.1:9000,65', 'the number of collectors'), ('127.0.0.1:9000,2x', 'the number of'),
                        ('localhost:9000', 'names are not resolved')):
        test.run('collect', '--collectors', text).expect(2).expect_one_line('--collectors', words)
    test.run('collect', '--collectors', ':9000', '--listen', ':2055').expect(2).expect_one_line('--collectors', '--listen')
    test.run('collect', '--set', 'collectors-wait=5s', '--listen', ':2055').expect(2).expect_one_line('--collectors')
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        test.run('collect', '--no-huge', '--collectors', f'127.0.0.1:{taken.getsockname()[1]}').expect(1).expect_one_line(
            'cannot listen', 'in use by another program')


def cases(_):
    made = [(f'a master equals one collector, {method}', functools.partial(is_equal, method=method, name=name, collectors=2))
            for method, name in METHODS.items()]
    made += [(f'a master equals one collector, best, {name}',
              functools.partial(is_equal, method='best', name=name, collectors=3)) for name in MORE]
    made += [('a master equals one collector, 2 workers',
              functools.partial(is_equal, method='best', name='mixed', collectors=2, workers=2))]
    made += [('a master hears an interval twice', hears_twice), ('an interval is missing', interval_missing),
             ('a collector dies and returns', dies_and_returns), ('a collector begins late', begins_late),
             ('a collector never comes', never_comes), ('a collector stops', stops),
             ('collectors of one host name', same_host), ('a connection floods', floods),
             ('rows that cannot be', lies), ('idle connections', idle),
             ('drops of a collector', drops), ('garbage at the port', garbage), ('kill -9 of a collector', killed),
             ('a master restarts', restarted), ('kill -9 of a master', master_killed),
             ('kill -9 of a live master', master_killed_live), ('a slow collector', slow_one),
             ('a collector stops while its master waits', stopped_while_waiting), ('rows from a spool', spooled),
             ('wrong options', wrong_options)]
    made += [(f'clocks differ by {seconds} s, {method}', functools.partial(clocks_differ, method=method, seconds=seconds))
             for method, seconds in (('none', 5), ('best', -3))]
    return made

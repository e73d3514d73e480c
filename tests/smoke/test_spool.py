# SPDX-License-Identifier: BSD-3-Clause
"""Spools: rows wait on disk for a missing receiver through any event; none is lost, and each loss
would be logged."""

import csv
import http.server
import io
import json
import os
import signal
import socket
import threading
import time

import lib
import peers
from test_ipfix import DELIVERIES

LONG = ('over_the_end_of_a_run', 'trouble', 'frozen', 'another_place', 'full')

TRAFFIC = ('--synthetic', 'flows=1000,packets=400K,rate=100K', '--interval', '500ms', '--seed', '1')


class Taker(threading.Thread):
    """Accepts connections one after the other, and keeps the bytes of each."""

    def __init__(self, port=0):
        super().__init__(daemon=True)
        self.server = socket.create_server(('127.0.0.1', port))
        self.connections = []
        self.start()

    def run(self):
        try:
            while True:
                client, _ = self.server.accept()
                self.connections.append(b'')
                with client:
                    for piece in iter(lambda c=client: c.recv(65536), b''):
                        self.connections[-1] += piece
        except OSError:
            pass

    def rows(self):
        return [row for text in self.connections for row in csv.DictReader(io.StringIO(text.decode()))]

    def close(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.join(10)


def write_config(test, port, size='64MB', more=''):
    path = test.path('spool.conf')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'[export heavy]\nwhat = heavy-hitters\nurl = tcp://127.0.0.1:{port}\n'
                   f'spool = {test.path("spool")},{size}\n{more}')
    return path


def account(path):
    """Returns sums over the rows of `heavy`, each of which balances; `left`: waiting at the end,
    `left_spooled`: of these in the spool."""
    sums, waited = {}, 0
    for row in lib.read_csv(path, DELIVERIES):
        if row['export'] != 'heavy':
            continue
        figures = {name: int(row[name]) for name in (
            'rows', 'delivered', 'acknowledged', 'failed', 'unknown', 'dropped', 'waiting', 'spooled')}
        fates = sum(figures[name] for name in ('delivered', 'acknowledged', 'failed', 'unknown', 'dropped', 'waiting'))
        assert figures['rows'] + waited == fates and figures['spooled'] <= figures['waiting'], row
        waited = figures['waiting']
        for name in figures:
            sums[name] = sums.get(name, 0) + figures[name]
        sums['left'], sums['left_spooled'] = waited, figures['spooled']
    return sums


def truth(test, traffic=TRAFFIC):
    test.run(*traffic, '--output', test.path('alone.csv')).expect(0)
    with open(test.path('alone.csv'), encoding='utf-8') as file:
        return list(csv.DictReader(file))


def assert_arrived(arrived, wanted, runs=1):
    """Checks that each row of each run arrived once, in order, as in a file."""
    assert len({row['run'] for row in arrived}) == runs
    ours = [{name: row[name] for name in wanted[0]} for row in arrived]
    assert ours == wanted * runs


def segments(test):
    return sorted(name for name in os.listdir(test.path('spool')) if name not in ('lock', 'url'))


def test_over_the_end_of_a_run(test):
    """Without a receiver, rows stay, and the next run sends them first. Nothing is lost, and both
    runs log it."""
    port, wanted = peers.free_port(), truth(test)
    config, deliveries = write_config(test, port), test.path('deliveries.csv')
    result = test.run(*TRAFFIC, '--config', config, '--deliveries', deliveries).expect(0)
    assert f'{len(wanted)} rows stay in the spool' in result.stderr, result.stderr
    sums = account(deliveries)
    assert sums['rows'] == sums['left'] == sums['left_spooled'] == len(wanted), sums
    assert len(segments(test)) == 8
    taker = Taker(port)
    result = test.run(*TRAFFIC, '--config', config, '--deliveries', deliveries, '--force').expect(0)
    taker.close()
    assert f'{len(wanted)} rows wait in its spool' in result.stderr, result.stderr
    assert_arrived(taker.rows(), wanted, runs=2)
    sums = account(deliveries)
    assert sums['rows'] == sums['delivered'] == 2 * len(wanted) and sums['left'] == 0, sums
    assert not segments(test)


def test_killed(test):
    """Two runs killed with kill -9 without a receiver: spooled rows arrive in order."""
    port, config = peers.free_port(), None
    config = write_config(test, port)
    for _ in range(2):
        process = test.start('run', *TRAFFIC, '--pace', 'recorded', '--config', config)
        before = len(segments(test)) if os.path.isdir(test.path('spool')) else 0
        test.until(lambda n=before: os.path.isdir(test.path('spool')) and len(segments(test)) > n + 1, 'it spools')
        process.signal(signal.SIGKILL)
        test.wait(process)
    taker = Taker(port)
    test.run('--synthetic', 'packets=10', '--interval', '0', '--config', config).expect(0)
    taker.close()
    runs = {}
    for row in taker.rows():
        runs.setdefault(row['run'], []).append((int(row['epoch']), int(row['rank'])))
    assert len(runs) == 3, list(runs)
    for rows in list(runs.values())[:2]:
        assert rows == [(epoch, rank) for epoch in range(rows[-1][0] + 1) for rank in range(1, 101)], rows[:200]
    assert not [name for name in segments(test) if name.endswith('.rows')]


def test_trouble(test):
    """Spools that are damaged, of another version or kind, or in an impossible place."""
    port, wanted = peers.free_port(), truth(test)
    config, deliveries = write_config(test, port), test.path('deliveries.csv')
    spool = test.path('spool')
    test.run(*TRAFFIC, '--config', config).expect(0)
    first, second = (os.path.join(spool, name) for name in segments(test)[:2])
    with open(first, 'r+b') as file:  # a byte of a row: detected when it is sent
        file.seek(-10, os.SEEK_END)
        file.write(b'\0')
    os.truncate(second, os.path.getsize(second) - 1)  # detected at the start
    process = test.start('run', '--synthetic', 'packets=10', '--interval', '0', '--config', config, '--deliveries',
                         deliveries)
    test.until(lambda: 'rows wait until' in process.stderr() or not process.running(), 'no receiver')
    taker = Taker(port)
    result = test.wait(process).expect(1)
    taker.close()
    # Losses by damage are not reported as losses by a missing receiver.
    for part in ('1 files of its spool are damaged', 'a file of its spool is damaged', ': resumed\n'):
        assert result.stderr.count(part) == 1, result.stderr
    sums = account(deliveries)
    assert sums['failed'] == 200 and sums['rows'] == sums['failed'] + sums['delivered'], sums
    assert len(taker.rows()) == sums['delivered'] > len(wanted) - 200
    assert [name.endswith('.damaged') for name in segments(test)] == [True, True]
    # Another version or kind of rows: refused with advice, and the file stays.
    for line, part in ((b'sketchtap spool 2 x\n', 'another version'),
                       (b'sketchtap spool 1 stats csv rows=1 start=0 header=0 bytes=0 checksum=0\n', 'another kind')):
        path = os.path.join(spool, '0' * 15 + 'f.rows')
        with open(path, 'wb') as file:
            file.write(line)
        result = test.run(*TRAFFIC, '--config', config, '--stats', test.path('stats.csv')).expect(1)
        result.expect_one_line(part)
        assert not os.path.exists(test.path('stats.csv'))
        os.remove(path)
    # A path that cannot be a folder.
    with open(config, 'a', encoding='utf-8') as file:
        file.write(f'[export more]\nwhat = stats\nurl = unix:x\nspool = {config},1MB\n')
    test.run(*TRAFFIC, '--config', config).expect(1).expect_one_line('spool.conf: Not a directory')


class Frozen:
    """Accepts a connection, and never reads."""

    def __init__(self):
        self.server = socket.socket()
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.server.bind(('127.0.0.1', 0))
        self.server.listen(5)
        self.port = self.server.getsockname()[1]

    def close(self):
        self.server.close()


def test_frozen(test):
    """A receiver that never reads costs disk, and five seconds at the end. Files equal those of a
    run without it, and the next run sends all rows."""
    traffic = ('--synthetic', 'flows=20K,packets=400K,rate=100K', '--interval', '500ms', '--seed', '1', '--top', '10000')
    wanted, frozen = truth(test, traffic), Frozen()
    config, deliveries = write_config(test, frozen.port), test.path('deliveries.csv')
    more = ('--output', test.path('beside.csv'), '--deliveries', deliveries)
    began = time.monotonic()
    result = test.run(*traffic, '--config', config, *more).expect(0)
    assert time.monotonic() - began < 15 or test.slow
    frozen.close()
    with open(test.path('beside.csv'), 'rb') as one, open(test.path('alone.csv'), 'rb') as other:
        assert one.read() == other.read()
    sums = account(deliveries)
    assert sums['rows'] == sums['delivered'] + sums['left'] == len(wanted), sums
    assert sums['left'] == sums['left_spooled'] > 0, sums
    assert f"{sums['left']} rows stay in the spool" in result.stderr, result.stderr
    taker = Taker(frozen.port)
    test.run('--synthetic', 'packets=10', '--interval', '0', '--config', config).expect(0)
    taker.close()
    arrived = taker.rows()
    arrived = [row for row in arrived if row['run'] == arrived[0]['run']]
    # Rows that the kernel accepted in the first run are lost.
    assert len(arrived) == sums['left'], len(arrived)
    assert [{name: row[name] for name in wanted[0]} for row in arrived] == wanted[-len(arrived):]


def test_another_place(test):
    """Rows of one receiver are not sent to another by mistake."""
    config = write_config(test, peers.free_port())
    test.run(*TRAFFIC, '--config', config).expect(0)
    config = write_config(test, peers.free_port())
    test.run(*TRAFFIC, '--config', config, '--stats', test.path('stats.csv')).expect(1).expect_one_line(
        'has rows for tcp://127.0.0.1:', f'remove {test.path("spool")}/url')
    assert not os.path.exists(test.path('stats.csv'))


def test_full(test):
    """A full spool drops whole intervals, counted and logged; stored rows arrive."""
    port = peers.free_port()
    config, deliveries = write_config(test, port, size='1MB'), test.path('deliveries.csv')
    traffic = ('--synthetic', 'flows=20K,packets=2M,rate=100K', '--interval', '500ms', '--top', '1000')
    result = test.run(*traffic, '--config', config, '--deliveries', deliveries).expect(1)
    assert 'the spool is full; rows are lost until the spool accepts them' in result.stderr, result.stderr
    sums = account(deliveries)
    assert sums['dropped'] > 0 and sums['dropped'] % 1000 == 0, sums
    assert sums['rows'] == sums['dropped'] + sums['left'], sums
    taker = Taker(port)
    test.run('--synthetic', 'packets=10', '--interval', '0', '--config', config).expect(0)
    taker.close()
    assert len(taker.rows()) > sums['left']


def test_held(test):
    """Rows that neither fit in the spool nor are delivered before the end count as failed."""
    config, deliveries = write_config(test, peers.free_port(), size='1MB'), test.path('deliveries.csv')
    result = test.run('--synthetic', 'flows=20K,packets=50K,rate=100K', '--interval', '0', '--top', '20000',
                      '--config', config, '--deliveries', deliveries).expect(1)
    assert 'rows that could not be written to the spool are lost' in result.stderr, result.stderr
    sums = account(deliveries)
    assert sums['rows'] == sums['failed'] > 1000 and sums['left'] == 0, sums


class Inserts(http.server.ThreadingHTTPServer):
    """Answers inserts like ClickHouse, and keeps their bodies."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port=0):
        self.bodies = []
        super().__init__(('127.0.0.1', port), Insert)
        self.thread = threading.Thread(target=self.serve_forever, kwargs={'poll_interval': 0.01}, daemon=True)
        self.thread.start()

    def rows(self):
        return [json.loads(line) for body in self.bodies for line in body.splitlines()]

    def close(self):
        self.shutdown()
        self.server_close()


class Insert(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.server.bodies.append(body)
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *_):
        pass


def test_down_and_back(test):
    """A receiver that stops and restarts during a run: every row arrives once, in order."""
    server = Inserts()
    port = server.server_address[1]
    config, deliveries, rows = test.path('spool.conf'), test.path('deliveries.csv'), test.path('rows')
    with open(config, 'w', encoding='utf-8') as file:
        file.write(f'[export heavy]\nwhat = heavy-hitters\nurl = clickhouse://127.0.0.1:{port}/t\n'
                   f'spool = {test.path("spool")},64MB\n')
    process = test.start('run', '--synthetic', 'flows=1000,packets=80K,rate=20K', '--interval', '250ms', '--pace',
                         'recorded', '--config', config, '--deliveries', deliveries, '--output', f'json:{rows}')
    test.until(lambda: len(server.bodies) > 1 or not process.running(), 'rows arrive')
    if 'built without it' in process.stderr():
        server.close()
        test.skip('built without ClickHouse')
    server.close()
    test.until(lambda: 'rows wait' in process.stderr() or not process.running(), 'it waits')
    test.until(lambda: len(segments(test)) > 2 or not process.running(), 'it spools')
    again = Inserts(port)
    result = test.wait(process)
    assert result.status == 0, result.stderr
    again.close()
    assert ': resumed' in result.stderr, result.stderr
    arrived = server.rows() + again.rows()
    with open(rows, encoding='utf-8') as file:
        wanted = [json.loads(line) for line in file]
    assert [{name: row[name] for name in wanted[0]} for row in arrived] == wanted
    sums = account(deliveries)
    assert sums['rows'] == sums['acknowledged'] == len(wanted), sums

# SPDX-License-Identifier: BSD-3-Clause
"""Permanent faults of receivers: the delivery rows of each balance, and all other outputs are
unaffected."""

import csv
import io
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import lib
import peers
import test_live_pairs
from collected import generate
from test_ipfix import DELIVERIES, account
from test_metrics import needs_server, scrape
from test_soak import accounts
from test_spool import Taker

LONG = ('faults_live', 'faults_paced', 'faults_beside_spools', 'signals_beside_a_spool', 'a_spool_before_kafka')

ABORT = struct.pack('ii', 1, 0)
NOISE = b'\0\xff\r\n\r\nHTTP/9 999 no\r\n'


class Faulty(threading.Thread):
    """Serves connections one after the other with serve(), until it is closed."""

    def __init__(self, serve, buffer=0):
        super().__init__(daemon=True)
        self.serve, self.ended, self.got = serve, threading.Event(), []
        self.server = socket.socket()
        if buffer:
            self.server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.server.bind(('127.0.0.1', 0))
        self.server.listen(5)
        self.server.settimeout(0.2)
        self.port = self.server.getsockname()[1]
        self.start()

    def run(self):
        while not self.ended.is_set():
            try:
                client, _ = self.server.accept()
                client.settimeout(0.2)
                with client:
                    self.serve(self, client)
            except OSError:  # closed, or no connection yet
                pass

    def read(self, client, size):
        """Returns b'' at the end."""
        while not self.ended.is_set():
            try:
                return client.recv(size)
            except TimeoutError:
                pass
        return b''

    def close(self):
        self.ended.set()
        self.join(20)
        self.server.close()


def slow(place, client):
    """Reads one row per second."""
    byte = b'.'
    while byte:
        byte = place.read(client, 1)
        if byte == b'\n':
            place.ended.wait(1)


def close_after_a_row(place, client):
    while place.read(client, 1) not in (b'', b'\n'):
        pass


def reset_in_a_row(place, client):
    place.read(client, 100)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)


def reset_in_a_body(place, client):
    """Resets within the body of a request, when some rows have been read."""
    head = b''
    while b'\r\n\r\n' not in head and (byte := place.read(client, 1)):
        head += byte
    reset_in_a_row(place, client)


def say_noise(place, client):
    """Sends garbage, and reads everything."""
    client.sendall(NOISE)
    place.got.append(b''.join(iter(lambda: place.read(client, 65536), b'')))


def answer_noise(place, client):
    """Answers a request with garbage."""
    place.read(client, 65536)
    client.sendall(NOISE)


FAULTS = {'slow': ('tcp://', slow), 'closes': ('tcp://', close_after_a_row), 'resets': ('tcp://', reset_in_a_row),
          'noisy': ('tcp://', say_noise), 'ipfix': ('ipfix+tcp://', close_after_a_row),
          'no-http': ('clickhouse://', answer_noise), 'half-http': ('clickhouse://', reset_in_a_body)}


def begin(test, names, spool=False):
    """Returns {name: its receiver}, and the path of the configuration."""
    places, config = {}, test.path('places.conf')
    if 'built without it' in test.run('--synthetic', 'packets=10', '--output', 'clickhouse://a').stderr:
        names = [name for name in names if not name.endswith('http')]
    with open(config, 'w', encoding='utf-8') as file:
        for name in names:
            scheme, serve = FAULTS[name]
            places[name] = Faulty(serve, buffer=4096 if name == 'slow' else 0)
            url = f'{scheme}127.0.0.1:{places[name].port}' + ('/t' if scheme.startswith('click') else '')
            file.write(f'[export {name}]\nwhat = heavy-hitters\nurl = {url}\nqueue = 1MB\n')
            if spool:
                file.write(f'spool = {test.path(name)},64MB\n')
    return places, config


def end(places):
    for place in places.values():
        place.close()


@lib.alone
def test_faults_live(test):
    """Receivers that are slow, disconnect or send garbage delay nothing. Each row is in one column,
    and whole intervals are dropped."""
    port = needs_server(test)
    receiving, sending, path = test_live_pairs.memif(test)
    places, config = begin(test, FAULTS)
    output, deliveries, stats = test.path('output.csv'), test.path('deliveries.csv'), test.path('stats.csv')
    process = test.start('run', '--port', receiving, '--eal', '--no-pci', '--interval', '100ms', '--idle', 'sleep', '--workers',
                         '1', '--top', '3000', '--config', config, '--deliveries', deliveries, '--stats', stats, '--output',
                         output, '--metrics', str(port))
    test.until(lambda: os.path.exists(path) or not process.running(), 'it listens')
    sender = test.start('generate', '--synthetic', 'packets=0,flows=3000,zipf=0.1,seed=3', '--pace', '100kpps', '--port',
                        sending, '--eal', '--no-pci', '--linger', '1h')
    test.until(lambda: os.path.exists(stats) and len(lib.read_text(stats).splitlines()) > 50 or not process.running(), '50 intervals')
    found = scrape(port)
    sender.signal(signal.SIGINT)
    test.until_said(sender, 'sent')
    time.sleep(0.5)  # until waiting packets have arrived
    asked = time.monotonic()
    process.signal(signal.SIGTERM)
    result = test.wait(process).expect(1)
    assert time.monotonic() - asked < 25 or test.slow
    sender.signal(signal.SIGINT)
    sent = int(re.search(r'sent (\d+) packets', test.wait(sender).stderr)[1])
    end(places)
    ledger = lib.read_stats(stats)
    late = int(found['sketchtap_late_epochs_total', ()])
    # An interval is late after a millisecond, which the scheduler may cause. A reporter that waited
    # for the slow receiver would be late nearly always.
    assert 10 * late < len(ledger) or test.slow or os.getloadavg()[0] > os.cpu_count(), late
    assert lib.total(ledger, 'measured') == sent
    numbers = [int(row['epoch']) for row in ledger]
    # an interval in which the sender had no CPU has no row
    assert numbers == sorted(set(numbers)), numbers
    rows, sums = lib.read_output(output), accounts(deliveries)
    for name in ('slow', 'closes', 'resets'):  # connections that began and ended many times
        assert result.stderr.count(f'{name}: resumed') <= 1, result.stderr
    for name in places:
        assert sums[name]['rows'] == len(rows) and sums[name]['left'] == 0, (name, sums[name])
        assert f'{name}: ' in result.stderr or f'{name} does not' in result.stderr or name == 'noisy', name
    for row in lib.read_csv(deliveries, DELIVERIES):
        assert row['dropped'] in ('0', row['rows']), row
    assert sums['slow']['dropped'] > 0, sums['slow']
    for name in ('closes', 'resets'):  # rows accepted by the kernel count as delivered
        assert sums[name]['reconnects'] > 0 and sums[name]['acknowledged'] == 0, (name, sums[name])
    for name in {'no-http', 'half-http'} & set(places):
        assert sums[name]['unknown'] > 0 and sums[name]['delivered'] == sums[name]['acknowledged'] == 0, (name, sums[name])
    assert sums['ipfix']['failed'] > 0, sums['ipfix']
    assert sums['noisy']['delivered'] == len(rows), sums['noisy']
    arrived = [row for text in places['noisy'].got for row in csv.DictReader(io.StringIO(text.decode()))]
    assert [{name: row[name] for name in rows[0]} for row in arrived] == rows


def test_faults_paced(test):
    """A paced replay drops packets like a NIC: it waits for no receiver, ends, and has all of its
    intervals."""
    spec = 'flows=3000,zipf=0.1,rate=3K,packets=12K,seed=3'
    exports = generate(test, 'exports.pcap', '--as', 'sflow', spec=spec)
    traffic = ('run', '--synthetic', spec.replace('12K', '0'), '--duration', '4s')
    for number, source in enumerate(((*traffic, '--pace', 'recorded'), (*traffic, '--pace', '3kpps'),
                                     ('collect', '--pcap', exports, '--pace', 'recorded'))):
        places, config = begin(test, FAULTS)
        fifo, output, deliveries, stats = (test.path(f'{number}.{name}') for name in ('fifo', 'output', 'deliveries', 'stats'))
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        try:
            result = test.run(*source, '--interval', '100ms', '--workers', '1', '--top', '3000', '--config', config,
                              '--deliveries', deliveries, '--stats', stats, '--output', output, '--output', fifo).expect(1)
        finally:
            os.close(reader)
            end(places)
        ledger, rows, sums = lib.read_stats(stats), lib.read_output(output), accounts(deliveries)
        assert len(ledger) >= 40, (source, len(ledger))
        for name in places:
            assert sums[name]['rows'] == len(rows) and sums[name]['left'] == 0, (source, name, sums[name])
        assert sums[fifo]['dropped'] + sums[fifo]['failed'] > 0, (source, sums[fifo])
        for row in lib.read_csv(deliveries, DELIVERIES):
            assert row['dropped'] in ('0', row['rows']), row


def test_faults_beside_spools(test):
    """A replay with spooled destinations waits for none of them. Its files equal those of a run
    without exports, byte for byte, and undelivered rows stay for the next run."""
    if not test.settings.full:
        test.skip('takes 45 s: only with --full')
    traffic = ('--synthetic', 'flows=3000,packets=600K,rate=200K', '--interval', '100ms', '--seed', '1', '--top', '3000')
    places, config = begin(test, [name for name in FAULTS if name != 'ipfix'], spool=True)
    deliveries = test.path('deliveries.csv')
    names = ('output', 'stats')
    test.run(*traffic, *(word for name in names for word in (f'--{name}', test.path(f'{name}.alone')))).expect(0)
    began = time.monotonic()
    test.run(*traffic, '--config', config, '--deliveries', deliveries, *(
        word for name in names for word in (f'--{name}', test.path(name)))).expect(0)
    assert time.monotonic() - began < 90 or test.slow
    end(places)
    for name in ('output',):
        with open(test.path(name), 'rb') as one, open(test.path(f'{name}.alone'), 'rb') as other:
            assert one.read() == other.read(), name
    sums, rows = accounts(deliveries), len(lib.read_output(test.path('output')))
    for name in places:
        told = sums[name]
        assert told['rows'] == told['delivered'] + told['left'] == rows, (name, told)
        # For other protocols, the kernel may accept all rows.
        assert told['left'] == rows or not name.endswith('http'), (name, told)


@lib.alone
def test_signals_beside_a_spool(test):
    """SIGHUP reconnects: each record arrives once, and each connection starts with a header."""
    taker, flows, deliveries, config = Taker(), test.path('flows.csv'), test.path('deliveries.csv'), test.path('spool.conf')
    with open(config, 'w', encoding='utf-8') as file:
        file.write(f'[export records]\nwhat = flows\nurl = tcp://127.0.0.1:{taker.server.getsockname()[1]}\n'
                   f'spool = {test.path("spool")},64MB\n')
    process = test.start('run', '--synthetic', 'flows=2000,packets=60K,rate=20K,seed=1', '--interval', '100ms', '--pace',
                         'recorded', '--sketch', 'flow-table', '--flows', flows, '--config', config, '--deliveries', deliveries,
                         '--output', os.devnull)
    test.until(lambda: taker.connections or not process.running(), 'it begins')
    for _ in range(8):
        time.sleep(0.25)
        process.signal(signal.SIGHUP)
    test.wait(process).expect(0)
    taker.close()
    with open(flows, encoding='utf-8') as file:
        wanted = list(csv.DictReader(file))
    arrived = taker.rows()
    assert [int(row['record']) for row in arrived] == list(range(len(wanted))), len(arrived)
    assert [{name: row[name] for name in wanted[0]} for row in arrived] == wanted
    assert len(taker.connections) > 3, len(taker.connections)
    sums = account(deliveries, 'records')
    assert sums['rows'] == sums['delivered'] == len(wanted), sums


def test_a_partition_of_each_exporter(test):
    """Rows of exporters have the exporter as key, and are in order in its partition; other rows
    have no key."""
    exports = generate(test, 'exports.pcap', '--as', 'ipfix', '--routers', '4', '--path', '2')
    for option, keyed in (('--exporters', True), ('--stats', False)):
        broker = test.start('rows', 'where', program=[peers.built(test, 'kafka_mock', 'rdkafka')], stdin=subprocess.PIPE)
        out = f'{broker.directory}/stdout'
        test.until(lambda: lib.read_text(out).endswith('\n'), 'the broker listens')
        test.run('collect', '--pcap', exports, '--interval', '200ms', option,
                 f'kafka://{lib.read_text(out).strip()}/rows').expect(0)
        broker.popen.stdin.close()
        test.wait(broker).expect(0)
        partitions, epochs = {}, {}
        for line in lib.read_text(out).splitlines()[1:]:
            partition, key, row = line.split('\t')
            row = json.loads(row)
            assert key == (row['exporter'] if keyed else ''), line
            partitions.setdefault(key, set()).add(partition)
            epochs.setdefault(key, []).append(row['epoch'])
        assert len(epochs) == (4 if keyed else 1), epochs.keys()
        for key in epochs if keyed else ():
            assert len(partitions[key]) == 1, partitions
            assert len(epochs[key]) > 1 and epochs[key] == sorted(epochs[key]), epochs[key]


def test_a_spool_before_kafka(test):
    """Without a broker, rows stay on disk. The next run sends each of them once, before its own."""
    output, config = test.path('output.json'), test.path('kafka.conf')
    broker = test.start('rows', program=[peers.built(test, 'kafka_mock', 'rdkafka')], stdin=subprocess.PIPE)
    out = f'{broker.directory}/stdout'

    def say(word):
        broker.popen.stdin.write(word.encode() + b'\n')
        broker.popen.stdin.flush()

    test.until(lambda: lib.read_text(out).endswith('\n'), 'the broker listens')
    with open(config, 'w', encoding='utf-8') as file:
        file.write(f'[export heavy]\nwhat = heavy-hitters\nurl = kafka://{lib.read_text(out).strip()}/rows\n'
                   f'spool = {test.path("spool")},64MB\nkafka.reconnect.backoff.max.ms = 300\n')
    traffic = ('--synthetic', 'flows=500,packets=40K,rate=100K', '--interval', '100ms', '--seed', '1', '--config', config)
    say('down')
    result = test.run(*traffic, '--output', f'json:{output}').expect(0)
    rows = len(lib.read_text(output).splitlines())
    assert f'{rows} rows stay in the spool' in result.stderr, result.describe()
    say('up')
    deliveries = test.path('deliveries.csv')
    test.run(*traffic, '--deliveries', deliveries).expect(0)
    sums = account(deliveries, 'heavy')
    assert sums['rows'] == sums['acknowledged'] == 2 * rows, sums
    test.until(lambda: len(lib.read_text(out).splitlines()) > 2 * rows, 'all are read')
    broker.popen.stdin.close()
    test.wait(broker).expect(0)
    said = lib.read_text(out).splitlines()[1:]
    identities = [(row['run'], row['epoch'], row['rank']) for row in map(json.loads, said)]
    assert len(identities) == len(set(identities)) == 2 * rows, len(identities)
    assert len({run for run, _, _ in identities}) == 2

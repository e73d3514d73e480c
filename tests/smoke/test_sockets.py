# SPDX-License-Identifier: BSD-3-Clause
"""Rows to sockets: arriving rows equal those of files, and a missing receiver affects no other
output."""

import csv
import io
import json
import os
import signal
import socket
import sys
import threading
import time

import lib
import net
import peers
from test_ipfix import account


# Columns of --stats that only rows to network destinations have.
NO_FILE = ('unlisted_packets_high', 'unlisted_bytes_high', 'confidence')


class Reader(threading.Thread):
    """Accepts one connection, and keeps all bytes."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.bytes = server, b''
        self.server.settimeout(20)
        self.start()

    def run(self):
        client, _ = self.server.accept()
        with client:
            client.settimeout(20)
            self.bytes = b''.join(iter(lambda: client.recv(65536), b''))


def read(text):
    """Parses rows of JSON lines or of CSV."""
    if text.startswith('{'):
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text)))


def test_files_and_sockets(test):
    """CSV and JSON lines over TCP and a Unix socket, several kinds of rows: equal to files, and
    with host and run."""
    path = os.path.relpath(test.path('rows.sock'))
    with socket.create_server(('::1', 0), family=socket.AF_INET6) as tcp, \
            socket.create_server(('127.0.0.1', 0)) as tcp4, \
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as unix:
        unix.bind(path)
        unix.listen(1)
        wanted = (('--output', '', f'tcp://[::1]:{tcp.getsockname()[1]}', tcp),
                  ('--stats', 'json:', f'tcp://localhost:{tcp4.getsockname()[1]}', tcp4),
                  ('--flows', 'json:', f'unix:{path}', unix))
        arguments, readers = [], []
        for option, form, url, server in wanted:
            readers.append((Reader(server), test.path(option[2:])))
            arguments += [option, form + url, option, form + readers[-1][1]]
        deliveries = test.path('deliveries.csv')
        test.run('--synthetic', 'flows=3000,packets=300K,rate=100K', '--sketch', 'flow-table', '--interval', '1s',
                 '--deliveries', deliveries, *arguments).expect(0)
        runs = set()
        for reader, file in readers:
            reader.join(20)
            records = iter(range(1 << 20))
            with open(file, encoding='utf-8') as rows:
                for row, arrived in zip(read(rows.read()), read(reader.bytes.decode()), strict=True):
                    assert arrived.pop('host') == socket.gethostname()
                    runs.add(arrived.pop('run'))
                    assert 'ended' not in row or int(arrived.pop('record')) == next(records)
                    if 'offered' in row:
                        assert all(arrived.pop(name) > 0 for name in NO_FILE), arrived
                    assert [field for field in row.items() if field[1] is not None] == list(arrived.items()), file
        assert len(runs) == 1, runs
    for _, _, url, _ in wanted:
        sums = account(deliveries, url)
        assert sums['rows'] == sums['delivered'] > 0, (url, sums)


def test_sections(test):
    """[export NAME] equals an option, in run and in collect, and the destination has the section's
    name."""
    arguments = ('flows=1000,packets=100K,rate=100K', '--interval', '1s', '--seed', '1')
    test.run('--synthetic', *arguments, '--output', test.path('rows.csv'),
             '--stats', 'json:' + test.path('stats')).expect(0)
    with socket.create_server(('127.0.0.1', 0)) as server:
        config = test.path('exports.conf')
        with open(config, 'w', encoding='utf-8') as file:
            file.write(f'[export heavy]\nwhat = heavy-hitters\nurl = tcp://127.0.0.1:{server.getsockname()[1]}\n'
                       f'[export ledger]\nwhat = stats\nurl = {test.path("ledger")}\nformat = json\n')
        reader = Reader(server)
        result = test.run('--synthetic', *arguments, '--config', config, '--deliveries',
                          test.path('deliveries.csv')).expect(0)
        reader.join(20)
    assert result.stdout == '', result.stdout
    with open(test.path('stats'), encoding='utf-8') as one, open(test.path('ledger'), encoding='utf-8') as other:
        for row, wanted in zip(read(other.read()), read(one.read()), strict=True):
            same = [name for name in wanted if not name.endswith('_ns')]
            assert [row[name] for name in same] == [wanted[name] for name in same]
    with open(test.path('rows.csv'), encoding='utf-8') as rows:
        for row, arrived in zip(read(rows.read()), read(reader.bytes.decode()), strict=True):
            assert {name: arrived[name] for name in row} == row
    for name, n in (('heavy', 100), ('ledger', 1)):
        sums = account(test.path('deliveries.csv'), name)
        assert sums['rows'] == sums['delivered'] == n, (name, sums)
    exports = test.path('exports.pcap')
    test.run('generate', '--synthetic', 'flows=100,packets=10K,rate=100K', '--as', 'ipfix', '--output',
             exports).expect(0)
    with open(config, 'w', encoding='utf-8') as file:
        file.write(f'[export who]\nwhat = exporters\nurl = {test.path("who.csv")}\n')
    test.run('collect', '--pcap', exports, '--config', config, '--output', '/dev/null').expect(0)
    with open(test.path('who.csv'), encoding='utf-8') as rows:
        assert read(rows.read())


def test_nobody_there(test):
    """A missing receiver: a warning, counts, exit status 1; another file is unaffected."""
    deliveries, rows, alone = test.path('deliveries.csv'), test.path('rows.csv'), test.path('alone.csv')
    url, path = f'tcp://127.0.0.1:{peers.free_port()}', f'unix:{test.path("none.sock")}'
    traffic = ('--synthetic', 'flows=1000,packets=100K', '--interval', '0')
    result = test.run(*traffic, '--output', url, '--stats', path, '--output', rows,
                      '--deliveries', deliveries).expect(1)
    for place, n in ((url, 100), (path, 1)):
        sums = account(deliveries, place)
        assert sums['rows'] == sums['failed'] == n, sums
        assert f'{place}: ' in result.stderr, result.stderr
    test.run(*traffic, '--output', alone).expect(0)
    with open(rows, 'rb') as one, open(alone, 'rb') as other:
        assert one.read() == other.read()


def test_a_replay_that_waits(test):
    """A replay waits for a missing receiver, and ends soon after a signal: waiting rows are lost
    and counted."""
    deliveries, url = test.path('deliveries.csv'), f'tcp://127.0.0.1:{peers.free_port()}'
    process = test.start('run', '--synthetic', 'flows=1000,packets=1M,rate=20K', '--interval', '1s', '--output', url,
                         '--deliveries', deliveries)
    test.until(lambda: 'rows wait' in process.stderr(), 'it waits')
    process.signal(signal.SIGINT)
    assert test.wait(process).status == 1
    sums = account(deliveries, url)
    assert sums['rows'] == sums['failed'] + sums['dropped'] > 0, sums


def test_nobody_but_itself(test):
    """If nothing listens at a port of the ephemeral range, the run does not connect to itself."""
    space, deliveries, url = net.Namespace(test), test.path('deliveries.csv'), 'tcp://127.0.0.1:40001'
    space.set('lo', 'up')
    space.call('sh', '-c', 'echo 40001 40002 >/proc/sys/net/ipv4/ip_local_port_range')
    process = test.start('--synthetic', 'flows=100,packets=0,rate=1K', '--pace', 'recorded', '--interval', '100ms',
                         '--output', url, '--deliveries', deliveries, inside=space)
    begin = time.monotonic()
    test.until(lambda: time.monotonic() > begin + 2 or not process.running(), 'it tries twice')
    process.signal(signal.SIGTERM)
    test.wait(process).expect(1)
    sums = account(deliveries, url)
    assert sums['delivered'] == 0 < sums['rows'] == sums['failed'] + sums['dropped'], sums


def test_silent_name_server(test):
    """A run that gets a signal does not wait for the timeout of the name server."""
    namespace, resolver = net.Namespace(test), test.path('resolv.conf')
    with open(resolver, 'w', encoding='ascii') as file:
        file.write('nameserver 127.0.0.1\noptions timeout:20 attempts:3\n')
    namespace.set('lo', 'up')
    namespace.call('mount', '--bind', resolver, os.path.realpath('/etc/resolv.conf'))
    silence = ('import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 53)); '
               'print("there", flush=True); time.sleep(100)')
    server = test.start(program=[sys.executable, '-c', silence], inside=namespace)
    test.until(lambda: os.path.getsize(os.path.join(server.directory, 'stdout')) > 0, 'a name server')
    traffic = ('--synthetic', 'flows=100,packets=0,rate=1K', '--pace', 'recorded', '--interval', '100ms', '--sketch',
               'flow-table')
    urls = [url for url in ('clickhouse://database.example/t', 'kafka://broker.example/t') if 'built without it' not in
            test.run('--synthetic', 'packets=10', '--output', url, '--stats', '/nowhere/at/all').stderr]
    places = [('--output', 'tcp://collector.example:1', '--flows', 'ipfix://collector.example'),
              *(('--output', url) for url in urls)]
    stats = [test.path(f'stats{number}.csv') for number in range(len(places))]
    processes = [test.start(*traffic, '--stats', file, *where, inside=namespace) for file, where in zip(stats, places)]
    for file in stats:
        test.until(lambda file=file: os.path.exists(file) and lib.read_text(file).count('\n') > 1, 'an epoch has rows')
    begin = time.monotonic()
    test.until(lambda: time.monotonic() > begin + 1, 'they look names up')
    for process in processes:
        process.signal(signal.SIGTERM)
    results = [test.wait(process).expect(1) for process in processes]
    assert time.monotonic() < begin + 18, time.monotonic() - begin
    assert results[0].stderr.count('the name server does not answer') >= 2, results[0].describe()


def test_required(test):
    """With require = yes, a missing receiver ends the run before it begins; a present one gets all
    rows over one connection. Destinations without a connection are refused."""
    config, stats = test.path('required.conf'), test.path('stats.csv')
    free = peers.free_port()

    def run(url, what='heavy-hitters'):
        with open(config, 'w', encoding='utf-8') as file:
            file.write(f'[export x]\nwhat = {what}\nurl = {url}\nrequire = yes\n')
        return test.run('--synthetic', 'flows=10,packets=1000', '--interval', '0', '--seed', '1', '--config', config,
                        '--stats', stats)

    for url in (f'tcp://127.0.0.1:{free}', f'unix:{test.path("nobody")}', f'ipfix+tcp://127.0.0.1:{free}',
                f'kafka://127.0.0.1:{free}/x', f'clickhouse://127.0.0.1:{free}/x', 'tcp://nowhere.invalid:1'):
        result = run(url)
        if 'was built without it' in result.stderr:
            continue
        result.expect(1).expect_one_line('[export x]', url)
        assert not os.path.exists(stats), url
    for url in (f'ipfix://127.0.0.1:{free}', test.path('rows.csv'), '-'):
        run(url).expect(2).expect_one_line(f'{config}:4: require: ', url, 'cannot be tested at the start')
        assert not os.path.exists(stats), url
    with socket.create_server(('127.0.0.1', 0)) as server:
        reader = Reader(server)
        run(f'tcp://127.0.0.1:{server.getsockname()[1]}').expect(0)
        reader.join(20)
        assert len(read(reader.bytes.decode())) == 10, reader.bytes
    os.remove(stats)
    with socket.create_server(('127.0.0.1', 0)) as server:
        reader = Reader(server)
        run(f'ipfix+tcp://127.0.0.1:{server.getsockname()[1]}').expect(0)
        reader.join(20)
        assert reader.bytes[:2] == b'\0\x0a' and len(reader.bytes) > 400, reader.bytes


def test_domains_of_ipfix(test):
    """Other destinations do not change the domain numbers of IPFIX."""
    recorders = [peers.Recorder(test) for _ in range(2)]
    flows = [text for recorder in recorders for text in ('--flows', f'ipfix://127.0.0.1:{recorder.port}')]
    with socket.create_server(('127.0.0.1', 0)) as server:
        reader = Reader(server)
        test.run('--synthetic', 'flows=10,packets=10', '--sketch', 'flow-table', *flows, '--output',
                 f'tcp://127.0.0.1:{server.getsockname()[1]}').expect(0)
        reader.join(20)
    for recorder, wanted in zip(recorders, ({0, 1}, {100, 101})):
        domains = {int.from_bytes(data[12:16], 'big') for _, _, data in recorder.datagrams()}
        assert domains == wanted, domains


def test_key_of_another_place(test):
    """A property without effect is reported with its line and full key."""
    config = test.path('exports.conf')
    with open(config, 'w', encoding='ascii') as file:
        file.write('[export x]\nwhat = stats\nurl = tcp://127.0.0.1:1\nkafka.acks = 1\nkafka.linger.ms = 1\n')
    test.run('--synthetic', 'flows=10,packets=10', '--config', config).expect(
        2).expect_one_line(':4: kafka.acks: has no effect on')


def test_bad_urls(test):
    for url, part in (('tcp://127.0.0.1', 'port'), ('json:tcp://:1', 'no host'), ('unix:', 'the path of a socket'),
                      ('tcp:localhost:9000', 'write tcp://HOST:PORT; a file of this name is ./tcp:localhost'),
                      ('json:TCP:h', 'write tcp://HOST:PORT'), ('kafka:/b/t', 'write kafka://'),
                      ('http://a:1/b', 'allowed: '), ('./x/../tcp://a:1', 'No such file')):
        test.run('--synthetic', 'flows=10,packets=10', '--output', url).expect(
            1 if url.startswith('.') else 2).expect_one_line(part)

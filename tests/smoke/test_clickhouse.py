# SPDX-License-Identifier: BSD-3-Clause
"""Rows sent to a real ClickHouse, into the tables of config/clickhouse: its sums equal those of
files."""

import calendar
import collections
import csv
import http.server
import json
import os
import random
import re
import signal
import socket
import struct
import threading
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime

import lib
import peers
from test_ipfix import account
from test_overload import write_states
from test_sockets import Reader

CONFIG = """<yandex><logger><level>warning</level><console>1</console></logger><tcp_port>{tcp}</tcp_port>
<http_port>{http}</http_port><listen_host>127.0.0.1</listen_host><path>{folder}/data/</path>
<tmp_path>{folder}/tmp/</tmp_path><users_config>users.xml</users_config><mark_cache_size>5368709</mark_cache_size>
<default_profile>default</default_profile><default_database>default</default_database>
<kafka><auto_offset_reset>earliest</auto_offset_reset></kafka>{tls}</yandex>"""
TLS = """<https_port>{port}</https_port><openSSL><server><certificateFile>{folder}/server.pem</certificateFile>
<privateKeyFile>{folder}/server.key</privateKeyFile><verificationMode>none</verificationMode></server></openSSL>"""
USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>"""


class Server:
    def __init__(self, test, tls=''):
        program = peers.needs(test, 'clickhouse-server')
        folder = test.path('clickhouse')
        os.mkdir(folder)
        self.port = peers.free_port()
        for name, text in (('config.xml', CONFIG), ('users.xml', USERS)):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as stream:
                stream.write(text.format(folder=folder, http=self.port, tcp=peers.free_port(), tls=tls))
        self.process = test.start(f'--config-file={folder}/config.xml', program=[program])
        test.until(self.answers, 'ClickHouse answers')

    def ask(self, query):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/', query.encode(), timeout=20) as answer:
            return answer.read().decode().split('\n')[:-1]

    def answers(self):
        try:
            return self.ask('SELECT 1') == ['1']
        except (urllib.error.URLError, ConnectionError):
            return False

    def end(self, test):
        self.process.signal(signal.SIGTERM)
        self.process.wait(test.patience)


def statements(test, *names):
    """Returns the statements of files of config/clickhouse."""
    lines = []
    for name in names:
        text = lib.read_text(os.path.join(test.settings.root, 'config', 'clickhouse', f'{name}.sql'))
        lines += [line for line in text.split('\n') if not line.startswith('--')]
    return [statement for statement in '\n'.join(lines).split(';') if statement.strip()]


def rows_of(path, *columns):
    """Returns the number of rows of a file, and the sums of its columns."""
    with open(path, encoding='utf-8') as stream:
        rows = list(csv.DictReader(stream))
    return [len(rows), *(sum(int(row[column]) for row in rows) for column in columns)]


def test_tables(test):
    """Three kinds of rows, sent twice: counts, sums and views; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    server = Server(test)
    for statement in statements(test, 'tables'):
        server.ask(statement)
    url, deliveries = f'clickhouse://127.0.0.1:{server.port}', test.path('deliveries.csv')
    hitters, flows, stats = (test.path(name) for name in ('hitters.csv', 'flows.csv', 'stats.csv'))
    test.run('--synthetic', 'flows=20K,packets=400K,rate=100K', '--interval', '1s', '--sketch', 'flow-table',
             '--output', f'{url}/heavy_hitters', '--output', hitters, '--flows', f'{url}/default.flows',
             '--flows', flows, '--stats', f'{url}/ledger', '--stats', stats, '--deliveries', deliveries).expect(0)
    for name in ('heavy_hitters', 'default.flows', 'ledger'):
        sums = account(deliveries, f'{url}/{name}')
        assert sums['rows'] == sums['acknowledged'] > 0, (name, sums)
    for table, path, columns in (('heavy_hitters', hitters, ('packets', 'bytes', 'packets_high', 'rank')),
                                 ('flows', flows, ('packets', 'bytes', 'tcp_flags')),
                                 ('ledger', stats, ('offered', 'measured', 'bytes', 'distinct_keys'))):
        # simulates a repeated insert
        server.ask(f'INSERT INTO {table} SELECT * FROM {table} WHERE epoch < 2')
        sums = ', '.join(f'sum({column})' for column in columns)
        told = [int(part) for part in server.ask(f'SELECT count(), {sums} FROM {table} FINAL')[0].split('\t')]
        assert told == rows_of(path, *columns), (table, told)
    packets = [int(part) for part in server.ask('SELECT sum(packets) FROM heavy_hitters_minute')]
    assert packets == rows_of(hitters, 'packets')[1:], packets
    assert [int(part) for part in server.ask('SELECT sum(packets) FROM heavy_hitters_hour')] == packets
    ledger = [int(part) for part in server.ask('SELECT sum(offered), sum(measured + lost + left_out + skipped) '
                                               'FROM ledger_minute')[0].split('\t')]
    assert ledger == [400000, 400000], ledger
    server.end(test)


class Table(http.server.ThreadingHTTPServer):
    """A server with one table. It lists the columns, and like ClickHouse refuses rows with an
    unknown one."""

    def __init__(self, columns):
        table, self.rows = self, []
        self.columns = columns

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, text):
                self.send_response(status)
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def do_GET(self):
                assert 'DESCRIBE TABLE heavy_hitters' in urllib.parse.unquote(self.path), self.path
                self.answer(200, ''.join(f'{name}\tString\t\t\t\n' for name in table.columns))

            def do_POST(self):
                rows = [json.loads(line) for line in self.rfile.read(int(self.headers['Content-Length'])).splitlines()]
                other = [name for row in rows for name in row if name not in table.columns]
                if other and 'input_format_skip_unknown_fields=0' in self.path:
                    self.answer(400, 'Code: 117. DB::Exception: Unknown field found while parsing JSONEachRow format: '
                                f'{other[0]}: (at row 1)\n')
                    return
                table.rows += [{name: row[name] for name in row if name not in other} for row in rows]
                self.answer(200, '')

            def log_message(self, *_):
                pass

        super().__init__(('127.0.0.1', 0), Handler)
        self.thread = threading.Thread(target=self.serve_forever, kwargs={'poll_interval': 0.05})
        self.thread.start()

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join(20)


def columns_of(test, table):
    """Returns the columns of a table in config/clickhouse/tables.sql."""
    create = next(part for part in statements(test, 'tables') if f'EXISTS {table}\n' in part)
    return re.findall(r'^    (\w+) ', create, re.MULTILINE)


def test_lacking_columns(test):
    """A missing column in the table ends the run before anything is written, with the statement
    that adds it. The tables of the project have all columns of other keys, records and JSON."""
    columns, stats = columns_of(test, 'heavy_hitters'), test.path('stats.csv')
    table = Table([name for name in columns if name not in ('vlan', 'pps')])
    url = f'clickhouse://127.0.0.1:{table.server_port}/heavy_hitters'
    run = ('--synthetic', 'flows=10,packets=1000', '--interval', '0', '--stats', stats, '--output', url)
    try:
        result = test.run(*run, '--key', 'src,vlan')
        if 'built without it' in result.stderr:
            test.skip('built without ClickHouse')
        result.expect(1).expect_one_line(url, 'run ALTER TABLE heavy_hitters ADD COLUMN pps Nullable(UInt64), '
                                         'ADD COLUMN vlan Nullable(UInt64)')
        assert not os.path.exists(stats)
        table.columns = columns
        for more in (('--key', 'src,vlan,dscp,mpls,in_port,tcp_flags'), ('--sketch', 'flow-table', '--deep', 'tcp')):
            table.rows.clear()
            test.run(*run, '--force', *more).expect(0)
            assert sum(row['packets'] for row in table.rows) == 1000, more
    finally:
        table.close()


def test_lacking_columns_of_a_server(test):
    """ClickHouse accepts the statement that a run prints; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    server, create = Server(test), statements(test, 'tables')[0]
    assert 'EXISTS heavy_hitters\n' in create
    server.ask(re.sub(r'\n    (vlan|pps|first|ingress|share) .*', '', create))
    run = ('--synthetic', 'flows=10,packets=1000', '--interval', '0', '--key', 'src,vlan', '--output',
           f'clickhouse://127.0.0.1:{server.port}/heavy_hitters')
    result = test.run(*run).expect(1)
    server.ask(re.search('run (ALTER TABLE .*)', result.stderr)[1])
    test.run(*run).expect(0)
    assert server.ask('SELECT sum(packets), sum(vlan), count(pps) > 0 FROM heavy_hitters')[0].split('\t')[0] == '1000'
    server.end(test)


def test_no_table(test):
    """The server's own error message is logged, and the run continues; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    server, stats = Server(test), test.path('stats.csv')
    result = test.run('--synthetic', 'flows=100,packets=10K', '--interval', '0', '--stats', stats, '--output',
                      f'clickhouse://127.0.0.1:{server.port}/nowhere').expect(1)
    assert "nowhere doesn't exist" in result.stderr, result.describe()
    assert lib.total(lib.read_stats(stats), 'measured') == 10000
    server.end(test)


def test_a_table_that_comes_later(test):
    """With a spool, rows wait for the table even after the run has ended; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    server, config, hitters = Server(test), test.path('later.conf'), test.path('hitters.csv')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write(f'[export later]\nwhat = heavy-hitters\nurl = clickhouse://127.0.0.1:{server.port}/heavy_hitters\n'
                     f'spool = {test.path("spool")},64MB\n')
    run = ('--synthetic', 'flows=100,packets=10K', '--interval', '0', '--config', config, '--output', hitters,
           '--force')
    result = test.run(*run).expect(0)
    rows, packets = rows_of(hitters, 'packets')
    for part in ("heavy_hitters doesn't exist", f'{rows} rows stay in the spool'):
        assert part in result.stderr, result.describe()
    for statement in statements(test, 'tables'):
        server.ask(statement)
    test.run(*run).expect(0)
    told = server.ask('SELECT count(), sum(packets), uniqExact(run) FROM heavy_hitters')[0].split('\t')
    assert [int(part) for part in told] == [2 * rows, 2 * packets, 2], told
    server.end(test)


def certify(test):
    """Creates a certificate authority, and a certificate of 127.0.0.1 that it signed."""
    peers.needs(test, 'openssl')
    new = ('req', '-newkey', 'rsa:2048', '-nodes', '-batch')
    with open(test.path('names'), 'w', encoding='ascii') as stream:
        stream.write('subjectAltName=IP:127.0.0.1\n')
    for arguments in ((*new, '-x509', '-subj', '/CN=authority', '-keyout', 'ca.key', '-out', 'ca.pem'),
                      (*new, '-subj', '/CN=server', '-keyout', 'server.key', '-out', 'server.csr'),
                      ('x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial',
                       '-extfile', 'names', '-out', 'server.pem')):
        test.run(*(test.path(part) if '.' in part or part == 'names' else part for part in arguments),
                 program=['openssl']).expect(0)


def test_certificates(test):
    """TLS with a certificate that the system trusts, and with others; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    bundle = '/etc/ssl/certs/ca-certificates.crt'  # CA bundle of Debian's libcurl
    if os.geteuid() != 0 or not os.path.exists(bundle):
        test.skip('only root can replace the system\'s certificate authorities')
    certify(test)
    port = peers.free_port()
    server = Server(test, TLS.format(port=port, folder=test.directory))
    for statement in statements(test, 'tables'):
        server.ask(statement)
    known = ['unshare', '--mount', 'sh', '-c', f'mount --bind {test.path("ca.pem")} {bundle} && exec "$0" "$@"',
             test.binary]
    for host, program, status in (('127.0.0.1', known, 0), ('localhost', known, 1), ('127.0.0.1', [test.binary], 1)):
        url, deliveries = f'clickhouses://{host}:{port}/ledger', test.path(f'deliveries{len(test.processes)}.csv')
        result = test.run('--synthetic', 'flows=10,packets=10K', '--interval', '0', '--output', '/dev/null', '--stats',
                          url, '--deliveries', deliveries, program=program).expect(status)
        sums = account(deliveries, url)
        assert sums['rows'] == sums['acknowledged' if status == 0 else 'failed'] == 1, (host, sums)
        assert status == 0 or 'SSL' in result.stderr, result.describe()
    assert server.ask('SELECT count(), sum(measured) FROM ledger') == ['1\t10000']
    server.end(test)


# ---- Many hosts

INTERVAL = 5 * 10**9
KEY = ('src_ip', 'dst_ip', 'src_port', 'dst_port', 'proto')
FIGURES = ('packets', 'bytes')
# Three hosts receive one, two and three sixths of the packets, each with another configuration.
BOXES = (('--sketch', 'count-min', '--width', '64'),
         ('--sketch', 'simple-hash', '--width', '1024'), ('--sketch', 'count-min', '--count', 'bytes'))


def part_capture(test, path):
    """Writes a capture for each host."""
    with open(path, 'rb') as stream:
        data = stream.read()
    order = {b'\xd4\xc3\xb2\xa1': '<', b'\xa1\xb2\xc3\xd4': '>'}[data[:4]]
    parts, choose, at = [[data[:24]] for _ in BOXES], random.Random(1), 24
    while at < len(data):
        end = at + 16 + struct.unpack(f'{order}I', data[at + 8:at + 12])[0]
        choose.choices(parts, (1, 2, 3))[0].append(data[at:end])
        at = end
    for box, part in enumerate(parts):
        with open(test.path(f'box{box}.pcap'), 'wb') as stream:
            stream.write(b''.join(part))
        yield test.path(f'box{box}.pcap')


def run_boxes(test, captures, url):
    """Runs each on a host with its own name. Returns the rows of both kinds as text."""
    arrived = ['', '']
    states = write_states(test, [(0, 0, '1/2'), (0, 5000, 'full'), (0, 7000, '1/4')])
    for box, (capture, options) in enumerate(zip(captures, BOXES)):
        with socket.create_server(('127.0.0.1', 0)) as hitters, socket.create_server(('127.0.0.1', 0)) as stats:
            readers = Reader(hitters), Reader(stats)
            ports = [server.getsockname()[1] for server in (hitters, stats)]
            test.run('--pcap', capture, '--interval', '5s', '--top', '30', '--workers', '1', '--seed', '3', *options,
                     *(('--states-from', states) if box == 2 else ()),
                     '--output', f'{url}/heavy_hitters', '--stats', f'{url}/ledger',
                     '--output', f'json:tcp://127.0.0.1:{ports[0]}', '--stats', f'json:tcp://127.0.0.1:{ports[1]}',
                     program=['unshare', '--uts', 'sh', '-c', f'hostname box{box} && exec "$0" "$@"', test.binary]
                     ).expect(0)
            for number, reader in enumerate(readers):
                reader.join(20)
                arrived[number] += reader.bytes.decode()
    return arrived


def truth_by_time(test, path):
    """Returns {(start, key): (packets, bytes)} of the whole capture, by interval and by minute."""
    oracle = lib.Oracle()
    epochs = oracle.epochs(path, INTERVAL)
    first = oracle.records(path)[0][1] // INTERVAL
    intervals, minutes = {}, collections.Counter()
    for number, records in epochs.items():
        start = (first + number) * INTERVAL // 10**9
        for key, figures in oracle.count(records)[1].items():
            intervals[start, key] = figures
            for place in (0, 1):
                minutes[start // 60 * 60, key, place] += figures[place]
    return intervals, {(start, key): (packets, minutes[start, key, 1])
                       for (start, key, place), packets in minutes.items() if place == 0}


def check_network(rows, truth, time, unlisted):
    """rows: of a view. unlisted: {start: upper bound of other keys}. Bounds hold the truth, and no
    heavy key is missing."""
    seen = {}
    for row in rows:
        start = calendar.timegm(datetime.strptime(row[time], '%Y-%m-%d %H:%M:%S').timetuple())
        key = start, tuple(str(row[column]) for column in KEY)
        assert key not in seen, f'twice: {row}'
        seen[key] = row
        for figure, true in zip(FIGURES, truth[key]):
            assert int(row[f'{figure}_low']) <= true <= int(row[f'{figure}_high']), (figure, true, row)
    for (start, key), figures in truth.items():
        if (start, key) not in seen:
            assert all(true <= most for true, most in zip(figures, unlisted[start])), (start, key, figures)
    return seen


def check_views(ask, intervals, minutes):
    """ask: takes a query, returns the lines of its result."""
    for view, time, begin, truth in (('network_heavy_hitters', 'start', 'start', intervals),
                                     ('network_heavy_hitters_minute', 'minute', 'toStartOfMinute(start)', minutes)):
        unlisted = {int(start): (int(packets), int(size)) for start, packets, size in (
            line.split('\t') for line in ask(
                f'SELECT toUInt32({begin}) AS t, sum(unlisted_packets_high), sum(unlisted_bytes_high) FROM ledger '
                'GROUP BY t'))}
        seen = check_network([json.loads(line) for line in ask(f'SELECT * FROM {view} FORMAT JSONEachRow')],
                             truth, time, unlisted)
        assert {int(row['hosts']) for row in seen.values()} == {3}, view
        assert {int(row['hosts_with_it']) for row in seen.values()} == {1, 2, 3}, view
        risks = 3 * (1 if time == 'start' else 12)
        assert max(abs(1 - float(row['confidence'])) for row in seen.values()) <= risks * 0.001001, view
        assert any(int(row['packets_low']) < int(row['packets_high']) for row in seen.values()), view
    total = sum(packets for packets, _ in intervals.values())
    assert ask('SELECT sum(measured) + sum(skipped) + sum(left_out), max(hosts) FROM network_ledger_minute') == [
        f'{total}\t3'], total
    assert ask('SELECT host, runs, behind FROM hosts ORDER BY host') == [f'box{box}\t1\t0' for box in range(3)]


def test_many_hosts(test):
    """Views over three hosts with parts of a capture hold the truth of the whole; only with
    --full."""
    if not test.settings.full:
        test.skip('only with --full')
    if os.geteuid() != 0:
        test.skip('only root can set a host name')
    server = Server(test)
    for statement in statements(test, 'tables', 'network'):
        server.ask(statement)
    path = lib.unpack(test, 'uplink')
    arrived = run_boxes(test, part_capture(test, path), f'clickhouse://127.0.0.1:{server.port}')
    intervals, minutes = truth_by_time(test, path)
    check_views(server.ask, intervals, minutes)
    server.end(test)

    python = peers.chdb(test)
    kept = 'INSERT INTO {} SETTINGS date_time_input_format=\'best_effort\', input_format_skip_unknown_fields=0 ' \
        'FORMAT JSONEachRow\n{}'
    # This ClickHouse has no Kafka engine; the views fill the tables without it.
    topics = [re.sub(r'ENGINE = Kafka\s.*', 'ENGINE = Null', statement, flags=re.DOTALL)
              for statement in statements(test, 'kafka')]
    begin = [*statements(test, 'tables', 'network'), *topics,
             kept.format('heavy_hitters_topic', arrived[0]), kept.format('ledger_topic', arrived[1])]
    check_views(lambda query: peers.ask_chdb(test, python, begin, query), intervals, minutes)

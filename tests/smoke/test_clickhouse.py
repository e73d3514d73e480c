# SPDX-License-Identifier: BSD-3-Clause
"""Rows to a real ClickHouse, into the tables of config/clickhouse: what it adds up is what files have."""

import csv
import os
import signal
import urllib.error
import urllib.request

import lib
import peers
from test_ipfix import account

CONFIG = """<yandex><logger><level>warning</level><console>1</console></logger><tcp_port>{tcp}</tcp_port>
<http_port>{http}</http_port><listen_host>127.0.0.1</listen_host><path>{folder}/data/</path>
<tmp_path>{folder}/tmp/</tmp_path><users_config>users.xml</users_config><mark_cache_size>5368709</mark_cache_size>
<default_profile>default</default_profile><default_database>default</default_database></yandex>"""
USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>"""


class Server:
    def __init__(self, test):
        program = peers.needs(test, 'clickhouse-server')
        folder = test.path('clickhouse')
        os.mkdir(folder)
        self.port = peers.free_port()
        for name, text in (('config.xml', CONFIG), ('users.xml', USERS)):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as stream:
                stream.write(text.format(folder=folder, http=self.port, tcp=peers.free_port()))
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


def rows_of(path, *columns):
    """How many rows a file has, and the sums of its columns."""
    with open(path, encoding='utf-8') as stream:
        rows = list(csv.DictReader(stream))
    return [len(rows), *(sum(int(row[column]) for row in rows) for column in columns)]


def test_tables(test):
    """Three kinds of rows, sent twice: counts, sums, and the views; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    server = Server(test)
    tables = lib.read_text(os.path.join(test.settings.root, 'config', 'clickhouse', 'tables.sql'))
    statements = '\n'.join(line for line in tables.split('\n') if not line.startswith('--')).split(';')
    for statement in statements:
        if statement.strip():
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
        server.ask(f'INSERT INTO {table} SELECT * FROM {table} WHERE epoch < 2')  # as if it was sent again
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


def test_no_table(test):
    """What the server refuses is named by its words, and the run goes on; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    server, stats = Server(test), test.path('stats.csv')
    result = test.run('--synthetic', 'flows=100,packets=10K', '--interval', '0', '--stats', stats, '--output',
                      f'clickhouse://127.0.0.1:{server.port}/nowhere').expect(1)
    assert "nowhere doesn't exist" in result.stderr, result.describe()
    assert lib.total(lib.read_stats(stats), 'measured') == 10000
    server.end(test)

# SPDX-License-Identifier: BSD-3-Clause
"""config/grafana: queries of the dashboards return data from a Prometheus and a ClickHouse with
data of runs."""

import json
import os
import re
import signal
import socket
import urllib.parse

import lib
import peers
import test_clickhouse
import test_collect_live
from test_metrics import ask, needs_server

SOURCES = {'prometheus': 'prometheus', 'clickhouse': 'grafana-clickhouse-datasource'}


def dashboard(test, name):
    return json.loads(lib.read_text(os.path.join(test.settings.root, 'config', 'grafana', f'{name}.json')))


def targets(board, member):
    return [(panel['title'], target[member]) for panel in board['panels'] for target in panel.get('targets', ())]


def test_what_grafana_needs(test):
    """Versions, numbers, panels without overlap, the data source as a variable, documented
    metrics."""
    documented = set(re.findall(r'^\| `(sketchtap_\w+)`', lib.read_text(os.path.join(
        test.settings.root, 'docs', 'EXPORTS.md')), re.MULTILINE))
    for name, plugin in SOURCES.items():
        board = dashboard(test, name)
        assert board['schemaVersion'] >= 38 and board['uid'] == f'sketchtap-{name}' and board['title'], name
        source, *variables = board['templating']['list']
        assert (source['name'], source['type'], source['query']) == ('datasource', 'datasource', plugin), source
        ids = [panel['id'] for panel in board['panels']]
        assert len(set(ids)) == len(ids), ids
        taken = set()
        for panel in board['panels']:
            at = panel['gridPos']
            cells = {(x, y) for x in range(at['x'], at['x'] + at['w']) for y in range(at['y'], at['y'] + at['h'])}
            assert at['x'] + at['w'] <= 24 and not cells & taken, panel['title']
            taken |= cells
            if panel['type'] == 'row':
                continue
            assert panel['type'] in ('stat', 'timeseries', 'table') and panel['title'] and panel['targets'], panel
            refs = [target['refId'] for target in panel['targets']]
            assert len(set(refs)) == len(refs), panel['title']
            for of in (panel, *panel['targets'], *variables):
                assert of['datasource'] == {'type': plugin, 'uid': '${datasource}'}, of
    used = {metric for _, query in targets(dashboard(test, 'prometheus'), 'expr')
            for metric in re.findall(r'sketchtap_\w+', query)}
    assert used and used <= documented, used - documented


class Prometheus:
    """A real Prometheus that scrapes several runs each second."""

    def __init__(self, test, ports):
        config, self.port = test.path('prometheus.yml'), needs_server(test)
        lists = ', '.join(f"'127.0.0.1:{port}'" for port in ports)
        with open(config, 'w', encoding='utf-8') as stream:
            stream.write('scrape_configs: [{job_name: sketchtap, scrape_interval: 1s, static_configs: '
                         f'[{{targets: [{lists}]}}]}}]\n')
        self.process = test.start(f'--config.file={config}', f'--storage.tsdb.path={test.path("data")}',
                                  f'--web.listen-address=127.0.0.1:{self.port}',
                                  program=[peers.needs(test, 'prometheus')])

    def ask(self, query):
        """Returns the samples; a failed query is an error."""
        try:
            status, _, text = ask(self.port, f'/api/v1/query?query={urllib.parse.quote(query)}')
        except (ConnectionRefusedError, ConnectionResetError):
            return []
        assert status in (200, 503), (query, text)
        return json.loads(text)['data']['result'] if status == 200 else []

    def values(self, metric, name):
        """Values of a dashboard variable: label_values(METRIC, LABEL)."""
        return {row['metric'][name] for row in self.ask(metric)}


def collecting(test, port):
    """A collector that received a capture of router exports."""
    run = test_collect_live.Listening(test, '--interval', '500ms', '--metrics', str(port), *test_collect_live.ALL)
    with test_collect_live.sender(socket.AF_INET, '127.0.0.1', ('127.0.0.1', run.port)) as out:
        test_collect_live.send_capture(test_collect_live.exported(test, 'v9'), lambda router: out)
    return run.process


def test_prometheus(test):
    """Each query returns data while runs measure, forward and collect; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    ports = [needs_server(test) for _ in range(3)]
    live = ('--interval', '500ms', '--output', '/dev/null')
    runs = [
        test.start('--synthetic', 'flows=200,zipf=1.1,packets=100G,rate=5K,seed=1', '--pace', 'recorded', *live,
                   '--metrics', str(ports[0]), '--metrics-top', '5', '--stats', test.path('own.csv')),
        test.start('--port', 'net_null0', '--port', 'net_null1', '--forward', 'pairs', '--eal', '--no-pci', '--workers', '1',
                   '--packets', '100G', *live, '--metrics', str(ports[1])),
        collecting(test, ports[2])]
    server = Prometheus(test, ports)
    board = dashboard(test, 'prometheus')
    replaced = {'$instance': '.*', '$measurement': '.*', '$__rate_interval': '30s', '$__range': '1h'}
    waiting = dict(enumerate(targets(board, 'expr')))

    def answered():
        for run in runs:
            assert run.running(), run.result.describe()
        for number, (_, query) in list(waiting.items()):
            for variable, value in replaced.items():
                query = query.replace(variable, value)
            assert '$' not in query, query
            if server.ask(query):
                del waiting[number]
        return not waiting

    try:
        test.until(answered, 'each query has an answer')
    except AssertionError as failure:
        raise AssertionError(f'{failure}: {waiting}') from failure
    assert len(server.values('sketchtap_build_info', 'instance')) == 3
    assert server.values('sketchtap_measurement_info', 'measurement') == {'main'}
    for process in (*runs, server.process):
        process.signal(signal.SIGTERM)
        process.wait(test.patience)


def test_clickhouse_tables(test):
    """Each query returns rows from the tables and views of config/clickhouse; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    server = test_clickhouse.Server(test)
    for statement in test_clickhouse.statements(test, 'tables', 'network'):
        server.ask(statement)
    url = f'clickhouse://127.0.0.1:{server.port}'
    test.run('--synthetic', 'flows=2K,packets=200K,rate=20K', '--interval', '1s', '--sketch', 'flow-table', '--output',
             f'{url}/heavy_hitters', '--flows', f'{url}/flows', '--stats', f'{url}/ledger').expect(0)
    # Simulates a second host with the same flows and one packet less in each.
    columns = server.ask("SELECT name FROM system.columns WHERE database = 'default' AND table = 'flows'")
    told = ', '.join({'host': "'other'", 'packets': 'packets - 1'}.get(name, name) for name in columns)
    server.ask(f'INSERT INTO flows ({", ".join(columns)}) SELECT {told} FROM flows WHERE packets > 1')
    board = dashboard(test, 'clickhouse')
    answers = {}
    for variable in board['templating']['list'][1:]:
        answers[variable['name']] = server.ask(variable['query'])
        assert answers[variable['name']], variable
    assert answers['measurement'] == ['main'], answers
    replaced = {'${measurement}': 'main', '${host:singlequote}': ', '.join(f"'{host}'" for host in answers['host'])}
    for title, query in targets(board, 'rawSql'):
        for variable, value in replaced.items():
            query = query.replace(variable, value)
        query = re.sub(r'\$__timeFilter\((\w+)\)', r"\1 >= toDateTime('1999-01-01 00:00:00') AND "
                       r"\1 <= toDateTime('2099-01-01 00:00:00')", query)
        assert '$' not in query, query
        assert server.ask(query), (title, query)
    server.end(test)

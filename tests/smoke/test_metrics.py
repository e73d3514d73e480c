# SPDX-License-Identifier: BSD-3-Clause
"""--metrics: equal to the files; malicious clients; a real Prometheus; the alerts."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import time
import urllib.parse

import lib
import net
import test_collect_live
import test_forward
import test_losses
from test_sockets import NO_FILE

LIVE = ('--eal', '--no-pci', '--workers', '1', '--interval', '100ms')
OPENMETRICS = {'Accept': 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5'}
SAMPLE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def needs_server(test):
    """Returns a free port; skips the test if the build has no server."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(('127.0.0.1', 0))
        port = taken.getsockname()[1]
        taken.listen()
        result = test.run('--synthetic', 'packets=10', '--metrics', str(port)).expect(1)
    if 'built without it' in result.stderr:
        test.skip('this build has no --metrics')
    return port


def ask(port, path, headers=None, method='GET', host='127.0.0.1'):
    connection = http.client.HTTPConnection(host, port, timeout=20)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def samples(text):
    """Returns {(name, ((label, value), ...)): number as printed}."""
    found = {}
    for line in text.splitlines():
        if not line.startswith('#'):
            name, labels, value = SAMPLE.fullmatch(line).groups()
            found[name, tuple(LABEL.findall(labels or ''))] = value
    return found


def scrape(port):
    status, headers, text = ask(port, '/metrics', OPENMETRICS)
    assert status == 200 and 'openmetrics-text' in headers['Content-Type'], (status, headers)
    assert text.endswith('# EOF\n'), text[-80:]
    return samples(text)


def packets(found, fate):
    return int(found['sketchtap_packets_total', (('fate', fate),)])


def start(test, port, *options):
    """A live port that receives 500 packets and then no more; waits until all are measured."""
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i % 7)) for i in range(500)])
    process = test.start('--port', f'net_pcap0,rx_pcap={capture}', *LIVE, *options)

    def there():
        assert process.running(), process.result.describe()
        try:
            return packets(scrape(port), 'measured') == 500
        except ConnectionRefusedError:
            return False

    test.until(there, 'all packets are measured')
    return process


def stop(test, process):
    process.signal(signal.SIGTERM)
    return test.wait(process).expect(0)


def test_answers_are_the_files(test):
    """Counters are sums of --stats, JSON has the rows of --stats and --output. The port is bound
    before any output is opened."""
    port = needs_server(test)
    output, stats, by_row = test.path('output.csv'), test.path('stats.csv'), test.path('stats.json')
    process = start(test, port, '--metrics', str(port), '--metrics-top', '3', '--output', output,
                    '--stats', stats, '--stats', f'json:{by_row}')
    test.until(lambda: not any(name.startswith('sketchtap_top_') for name, _ in scrape(port)),
               'heavy hitters end with their epoch')
    found = scrape(port)
    epochs = json.loads(ask(port, '/api/v1/epochs')[2])
    status, headers, health = ask(port, '/healthz')
    assert status == 200 and json.loads(health)['healthy'] is True, health
    assert "default-src 'none'" in headers['Content-Security-Policy'], headers
    if shutil.which('promtool'):
        with open(test.path('scrape'), 'w', encoding='utf-8') as stream:
            stream.write(ask(port, '/metrics')[2])
        with open(test.path('scrape'), encoding='utf-8') as stream:
            test.run('check', 'metrics', program=['promtool'], stdin=stream).expect(0)
    late = test.path('late.csv')
    result = test.run('--synthetic', 'packets=10', '--metrics', str(port), '--output', late).expect(1)
    result.expect_one_line('--metrics', f'127.0.0.1:{port}', 'in use by another program')
    assert not os.path.exists(late), 'an output was touched'
    stop(test, process)

    ledger, rows = lib.read_stats(stats), lib.read_output(output)
    for column in lib.STATS_COLUMNS[4:16]:
        assert packets(found, column) == lib.total(ledger, column), column
        labels = (('measurement', 'main'), ('fate', column))
        assert int(found['sketchtap_measurement_packets_total', labels]) == lib.total(ledger, column), column
    assert int(found['sketchtap_bytes_total', (('fate', 'measured'),)]) == lib.total(ledger, 'bytes')
    with open(by_row, encoding='utf-8') as stream:
        for row, answer in zip(stream, epochs, strict=True):
            assert all(name in answer for name in NO_FILE), answer
            assert {name: answer[name] for name in answer if name not in NO_FILE} == json.loads(row), answer
    assert rows, 'there were heavy hitters'


def test_heavy_hitters_of_the_last_epoch(test):
    """During traffic, /metrics and /api/v1/top have the same rows as --output."""
    port = needs_server(test)
    output = test.path('output.csv')
    process = test.start('--synthetic', 'flows=50,zipf=1.1,packets=100G,rate=50K,seed=1', '--pace', 'recorded',
                         '--interval', '1s', '--metrics', f'[::1]:{port}', '--metrics-top', '5', '--output', output)
    seen = {}

    def there():
        try:
            before, text, after = (ask(port, path, host='::1')[2]
                                   for path in ('/api/v1/top', '/metrics', '/api/v1/top'))
        except ConnectionRefusedError:
            return False
        if before == after and len(json.loads(before)) >= 5:
            seen.update(top=json.loads(before), found=samples(text))
        return bool(seen)

    test.until(there, 'heavy hitters are reported')
    stop(test, process)
    rows = lib.in_epoch(lib.read_output(output), str(seen['top'][0]['epoch']))
    assert len(rows) == len(seen['top'])
    for row, told in zip(rows, seen['top']):
        assert all(str(told[column]) == row[column] for column in (*lib.KEY_COLUMNS, 'packets', 'bytes_high')), told
    for metric, column in (('packets', 'packets'), ('low_packets', 'packets_low'), ('high_bytes', 'bytes_high')):
        told = {labels: value for (name, labels), value in seen['found'].items()
                if name == f'sketchtap_top_{metric}'}
        expected = {(('measurement', 'main'), *((name, row[name]) for name in lib.KEY_COLUMNS)): row[column]
                    for row in rows[:5]}
        assert told == expected, told


def test_bad_clients(test):
    """Noise, a megabyte, half a request, 200 connections: each gets a response or is closed, and
    others are served."""
    port = needs_server(test)
    process = start(test, port, '--metrics', str(port), '--output', '/dev/null')
    before = lib.resident(process.popen.pid)
    slow = socket.create_connection(('127.0.0.1', port))
    slow.sendall(b'GET /metrics HT')
    for path in ('/metric', '/metrics/', '/index.html', '//metrics', '/api/v1/../v1/top', '/%01', '/%zz', '/' + 'a' * 9000):
        assert ask(port, path)[0] == 404, path
    assert ask(port, '/metrics?x=%20&y')[0] == 200
    for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'BREW'):
        status, headers, _ = ask(port, '/metrics', method=method)
        assert status == 405 and headers['Allow'] == 'GET, HEAD', (method, status)
    status, headers, text = ask(port, '/metrics', method='HEAD')
    assert status == 200 and int(headers['Content-Length']) > 1000 and text == ''
    for request in (b'GET /' + b'a' * 1000000 + b' HTTP/1.1\r\n\r\n',
                    b'GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ' + b'a' * 1000000 + b'\r\n\r\n',
                    b'POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n' + b'a' * 1000000,
                    b'\x16\x03\x01' + bytes(range(256)) * 20, b'GET\r\n\r\n'):
        with socket.create_connection(('127.0.0.1', port), timeout=20) as client:
            answer = b''
            try:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                while data := client.recv(65536):
                    answer += data
            except OSError:
                pass  # closed before everything was sent
            assert not answer.startswith(b'HTTP/1.1 2'), (request[:40], answer[:100])
    # More connections than may be open at once, next to an idle one.
    crowd = []
    # each sends its request at once: idle clients are closed if there are many
    for _ in range(200):
        crowd.append(socket.create_connection(('127.0.0.1', port), timeout=20))
        crowd[-1].sendall(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    for client in crowd:
        assert client.recv(65536).startswith(b'HTTP/1.1 200'), 'one of a crowd'
        client.close()
    assert packets(scrape(port), 'measured') == 500
    grown = lib.resident(process.popen.pid) - before
    assert grown < 16 << 20 or test.sanitized, f'{grown} bytes more'
    stop(test, process)


def test_idle_clients(test):
    """Many idle connections delay others only briefly; a single one gets its full timeout."""
    port = needs_server(test)
    process = start(test, port, '--metrics', str(port), '--output', '/dev/null')
    with contextlib.ExitStack() as stack:
        alone = stack.enter_context(socket.create_connection(('127.0.0.1', port)))
        time.sleep(0.5)
        alone.sendall(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
        assert alone.recv(65536).startswith(b'HTTP/1.1 200'), 'one that takes half a second'
        for _ in range(300):
            stack.enter_context(socket.create_connection(('127.0.0.1', port)))
        began = time.monotonic()
        assert ask(port, '/healthz')[0] == 200
        took = time.monotonic() - began
        assert took < 4, f'{took} s after 300 idle connections'
    stop(test, process)


def test_names(test):
    """On loopback, requests with a foreign host name are rejected: it could be a web page whose
    name resolves to this host. On other addresses every name is accepted."""
    port = needs_server(test)
    process = start(test, port, '--metrics', str(port), '--output', '/dev/null')

    def status(host, to=port):
        with socket.create_connection(('127.0.0.1', to), timeout=20) as client:
            line = f'Host: {host}\r\n' if host is not None else ''
            client.sendall(f'GET /metrics HTTP/1.{int(host is not None)}\r\n{line}\r\n'.encode())
            return int(client.recv(65536).split()[1])

    for host in (f'localhost:{port}', 'LocalHost', f'127.0.0.1:{port}', '127.0.0.1', '[::1]:9100', '10.0.0.1', None):
        assert status(host) == 200, host
    for host in (f'example.com:{port}', 'localhost.example.com', '127.0.0.1.example.com', '[::1', '::1', '1', '[1.2.3.4]',
                 'a' * 300):
        assert status(host) in (400, 421), host
    assert status('example.com') == 421
    stop(test, process)
    port = needs_server(test)
    process = start(test, port, '--metrics', f':{port}', '--output', '/dev/null')
    assert status('example.com', port) == 200
    stop(test, process)


def test_a_byte_now_and_then(test):
    """A connection ends after five seconds, even if bytes arrive; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    port = needs_server(test)
    process = start(test, port, '--metrics', str(port), '--output', '/dev/null')
    slow = socket.create_connection(('127.0.0.1', port))
    slow.sendall(b'GET /metrics HT')
    slow.settimeout(0.2)
    began, ended = time.monotonic(), False
    while not ended and time.monotonic() - began < 30:
        try:
            slow.sendall(b'x')
            ended = slow.recv(1000) == b''
        except TimeoutError:
            pass
        except (ConnectionResetError, BrokenPipeError):
            ended = True
    assert ended and time.monotonic() - began > 4, 'not ended, or not by time'
    stop(test, process)


def test_prometheus(test):
    """Prometheus scrapes a run, and returns the number of the file; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    if shutil.which('prometheus') is None:
        test.skip('prometheus is not installed')
    port, own = needs_server(test), needs_server(test)
    config = test.path('prometheus.yml')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('scrape_configs: [{job_name: sketchtap, scrape_interval: 1s, static_configs: '
                     f"[{{targets: ['127.0.0.1:{port}']}}]}}]\n")
    stats = test.path('stats.csv')
    process = start(test, port, '--metrics', str(port), '--output', '/dev/null', '--stats', stats)
    server = test.start(f'--config.file={config}', f'--storage.tsdb.path={test.path("data")}',
                        f'--web.listen-address=127.0.0.1:{own}', program=['prometheus'])
    query = urllib.parse.quote('sketchtap_packets_total')
    result = []

    def there():
        try:
            result[:] = json.loads(ask(own, f'/api/v1/query?query={query}')[2])['data']['result']
        except (ConnectionRefusedError, ConnectionResetError, ValueError, KeyError):
            return False
        return bool(result)

    test.until(there, 'Prometheus has scraped')
    server.signal(signal.SIGTERM)
    server.wait(test.patience)
    stop(test, process)
    told = {row['metric']['fate']: int(row['value'][1]) for row in result}
    ledger = lib.read_stats(stats)
    assert told == {column: lib.total(ledger, column) for column in lib.STATS_COLUMNS[4:16]}, told


def test_alerts(test):
    """Each alert fires and ends as specified in config/prometheus/alerts_test.yml, which lists
    all."""
    if shutil.which('promtool') is None:
        test.skip('promtool is not installed')
    folder = os.path.join(test.settings.root, 'config', 'prometheus')
    rules = os.path.join(folder, 'alerts_test.yml')
    test.run('test', 'rules', rules, program=['promtool']).expect(0)
    names = set(re.findall(r'alert: (\w+)', lib.read_text(os.path.join(folder, 'alerts.yml'))))
    fired = set(re.findall(r'alertname="(\w+)"', lib.read_text(rules)))
    assert names and names == fired, names ^ fired


def labelled(found, name, **labels):
    """Sums a metric's samples with these labels."""
    return sum(float(value) for (metric, of), value in found.items()
               if metric == name and set(labels.items()) <= set(of))


def test_losses_of_each_port(test):
    """Two ports, one with losses: its counter equals that of the run and of --stats."""
    needs_server(test)
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    space.veth('tap1', 'wire1')
    space.ip('link', 'set', 'lo', 'up')
    capture, _ = test_losses.write_flows(test)
    run = test_losses.Overload(test, space, '--port', net.af_packet('tap0', frames=64), '--port',
                               net.af_packet('tap1', frames=64), '--workers', '1',
                               '--metrics', '9100', interval='50ms')
    sent = run.send('wire1', capture)
    test.until(lambda: lib.total(lib.read_stats(run.stats), 'offered') == sent, 'all packets are reported')
    told = space.call('python3', '-c', 'import urllib.request as request; '
                      'print(request.urlopen("http://127.0.0.1:9100/metrics").read().decode(), end="")')
    run.finish()
    found, lost = samples(told), lib.total(lib.read_stats(run.stats), 'nic_missed')
    by_port = {dict(labels)['port']: int(value) for (name, labels), value in found.items()
               if name == 'sketchtap_port_lost_packets_total' and dict(labels)['fate'] == 'nic_missed'}
    assert lost > 0 and sorted(by_port.values()) == [0, lost], (lost, by_port)
    assert ['tap1' in port for port, value in by_port.items() if value] == [True], by_port
    assert labelled(found, 'sketchtap_port_lost_packets_total') == sum(packets(found, fate) for fate in (
        'nic_missed', 'nic_errors', 'no_mbuf'))


def test_what_is_forwarded(test):
    """The counters of each direction are the sums of --forwarded so far; the latency is that of the
    last epoch."""
    port, path = needs_server(test), test.path('forwarded.csv')
    process = test.start('--port', 'net_null0', '--port', 'net_null1', '--forward', 'pairs', '--eal', '--no-pci', '--workers',
                         '1', '--interval', '100ms', '--packets', '100G', '--metrics', str(port), '--output', '/dev/null',
                         '--forwarded', path)
    found = {}

    def there():
        assert process.running(), process.result.describe()
        with contextlib.suppress(ConnectionRefusedError):
            found.update(samples(ask(port, '/metrics')[2]))
        return int(found.get(('sketchtap_epoch_number', ()), 0)) > 3

    test.until(there, 'some epochs')
    stop(test, process)
    last = int(found['sketchtap_epoch_number', ()])
    rows = [row for row in test_forward.read_forwarded(path) if int(row['epoch']) <= last]
    directions = {(row['in'], row['out']) for row in rows}
    assert len(directions) == 2, directions
    for way_in, out in directions:
        mine = [row for row in rows if row['in'] == way_in]
        for fate in ('received', 'forwarded', *test_forward.UNSENT):
            told = labelled(found, 'sketchtap_forward_packets_total', **{'in': way_in, 'out': out, 'fate': fate})
            assert told == lib.total(mine, fate), (way_in, fate, told)
        assert labelled(found, 'sketchtap_forward_bytes_total', out=out) == lib.total(mine, 'bytes') > 0
        for percentile, column in (('50', 'p50_ns'), ('100', 'max_ns')):
            told = labelled(found, 'sketchtap_forward_latency_seconds', out=out, percentile=percentile)
            assert round(told * 1e9) == int(mine[-1][column]), (column, told, mine[-1])


def test_collecting(test):
    """Exporter counters are the sums of --exporters over all exporters. The page's JSON has the
    ledger."""
    port = needs_server(test)
    run = test_collect_live.Listening(test, '--interval', '200ms', '--metrics', str(port), *test_collect_live.ALL)
    with test_collect_live.sender(socket.AF_INET, '127.0.0.1', ('127.0.0.1', run.port)) as out:
        sent = test_collect_live.send_capture(test_collect_live.exported(test, 'v9'), lambda router: out)
        out.send(b'\0\5noise')
    test.until(lambda: packets(scrape(port), 'measured') == 8000, 'all is measured')
    test.until(lambda: labelled(scrape(port), 'sketchtap_exporter_datagrams_total', fate='received') == sent + 1, 'all came')
    found = scrape(port)
    epochs, top = (json.loads(ask(port, f'/api/v1/{name}')[2]) for name in ('epochs', 'top'))
    _, ledger, exporters, _ = run.finish()
    for fate, column in (('received', 'datagrams'), *((name, name) for name in (
            'malformed', 'refused', 'shed', 'lost_network', 'lost_socket', 'reordered', 'repeated'))):
        assert labelled(found, 'sketchtap_exporter_datagrams_total', fate=fate) == lib.total(exporters, column), fate
    for fate in ('counted', 'duplicate', 'unusable'):
        assert labelled(found, 'sketchtap_exporter_records_total', fate=fate) == lib.total(exporters, fate), fate
    assert labelled(found, 'sketchtap_exporter_unknown_sets_total') == lib.total(exporters, 'unknown_template')
    assert packets(found, 'duplicate') == lib.total(ledger, 'duplicate') == 16000
    assert sum(row['measured'] for row in epochs) == 8000 and isinstance(top, list), epochs

# SPDX-License-Identifier: BSD-3-Clause
"""Recipes of docs/EXPORTS.md work as printed, except for ports, files and names of this test."""

import base64
import os
import re
import shlex
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request

import lib
import net
import peers
import test_metrics

LONG = ('commands_and_sections', 'nfdump', 'prometheus', 'nginx')

LIVE = ('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1', '--interval', '100ms')


def text_of(test):
    return lib.read_text(os.path.join(test.settings.root, 'docs', 'EXPORTS.md'))


def blocks(test):
    return text_of(test).split('```\n')[1::2]


def recipe(test, begin):
    """Returns the single block with this beginning."""
    found = [block for block in blocks(test) if block.startswith(begin)]
    assert len(found) == 1, (begin, found)
    return found[0]


def replaced(text, changes):
    for what, other in changes.items():
        assert what in text, (what, text)
        text = text.replace(what, str(other))
    return text


def test_commands_and_sections(test):
    """sketchtap accepts each command and each section."""
    commands = [line.split('#')[0] for block in blocks(test) for line in block.replace('\\\n', ' ').splitlines()
                if line.startswith('sketchtap ')]
    sections = [block for block in blocks(test) if block.startswith('[export ')]
    assert len(commands) >= 10 and len(sections) >= 3, (commands, sections)
    for command in commands:
        result = test.run('plan', *shlex.split(command.replace('--port eth1', '--port net_null0'))[1:])
        if 'built without it' not in result.stderr:
            result.expect(0)
    for number, section in enumerate(sections):
        path = test.path(f'{number}.conf')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'port = net_null0\nsketch = flow-table\n{section}')
        result = test.run('plan', '--config', path)
        if 'built without it' not in result.stderr:
            result.expect(0)


def test_nfdump(test):
    """The commands of the table: nfdump lists all records."""
    peers.needs(test, 'nfcapd', 'nfdump')
    capture, listing = re.search(r'^\| nfdump \| `(.*?)`; `(.*?)` \|$', text_of(test), re.MULTILINE).groups()
    port, folder = peers.free_port(), test.path('nfcapd.d')
    os.mkdir(folder)
    words = replaced(capture, {'DIR': folder, '4739': port}).split()
    process = test.start(*words[1:], program=[peers.needs(test, words[0])])
    test.until(lambda: peers.socket_row(port) is not None, 'nfcapd listens')
    flows = test.path('flows.csv')
    test.run('--synthetic', 'flows=500,packets=5K', '--interval', '0', '--sketch', 'flow-table', '--output', '/dev/null',
             '--flows', f'ipfix://127.0.0.1:{port}', '--flows', flows).expect(0)
    peers.until_read(test, port, 'nfcapd')
    process.signal(signal.SIGTERM)
    test.wait(process)
    words = replaced(listing, {'DIR': folder}).split()
    said = test.run(*words[1:], program=words[:1]).expect(0).stdout
    records = len(lib.read_text(flows).splitlines()) - 1
    assert re.search(rf'Summary: total flows: {records},', said), said[-500:]


def test_prometheus(test):
    """Prometheus accepts its configuration with the alert rules."""
    program = peers.needs(test, 'promtool')
    rules = os.path.join(test.settings.root, 'config', 'prometheus', 'alerts.yml')
    path = test.path('prometheus.yml')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(replaced(recipe(test, 'rule_files:'), {'/usr/local/share/sketchtap/alerts.yml': rules}))
    said = test.run('check', 'config', path, program=[program]).expect(0).stdout
    assert 'is valid prometheus config file' in said and 'rules found' in said, said


def get(port, path, user=None):
    """Returns (status, body) over TLS, without checking the certificate."""
    request = urllib.request.Request(f'https://127.0.0.1:{port}{path}')
    if user is not None:
        request.add_header('Authorization', 'Basic ' + base64.b64encode(user.encode()).decode())
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def start_nginx(test, server):
    """Starts nginx with only this server block."""
    folder = test.path('nginx')
    os.mkdir(folder)
    with open(f'{folder}/nginx.conf', 'w', encoding='utf-8') as file:
        file.write(f'daemon off;\n{"user root;" if os.geteuid() == 0 else ""}\nworker_processes 1;\npid {folder}/pid;\n'
                   f'error_log {folder}/log;\nevents {{}}\nhttp {{\naccess_log off;\n' + ''.join(
                       f'{kind}_temp_path {folder}/{kind};\n' for kind in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')) +
                   f'{server}}}\n')
    return test.start('-p', folder, '-e', f'{folder}/log', '-c', f'{folder}/nginx.conf', program=[peers.needs(test, 'nginx')])


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', port)) == 0


def test_nginx(test):
    """TLS and user names for the page: without a password it is hidden, with one it is complete."""
    peers.needs(test, 'nginx', 'openssl')
    behind, port = test_metrics.needs_server(test), peers.free_port()
    files = {name: test.path(name) for name in ('probe.pem', 'probe.key', 'users')}
    test.run('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-batch', '-subj', '/CN=probe', '-keyout', files['probe.key'],
             '-out', files['probe.pem'], program=['openssl']).expect(0)
    secret = subprocess.run(['openssl', 'passwd', '-apr1', 'secret'], capture_output=True, text=True, check=True).stdout
    with open(files['users'], 'w', encoding='ascii') as file:
        file.write(f'operator:{secret}')
    stats = test.path('stats.csv')
    run = test.start(*LIVE, '--metrics', str(behind), '--stats', stats, '--output', '/dev/null')
    net.wait_until_ready(test, run, stats)
    nginx = start_nginx(test, replaced(recipe(test, 'server {'), {
        '/etc/ssl/probe.pem': files['probe.pem'], '/etc/ssl/private/probe.key': files['probe.key'],
        '/etc/nginx/sketchtap.users': files['users'], '443': port, '127.0.0.1:9100': f'127.0.0.1:{behind}'}))
    test.until(lambda: is_open(port) or not nginx.running(), 'nginx listens')
    assert nginx.running(), nginx.result.describe()
    for user in (None, 'operator:wrong', 'nobody:secret'):
        status, body = get(port, '/', user)
        assert status == 401 and b'sketchtap' not in body.lower(), (user, status, body)
    for path, part in (('/', b'<!doctype html>'), ('/metrics', b'sketchtap_packets_total'), ('/api/v1/epochs', b'['),
                       ('/healthz', b'')):
        status, body = get(port, path, 'operator:secret')
        assert status == 200 and part in body.lower(), (path, status, body[:200])
    assert get(port, '/etc/passwd', 'operator:secret')[0] == 404
    nginx.signal(signal.SIGTERM)
    test.wait(nginx)
    run.signal(signal.SIGINT)
    test.wait(run)

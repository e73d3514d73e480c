# SPDX-License-Identifier: BSD-3-Clause
"""--flows and --output to a collector of IPFIX: what others read of it is what --flows says, record for record."""

import csv
import os
import re
import signal
import socket
import subprocess

import lib
import peers
import test_collect_live

PROTOCOLS = {'TCP': '6', 'UDP': '17'}
FLAGS = 'CEUAPRSF'
FLOWS = ('epoch,measurement,start,src_ip,dst_ip,src_port,dst_port,proto,packets,bytes,first,last,tcp_flags,'
         'ended').split(',')
DELIVERIES = ('epoch,start,end,export,kind,rows,delivered,acknowledged,failed,unknown,dropped,waiting,oldest,'
              'retries,reconnects,bytes').split(',')


def account(path, export):
    """Sums of --deliveries over an export, every row of which balances."""
    sums, waited = {}, 0
    for row in lib.read_csv(path, DELIVERIES):
        if row['export'] != export:
            continue
        figures = {name: int(row[name]) for name in (
            'rows', 'delivered', 'acknowledged', 'failed', 'unknown', 'dropped', 'waiting')}
        assert figures['rows'] + waited == sum(figures.values()) - figures['rows'], row
        waited = figures['waiting']
        sums = {name: sums.get(name, 0) + value for name, value in figures.items()}
    assert waited == 0
    return sums


def told(row):
    """What nfdump tells of a record, from a row of --flows."""
    flags = int(row['tcp_flags'] or '0')
    letters = ''.join(letter if flags >> (7 - bit) & 1 else '.' for bit, letter in enumerate(FLAGS))
    seconds = [row[name][:19].replace('T', ' ') for name in ('first', 'last')]
    return (*seconds, row['src_ip'], row['dst_ip'], row['src_port'], row['dst_port'], row['proto'], letters,
            row['packets'])


def start_nfcapd(test, folder):
    """(process, its port)"""
    program = peers.needs(test, 'nfcapd', 'nfdump')
    os.mkdir(folder)
    port = peers.free_port()
    process = test.start('-w', folder, '-b', '127.0.0.1', '-p', str(port), '-B', '4000000', program=[program])
    test.until(lambda: 'Startup' in process.stderr(), 'nfcapd listens')
    return process, port


def end_nfcapd(test, process, port):
    """(flows, packets, bytes, gaps in the sequence, bad packets) as it says"""
    peers.until_read(test, port, 'nfcapd')
    process.signal(signal.SIGTERM)
    said = re.search(r'Flows: (\d+), Packets: (\d+), Bytes: (\d+), Sequence Errors: (\d+), Bad Packets: (\d+)',
                     test.wait(process).stderr)
    return tuple(map(int, said.groups()))


def collect(test, path, scheme, *arguments):
    """(rows of --flows, what nfcapd said, nfdump's records, account) of a capture."""
    folder = test.path(os.path.basename(path) + '.nfcapd')
    flows, deliveries = test.path('flows.csv'), test.path('deliveries.csv')
    process, port = start_nfcapd(test, folder)
    url = f'{scheme}://127.0.0.1:{port}'
    test.run('--pcap', path, '--sketch', 'flow-table', '--flows', flows, '--flows', url, '--output', os.devnull,
             '--deliveries', deliveries, '--force', *arguments).expect(0)
    said = end_nfcapd(test, process, port)
    listed = subprocess.run(['nfdump', '-R', folder, '-o', 'csv', '-6'], check=True, capture_output=True, text=True,
                            env={**os.environ, 'TZ': 'UTC'}).stdout
    records = [row for row in csv.DictReader(listed.splitlines()) if row['pr'] in PROTOCOLS]
    return lib.read_csv(flows, FLOWS), said, records, account(deliveries, url)


def ip_lengths(test, path):
    """{key of TCP or UDP: bytes of IP packets} of a capture, and those of all packets; by tshark."""
    names = ('ip.src', 'ip.dst', 'ip.proto', 'ip.len', 'ipv6.src', 'ipv6.dst', 'ipv6.nxt', 'ipv6.plen', 'tcp.srcport',
             'tcp.dstport', 'udp.srcport', 'udp.dstport')
    listed = subprocess.run([peers.needs(test, 'tshark'), '-r', path, '-n', '-T', 'fields', '-E', 'occurrence=f', '-E',
                             'separator=,', *(word for name in names for word in ('-e', name))], check=True,
                            capture_output=True, text=True).stdout
    of_keys, of_all = {}, 0
    for line in listed.splitlines():
        row = dict(zip(names, line.split(',')))
        ip, length = ('ip', 'ip.len') if row['ip.src'] else ('ipv6', 'ipv6.plen')
        if not row[length]:
            continue
        octets = int(row[length]) + (40 if ip == 'ipv6' else 0)
        of_all += octets
        proto = row['ip.proto'] or row['ipv6.nxt']
        if proto in ('6', '17'):
            ports = [row[f'{"tcp" if proto == "6" else "udp"}.{end}port'] for end in ('src', 'dst')]
            key = (row[f'{ip}.src'], row[f'{ip}.dst'], *ports, proto)
            of_keys[key] = of_keys.get(key, 0) + octets
    return of_keys, of_all


def test_nfcapd_has_every_record(test):
    """Records, packets, bytes of IP packets, times, flags, IPv4 and IPv6."""
    for name in ('ipv6__pcapplusplus__tls2.pcap', 'mix__ndpi__gnutella.pcap', 'link-sll__ndpi__rtsp.pcap'):
        path = os.path.join(test.settings.traces, 'zoo', name)
        rows, said, records, delivered = collect(test, path, 'ipfix', '--interval', '10s')
        flows, packets, octets, gaps, bad = said
        of_keys, of_all = ip_lengths(test, path)
        assert octets == of_all, (octets, of_all)
        assert (flows, packets, bad) == (len(rows), sum(int(row['packets']) for row in rows), 0), said
        # It does not count records of options, which RFC 7011 does: one with every interval's totals.
        assert gaps <= len({row['epoch'] for row in rows}), said
        assert delivered['delivered'] == delivered['rows'] == len(rows)
        theirs = sorted((row['ts'], row['te'], row['sa'], row['da'], row['sp'], row['dp'], PROTOCOLS[row['pr']],
                         row['flg'], row['ipkt']) for row in records)
        assert theirs == sorted(told(row) for row in rows if row['proto'] in ('6', '17'))
        sums = {}
        for row in records:
            key = (row['sa'], row['da'], row['sp'], row['dp'], PROTOCOLS[row['pr']])
            sums[key] = sums.get(key, 0) + int(row['ibyt'])
        assert {key: octets for key, octets in sums.items() if key[-1] in ('6', '17')} == of_keys
    # Padded frames are what makes it more than taking headers off, which are of 16 bytes here.
    assert of_all < sum(int(row['bytes']) - 16 * int(row['packets']) for row in rows)


def test_own_collector(test):
    """Each flow with its packets and bytes; nothing is missing in the sequence, and the rate is 1:1."""
    flows = test.path('flows.csv')
    path = os.path.join(test.settings.traces, 'zoo', 'mix__ndpi__gnutella.pcap')
    collector = test_collect_live.Listening(test, '--sketch', 'flow-table', '--top', '1M')
    test.run('--pcap', path, '--sketch', 'flow-table', '--interval', '10s', '--flows', flows, '--flows',
             f'ipfix://127.0.0.1:{collector.port}', '--output', os.devnull).expect(0)
    collector.read_all()
    rows, _, exporters, _ = collector.finish()
    sent = lib.read_csv(flows, FLOWS)
    assert test_collect_live.sums_of(rows) == test_collect_live.sums_of(sent)
    assert sum(int(row['records']) for row in exporters) == len(sent) > 1000
    assert {(row['lost_network'], row['unusable'], row['sampling']) for row in exporters if row['records'] != '0'} == {
        ('0', '0', '1')}, exporters


def test_handed_on(test):
    """What a collector hands on to nfcapd has the bytes of layer 3 that its exporter (--design async) said."""
    path = os.path.join(test.settings.traces, 'zoo', 'mix__ndpi__gnutella.pcap')
    process, port = start_nfcapd(test, test.path('handed'))
    collector = test_collect_live.Listening(test, '--sketch', 'flow-table', '--flows', f'ipfix://127.0.0.1:{port}')
    test.run('--pcap', path, '--sketch', 'flow-table', '--design', 'async', '--flows',
             f'ipfix://127.0.0.1:{collector.port}', '--output', os.devnull).expect(0)
    collector.read_all()
    collector.finish()
    _, packets, octets, _, _ = end_nfcapd(test, process, port)
    assert (packets, octets) == (3882, ip_lengths(test, path)[1])


def test_heavy_prefixes(test):
    """Keys that are prefixes: another sketchtap reads them as it reads addresses."""
    hitters = test.path('hitters.csv')
    collector = test_collect_live.Listening(test, '--key', 'src/24/48', '--top', '1K')
    test.run('--pcap', os.path.join(test.settings.traces, 'zoo', 'mix__ndpi__gnutella.pcap'), '--key', 'src/24/48',
             '--interval', '0', '--top', '1K', '--output', hitters, '--output',
             f'ipfix://127.0.0.1:{collector.port}').expect(0)
    collector.read_all()
    rows, _, _, _ = collector.finish()
    sent = [(row['src_ip'], row['packets']) for row in lib.read_output(hitters)]
    assert sorted((row['src_ip'], row['packets']) for row in rows) == sorted(sent) != [], sent


def test_nobody_there(test):
    """What is refused has failed: by number, with a warning, and the run ends with 1."""
    deliveries, port = test.path('deliveries.csv'), peers.free_port()
    url = f'ipfix://127.0.0.1:{port}'
    result = test.run('--synthetic', 'flows=1000,packets=100K', '--interval', '0', '--output', url, '--top', '100',
                      '--deliveries', deliveries).expect(1)
    sums = account(deliveries, url)
    assert sums['rows'] == 100 and sums['failed'] + sums['delivered'] == 100 and sums['failed'] > 0, sums
    assert url in result.stderr, result.stderr


def test_heavy_hitters_over_tcp(test):
    """A stream of whole messages of version 10, as many records as rows."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        url = f'ipfix+tcp://127.0.0.1:{server.getsockname()[1]}'
        process = test.start('run', '--synthetic', 'flows=1000,packets=100K', '--interval', '0', '--output', url,
                             '--top', '500')
        server.settimeout(20)
        client, _ = server.accept()
        with client:
            client.settimeout(20)
            stream = b''.join(iter(lambda: client.recv(65536), b''))
        assert test.wait(process).status == 0
    records, at, last = 0, 0, 0
    while at < len(stream):
        version, length = int.from_bytes(stream[at:at + 2], 'big'), int.from_bytes(stream[at + 2:at + 4], 'big')
        assert version == 10 and 16 < length <= 1400 and at + length <= len(stream)
        sequence = int.from_bytes(stream[at + 8:at + 12], 'big')
        assert sequence >= last and (records > 0 or sequence == 0)
        records, last, at = records + 1, sequence, at + length
    assert at == len(stream) and last >= 400, (records, last)


def test_bad_urls(test):
    for arguments, part in (
            (('--stats', 'ipfix://127.0.0.1:1'), 'heavy hitters (--output) and records (--flows) alone'),
            (('--output', 'json:ipfix://127.0.0.1:1'), 'names a format'),
            (('--output', 'ipfix://127.0.0.1:0'), 'port'),
            (('--output', 'ipfix://:1'), 'names no host'),
            (('--output', 'ipfix+tcp://[::1:1'), 'names no host'),
            (('--output', 'ipfix://127.0.0.1:1', '--append'), 'only on a file')):
        test.run('--synthetic', 'flows=10,packets=10', *arguments).expect(2).expect_one_line(part)

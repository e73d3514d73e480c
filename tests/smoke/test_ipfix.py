# SPDX-License-Identifier: BSD-3-Clause
"""--flows and --output to an IPFIX collector: other programs read the same records as --flows."""

import contextlib
import json
import os
import socket
import sys
import time

import exports
import lib
import net
import peers
import receivers
import test_collect_live

LONG = ('section',)

FLOWS = ('epoch,measurement,start,src_ip,dst_ip,src_port,dst_port,proto,packets,bytes,first,last,tcp_flags,'
         'ended').split(',')
DELIVERIES = ('epoch,start,end,export,kind,rows,delivered,acknowledged,failed,unknown,dropped,spooled,waiting,oldest,'
              'retries,reconnects,bytes').split(',')


def account(path, export):
    """Returns the sums of --deliveries over an export; every row must balance."""
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


def send(test, path, receivers, *arguments, status=0):
    """Sends a capture; returns (rows of --flows, delivery sums of the receivers)."""
    flows, deliveries = test.path('flows.csv'), test.path('deliveries.csv')
    urls = [receiver.url for receiver in receivers]
    test.run('--pcap', path, '--sketch', 'flow-table', '--flows', flows, *(word for url in urls for word in
             ('--flows', url)), '--output', os.devnull, '--deliveries', deliveries, *arguments).expect(status)
    return lib.read_csv(flows, FLOWS), [account(deliveries, url) for url in urls]


def of(kind):
    def check(test):
        """Every record with packets, times and flags; bytes of IP packets by key; no gap in the
        sequence."""
        path = lib.unpack(test, 'many flows')
        receiver = kind(test)
        rows, accounts = send(test, path, [receiver], '--interval', '10s')
        assert accounts[0]['delivered'] == accounts[0]['rows'] == len(rows) > 1000
        compare(rows, receiver, receivers.octets_of(test, path))
    return check


def compare(rows, receiver, octets):
    records = receiver.finish()
    got, want = (receivers.by_time(map(receiver.knows, some)) for some in (records, map(receivers.of_flows, rows)))
    assert got == want, (len(records), len(rows), [
        (key, got.get(key), want.get(key)) for key in got.keys() | want.keys() if got.get(key) != want.get(key)][:3])
    assert len(records) == len(rows) or not receiver.each, (len(records), len(rows))
    sums = receivers.sums_of(records)
    assert sums == octets, (receiver.name, [(key, sums.get(key), octets.get(key)) for key in sums.keys() | octets.keys()
                                            if sums.get(key) != octets.get(key)][:3])


def capture(entry, kinds):
    def check(test):
        """A capture sent to all receivers at once."""
        path = lib.unpack(test, entry['file'])
        everybody = []
        for kind in kinds:
            with contextlib.suppress(lib.Skip):  # a missing receiver is skipped in its own test
                everybody.append(kind(test))
        collector = receivers.Collect(test)
        damaged = entry['expected'] != 'measured'
        rows, _ = send(test, path, [*everybody, collector], status=1 if damaged else 0)
        octets = receivers.octets_of(test, path)
        assert len(octets) == int(entry['keys']) == len({lib.row_key(row) for row in rows})
        too_slow = []
        for receiver in everybody:
            try:
                compare(rows, receiver, octets)
            except lib.Skip as reason:
                too_slow.append(str(reason))
        assert collector.finish() == octets
        if too_slow:
            test.skip('; '.join(too_slow))
    return check


def cases(settings):
    # GoFlow2 is not packaged in Debian: only with --full.
    kinds = [kind for kind in receivers.OTHERS if settings.full or kind is not receivers.Goflow2]
    yield from ((f'{kind.name} has every record', of(kind)) for kind in kinds)
    usual = [lib.file_of(settings.traces, role) for role in ('ipv6', 'padded')]
    for entry in lib.index(settings.traces):
        if entry['expected'] != 'refused' and (settings.full or entry['file'] in usual):
            yield f'receivers of {os.path.basename(entry["file"])}', capture(entry, kinds)


def test_own_collector(test):
    """Each flow with its packets and bytes; no sequence number is missing, and the rate is 1:1."""
    path = lib.unpack(test, 'many flows')
    collector = receivers.Collect(test)
    send(test, path, [collector], '--interval', '10s')
    assert collector.finish() == receivers.octets_of(test, path)


def test_handed_on(test):
    """Records that a collector forwards to nfcapd keep the layer 3 bytes of its exporter (--design
    async)."""
    path = lib.unpack(test, 'many flows')
    receiver = receivers.Nfcapd(test)
    collector = test_collect_live.Listening(test, '--sketch', 'flow-table', '--flows', receiver.url)
    test.run('--pcap', path, '--sketch', 'flow-table', '--design', 'async', '--flows',
             f'ipfix://127.0.0.1:{collector.port}', '--output', os.devnull).expect(0)
    collector.read_all()
    collector.finish()
    assert receivers.sums_of(receiver.finish()) == receivers.octets_of(test, path)


def test_heavy_prefixes(test):
    """Keys that are prefixes: another sketchtap reads them like addresses."""
    hitters = test.path('hitters.csv')
    collector = test_collect_live.Listening(test, '--key', 'src/24/48', '--top', '1K')
    test.run('--pcap', lib.unpack(test, 'many flows'), '--key', 'src/24/48',
             '--interval', '0', '--top', '1K', '--output', hitters, '--output',
             f'ipfix://127.0.0.1:{collector.port}').expect(0)
    collector.read_all()
    rows, _, _, _ = collector.finish()
    sent = [(row['src_ip'], row['packets']) for row in lib.read_output(hitters)]
    assert sorted((row['src_ip'], row['packets']) for row in rows) == sorted(sent) != [], sent


def test_nobody_there(test):
    """Refused rows count as failed, with a warning and exit status 1."""
    deliveries, port = test.path('deliveries.csv'), peers.free_port()
    url = f'ipfix://127.0.0.1:{port}'
    result = test.run('--synthetic', 'flows=1000,packets=100K', '--interval', '0', '--output', url, '--top', '100',
                      '--deliveries', deliveries).expect(1)
    sums = account(deliveries, url)
    assert sums['rows'] == 100 and sums['failed'] + sums['delivered'] == 100 and sums['failed'] > 0, sums
    assert url in result.stderr, result.stderr


RECEIVE = """
import socket, sys
server = socket.socket(type=socket.SOCK_DGRAM)
server.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
server.bind(('127.0.0.1', 4739))
print('there', flush=True)
while True:
    print(len(server.recv(65535)), flush=True)
"""


def test_a_small_mtu(test):
    """Datagrams fit the path MTU from the start: none is lost or fragmented."""
    space, flows, deliveries = net.Namespace(test), test.path('flows.csv'), test.path('deliveries.csv')
    space.set('lo', 'mtu', 1280, 'up')
    receiver = test.start(program=[sys.executable, '-c', RECEIVE], inside=space)
    said = os.path.join(receiver.directory, 'stdout')
    test.until(lambda: lib.read_text(said), 'a receiver')
    result = test.wait(test.start('--synthetic', 'flows=3000,packets=100K,rate=100K,ipv6=0.3', '--interval', '200ms',
                                  '--sketch', 'flow-table', '--flows', flows, '--flows', 'ipfix://127.0.0.1', '--output',
                                  os.devnull, '--deliveries', deliveries, inside=space)).expect(0)
    sums = account(deliveries, 'ipfix://127.0.0.1')
    assert sums['rows'] == sums['delivered'] == len(lib.read_csv(flows, FLOWS)), (sums, result.describe())
    lengths = [int(line) for line in lib.read_text(said).split()[1:]]
    assert 1000 < max(lengths) <= 1280 - 28, max(lengths)


def test_heavy_hitters_over_tcp(test):
    """A stream of complete messages of version 10."""
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
    records, at, last = 0, 0, {0: 0, 1: 0}
    while at < len(stream):
        version, length = int.from_bytes(stream[at:at + 2], 'big'), int.from_bytes(stream[at + 2:at + 4], 'big')
        assert version == 10 and 16 < length <= 1400 and at + length <= len(stream)
        sequence, domain = (int.from_bytes(stream[at + part:at + part + 4], 'big') for part in (8, 12))
        assert sequence >= last[domain] and (records > 0 or sequence == 0)
        records, last[domain], at = records + 1, sequence, at + length
    assert at == len(stream) and last[1] >= 400 and last[0] == 1, (records, last)


def test_section(test):
    """Keys of [export]: the interface index, and the maximum number of datagrams per second."""
    recorder, config = peers.Recorder(test), test.path('exports.conf')
    url = f'ipfix://127.0.0.1:{recorder.port}'
    with open(config, 'w', encoding='ascii') as file:
        file.write(f'[export records]\nwhat = flows\nurl = {url}\ninterface-index = 7\nrate = 200\n')
    begin = time.monotonic()
    path = lib.unpack(test, 'many flows')
    test.run('--pcap', path, '--idle', 'sleep', '--config', config, '--sketch', 'flow-table', '--output', os.devnull).expect(0)
    took, datagrams, templates = time.monotonic() - begin, recorder.datagrams(), {}
    for _, _, data in datagrams:
        domain = int.from_bytes(data[12:16], 'big')
        for record in exports.message(data, templates.setdefault(domain, {})):
            assert record.get('input', 7) == 7 and record.get('output', 0) == 0, record
    assert len(datagrams) > 50 and took > 0.9 * (len(datagrams) - 1) / 200, (took, len(datagrams))
    with open(config, 'w', encoding='ascii') as file:
        file.write(f'[export records]\nwhat = flows\nurl = {url.replace("ipfix", "ipfix+tcp")}\nrate = 100\n')
    test.run('--synthetic', 'flows=10,packets=10', '--config', config, '--sketch', 'flow-table').expect(
        2).expect_one_line('rate', 'has no effect')


def named_rows(test, path):
    """Rows of a capture's records, sent to a socket with GoFlow2's names."""
    config = test.path('named.conf')
    with socket.create_server(('127.0.0.1', 0)) as server:
        url = f'tcp://127.0.0.1:{server.getsockname()[1]}'
        with open(config, 'w', encoding='ascii') as file:
            file.write(f'[export records]\nwhat = flows\nurl = {url}\nformat = json\nnames = goflow2\n')
        process = test.start('--pcap', path, '--config', config, '--sketch', 'flow-table', '--interval', '10s',
                             '--output', os.devnull, '--seed', '1')
        server.settimeout(20)
        client, _ = server.accept()
        with client:
            client.settimeout(20)
            text = b''.join(iter(lambda: client.recv(65536), b''))
        assert test.wait(process).status == 0
    return [json.loads(line) for line in text.splitlines()]


def test_names_of_goflow2(test):
    """names = goflow2: equal to GoFlow2's JSON of the same records, field by field, to the ms."""
    path = lib.unpack(test, 'many flows')
    rows = named_rows(test, path)
    octets = receivers.octets_of(test, path)
    sums, flows = {}, test.path('named.csv')
    test.run('--pcap', path, '--sketch', 'flow-table', '--interval', '10s', '--flows', flows, '--output',
             os.devnull, '--seed', '1').expect(0)
    for row, flow in zip(rows, lib.read_csv(flows, FLOWS), strict=True):
        key = (row['src_addr'], row['dst_addr'], str(row['src_port']), str(row['dst_port']), flow['proto'])
        assert (key, row['packets'], row['tcp_flags']) == (
            lib.row_key(flow), int(flow['packets']), int(flow['tcp_flags'])), (row, flow)
        assert row['time_flow_start_ns'] // 1000000 == receivers.milliseconds(flow['first']), (row, flow)
        exports.add(sums, key, row['packets'], row['bytes'])
    assert sums == octets
    if not test.settings.full:
        return
    collector = receivers.Goflow2(test, 'proto')
    send(test, path, [collector], '--interval', '10s')
    theirs = collector.rows()

    def comparable(row):
        some = {name: row[name] for name in rows[0] if name not in ('time_received_ns', 'sequence_num')}
        return sorted({**some, **{name: row[name] // 1000000 for name in some if name.startswith('time')}}.items())

    assert sorted(map(comparable, theirs)) == sorted(map(comparable, rows))


def test_bad_names(test):
    config = test.path('bad.conf')
    for what, url, part in (('stats', 'tcp://127.0.0.1:1', 'only columns of flow records'),
                            ('flows', 'file', 'not for files')):
        with open(config, 'w', encoding='ascii') as file:
            file.write(f'[export x]\nwhat = {what}\nurl = {url}\nformat = json\nnames = goflow2\n')
        test.run('--synthetic', 'flows=10,packets=10', '--sketch', 'flow-table', '--config', config).expect(
            2).expect_one_line(part)


def test_bad_urls(test):
    for arguments, part in (
            (('--stats', 'ipfix://127.0.0.1:1'), 'heavy hitters (--output) and records (--flows) only'),
            (('--output', 'json:ipfix://127.0.0.1:1'), 'IPFIX is a format'),
            (('--output', 'ipfix://127.0.0.1:0'), 'port'),
            (('--output', 'ipfix:127.0.0.1:4739'), 'write ipfix://HOST[:PORT]; a file of this name is ./ipfix:127'),
            (('--output', 'ipfix://:1'), 'no host'),
            (('--output', 'ipfix+tcp://[::1:1'), 'no host'),
            (('--output', 'ipfix://127.0.0.1:1', '--append'), 'on URLs, only on a file')):
        test.run('--synthetic', 'flows=10,packets=10', *arguments).expect(2).expect_one_line(part)

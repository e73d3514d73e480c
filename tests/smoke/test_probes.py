# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect with probes on a campus uplink: pmacct and softflowd, compared with tshark and
nfdump."""

import os
import subprocess

import collected
import exports
import lib
import net
import peers
import test_exporters

LONG = ('softflowd_sampled_on_a_lan',)

UPLINK = 'uplink'
LAN = 'mix'  # both ends of many connections are in one network
FIELDS = ('srcaddr', 'dstaddr', 'srcport', 'dstport', 'protocol', 'packets', 'octets')


def truth_of(test):
    """Returns {5-tuple: (packets, layer 3 bytes)}; the uplink has neither VLANs nor IPv6."""
    sums = {}
    for _, frame in exports.frames(lib.unpack(test, UPLINK)):
        length = exports.struct.unpack_from('>H', frame, 16)[0]
        exports.add(sums, peers.softflowd_flow(frame, 0)[0], 1, length)
    return sums


def pmacctd(test, port, *settings):
    """Runs pmacctd on the capture to its end; it waits some seconds for its plugin."""
    name = test.path('pmacctd.conf')
    with open(name, 'w', encoding='ascii') as stream:
        stream.write('\n'.join((
            'daemonize: false', f'pcap_savefile: {lib.unpack(test, UPLINK)}', f'pidfile: {test.path("pmacctd.pid")}',
            'plugin_buffer_size: 102400', 'plugin_pipe_size: 102400000', *settings, '')).replace('PORT', str(port)))
    result = test.run('-f', name, program=[peers.needs(test, 'pmacctd')])
    # Status 1 if its plugin ended before the request to end.
    assert result.status in (0, 1) and 'Shutting down on user request' in result.stdout + result.stderr, (
        result.describe())


def nfprobe(test, form):
    settings = ('plugins: nfprobe[p]', 'nfprobe_receiver: 127.0.0.1:PORT', 'nfprobe_timeouts: maxlife=3600',
                f'nfprobe_version: {dict(v5=5, v9=9, ipfix=10)[form]}',
                'aggregate[p]: src_host,dst_host,src_port,dst_port,proto,tos')
    return peers.recorded(test, f'nfprobe-{form}', form, lambda port: pmacctd(test, port, *settings))


def sfprobe(test, rate):
    settings = ('plugins: sfprobe[p]', 'sfprobe_receiver: 127.0.0.1:PORT', 'sfprobe_agentip: 192.0.2.9',
                f'sampling_rate: {rate}')
    return peers.recorded(test, f'sfprobe-{rate}', 'sflow', lambda port: pmacctd(test, port, *settings))


def pmacct(form):
    def check(test):
        """pmacct fills datagrams less than softflowd, and follows all specifications."""
        path = nfprobe(test, form)
        rows, _, exporters, result = collected.collect(test, '--pcap', path, *peers.EVERYTHING)
        truth = truth_of(test)
        collected.check_equal(rows, truth)
        test_exporters.nothing_wrong(exporters, result, protocol=form, records=len(truth),
                                     sent=test_exporters.count_datagrams(path))
        theirs = peers.nfcapd(test, form, path)
        assert (theirs['packets'], theirs['bytes'], theirs['errors']) == (*test_exporters.sums(truth), 0), theirs
    return check


def test_pmacct_sflow(test):
    """pmacct does not send its last datagram; the others have each packet, from the first on."""
    path = sfprobe(test, 1)
    rows, ledger, _, _ = collected.collect(test, '--pcap', path, *peers.EVERYTHING)
    count = lib.total(ledger, 'measured')
    truth = {}
    for number, (_, frame) in enumerate(exports.frames(lib.unpack(test, UPLINK))):
        if number < count:
            length = exports.struct.unpack_from('>H', frame, 16)[0]
            exports.add(truth, peers.softflowd_flow(frame, 0)[0], 1, length)
    all_packets = int(lib.entry_of(test.traces, UPLINK)['packets'])
    assert all_packets - 50 < sum(figures[0] for figures in truth.values()) == count, count
    collected.check_equal(rows, truth)


def test_pmacct_sampled_sflow(test):
    """Every interval of the joint bounds holds the truth."""
    rows, ledger, exporters, _ = collected.collect(
        test, '--pcap', sfprobe(test, 10), *peers.EVERYTHING, '--confidence', '0.99999')
    assert (exporters[0]['sampling'], exporters[0]['sampling_source']) == ('10', 'sample'), exporters
    truth = truth_of(test)
    packets = test_exporters.sums(truth)[0]
    assert abs(lib.total(ledger, 'measured') - packets) < 5 * (9 * packets) ** 0.5, ledger
    assert len(rows) > 500, len(rows)
    check_within(rows, truth)


def check_within(rows, truth):
    for row in rows:
        true = truth[lib.row_key(row)][0]
        assert int(row['packets_low']) <= true <= int(row['packets_high']), (true, row)


def softflowd(test, form, *options):
    capture = lib.unpack(test, UPLINK)
    return peers.recorded(test, '-'.join(('uplink', form, *options)), form,
                          lambda port: peers.softflowd(test, capture, form, port, *options))


def sampled(form):
    def check(test):
        """softflowd takes every tenth packet and reports it: in headers of v5, in options of v9 and
        IPFIX."""
        path = softflowd(test, form, '-s', '10')
        _, ledger, exporters, _ = collected.collect(
            test, '--pcap', path, *peers.EVERYTHING, '--dedup', 'none')
        source = 'header' if form == 'v5' else 'options'
        assert (exporters[0]['sampling'], exporters[0]['sampling_source']) == ('10', source), exporters
        truth = truth_of(test)
        packets = test_exporters.sums(truth)[0]
        assert abs(lib.total(ledger, 'measured') - packets) <= 10, (ledger, packets)
        rows, best, _, _ = collected.collect(
            test, '--pcap', path, *peers.EVERYTHING, '--confidence', '0.99999')
        check_within(rows, truth)
        assert lib.total(best, 'measured') == lib.total(ledger, 'measured'), (best, ledger)
    return check


def test_softflowd_sampled_on_a_lan(test):
    """One observer, although it reports the two directions of a connection separately."""
    capture = lib.unpack(test, LAN)
    path = peers.recorded(test, 'lan-sampled', 'v9',
                          lambda port: peers.softflowd(test, capture, 'v9', port, '-s', '10'))
    totals = [collected.collect(test, '--pcap', path, *peers.EVERYTHING, '--dedup', method)[1]
              for method in ('best', 'none')]
    assert lib.total(totals[0], 'measured') == lib.total(totals[1], 'measured'), totals
    assert lib.total(totals[0], 'duplicate') == 0, totals


def test_softflowd_biflows(test):
    """Records with two directions; in some, only the reverse one has packets."""
    path = softflowd(test, 'ipfix', '-b')
    rows, _, exporters, result = collected.collect(test, '--pcap', path, *peers.EVERYTHING)
    truth = truth_of(test)
    packets = {key: figures[0] for key, figures in truth.items()}
    assert {lib.row_key(row): int(row['packets']) for row in rows} == packets
    test_exporters.nothing_wrong(exporters, result, protocol='ipfix', records=len(truth),
                                 sent=test_exporters.count_datagrams(path))


# ---- the same datagrams, read by other programs


def shark_records(test, path, fields):
    """Returns records as tuples of strings."""
    lines = peers.tshark(test, path, '-T', 'fields', '-E', 'aggregator=;',
                         *(f'-ecflow.{field}' for field in fields))
    return [record for line in lines if line.strip()
            for record in zip(*(part.split(';') for part in line.split('\t')), strict=True)]


def shark(form):
    def check(test):
        path = nfprobe(test, form)
        rows, _, _, _ = collected.collect(test, '--pcap', path, *peers.EVERYTHING, '--dedup', 'none')
        sums = {}
        for *ends, proto, packets, size in shark_records(test, path, FIELDS):
            # tshark prints the ports that hold ICMP type and code.
            ports = ends[2:] if proto in ('6', '17', '132') else ('0', '0')
            exports.add(sums, (*ends[:2], *ports, proto), int(packets), int(size))
        assert len(sums) > 2000, len(sums)
        collected.check_equal(rows, sums)
    return check


def test_tshark_and_sflow(test):
    """Only datagrams in which each sample has a single IP header: tshark prints no record numbers
    to separate others."""
    path = sfprobe(test, 10)
    lines = peers.tshark(test, path, '-T', 'fields', '-E', 'aggregator=;', '-eip.src', '-eip.dst', '-eip.proto',
                         '-eip.len', '-esflow.flow_sample.sampling_rate')
    chosen, sums = [], {}
    for frame, line in zip(exports.frames(path), lines, strict=True):
        *columns, rates = (part.split(';') for part in line.split('\t'))
        records = list(zip(*columns, strict=True))[1:]
        if len(records) != len(rates):
            continue
        chosen.append((frame[0] // 1000, frame[1]))
        for (src, dst, proto, length), rate in zip(records, rates, strict=True):
            exports.add(sums, (src, dst, '', '', proto), int(rate), int(rate) * int(length))
    assert len(chosen) > 0.9 * len(lines), (len(chosen), len(lines))
    rows, _, _, _ = collected.collect(test, '--pcap', lib.write_pcap(test.path('chosen.pcap'), chosen),
                                         *peers.EVERYTHING, '--dedup', 'none', '--key', 'src-dst,proto')
    got = {tuple(row[column] for column in lib.KEY_COLUMNS): (int(row['packets']), int(row['bytes'])) for row in rows}
    assert got == sums, [(key, got.get(key), sums.get(key)) for key in got.keys() | sums.keys()
                         if got.get(key) != sums.get(key)][:3]


def test_nfreplay(test):
    """IPFIX records stored by nfcapd, sent again as v9 by nfreplay."""
    program = peers.needs(test, 'nfreplay')
    path = nfprobe(test, 'ipfix')
    peers.nfcapd(test, 'ipfix', path)
    stored = [name for name in os.listdir(test.directory) if name.startswith('nfcapd.2')]
    assert len(stored) == 1, stored
    process, port, paths = test_exporters.listen(test)
    test.run('-r', test.path(stored[0]), '-H', '127.0.0.1', '-p', port, '-v', '9', '-d', '100',
             program=[program]).expect(0)
    rows, _, exporters, _, dropped = test_exporters.end(test, process, port, paths)
    assert dropped == 0 and exporters[0]['protocol'] == 'netflow9', exporters
    for column in ('malformed', 'unusable', 'unknown_template', 'waiting', 'lost_network'):
        assert exporters[0][column] == '0', exporters
    collected.check_equal(rows, truth_of(test))


def test_tcpreplay(test):
    """Recorded exports on a cable, interleaved as from two routers with the same packets."""
    path = nfprobe(test, 'ipfix')
    both = [(int(when) // 1000, peers.frame(router, 4739, 4739, data, '198.18.0.1'))
            for when, _, _, data in exports.datagrams(path) for router in ('198.18.0.2', '198.18.0.3')]
    capture = lib.write_pcap(test.path('both.pcap'), both)
    here = net.Namespace(test)
    here.veth('near', 'far')
    here.set('far', 'address', '02:02:02:02:02:02')
    here.ip('address', 'add', '198.18.0.1/24', 'dev', 'far')
    paths = [test.path(f'wire.{kind}') for kind in ('output', 'stats', 'exporters')]
    process = test.start('collect', '--listen', '198.18.0.1:4739', '--packets', len(both), '--output', paths[0],
                         '--stats', paths[1], '--exporters', paths[2], *peers.EVERYTHING, inside=here)
    net.wait_until_ready(test, process, paths[2])
    test.wait(here.tcpreplay('near', capture, 2000)).expect(0)
    test.wait(process).expect(0)
    truth = truth_of(test)
    collected.check_equal(lib.read_output(paths[0]), truth)
    rows = collected.read_exporters(paths[2])
    assert sorted(row['exporter'] for row in rows) == ['198.18.0.2', '198.18.0.3'], rows
    assert [int(row['records']) for row in rows] == [len(truth)] * 2, rows
    assert lib.total(rows, 'duplicate') == len(truth), rows
    assert lib.total(lib.read_stats(paths[1]), 'duplicate') == test_exporters.sums(truth)[0]


def test_libfixbuf(test):
    """Fields of variable length, counters of 2 to 5 bytes, and a template that another one
    replaces."""
    program, count = peers.fixbuf(test, 'fixbuf_export'), 1000

    def send(port):
        test.run(port, count, program=[program]).expect(0)

    path = peers.recorded(test, 'libfixbuf', 'ipfix', send)
    rows, _, exporters, result = collected.collect(test, '--pcap', path, *peers.EVERYTHING)
    truth = {(*ends, str(i), '443', '17'): (i + 1, 100 * (i + 1)) for i in range(count)
             for ends in (('10.0.0.0', '192.0.2.1'), ('10.2.0.0', '192.0.2.1'), ('2001::', '2001::1'))}
    collected.check_equal(rows, truth)
    test_exporters.nothing_wrong(exporters, result, protocol='ipfix', records=3 * count,
                                 sent=test_exporters.count_datagrams(path))


def cases(settings):
    found = []
    for form in ('v5', 'v9', 'ipfix'):
        found += [(f'pmacct {form}', pmacct(form)), (f'softflowd {form}, sampled', sampled(form)),
                  (f'tshark and {form}', shark(form))]
    return lib.some(settings, found)

# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap generate --export-format: exports of routers equal the traffic, for our decoder and
those of others."""

import hashlib
import os
import signal
import subprocess

import exports
import lib
import peers

SPEC = 'flows=500,zipf=1.0,size=100-1514,packets=12K,rate=500,ipv6=0.2,vlan=0.2,seed=5'
FORMATS = tuple(exports.PORTS)


def write(test, name, *options, spec=SPEC):
    path = test.path(name)
    test.run('generate', '--synthetic', spec, '--output', path, *options).expect(0)
    return path


def truth(test, form):
    sums = exports.traffic(write(test, 'traffic.pcap'))
    return {key: figures for key, figures in sums.items() if form != 'v5' or ':' not in key[0]}


def case(form):
    def check(test):
        true = truth(test, form)
        every = exports.by_router(exports.read(write(test, 'every.pcap', '--as', form, '--routers', '3'), form))
        assert sorted(every) == ['192.0.2.1', '192.0.2.2', '192.0.2.3'], sorted(every)
        for router, sums in every.items():
            assert sums == true, f'{router} and the traffic differ'
        some = exports.by_router(exports.read(
            write(test, 'some.pcap', '--as', form, '--routers', '5', '--path', '2'), form))
        seen = {}
        for sums in some.values():
            for key, figures in sums.items():
                assert figures == true[key], (key, figures, true[key])
                seen[key] = seen.get(key, 0) + 1
        assert seen == dict.fromkeys(true, 2), 'routers on the way'
    return check


def test_mistakes(test):
    for options, *mentions in (
            (('--as', 'v9', '--routers', '2', '--path', '3'), '--path', 'routers=3'),
            (('--routers', '2'), '--routers', 'without --export-format'),
            (('--as', 'v5', '--sampling', '16384'), '--sampling', '16383'),
            (('--as', 'v9', '--drop', '1'), '--drop'),
            (('--as', 'v10'), '--as', 'netflow5, netflow9, ipfix, sflow')):
        test.run('generate', '--synthetic', SPEC, '--output', '-', *options).expect(2).expect_one_line(*mentions)


def test_the_same_every_time(test):
    def digest(name, *options):
        with open(write(test, name, '--as', 'ipfix', '--routers', '3', *options), 'rb') as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    sampled = digest('a', '--sampling', '3', '--drop', '10%')
    assert sampled == digest('b', '--sampling', '3', '--drop', '10%')
    assert sampled != digest('c', '--sampling', '3', '--drop', '60%')


def test_endless_traffic_without_exports_ends(test):
    """v5 cannot export IPv6."""
    process = test.start('generate', '--synthetic', 'ipv6=1,packets=0', '--as', 'v5', '--output', test.path('none.pcap'))
    test.until(lambda: os.path.exists(test.path('none.pcap')), 'it has begun')
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    assert exports.read(test.path('none.pcap'), 'v5') == []


def test_on_a_port(test):
    """--packets and --duration refer to datagrams."""
    result = test.run('generate', '--synthetic', SPEC, '--as', 'v9', '--port', 'net_null0', '--eal', '--no-pci',
                      '--packets', '20').expect(0)
    assert 'sent 20 packets' in result.stderr, result.describe()
    path = write(test, 'short.pcap', '--as', 'v9', '--duration', '8s')
    times = [when for when, *_ in exports.datagrams(path)]
    assert 10 < len(times) and times[-1] - times[0] < 8 * 10**9, len(times)


# ---- decoders of other projects


def peer(form, sampling):
    def check(test):
        true = truth(test, form)
        packets, size = (sum(figures[i] for figures in true.values()) for i in (0, 1))
        path = write(test, 'exports.pcap', '--as', form, '--routers', '4', '--path', '2', '--sampling', str(sampling))
        said = peers.nfcapd(test, form, path)
        got = said['packets'], said['bytes']
        assert said['errors'] == said['bad'] == 0, said
        if sampling == 1:
            assert got[0] == 2 * packets, (got, 2 * packets)
            # sfcapd counts bytes of frames.
            assert got[1] == 2 * size or form == 'sflow', (got, 2 * size)
        else:
            # Five standard deviations of the binomial, times the interval.
            error = 5 * (2 * packets * (sampling - 1)) ** 0.5
            assert abs(got[0] - 2 * packets) < error, (got, 2 * packets, error)
    return check


def goflow2(form):
    def check(test):
        true = truth(test, form)
        path = write(test, 'exports.pcap', '--as', form, '--routers', '4', '--path', '2')
        got = peers.goflow2(test, form, path)
        assert set(got) == set(true), len(set(got) ^ set(true))
        for key, (packets, size) in true.items():
            assert got[key][0] == 2 * packets, (key, got[key], packets)
            # For sFlow, GoFlow2 counts bytes of frames.
            assert got[key][1] == 2 * size or form == 'sflow', (key, got[key], size)
    return check


def cases(settings):
    found = [(form, case(form)) for form in FORMATS]
    found += [(f'{form} for GoFlow2', goflow2(form)) for form in FORMATS]
    found += [(f'{form} for nfdump', peer(form, 1)) for form in FORMATS]
    # nfcapd 1.7.1 ignores the sampling interval of v9 and IPFIX.
    found += [(f'sampled {form} for nfdump', peer(form, 7)) for form in ('v5', 'sflow')]
    return lib.some(settings, found)


def shark(test, path, *arguments):
    result = subprocess.run(
        [peers.needs(test, 'tshark'), '-n', '-r', path, '-d', 'udp.port==2055,cflow', '-o', 'ip.check_checksum:TRUE',
         '-o', 'udp.check_checksum:TRUE', *arguments], capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def test_tshark_agrees(test):
    """Field by field; no datagram is malformed, and all checksums are correct."""
    names = ('cflow.srcaddr', 'cflow.dstaddr', 'cflow.srcport', 'cflow.dstport', 'cflow.packets', 'cflow.octets',
             'cflow.inputint', 'cflow.outputint')
    ours = ('src_ip', 'dst_ip', 'src_port', 'dst_port', 'packets', 'bytes', 'input', 'output')
    for form in ('v5', 'v9', 'ipfix'):
        path = write(test, f'{form}.pcap', '--as', form, '--routers', '2', '--sampling', '5',
                     spec=SPEC.replace('ipv6=0.2', 'ipv6=0'))
        assert not shark(test, path, '-Y', '_ws.malformed || udp.checksum.status == 0 || ip.checksum.status == 0')
        columns = shark(test, path, '-T', 'fields', '-E', 'aggregator=;', *(f'-e{name}' for name in names))
        theirs = [tuple(record) for line in columns for record in zip(*(part.split(';') for part in line.split('\t')))]
        records = [record for _, record in exports.read(path, form) if 'key' in record]
        assert len(records) > 500, len(records)
        for record in records:
            record.update(zip(ours, record['key'][:4]))
        assert theirs == [tuple(str(record[name]) for name in ours) for record in records], form


def test_tshark_reads_the_interval(test):
    for form, field, value in (('v5', 'cflow.samplerate', '5'), ('v9', 'cflow.sampling_interval', '5'),
                               ('ipfix', 'cflow.sampling_packet_space', '4'),
                               ('sflow', 'sflow.flow_sample.sampling_rate', '5')):
        path = write(test, f'{form}.pcap', '--as', form, '--sampling', '5')
        lines = shark(test, path, '-T', 'fields', f'-e{field}')
        said = {part for line in lines for part in line.split(',') if part}
        assert said == {value}, (form, said)

# SPDX-License-Identifier: BSD-3-Clause
"""The fault matrix of sketchtap collect: each pitfall and fault by name, with the counter that it
increments.

In each capture, a steady exporter sends next to the faulty one: all its records must count.
"""

import csv
import functools
import json
import os
import random
import re
import signal
import struct

import held_disk
import lib
from datagrams import (
    APPLICATION, BYTES, DIRECTION, DPORT, DST, DST6, FIELDS, FLAGS, INPUT, INTERVAL, IPFIX, KEY, NAME,
    OUTPUT, PACKETS, PADDING, PROTO, REVERSE, SAMPLER, SAMPLER_INTERVAL, SETS, SPORT, SRC, SRC6, START,
    TOTAL_BYTES, TOTAL_PACKETS, V9, VARIABLE, Capture, Flow, Router, a_set, fragments, frame, ipv4, packed,
    rows, sender, tcp_frame, udp, v5_record)
from collected import EXPORTER_COLUMNS, LINK_COLUMNS, collect, read_exporters

PROTOCOLS = ('v5', 'v9', 'ipfix', 'sflow')
NAMES = {'v5': 'netflow5', 'v9': 'netflow9', 'ipfix': 'ipfix', 'sflow': 'sflow'}
FAULTY = '192.0.2.1'
STEADY = '192.0.2.200'
STEADY_FLOWS = 60000
COUNTS = EXPORTER_COLUMNS[7:8] + EXPORTER_COLUMNS[9:24]  # without byte columns
# If one of them is not 0, packets of unknown keys may be missing.
UNKNOWN = ('waiting', 'unknown_template', 'unusable', 'malformed', 'shed', 'lost_network', 'lost_socket')
OTHERS = ('others', '', '')
SENDERS = 64  # rows per epoch for senders of unreadable datagrams
# Small tables: three flow tables of 1 M flows are not needed.
SMALL = ('--sketch', 'flow-table', '--memory', '8MB', '--top', '1M', '--observed-flows', '64K')

CASES = lib.Cases()
case, each, cases = CASES.case, CASES.each, CASES.some


def row_of(router):
    return router.address, str(router.domain), NAMES[router.protocol]


class World:
    """A capture and its expected counts: each added datagram states the columns that it changes."""

    def __init__(self, test, seconds=10, epochs=False, steady=True):
        self.test = test
        self.epochs = epochs
        self.capture = Capture()
        self.expected = {}  # {(epoch, row): {column: count}}
        self.flows = {}     # {(epoch, key): packets}
        self.estimated = False  # true: bounds of sampled records are not compared
        self.unknown = set()  # epochs without bounds, in addition to those with UNKNOWN counts
        self.harmless = False  # true: unusable records hide no packets
        self.templates = {}
        self.sampling = {}
        self.names = {}
        if steady:
            router = Router('v9', STEADY, 7)
            for i in range(2 * seconds):
                flow = Flow(STEADY_FLOWS + i, 3)
                self.add(router, i / 2 + 0.25, router.message(i / 2 + 0.25, [flow], i == 0), [flow])

    def epoch(self, when):
        return int(when) if self.epochs else 0

    def expect(self, row, epoch=0, **columns):
        counts = self.expected.setdefault((epoch, row), dict.fromkeys(COUNTS, 0))
        for column, count in columns.items():
            counts[column] += count

    def counts(self, when, flow, packets):
        place = self.epoch(when), flow.key()
        self.flows[place] = self.flows.get(place, 0) + packets

    def note(self, when, row, flows=(), unusable=0, duplicate=0, **columns):
        """flows: those whose records count. duplicate: number of further records, which do not."""
        for flow in flows:
            self.counts(when, flow, flow.packets)
        self.expect(row, self.epoch(when), records=len(flows) + unusable + duplicate, counted=len(flows),
                    unusable=unusable, duplicate=duplicate, **columns)

    def add(self, router, when, payload, flows=(), src=None, port=2055, source_port=50000, row=None, **columns):
        self.capture.add(when, src or router.address, payload, port=port, source_port=source_port)
        self.note(when, row or row_of(router), flows, datagrams=1, **columns)

    def stray(self, when, src, payload, row=None, **columns):
        """A datagram without a readable header. It counts in its sender's row if it is malformed,
        else in others."""
        self.capture.add(when, src, payload)
        own = (src, '', '') if columns.get('malformed') else OTHERS
        self.note(when, row or own, datagrams=1, **columns)

    def run(self, *options, said=(), everything=True):
        """said: a part of each expected line on standard error."""
        path = self.capture.write(self.test.path(f'capture{len(self.test.processes)}.pcap'))
        table = SMALL if everything else ()
        rows, ledger, exporters, result = collect(
            self.test, '--pcap', path, *table, '--interval', '1s' if self.epochs else '0', *options)
        check_said(result, said)
        self.check_reasons(result)
        self.check_rows(exporters)
        self.check_flows(rows)
        measured = sum(self.flows.values())
        assert self.estimated or lib.total(ledger, 'measured') == measured, (measured, ledger)
        return rows, ledger, exporters, result

    def check_reasons(self, result):
        """Checks that each count of --exporters has a reason, and that no exporter reports one
        twice."""
        found = reasons(result)
        named = [(exporter, what) for exporter, what, _ in found if exporter]
        assert len(set(named)) == len(named), f'named twice: {named}'
        last = max((epoch for epoch, _ in self.expected), default=0)
        for column, pattern in KINDS:
            got = sum(count for _, what, count in found if re.match(pattern, what))
            wanted = sum(counts[column] for (epoch, _), counts in self.expected.items()
                         if column != 'waiting' or epoch == last)
            if column == 'waiting':
                wanted += sum(counts['unknown_template'] for counts in self.expected.values())
            assert got == wanted, f'{column}: reasons of {got} instead of {wanted}\n{result.describe()}'

    def check_rows(self, exporters):
        got = {(int(row['epoch']), (row['exporter'], row['domain'], row['protocol'])): row for row in exporters}
        assert len(got) == len(exporters), 'a row comes twice'
        wanted = {place: counts for place, counts in self.expected.items() if any(counts.values())}
        assert got.keys() == wanted.keys(), (
            f'rows {sorted(map(str, got.keys() - wanted.keys()))[:5]} too many, '
            f'{sorted(map(str, wanted.keys() - got.keys()))[:5]} too few')
        for place, counts in wanted.items():
            row = got[place]
            moved = {column: int(row[column]) for column in COUNTS}
            assert moved == counts, f'{place}: ' + ', '.join(
                f'{column} is {moved[column]} instead of {counts[column]}' for column in COUNTS
                if moved[column] != counts[column]) + f'\n{row}'
            if place[1] in self.templates:
                assert int(row['templates']) == self.templates[place[1]], row
            if place[1] in self.sampling:
                assert (row['sampling'], row['sampling_source']) == self.sampling[place[1]], row
            if place[1] in self.names:
                assert row['name'] == self.names[place[1]], row

    def check_flows(self, rows):
        got = {(int(row['epoch']), lib.row_key(row)): int(row['packets']) for row in rows}
        wanted = {place: packets for place, packets in self.flows.items() if packets}
        assert got.keys() == wanted.keys(), (
            f'flows {list(got.keys() - wanted.keys())[:3]} too many, {list(wanted.keys() - got.keys())[:3]} too few')
        assert got == wanted, [(place, got[place], wanted[place]) for place in got if got[place] != wanted[place]][:5]
        unknown = self.unknown | {epoch for (epoch, _), counts in self.expected.items()
                                  if not self.harmless and any(counts[name] for name in UNKNOWN)}
        for row in rows:
            assert (int(row['epoch']) in unknown) == (row['confidence'] == '') == (row['packets_high'] == ''), row
            if not self.estimated:
                assert row['packets_low'] == row['packets'], row
                assert row['packets_high'] in ('', row['packets']), row


# A line with a reason: "exporter NAME: WHAT: WHY (COUNT UNITs); ADVICE".
REASON = re.compile(r'sketchtap: (?:warning: )?(?:exporter (?P<exporter>\S+): |other exporters: )?(?P<what>[^()]*.*) '
                    r'\((?P<count>\d+) (?P<unit>datagram|data set|record|sample|segment|packet)s?'
                    r'(?:, first from \S+)?\); ')
# The column of --exporters for each kind of reason.
KINDS = (('malformed', r'malformed|NetFlow v|sFlow version|IPFIX over|.* of the capture|fragments are missing'),
         ('refused', 'refused'), ('shed', 'ignored: more exporters'), ('waiting', 'data without a template'))


def reasons(result):
    """Returns [(exporter or None, what, count)] of the lines that give a reason."""
    found = (REASON.match(line) for line in result.said())
    return [(match['exporter'], match['what'], int(match['count'])) for match in found if match]


def check_said(result, parts):
    left = list(parts)
    for line in result.said():
        match = next((part for part in left if part in line), None)
        assert match is not None or REASON.match(line), f'unexpected: {line}\n{result.describe()}'
        if match is not None:
            left.remove(match)
    assert not left, f'missing lines: {left}\n{result.describe()}'


# ---- payloads that are not datagrams of a protocol


@case('unknown versions, and empty datagrams')
def unknown_versions(test):
    world = World(test)
    old = [struct.pack('>HH', version, 1) + bytes(60) for version in (1, 6, 7, 8)]
    old += [struct.pack('>III', version, 1, 1) + bytes(40) for version in (2, 4)]
    short = [b'\0\5', b'\0\0\0\5']
    none = [struct.pack('>HH', version, 1) + bytes(60) for version in (11, 0xffff)]
    none += [b'', b'\0', b'GET / HTTP/1.1\r\n\r\n']
    for i, payload in enumerate(old + short):
        world.stray(1 + i / 10, f'203.0.113.{i}', payload, malformed=1)
    for i, payload in enumerate(none):
        world.stray(2 + i / 10, f'203.0.113.{100 + i}', payload)
    # The same payload from a known exporter is a malformed datagram.
    world.stray(2, STEADY, none[0], malformed=1)
    _, _, _, result = world.run()
    got = {exporter: what for exporter, what, _ in reasons(result)}
    for i, what in enumerate(('NetFlow v1', 'NetFlow v6', 'NetFlow v7', 'NetFlow v8', 'sFlow version 2',
                              'sFlow version 4')):
        assert got[f'203.0.113.{i}'] == what + ': not supported', got
    assert got[None].startswith('not a known flow protocol'), got


@case('other protocols next to exports do not open bounds')
def beside_exports(test):
    world = World(test)
    question = bytes.fromhex('01000001000000000000') + b'\7example\3com\0\0\1\0\1'
    # some of them equal versions of exports
    for i, number in enumerate((0, 1, 2, 5, 7, 8, 9, 10, 0x1234)):
        world.capture.add_frame(1 + i / 10, frame(f'203.0.113.{i}', struct.pack('>H', number) + question, port=53))
    others = [
        bytes.fromhex('302902010104067075626c6963a01c020404030201020100020100300e300c06082b060102010101000500'),  # SNMP
        b'<134>Nov 27 10:00:00 router: link up',
        bytes.fromhex('20c80318000000010000000200030d4000030d4000000000'),  # BFD
        b'\0\3\0\1' + bytes(512), b'\0\4\0\1' + bytes(30),  # TFTP
        b'\x23' + bytes(47), b'\x80\0' + bytes(170), bytes(100), b'\xff' * 64,  # NTP, RTP
        random.Random(7).randbytes(300)]
    for i, payload in enumerate(others):
        world.capture.add_frame(1.5 + i / 100, frame('203.0.113.100', payload, port=(161, 514, 3784, 50069)[i % 4]))
        world.capture.add_frame(1.7 + i / 100, frame(STEADY, payload, port=(161, 514, 3784, 50069)[i % 4]))
        if payload[:2] not in (b'\0\3', b'\0\4'):
            world.capture.add_frame(1.9 + i / 100, frame('203.0.113.101', payload, port=2055))
    world.capture.add_frame(3, frame(STEADY, struct.pack('>H', 0x4321) + question, port=53))
    world.capture.add_frame(4, frame(STEADY, bytes(600), port=514), captured=90)
    world.capture.add_frame(4.1, fragments(STEADY, bytes(3000), port=2049)[0])
    path = world.capture.write(test.path('capture.pcap'))
    rows, _, exporters, result = collect(test, '--pcap', path, *SMALL, '--interval', '0')
    world.check_flows(rows)
    counts, = (count for _, what, count in reasons(result) if what.startswith('not a known flow protocol'))
    strange = 3 * len(others) - 2
    assert 4 + strange <= counts <= 10 + strange, result.describe()
    assert lib.total(exporters, 'datagrams') == 20 + 10 + strange, exporters


@each('IPFIX in a capture over', 'TCP', 'SCTP')
def streams(test, transport):
    """Streams are not read: each segment is counted with its reason, and bounds are open."""
    world = World(test)
    message = Router('ipfix', FAULTY).ipfix(1, IPFIX.template(), IPFIX.data([Flow(1, 2)]), count=1)
    for i in range(3):
        if transport == 'TCP':
            body = struct.pack('>HHIIBBHHH', 50000, 4739, 1 + i, 1, 0x50, 0x18, 512, 0, 0) + message
        else:
            body = struct.pack('>HHII', 50000, 4739, 7, 0) + struct.pack(
                '>BBHIHHI', 0, 3, 16 + len(message), i, 0, i, 0) + message
        world.capture.add_frame(1 + i, ipv4(FAULTY, body, proto={'TCP': 6, 'SCTP': 132}[transport]))
        world.note(1 + i, (FAULTY, '', ''), datagrams=1, malformed=1)
    # Segments without data, and one between others.
    world.capture.add_frame(5, ipv4(FAULTY, struct.pack('>HHIIBBHHH', 50000, 4739, 9, 1, 0x50, 0x10, 512, 0, 0),
                                    proto=6))
    world.capture.add_frame(6, ipv4(FAULTY, struct.pack('>HHIIBBHHH', 50000, 80, 9, 1, 0x50, 0x18, 512, 0, 0) +
                                    b'GET / HTTP/1.1', proto=6))
    world.run(said=[f'exporter {FAULTY}: IPFIX over {transport}: not supported (3 '])


@each('zeros after the records', *PROTOCOLS)
def trailing_zeros(test, protocol):
    """Zeros are padding, not damage; anything else is malformed."""
    world = World(test)
    for i, (zeros, damage) in enumerate(((1, b''), (8, b''), (48, b''), (100, b''), (8, b'\1'))):
        router, flows = Router(protocol, f'192.0.2.{i + 1}'), [Flow(10 * i + 1), Flow(10 * i + 2)]
        payload = router.message(1 + i, flows, protocol in SETS) + bytes(zeros) + damage
        world.add(router, 1 + i, payload, flows, malformed=damage != b'' and protocol != 'ipfix')
    world.run('--dedup', 'none')


def summed(packet):
    """Returns the IPv4 packet with its header checksum."""
    total = sum(struct.unpack('>10H', packet[:10] + bytes(2) + packet[12:20]))
    total = (total & 0xffff) + (total >> 16)
    return packet[:10] + struct.pack('>H', ~total & 0xffff) + packet[12:]


def sections_of(flow):
    """Returns {element: section of a packet of the flow}; the payload of 313 is in 314."""
    data = tcp_frame(flow)
    packet, label = summed(data[14:]), struct.pack('>I', 16 << 12 | 1 << 8 | 64)
    return {104: data, 313: packet, 314: packet[20:], 315: data, 316: label + packet, 317: packet}


@case('packets in records')
def packets_in_records(test):
    """Each record is one packet with its section. With a known interval the figures are exact."""
    world = World(test)
    fields = {element: [(302, 8), (element, VARIABLE)] for element in (313, 315, 316, 317)}
    fields[312] = [(312, 2), (315, 64)]
    fields[409] = [(409, 2), (409, 2), (313, 20), (314, 8)]
    fields[410] = [(410, 2), (313, 60)]
    for i, (kind, specifiers) in enumerate(fields.items()):
        router, flow = Router('ipfix', f'192.0.2.{i + 1}'), Flow(10 * i + 1)
        record = {**sections_of(flow), 302: 9, 312: 118, 410: 30}
        world.add(router, 1 + i, router.ipfix(1 + i, IPFIX.template(256, specifiers),
                                              IPFIX.data([record] * 2, fields=specifiers), count=2),
                  [flow, flow])
    router, flow = Router('v9', '192.0.2.100'), Flow(1000)
    specifiers = [(102, 2), (103, 2), (104, 64)]
    data = V9.data([{**sections_of(flow), 103: 64}], fields=specifiers)
    world.add(router, 9, router.v9(9, V9.template(256, specifiers), data, count=2), [flow])
    rows, _, _, _ = world.run('--exporter', '192.0.2.0/24,sampling=1', '--dedup', 'none', '--link-overhead', '0')
    assert {row['bytes'] for row in rows if row['packets'] == '2'} == {'200'}, rows


@case('packets in records without an interval')
def packets_without_interval(test):
    world = World(test)
    router, flow = Router('ipfix', FAULTY), Flow(1)
    fields = [(315, VARIABLE)]
    world.unknown.add(0)
    world.add(router, 1, router.ipfix(1, IPFIX.template(256, fields), IPFIX.data([sections_of(flow)], fields=fields),
                                      count=1), [flow])
    world.run(said=['samples packets and does not report its interval'])


@case('packets in records that are not read')
def packets_not_read(test):
    world = World(test)
    flow = Flow(1)
    unread = [
        ([(314, 20)], '314): not supported'),
        ([(408, 2), (315, 64)], '315): not supported'),
        ([(409, 2), (313, 20)], '313) that does not start at offset 0: not counted'),
        ([(313, 20)], 'sampled packets with a truncated or malformed header'),
        ([(315, 30)], 'sampled packets with a truncated or malformed header'),
        ([(316, 8)], 'sampled packets with a truncated or malformed header'),
    ]
    for i, (fields, _) in enumerate(unread):
        router = Router('ipfix', f'192.0.2.{i + 1}')
        record = {**sections_of(flow), 408: 2, 409: 20}
        data = IPFIX.data([record] * (i + 1), fields=fields)
        world.add(router, 1 + i, router.ipfix(1 + i, IPFIX.template(256, fields), data, count=i + 1),
                  unusable=i + 1)
    _, _, _, result = world.run()
    got = {exporter: (what, count) for exporter, what, count in reasons(result)}
    for i, (_, wanted) in enumerate(unread):
        what, count = got[f'192.0.2.{i + 1}']
        assert wanted in what and count == i + 1, got


@case('header protocols of sFlow')
def header_protocols(test):
    """Protocols that the parser reads count; each other one is reported once per exporter."""
    world = World(test)
    router = Router('sflow', FAULTY)
    flow = Flow(1)
    section = sections_of(flow)
    headers = {1: section[315], 7: b'\0\x21' + section[313], 10: section[313], 11: section[313], 13: section[316],
               14: b'\xff\3\0\x21' + section[313]}
    samples = [router.sample(flow, header=header, protocol=protocol) for protocol, header in headers.items()]
    world.add(router, 1, router.sflow(1, samples), [flow] * len(samples))
    names = {0: 'unknown', 2: 'token bus', 5: 'frame relay', 15: '802.11 MAC', 99: 'unknown'}
    unread = [router.sample(flow, header=section[315], protocol=protocol) for protocol in names] * 2
    world.add(router, 2, router.sflow(2, unread), unusable=len(unread))
    world.sampling[row_of(router)] = '1', 'sample'
    _, _, _, result = world.run('--dedup', 'none')
    got = {what: count for exporter, what, count in reasons(result) if exporter == FAULTY}
    assert got == {f'samples of header protocol {number} ({name}): not supported': 2
                   for number, name in names.items()}, got


@case('sample formats of sFlow')
def sample_formats(test):
    """Each unknown format is reported once per exporter; standard ones may hide packets."""
    world = World(test)
    for i in range(2):
        router, flow = Router('sflow', f'192.0.2.{i + 1}'), Flow(10 * i + 1)
        other = [struct.pack('>II', enterprise << 12 | number, 8) + bytes(8)
                 for enterprise, number in ((0, 6), (4413, 7), (4413, 7))]
        world.add(router, 1, router.sflow(1, [router.sample(flow), *other]), [flow], unusable=3)
        world.add(router, 2, router.sflow(2, other), unusable=3)
    _, _, _, result = world.run()
    for i in range(2):
        got = {what: count for exporter, what, count in reasons(result) if exporter == f'192.0.2.{i + 1}'}
        assert got == {'samples of format 0:6: not supported': 2, 'samples of format 4413:7: not supported': 4}, got


def whole_message(protocol, router, flows):
    """Returns (payload, end offsets of its records)."""
    payload = router.message(1, flows, protocol in SETS)
    if protocol == 'sflow':
        size = (len(payload) - 28) // len(flows)
    else:
        size = {'v5': 48}.get(protocol, 29)
    return payload, [len(payload) - size * i for i in reversed(range(len(flows)))]


@each('truncated at every length', *PROTOCOLS)
def cut(test, protocol):
    world = World(test)
    flows = [Flow(i + 1, 1 if protocol == 'sflow' else i + 1) for i in range(3)]
    # The length of an IPFIX message is in its header: nothing of a truncated message is used.
    header = {'v5': 24, 'v9': 20, 'ipfix': 1 << 16, 'sflow': 28}[protocol]
    senders = 0
    for length in range(len(whole_message(protocol, Router(protocol, FAULTY), flows)[0]) + 1):
        router = Router(protocol, f'10.99.{length >> 8}.{length & 255}')
        payload, ends = whole_message(protocol, router, flows)
        when = 1 + length / 1000
        if length < (4 if protocol == 'sflow' else 2):  # without a version it is not an export
            world.stray(when, router.address, payload[:length])
        elif length < min(header, len(payload)):
            senders += 1
            world.stray(when, router.address, payload[:length], row=OTHERS if senders > SENDERS else None, malformed=1)
        else:
            world.add(router, when, payload[:length], [flow for flow, end in zip(flows, ends) if end <= length],
                      malformed=length < len(payload))
    world.run('--dedup', 'none')


@case('counts that are too large')
def oversized_counts(test):
    world = World(test)
    flows = [Flow(1, 5), Flow(2, 7)]
    for i, count in enumerate((3, 30, 31, 65535)):
        router = Router('v5', f'192.0.2.{i + 1}')
        world.add(router, 1 + i, router.v5(1 + i, flows, count=count), flows, malformed=1)
        router = Router('v9', f'192.0.2.{i + 11}')
        world.add(router, 1 + i, router.v9(1 + i, V9.template(), V9.data(flows), count=max(count, 5)), flows,
                  malformed=1)
    for i, count in enumerate((3, 1000, 0x7fffffff, 0xffffffff)):
        router = Router('sflow', f'192.0.2.{i + 21}')
        once = [Flow(1), Flow(2)]
        world.add(router, 1 + i, router.sflow(1 + i, [router.sample(flow) for flow in once], count=count), once,
                  malformed=1)
    for i, length in enumerate((65535, 15, 0)):
        router = Router('ipfix', f'192.0.2.{i + 31}')
        world.stray(1 + i, router.address, router.ipfix(1 + i, IPFIX.template(), IPFIX.data(flows), length=length),
                    malformed=1)
    world.run('--dedup', 'none', said=['malformed: wrong record count'] * 4)


@case('counts that are too small')
def small_counts(test):
    world = World(test)
    flows = [Flow(1, 5), Flow(2, 7)]
    router = Router('v5', '192.0.2.1')
    world.add(router, 1, router.v5(1, flows, count=1), flows[:1], malformed=1)
    router = Router('sflow', '192.0.2.2')
    samples = [router.sample(flow) for flow in flows]
    world.add(router, 2, router.sflow(2, samples, count=1), [Flow(1)], malformed=1)
    # Bytes after an IPFIX message are not part of it.
    router = Router('ipfix', '192.0.2.3')
    payload = router.ipfix(3, IPFIX.template(), IPFIX.data(flows), count=2)
    world.add(router, 3, payload + b'what is this', flows)
    world.run('--dedup', 'none', said=['malformed: wrong record count'] * 2)


@each('a v9 count that disagrees', 'with the sets', 'but counts only data', 'but counts sets')
def v9_count(test, choice):
    world = World(test)
    router = Router('v9', FAULTY)
    flows = [Flow(i, 2) for i in range(1, 5)]
    count = {'with the sets': 77, 'but counts only data': 4, 'but counts sets': 2}[choice]
    world.add(router, 1, router.v9(1, V9.template(), V9.data(flows), count=count), flows, malformed=count == 77)
    world.run(said=['malformed: wrong record count'] if count == 77 else [])


# ---- sets


@each('sets of length', 0, 1, 2, 3)
def set_length(test, length):
    world = World(test)
    flows = [Flow(1, 2)]
    for i, protocol in enumerate(SETS):
        sets, router = SETS[protocol], Router(protocol, f'192.0.2.{i + 1}')
        wrong = sets.data([Flow(9, 9)], length=length)
        world.add(router, 1 + 2 * i, getattr(router, protocol)(
            1 + 2 * i, sets.template(), sets.data(flows), wrong, count=2), flows, malformed=1)
    world.run('--dedup', 'none', said=['malformed: a set has a length below 4'] * 2)


@case('sets that are longer than the datagram')
def long_set(test):
    world = World(test)
    flows = [Flow(1, 2), Flow(2, 3)]
    for i, protocol in enumerate(SETS):
        sets, router = SETS[protocol], Router(protocol, f'192.0.2.{i + 1}')
        payload = getattr(router, protocol)(1 + 2 * i, sets.template(), sets.data(flows, length=20000), count=3)
        world.add(router, 1 + 2 * i, payload, flows, malformed=1)
    world.run('--dedup', 'none', said=['malformed: a length exceeds the message'] * 2)


@case('sets of reserved numbers')
def reserved_sets(test):
    world = World(test)
    flow = Flow(1, 2)
    for i, number in enumerate((4, 100, 255)):
        for j, protocol in enumerate(SETS):
            sets, router = SETS[protocol], Router(protocol, f'192.0.2.{10 * j + i + 1}')
            payload = getattr(router, protocol)(1 + i, a_set(number, bytes(40)), sets.template(), sets.data([flow]),
                                                count=2)
            world.add(router, 1 + i + j / 10, payload, [flow], malformed=1)
    world.run('--dedup', 'none', said=['malformed: a set has a length below 4, or a reserved'] * 3)


@case('padding of sets and messages, including padding that looks like a set')
def padding(test):
    """Padding after the last record of a set is zero; other bytes may be a truncated record."""
    world = World(test)
    flows = [Flow(1, 2), Flow(2, 3)]
    template_like = V9.template(256, KEY)[:24]
    for i, inside in enumerate((bytes(3), bytes(28), b'\0\0\0\x04', b'\x01\0\0\x08abcd', template_like)):
        for j, protocol in enumerate(SETS):
            sets, router = SETS[protocol], Router(protocol, f'192.0.2.{10 * j + i + 1}')
            make = getattr(router, protocol)
            world.add(router, 1 + i, make(1 + i, sets.template(), sets.data(flows, padding=inside), count=3 - j), flows,
                      malformed=any(inside))
            more = [Flow(3, 4)]
            world.add(router, 1.1 + i, make(1.1 + i, sets.data(more), bytes(4 * i + 2), count=1), more)
    world.run('--dedup', 'none')


# ---- templates


@each('a template longer than the datagram', 3, 65535)
def long_template(test, count):
    """Its data waits for a complete template."""
    world = World(test)
    flows = [Flow(1, 2), Flow(2, 3)]
    for i, protocol in enumerate(SETS):
        sets, router = SETS[protocol], Router(protocol, f'192.0.2.{i + 1}')
        make = getattr(router, protocol)
        wrong = sets.template(256, FIELDS[:2], count=count)
        world.add(router, 1 + 2 * i, make(1 + 2 * i, wrong, count=1), malformed=1)
        world.add(router, 1.1 + 2 * i, make(1.1 + 2 * i, sets.data(flows), count=2), waiting=1)
        world.templates[row_of(router)] = 0
    world.run('--dedup', 'none', said=['malformed: a length exceeds the message'] * 2)


@each('a template of as many fields as a datagram holds', *SETS)
def many_fields(test, protocol):
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    flows = [Flow(1, 2), Flow(2, 3)]
    fields = [*FIELDS, *[(PADDING, 1)] * 15900, (FLAGS, 1)]
    world.add(router, 1, make(1, sets.template(300, fields), sets.template(), count=2 - 2 * sets.ipfix))
    world.add(router, 2, make(2, sets.data(flows[:1]), a_set(300, rows(fields, flows[1:])), count=2), flows)
    world.templates[row_of(router)] = 2
    world.run()


@each('a template of thousands of fields of length 0', *SETS)
def many_empty_fields(test, protocol):
    """Each byte of data would be a record of thousands of fields."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    fields = [*[(PADDING, 0)] * 15900, (FLAGS, 1)]
    world.add(router, 1, make(1, sets.template(300, fields), count=1 - sets.ipfix), malformed=1)
    world.add(router, 3, make(3, a_set(300, bytes(60000)), count=1), waiting=1)
    world.run(said=['malformed: a template has no fields'])


@each('a template without fields', *SETS)
def no_fields(test, protocol):
    """In IPFIX this withdraws the template. It is malformed in v9, but the old template is also
    removed."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make, flow = getattr(router, protocol), Flow(1, 2)
    world.add(router, 1, make(1, sets.template(), sets.data([flow]), count=2 - (protocol == 'ipfix')), [flow])
    world.add(router, 2, make(2, a_set(2 if sets.ipfix else 0, struct.pack('>HH', 256, 0)), count=1 - sets.ipfix),
              malformed=not sets.ipfix)
    world.add(router, 3, make(3, sets.data([Flow(2, 2)]), count=1), waiting=1)
    world.run(said=[] if sets.ipfix else ['malformed: a template has no fields'])


@each('a template that is redefined', *SETS)
def redefined(test, protocol):
    """Between datagrams, and between two sets of one datagram."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    other = [(BYTES, 4), *reversed(KEY), (FLAGS, 1), (PACKETS, 2)]
    flows = [Flow(i, i) for i in range(1, 9)]
    options = sets.ipfix  # IPFIX does not count templates as data records

    def send(when, count, *body, counted):
        world.add(router, when, make(when, *body, count=count), counted)

    send(1, 2 - options, sets.template(), sets.data(flows[:1]), counted=flows[:1])
    send(2, 1, sets.data(flows[1:2]), counted=flows[1:2])
    send(3, 2 - options, sets.template(256, other), sets.data(flows[2:3], fields=other), counted=flows[2:3])
    send(4, 1, sets.data(flows[3:4], fields=other), counted=flows[3:4])
    send(5, 5 - 2 * options, sets.template(), sets.data(flows[4:5]), sets.template(256, other),
         sets.data(flows[5:7], fields=other), counted=flows[4:7])
    send(6, 1, sets.data(flows[7:], fields=other), counted=flows[7:])
    world.templates[row_of(router)] = 1
    world.run()


@each('a flood of templates', *SETS)
def template_flood(test, protocol):
    """A domain has a share of memory and may borrow some more. Excess templates affect only their
    sender."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    flow, sent = Flow(1, 2), 100
    world.add(router, 1, make(1, sets.template(), sets.data([flow]), count=2 - sets.ipfix), [flow])
    for i in range(sent):
        when = 1.1 + i / 25
        world.add(router, when, make(when, sets.template(1000 + i, [(PADDING, 1)] * 15000), count=1 - sets.ipfix))
    flow = Flow(2, 2)
    world.add(router, 6, make(6, sets.data([flow]), count=1), [flow])
    path = world.capture.write(test.path('capture.pcap'))
    found, _, exporters, result = collect(test, '--pcap', path, *SMALL, '--interval', '0')
    check_said(result, ['template memory is full'])
    kept, = (int(row['templates']) for row in exporters if row['exporter'] == FAULTY)
    # Each template takes at least 60 000 bytes of at most 4 MB; one that is not kept is malformed.
    assert 5 <= kept <= (4 << 20) // 60000, exporters
    world.expect(row_of(router), malformed=sent + 1 - kept)
    world.check_rows(exporters)
    world.check_flows(found)


@each('data before its template', *SETS)
def data_first(test, protocol):
    """Data waits, and counts in the epoch in which its template arrives."""
    world = World(test, epochs=True)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    flows = [Flow(i, i) for i in range(1, 7)]
    world.add(router, 1.5, make(1.5, sets.data(flows[:2]), count=2))
    world.add(router, 2.5, make(2.5, sets.data(flows[2:4]), count=2))
    world.add(router, 4.5, make(4.5, sets.template(), sets.data(flows[4:]), count=3 - sets.ipfix), flows)
    for epoch, waiting in ((1, 1), (2, 2), (3, 2)):
        world.expect(row_of(router), epoch, waiting=waiting)
    world.run()


@each('data of another template continues to wait', *SETS)
def other_template(test, protocol):
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    flow = Flow(2, 5)
    world.add(router, 1, make(1, sets.data([Flow(1, 3)], 300), count=1), waiting=1)
    world.add(router, 2, make(2, sets.data([flow]), count=1), [flow])
    world.add(router, 3, make(3, sets.template(), count=1 - sets.ipfix))
    world.run()


@case('too much waiting data: the exporter with the most loses some')
def waiting_room(test):
    """The exporter with the most waiting data loses its own oldest sets; the single set of another
    stays."""
    world = World(test)
    greedy, modest = Router('v9', '192.0.2.1'), Router('v9', '192.0.2.2')
    flow = Flow(1, 3)
    world.add(modest, 1, modest.v9(1, V9.data([flow]), count=1))
    sets = 350
    for i in range(sets):
        when = 1.1 + i / 200
        world.capture.add(when, greedy.address, greedy.v9(when, a_set(300, bytes(60000)), count=1000))
    world.add(modest, 5, modest.v9(5, V9.template(), count=1), [flow])
    # 16 MB hold 60 000 bytes as blocks of 512, with a block number of 4 bytes each.
    kept = (16 << 20) // 512 // -(-60100 // 508)
    world.note(1, row_of(greedy), datagrams=sets, waiting=kept, unknown_template=sets - kept)
    world.run()


@each('templates are the domain\'s', *SETS)
def domains(test, protocol):
    world = World(test)
    sets = SETS[protocol]
    other = list(reversed(FIELDS))
    for domain, fields in ((1, FIELDS), (2, other), (0xffffffff, FIELDS)):
        router = Router(protocol, FAULTY, domain)
        make, flow = getattr(router, protocol), Flow(domain & 255, 3)
        world.add(router, 1, make(1, sets.template(256, fields), count=1 - sets.ipfix))
        world.add(router, 2, make(2, sets.data([flow], fields=fields), count=1), [flow])
    router = Router(protocol, FAULTY, 3)
    world.add(router, 3, getattr(router, protocol)(3, sets.data([Flow(9)]), count=1), waiting=1)
    world.run()


@each('the source port changes', *PROTOCOLS)
def source_port(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    for i in range(8):
        flows = [Flow(i + 1)]
        world.add(router, 1 + i, router.message(1 + i, flows, i == 0), flows, source_port=1000 + 777 * i)
    world.run()


@each('the source port changes, with periodic templates and sampling', *SETS)
def source_port_sampled(test, protocol):
    """A template that is repeated from another port does not change the sampling."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    for i in range(9):
        flow, when = Flow(i + 1, 5), 1 + i / 2
        body = sampling_options(router, 'domain', 0, 100) if i == 0 else []
        if i % 3 == 0:
            body.append(sets.template())
        payload = getattr(router, protocol)(when, *body, sets.data([flow]),
                                            count=1 + (i == 0) + (not sets.ipfix) * ((i == 0) + (i % 3 == 0)))
        world.capture.add(when, FAULTY, payload, source_port=1000 + 777 * i)
        estimated(world, when, row_of(router), flow, 100, datagrams=1)
    world.run()


@each('two exporters of one address and domain', *PROTOCOLS)
def two_of_one(test, protocol):
    """Templates and sequence numbers are separate for each port; one line reports both ports,
    once."""
    world = World(test)
    routers = Router(protocol, FAULTY), Router(protocol, FAULTY)
    routers[1].sequence = 500000
    for i in range(12):
        flow = Flow(i + 1)
        world.add(routers[i % 2], 1 + i / 2, routers[i % 2].message(1 + i / 2, [flow], i < 2), [flow],
                  source_port=1000 + i % 2)
    world.run(said=[f'exporter {FAULTY} sends from ports 1000 and 1001 at the same time'])


# ---- sequence numbers


def some_flows(i):
    """Returns the flows of message i. Lost records are converted to datagrams by the mean size."""
    return [Flow(4 * i + 1 + j) for j in range(3 + i % 2)]


def stream(router, n):
    """Returns n messages with several records: [(payload, flows)]."""
    return [(router.message(1 + i / 5, some_flows(i), i == 0), some_flows(i)) for i in range(n)]


@each('repeated datagrams', *PROTOCOLS)
def repeated(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    for i, (payload, flows) in enumerate(stream(router, 12)):
        world.add(router, 1 + i / 5, payload, flows)
        if i in (6, 9):
            world.add(router, 1.01 + i / 5, payload, repeated=1)
    world.run()


@each('reordered datagrams', *PROTOCOLS)
def reordered(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    for i, (payload, flows) in enumerate(stream(router, 14)):
        late = i in (6, 10)
        world.add(router, 1 + i / 5 + (0.25 if late else 0), payload, flows, reordered=late)
    world.run()


@each('lost on the network', *PROTOCOLS)
def lost(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    for i, (payload, flows) in enumerate(stream(router, 14)):
        if i not in (6, 9, 10, 11):
            world.add(router, 1 + i / 5, payload, flows)
    world.expect(row_of(router), lost_network=4)
    world.run()


@each('lost on the network, of datagrams of two records each', *PROTOCOLS)
def lost_of_equal(test, protocol):
    """A lost message in numbers that count messages resembles numbers that count records."""
    world = World(test)
    router = Router(protocol, FAULTY)
    for i in range(12):
        flows = [Flow(2 * i + 1), Flow(2 * i + 2)]
        payload = router.message(1 + i / 5, flows, i == 0)
        if i != 6:
            world.add(router, 1 + i / 5, payload, flows)
    world.expect(row_of(router), lost_network=1)
    world.run()


@each('a loss leaves other epochs as they are', *PROTOCOLS)
def lost_in_an_epoch(test, protocol):
    """Bounds and confidence are empty only in the epoch of the loss."""
    world = World(test, epochs=True)
    router = Router(protocol, FAULTY)
    for i, (payload, flows) in enumerate(stream(router, 20)):
        if i != 11:
            world.add(router, 1 + i / 5, payload, flows)
    world.expect(row_of(router), 3, lost_network=1)
    world.run()


def conventions(n, which):
    """Returns the sequence numbers of n IPFIX messages."""
    return [{'own records included': sum(len(some_flows(j)) for j in range(i + 1)), 'always 0': 0,
             'messages': i}[which] for i in range(n)]


@each('sequence numbers of IPFIX', 'own records included', 'always 0', 'messages')
def other_convention(test, which):
    """The collector detects the unit of sequence numbers, reports it, and counts no loss."""
    world = World(test)
    router = Router('ipfix', FAULTY)
    words = {'own records included': 'up to and including the message', 'always 0': 'count nothing',
             'messages': 'count messages'}[which]
    for i, number in enumerate(conventions(14, which)):
        flows = some_flows(i)
        sets = [IPFIX.template()] if i == 0 else []
        world.add(router, 1 + i / 2, router.ipfix(1 + i / 2, *sets, IPFIX.data(flows), sequence=number), flows)
    world.run(said=[words])


@each('a loss by sequence numbers of IPFIX', 'own records included', 'messages')
def loss_by_other_convention(test, which):
    world = World(test)
    router = Router('ipfix', FAULTY)
    for i, number in enumerate(conventions(14, which)):
        flows = some_flows(i)
        sets = [IPFIX.template()] if i == 0 else []
        if i not in (8, 9):
            world.add(router, 1 + i / 2, router.ipfix(1 + i / 2, *sets, IPFIX.data(flows), sequence=number), flows)
    world.expect(row_of(router), lost_network=2)
    world.run(said=['contrary to its protocol'])


@each('sequence numbers wrap', *PROTOCOLS)
def sequence_wraps(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    router.sequence = 0xffffffff - 9
    for i in range(15):
        flows = [Flow(2 * i + 1), Flow(2 * i + 2)]
        router.sequence &= 0xffffffff
        if protocol == 'sflow':
            sequence = (router.sequence + 1) & 0xffffffff
            payload = router.sflow(1 + i / 5, [router.sample(flow) for flow in flows], sequence=sequence)
        else:
            payload = router.message(1 + i / 5, flows, i == 0)
        world.add(router, 1 + i / 5, payload, flows)
    world.run()


@each('an exporter restarts', *PROTOCOLS)
def restarts(test, protocol):
    """Nothing is lost. Templates and samplers from before the restart are invalid."""
    world = World(test)
    router = Router(protocol, FAULTY)
    router.sequence = 100000
    for i, (payload, flows) in enumerate(stream(router, 10)):
        world.add(router, 1 + i / 5, payload, flows)
    router.sequence = 0
    flows, waits = [Flow(101), Flow(102)], [Flow(103), Flow(104)]
    if protocol == 'v5':
        world.add(router, 6, router.v5(6, flows, uptime=2000), flows, restarts=1)
    elif protocol == 'sflow':
        router.samples = router.pool = 0
        world.add(router, 6, router.sflow(6, [router.sample(flow) for flow in flows], uptime=2000), flows, restarts=1)
    elif protocol == 'v9':
        world.add(router, 6, router.v9(6, V9.data(waits), count=2, uptime=2000), restarts=1)
        world.add(router, 7, router.v9(7, V9.template(), V9.data(flows), count=3, uptime=3000), flows + waits)
    else:
        world.add(router, 6, router.ipfix(6, IPFIX.data(waits), count=2), restarts=1)
        world.add(router, 7, router.ipfix(7, IPFIX.template(), IPFIX.data(flows), count=2), flows + waits)
    world.run()


@each('an uptime that wraps after 49.7 days', 'v5', 'v9', 'sflow')
def uptime_wraps(test, protocol):
    """A wrap is not a restart, and moves no record to another epoch."""
    world = World(test, epochs=True)
    router = Router(protocol, FAULTY)
    fields = KEY + [(PACKETS, 4), (BYTES, 4), (22, 4), (21, 4)]
    for i in range(10):
        when = 1 + i / 2
        uptime = (0xffffffff - 2500 + 500 * i) & 0xffffffff
        began, ended = (uptime - 400) & 0xffffffff, (uptime - 100) & 0xffffffff
        flow = Flow(i + 1, 1, more={22: began, 21: ended})
        if protocol == 'v5':
            record = bytearray(v5_record(flow))
            struct.pack_into('>II', record, 24, began, ended)
            payload = router.v5(when, [flow], uptime=uptime, records=[bytes(record)])
        elif protocol == 'v9':
            sets = [V9.template(fields=fields)] if i == 0 else []
            payload = router.v9(when, *sets, V9.data([flow], fields=fields), count=1 + (i == 0), uptime=uptime)
        else:
            payload = router.sflow(when, [router.sample(flow)], uptime=uptime)
        world.add(router, when, payload, [flow])
    world.run()


# ---- restarts, processes, copies


REVERSED = list(reversed(FIELDS))
DAYS = 86400000  # ms


def say_number(router, number):
    """Sets the number of the next message. sFlow increments before it sends."""
    router.sequence = (number - (router.protocol == 'sflow')) & 0xffffffff


def message(router, when, flows, fields=None, template=False, uptime=None):
    """Returns a message of these flows with a given uptime."""
    if router.protocol == 'v5':
        return router.v5(when, flows, uptime=uptime)
    if router.protocol == 'sflow':
        return router.sflow(when, [router.sample(flow) for flow in flows], uptime=uptime)
    sets = SETS[router.protocol]
    body = ([sets.template(fields=fields)] if template else []) + ([sets.data(flows, fields=fields)] if flows else [])
    if router.protocol == 'v9':
        return router.v9(when, *body, count=len(flows) + template, uptime=uptime)
    return router.ipfix(when, *body, count=len(flows))


@each('a reboot that the uptime shows, with the number', *(
    f'{protocol} {number}' for protocol in ('v5', 'v9', 'sflow') for number in ('ahead', 'next', 'the same', 'low')))
def reboots(test, what):
    """Holds for every number and age: only templates sent after the reboot are used."""
    protocol, number = what.split(' ', 1)
    for age in (20000, 3 * DAYS, 30 * DAYS, 49 * DAYS):
        world = World(test)
        router = Router(protocol, FAULTY)
        say_number(router, 5000)
        for i in range(4):
            flow = Flow(i + 1)
            world.add(router, 1 + i / 4, message(router, 1 + i / 4, [flow], template=i == 0, uptime=age + 250 * i), [flow])
        if number != 'next':
            say_number(router, {'ahead': 9000, 'the same': router.sequence, 'low': 1}[number])
        first, second = [Flow(11)], [Flow(12)]
        waits = protocol == 'v9'
        world.add(router, 8, message(router, 8, first, REVERSED, uptime=900), [] if waits else first, restarts=1)
        world.add(router, 8.5, message(router, 8.5, second, REVERSED, True, uptime=1400), second + (first if waits else []))
        world.run()


@each('an uptime that wraps during silence', 'v5', 'v9', 'sflow')
def wraps_in_silence(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    for i, (when, uptime) in enumerate(((1, 2**32 - 3000), (9, 5000), (9.5, 5500))):
        flow = Flow(i + 1)
        world.add(router, when, message(router, when, [flow], template=i == 0, uptime=uptime), [flow])
    world.run()


@each('a restart at another port', *PROTOCOLS)
def restart_elsewhere(test, protocol):
    """The collector keeps one exporter, with its new templates."""
    world = World(test)
    router = Router(protocol, FAULTY)
    say_number(router, 100000)
    for i in range(4):
        flow = Flow(i + 1)
        world.add(router, 1 + i / 4, message(router, 1 + i / 4, [flow], template=i == 0), [flow])
    say_number(router, 1)
    for i in range(4):
        flow = Flow(i + 11)
        world.add(router, 7 + i / 4, message(router, 7 + i / 4, [flow], REVERSED, i == 0, uptime=500 + 250 * i), [flow],
                  source_port=50001, restarts=i == 0)
    world.run()


@each('a late datagram after a restart', *PROTOCOLS)
def late_after_restart(test, protocol):
    """The late datagram is read with the old templates, and only one restart is counted."""
    world = World(test)
    router = Router(protocol, FAULTY)
    say_number(router, 100000)
    old = []
    for i in range(8):
        flows, when = some_flows(i), 1 + i / 4
        old.append((message(router, when, flows, template=i == 0), flows))
    say_number(router, 1)
    for i in range(7):
        world.add(router, 1 + i / 4, *old[i])
    for i in range(6):
        flows, when = some_flows(20 + i), 3 + i / 4
        world.add(router, when, message(router, when, flows, REVERSED, i == 0, uptime=500 + 250 * i), flows,
                  restarts=i == 0)
        if i == 2:
            world.add(router, when + 0.1, *old[7])
    world.run()


FORGED = {'low': 1, 'far': 0x50000000, 'before': 0xf0000000}


@each('a forged datagram of', *(f'{protocol}, number {number}, port {port}' for protocol in PROTOCOLS
                                for number in FORGED for port in ('the same', 'another')))
def forged(test, what):
    """Templates and sequence numbers stay as if the forged datagram had not arrived, even after two
    in a row from the exporter's own port."""
    protocol, number, port = what.split(', ')
    world = World(test)
    router, forger = Router(protocol, FAULTY), Router(protocol, FAULTY)
    say_number(router, 100000)
    for i in range(20):
        flows, when = [Flow(2 * i + 1), Flow(2 * i + 2)], 1 + i / 4
        world.add(router, when, message(router, when, flows, template=i == 0), flows)
        if i in (8, 14) or (i == 9 and 'same' in port):
            if i != 9:
                say_number(forger, FORGED[number.split()[1]] + 100 * (20 - i))
            world.capture.add(when + 0.1, FAULTY, message(forger, when + 0.1, [], uptime=i),
                              source_port=50000 + i * ('another' in port))
            world.note(when, row_of(router), datagrams=1)
    world.run()


@each('a forged datagram at the end of an interval', *PROTOCOLS)
def forged_at_the_end(test, protocol):
    """The forged datagram causes no restart and no empty bounds in any interval."""
    world = World(test, epochs=True)
    router, forger = Router(protocol, FAULTY), Router(protocol, FAULTY)
    say_number(router, 100000)
    for i in range(24):
        flows, when = [Flow(2 * i + 1), Flow(2 * i + 2)], 1 + i / 4
        world.add(router, when, message(router, when, flows, template=i == 0), flows)
        if i in (11, 19):
            say_number(forger, 7 * i)
            world.capture.add(when + 0.24, FAULTY, message(forger, when + 0.24, [], uptime=i))
            world.note(when, row_of(router), datagrams=1)
    world.run()


@each('a forged datagram whose number may follow a loss', *PROTOCOLS)
def forged_gap(test, protocol):
    """The next genuine datagram reverts the loss."""
    world = World(test)
    router, forger = Router(protocol, FAULTY), Router(protocol, FAULTY)
    say_number(router, 1000)
    for i in range(20):
        flows, when = [Flow(2 * i + 1), Flow(2 * i + 2)], 1 + i / 4
        world.add(router, when, message(router, when, flows, template=i == 0), flows)
        if i in (8, 15):
            forger.sequence = router.sequence + 40000
            world.capture.add(when + 0.1, FAULTY, message(forger, when + 0.1, []))
            world.note(when, row_of(router), datagrams=1)
    world.run()


@each('a number that jumps', *(f'{protocol} by {by}' for protocol in PROTOCOLS
                               for by in (0x60000000, -0x60000000, 5000000, -3000000000)))
def jumps(test, what):
    """Templates stay. The loss is unknown, and is not estimated as large."""
    protocol, by = what.split(' by ')
    world = World(test)
    router = Router(protocol, FAULTY)
    say_number(router, 3100000000)
    for i in range(12):
        flow, when = Flow(i + 1), 1 + i / 4
        if i == 6:
            router.sequence = (router.sequence + int(by)) & 0xffffffff
        world.add(router, when, message(router, when, [flow], template=i == 0), [flow])
    world.unknown.add(0)
    world.run()


@each('every datagram twice', *PROTOCOLS)
def each_twice(test, protocol):
    """Every datagram is duplicated from the start, as by a mirror or a capture of all
    interfaces."""
    world = World(test)
    router = Router(protocol, FAULTY)
    for i in range(12):
        flows, when = some_flows(i), 1 + i / 4
        payload = message(router, when, flows, template=i == 0)
        world.add(router, when, payload, flows)
        world.add(router, when + 0.001, payload, repeated=1)
    world.run()


@each('constant sequence numbers, of equal datagrams', *SETS)
def equal_datagrams(test, protocol):
    """Equal datagrams may be distinct: the first two show that the numbers are constant."""
    world = World(test)
    router, flow = Router(protocol, FAULTY), Flow(1, 2)
    for i in range(10):
        router.sequence = 77
        world.add(router, 1 + i / 100, message(router, 1, [flow], template=i == 0), [flow])
    world.run(said=['count nothing'])


@each('constant sequence numbers, every datagram twice', *SETS)
def constant_twice(test, protocol):
    """Copies arrive at the same time; later equal datagrams count."""
    world = World(test)
    router = Router(protocol, FAULTY)
    for i in range(12):
        flows, when = some_flows(i // 2), 1 + i / 4
        router.sequence = 0
        payload = message(router, when, flows, template=i == 0)
        world.add(router, when, payload, flows)
        world.add(router, when + 0.00001, payload, repeated=1)
    world.run(said=['count nothing'])


@each('one export to two collectors, numbered', *(f'{how}, {protocol}' for how in ('together', 'apart')
                                                  for protocol in PROTOCOLS))
def two_collectors(test, what):
    """Each datagram counts once, including one that reached only one collector."""
    how, protocol = what.split(', ')
    world = World(test)
    routers = [Router(protocol, FAULTY), Router(protocol, FAULTY)]
    if how == 'apart':
        say_number(routers[1], 700)
    for i in range(16):
        flows, when = [Flow(2 * i + 1), Flow(2 * i + 2)], 1 + i / 4
        payloads = [message(router, when, flows, template=i == 0) for router in routers]
        if how == 'together':
            payloads[1] = payloads[0]
        for j in (0, 1) if i % 2 else (1, 0):
            first = j == (i + 1) % 2
            world.capture.add_frame(when + (0.001 if first else 0.002), ipv4(
                FAULTY, udp(payloads[j], 2055, 50000), dst=('192.0.2.254', '192.0.2.253')[j]))
            world.note(when, row_of(routers[0]), flows if first else (), datagrams=1, repeated=not first)
    world.run()


@each('a mediator that names the exporters by', '130', '131', '403', '404', '130 and 405')
def mediator(test, elements):
    """Each original exporter has a row; a packet that two of them report counts once."""
    world = World(test)
    router = Router('ipfix', FAULTY, 5)
    names = ('2001:db8::7', '2001:db8::8') if elements in ('131', '404') else ('192.0.2.77', '192.0.2.78')
    element = int(elements.split()[0])
    fields = [(element, 16 if ':' in names[0] else 4), *FIELDS] + ([(405, 4)] if '405' in elements else [])
    for i in range(6):
        flow, when = Flow(i + 1, 7), 1 + i / 4
        records = [{**flow.values(), element: packed(name), 405: 9} for name in names]
        payload = router.ipfix(when, *([IPFIX.template(fields=fields)] if i == 0 else []),
                               IPFIX.data(records, fields=fields), count=2)
        world.add(router, when, payload)
        domain = '9' if '405' in elements else '5'
        world.note(when, (names[0], domain, 'ipfix'), [flow])
        world.note(when, (names[1], domain, 'ipfix'), duplicate=1)
    world.run()


@case('a mediator and its own records')
def mediator_itself(test):
    """Address 0 means the mediator itself. Rules and names are those of the original exporter."""
    world = World(test)
    router = Router('ipfix', FAULTY, 5)
    fields = [(130, 4), *FIELDS]
    flows = [Flow(i + 1, 7) for i in range(3)]
    records = [{**flow.values(), 130: packed(name)} for flow, name in zip(flows, ('0.0.0.0', '192.0.2.77', '0.0.0.0'))]
    world.add(router, 1, router.ipfix(1, IPFIX.template(fields=fields), IPFIX.data(records, fields=fields), count=3),
              [flows[0], flows[2]])
    row = ('192.0.2.77', '5', 'ipfix')
    world.capture.add(2, FAULTY, router.ipfix(2, IPFIX.data(records[1:2], fields=fields), count=1))
    world.expect(row_of(router), datagrams=1)
    for when in (1, 2):
        world.expect(row, records=1, counted=1)
        world.counts(when, flows[1], 700)
    world.names = {row_of(router): 'mediator', row: 'edge'}
    world.sampling[row] = ('100', 'configured')
    world.estimated = True
    world.run('--exporter', f'{FAULTY}=mediator', '--exporter', '192.0.2.77=edge,sampling=100', '--exporter', STEADY)


@each('two processes that sample differently', *SETS)
def two_samplings(test, protocol):
    """Options apply per process. Both processes use one template number for different layouts."""
    world = World(test)
    sets, routers = SETS[protocol], [Router(protocol, FAULTY), Router(protocol, FAULTY)]
    for i in range(8):
        for j, fields in enumerate((FIELDS, REVERSED)):
            router, flow, when = routers[j], Flow(10 * i + j + 1, 5), 1 + i / 4 + j / 10
            body = [*sampling_options(router, 'domain', 0, (100, 7)[j]), sets.template(fields=fields)] if i == 0 else []
            payload = getattr(router, protocol)(when, *body, sets.data([flow], fields=fields),
                                                count=1 + (i == 0) * (3 - 2 * sets.ipfix))
            world.capture.add(when, FAULTY, payload, source_port=50000 + j)
            world.expect(row_of(router), datagrams=1, records=1, counted=1)
            world.counts(when, flow, 5 * (100, 7)[j])
    world.sampling[row_of(routers[0])] = ('100', 'options')
    world.estimated = True
    world.run(said=['sends from ports 50000 and 50001 at the same time'])


@each('a second process with the next number', *SETS)
def next_number(test, protocol):
    """Its templates distinguish it from a process whose port changed."""
    world = World(test)
    sets, routers = SETS[protocol], (Router(protocol, FAULTY), Router(protocol, FAULTY))
    for i in range(6):
        for j, fields in enumerate((FIELDS, REVERSED)):
            flow, when = Flow(10 * i + j + 1, 3), 1 + i / 4 + j / 10
            router, body = routers[j], [sets.data([flow], fields=fields)]
            if i == 0:
                router.sequence = 40 + j
                body = [sets.template(fields=fields), *body] if j == 0 else [
                    sets.data([flow], fields=fields), sets.template(fields=fields)]
            payload = getattr(router, protocol)(when, *body, count=1 + (i == 0) * (1 - sets.ipfix))
            world.add(router, when, payload, [flow], source_port=50000 + j)
    world.run(said=['at the same time'])


@each('a loss of one of two processes', *PROTOCOLS)
def loss_of_one(test, protocol):
    world = World(test)
    routers = Router(protocol, FAULTY), Router(protocol, FAULTY)
    for i in range(24):
        router, flow, when = routers[i % 2], Flow(i + 1), 1 + i / 4
        payload = message(router, when, [flow], template=i < 2)
        if i != 14:
            world.add(router, when, payload, [flow], source_port=50000 + i % 2)
    world.expect(row_of(routers[0]), lost_network=1)
    world.run(said=['at the same time'])


@each('templates withdrawn', 'one', 'all', 'all of options', 'one of options', 'twice', 'and defined again')
def withdrawals(test, what):
    """Exporters should not withdraw templates over UDP. Data waits for the next definition, and
    none is misread."""
    world = World(test)
    router = Router('ipfix', FAULTY)
    flows = [Flow(i + 1, i + 1) for i in range(4)]
    options = IPFIX.options_template(300, [(149, 4)], [(34, 4)])
    world.add(router, 1, router.ipfix(1, options, IPFIX.template(), IPFIX.data(flows[:1]), count=1), flows[:1])
    number, template = {'all': (2, 2), 'all of options': (3, 3), 'one of options': (3, 300)}.get(what, (2, 256))
    withdrawal = a_set(number, struct.pack('>HH', template, 0))
    gone = 'options' not in what
    for i in range(1 + (what == 'twice')):
        sets = [withdrawal] + ([IPFIX.template(fields=REVERSED)] if 'again' in what else [])
        world.add(router, 2 + i / 4, router.ipfix(2, *sets))
    fields = REVERSED if gone else FIELDS
    waits = gone and 'again' not in what
    world.add(router, 3, router.ipfix(3, IPFIX.data(flows[1:2], fields=fields), count=1), [] if waits else flows[1:2])
    world.add(router, 4, router.ipfix(4, IPFIX.template(fields=fields), IPFIX.data(flows[2:], fields=fields), count=2),
              flows[1:] if waits else flows[2:])
    world.templates[row_of(router)] = 2 - ('options' in what or what == 'all') + (what == 'all')
    world.run()


# ---- contents of records


def send_records(world, router, fields, flows, counted, when=1, packets=None, **columns):
    """Adds one message with the template and the records, in either protocol."""
    sets = SETS[router.protocol]
    body = a_set(256, rows(fields, flows))
    count = len(flows) + (not sets.ipfix)
    world.add(router, when, getattr(router, router.protocol)(when, sets.template(fields=fields), body, count=count),
              counted, **columns)


@each('only totals, over several reports', *SETS)
def totals(test, protocol):
    """Totals as sent by Juniper SRX: the collector takes differences."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    fields = KEY + [(TOTAL_PACKETS, 8), (TOTAL_BYTES, 8)]
    make = getattr(router, protocol)
    world.add(router, 1, make(1, sets.template(fields=fields), count=1 - sets.ipfix))
    before = 0
    for i, now in enumerate((10, 25, 40, 1000)):
        flow = Flow(1, now - before, more={TOTAL_PACKETS: now, TOTAL_BYTES: 100 * now})
        world.add(router, 2 + i, make(2 + i, sets.data([flow], fields=fields), count=1), [flow])
        before = now
    flow = Flow(1, 0, more={TOTAL_PACKETS: before, TOTAL_BYTES: 100 * before})
    world.add(router, 8, make(8, sets.data([flow], fields=fields), count=1), duplicate=1)
    _, ledger, _, _ = world.run()
    assert lib.total(ledger, 'measured') == 1000 + 60, ledger


@each('totals that restart', *SETS)
def totals_anew(test, protocol):
    """The flow ended, and another one of the same key began."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    fields = KEY + [(TOTAL_PACKETS, 8), (TOTAL_BYTES, 8)]
    make = getattr(router, protocol)
    world.add(router, 1, make(1, sets.template(fields=fields), count=1 - sets.ipfix))
    for i, (now, new) in enumerate(((10, 10), (25, 15), (4, 4), (9, 5))):
        flow = Flow(1, new, more={TOTAL_PACKETS: now, TOTAL_BYTES: 100 * now})
        world.add(router, 2 + i, make(2 + i, sets.data([flow], fields=fields), count=1), [flow])
    world.run()


@each('totals of two routers', *SETS)
def totals_of_two(test, protocol):
    world = World(test)
    sets = SETS[protocol]
    fields = KEY + [(TOTAL_PACKETS, 8), (TOTAL_BYTES, 8)]
    for number in (1, 2):
        router = Router(protocol, f'192.0.2.{number}')
        make = getattr(router, protocol)
        for i, now in enumerate((10, 25)):
            when = number + i * 3
            flow = Flow(1, (10, 15)[i], more={TOTAL_PACKETS: now, TOTAL_BYTES: 100 * now})
            body = [sets.template(fields=fields)] if i == 0 else []
            payload = make(when, *body, sets.data([flow], fields=fields), count=1 + (i == 0 and not sets.ipfix))
            if number == 1:
                world.add(router, when, payload, [flow])
            else:
                world.add(router, when, payload, duplicate=1)
    world.run()


@each('delta and total counts in one record', *SETS)
def delta_and_total(test, protocol):
    """As sent by Open vSwitch: the deltas count."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    fields = FIELDS + [(TOTAL_PACKETS, 8), (TOTAL_BYTES, 8)]
    make, total = getattr(router, protocol), 0
    world.add(router, 1, make(1, sets.template(fields=fields), count=1 - sets.ipfix))
    for i, packets in enumerate((10, 15, 1)):
        total += packets
        flow = Flow(1, packets, more={TOTAL_PACKETS: total, TOTAL_BYTES: total * 100})
        world.add(router, 2 + i, make(2 + i, sets.data([flow], fields=fields), count=1), [flow])
    world.run()


@each('ingress and egress of one exporter', *SETS)
def both_sides(test, protocol):
    """As sent by Open vSwitch: each packet counts once."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    fields = FIELDS + [(DIRECTION, 1), (INPUT, 4), (OUTPUT, 4)]
    make = getattr(router, protocol)
    world.add(router, 1, make(1, sets.template(fields=fields), count=1 - sets.ipfix))
    for i, packets in enumerate((10, 15, 25000)):
        for direction in (0, 1):
            when = 2 + 2 * i + direction / 2
            flow = Flow(1, packets, more={DIRECTION: direction, INPUT: 1, OUTPUT: 2})
            payload = make(when, sets.data([flow], fields=fields), count=1)
            if direction == 0:
                world.add(router, when, payload, [flow])
            else:
                world.add(router, when, payload, duplicate=1)
    world.run()


class Back(Flow):
    """The other direction of a flow."""

    def __init__(self, flow, packets):
        super().__init__(flow.n, packets)
        self.src, self.dst, self.sport, self.dport = flow.dst, flow.src, flow.dport, flow.sport


@case('biflows (RFC 5103) are two flows')
def biflow(test):
    world = World(test)
    router = Router('ipfix', FAULTY)
    fields = FIELDS + [(PACKETS, 8, REVERSE), (BYTES, 4, REVERSE)]
    flow = Flow(1, 10, more={(PACKETS, REVERSE): 7, (BYTES, REVERSE): 700})
    silent = Flow(2, 3, more={(PACKETS, REVERSE): 0, (BYTES, REVERSE): 0})
    send_records(world, router, fields, [flow, silent], [flow, Back(flow, 7), silent])
    world.run()


@case('initiator and responder are two flows')
def initiator(test):
    world = World(test)
    router = Router('ipfix', FAULTY)
    fields = KEY + [(231, 8), (298, 8), (232, 8), (299, 8)]
    flow = Flow(1, 10, more={298: 10, 231: 1000, 299: 7, 232: 700})
    send_records(world, router, fields, [flow], [flow, Back(flow, 7)])
    world.run()


@each('reduced-size encoding', *SETS)
def reduced_size(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    for i, (length, packets) in enumerate(((1, 255), (2, 65535), (3, 1 << 20), (5, 1 << 33), (7, 1 << 38))):
        router.domain = i
        router.sequence = 0
        fields = [(SRC, 4), (DST, 4), (SPORT, 2), (DPORT, 2), (PROTO, 1), (INPUT, 1), (PACKETS, length),
                  (BYTES, min(length + 1, 8))]
        flow = Flow(i + 1, packets, more={INPUT: 3})
        send_records(world, router, fields, [flow], [flow], when=1 + i)
    world.run()


@case('variable lengths and elements of enterprises')
def variable(test):
    world = World(test)
    router = Router('ipfix', FAULTY)
    own = (100, VARIABLE, 12345)
    fields = [(APPLICATION, VARIABLE), *KEY[:3], own, *KEY[3:], (PACKETS, 8), (7, 6, 9), (BYTES, 8)]
    flows = [Flow(i + 1, i + 1, more={APPLICATION: b'a' * length, (100, 12345): b'\xff' * (300 - length)})
             for i, length in enumerate((0, 1, 45, 46, 254, 255, 256, 300))]
    send_records(world, router, fields, flows, flows)
    world.run()


@case('a truncated record of variable length')
def variable_cut(test):
    world = World(test)
    router = Router('ipfix', FAULTY)
    fields = [*FIELDS, (APPLICATION, VARIABLE)]
    flow = Flow(1, 2, more={APPLICATION: b'abc'})
    whole, part = rows(fields, [flow]), rows(FIELDS, [Flow(2, 2)])
    for i, tail in enumerate((b'\x10abc', b'\xff', b'\xff\0', b'\xff\xff\xffabc')):
        router.domain, router.sequence = i, 0
        world.add(router, 1 + i, router.ipfix(1 + i, IPFIX.template(fields=fields), a_set(256, whole + part + tail),
                                              count=1), [flow], malformed=1)
    world.run('--dedup', 'none', said=['malformed: a length exceeds the message'] * 4)


@each('fields of length 0', *SETS)
def zero_length(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    fields = [(FLAGS, 0), *KEY, (PADDING, 0), (PACKETS, 4), (INPUT, 0), (BYTES, 4), (NAME, 0)]
    flows = [Flow(1, 3), Flow(2, 4)]
    send_records(world, router, fields, flows, flows)
    world.run()


@each('only fields of length 0', *SETS)
def only_zero_length(test, protocol):
    """Such a template would have endless records."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    world.add(router, 1, make(1, sets.template(300, [(SRC, 0), (PACKETS, 0)]), count=1 - sets.ipfix), malformed=1)
    world.add(router, 3, make(3, a_set(300, bytes(100)), count=1), waiting=1)
    world.run(said=['malformed: a template has no fields'])


@each('records without a key', *SETS)
def unusable(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    send_records(world, router, FIELDS[2:], [Flow(1), Flow(2), Flow(3)], [], when=2, unusable=3)
    world.run()


@each('records without one of their counts', *SETS)
def missing_counts(test, protocol):
    """Lower bounds: fewer bytes than those of IP headers, and bytes without packets."""
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    for field, low, open_ends in ((PACKETS, (7, 140), ('bytes_high',)), (BYTES, (1, 300), ('packets_high', 'bytes_high'))):
        fields = KEY + [(field, 4)]
        capture = Capture()
        flow = Flow(1, 7 if field == PACKETS else 1, more={field: 7 if field == PACKETS else 300})
        capture.add(1, FAULTY, getattr(router, protocol)(1, sets.template(fields=fields), sets.data([flow], fields=fields),
                                                         count=2 - sets.ipfix))
        out = test.path(f'{field}.csv')
        test.run('collect', '--pcap', capture.write(test.path(f'{field}.pcap')), '--interval', '0', '--link-overhead', '0',
                 '--output', out).expect(0)
        (row,) = csv.DictReader(open(out, encoding="utf-8", newline=""))
        assert (int(row['packets_low']), int(row['bytes_low'])) == low, row
        assert all(row[name] == '' for name in open_ends), row


@each('options without relevant elements', *SETS)
def strange_options(test, protocol):
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    scopes, fields = [(1 if protocol == 'v9' else 149, 4)], [(40, 4), (41, 4), (42, 8)]
    body = rows(scopes + fields, [{40: 1, 41: 2, 42: 3}] * 3)
    flow = Flow(1, 3)
    payload = getattr(router, protocol)(1, sets.options_template(300, scopes, fields), a_set(300, body),
                                        sets.template(), sets.data([flow]), count=4 + 2 * (not sets.ipfix))
    world.add(router, 1, payload, [flow])
    world.templates[row_of(router)] = 2
    world.run()


# ---- sampling


def estimated(world, when, row, flow, interval, source='options', **columns):
    """Adds the counts of a record that stands for `interval` times its packets."""
    world.estimated = True
    world.note(when, row, **columns)
    world.expect(row, records=1, counted=1)
    world.counts(when, flow, flow.packets * interval)
    world.sampling[row] = str(interval), source


def sampling_options(router, kind, identity, interval):
    """Returns (sets, data records) with the sampling of a sampler, an interface or the domain."""
    sets = SETS[router.protocol]
    v9 = router.protocol == 'v9'
    scope = {'sampler': (SAMPLER, 4) if not v9 else (1, 4), 'interface': (2, 4) if v9 else (INPUT, 4),
             'domain': (1, 4) if v9 else (149, 4)}[kind]
    fields = [(SAMPLER, 4), (SAMPLER_INTERVAL, 4)] if kind == 'sampler' and v9 else [
        (SAMPLER_INTERVAL if kind == 'sampler' else INTERVAL, 4)]
    values = {scope[0]: router.domain if kind == 'domain' else identity, SAMPLER: identity, SAMPLER_INTERVAL: interval,
              INTERVAL: interval}
    return [sets.options_template(300, [scope], fields), a_set(300, rows([scope, *fields], [values]))]


def sampling_case(test, protocol, kind):
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    fields = FIELDS + [(SAMPLER, 2), (INPUT, 4)]
    make = getattr(router, protocol)
    flow = Flow(1, 5, more={SAMPLER: 3, INPUT: 3})
    options = sampling_options(router, kind, 3, 100)
    payload = make(1, *options, sets.template(fields=fields), sets.data([flow], fields=fields),
                   count=2 if sets.ipfix else 4)
    world.capture.add(1, router.address, payload)
    estimated(world, 1, row_of(router), flow, 100, datagrams=1)
    if kind == 'interface':  # interface 4 has no options
        other = Flow(2, 7, more={SAMPLER: 0, INPUT: 4})
        world.add(router, 2, make(2, sets.data([other], fields=fields), count=1), [other])
    world.run()


for chosen in SETS:
    each(f'sampling by options of {chosen}', 'sampler', 'interface', 'domain')(
        functools.partial(lambda test, kind, protocol: sampling_case(test, protocol, kind), protocol=chosen))


@each('sampling by the record', *SETS)
def sampling_record(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    sets, fields = SETS[protocol], FIELDS + [(INTERVAL, 4)]
    flow = Flow(1, 5, more={INTERVAL: 64})
    world.capture.add(1, FAULTY, getattr(router, protocol)(1, sets.template(fields=fields),
                                                           sets.data([flow], fields=fields), count=2 - sets.ipfix))
    estimated(world, 1, row_of(router), flow, 64, 'record', datagrams=1)
    world.run()


@each('samplers from before a restart', 'v9')
def sampler_restart(test, protocol):
    """Samplers become invalid, like templates."""
    world = World(test)
    router, fields = Router(protocol, FAULTY), FIELDS + [(SAMPLER, 2)]
    flow, again = Flow(1, 5, more={SAMPLER: 3}), Flow(2, 7, more={SAMPLER: 3})
    router.sequence = 100000
    world.capture.add(1, FAULTY, router.v9(1, *sampling_options(router, 'sampler', 3, 100), V9.template(fields=fields),
                                           V9.data([flow], fields=fields), count=4))
    estimated(world, 1, row_of(router), flow, 100, datagrams=1)
    world.add(router, 4, router.v9(4, V9.template(fields=fields), V9.data([again], fields=fields), count=2, sequence=0,
                                   uptime=1000), [again], restarts=1)
    world.unknown.add(0)
    world.run(said=[f'exporter {FAULTY} has not sent the interval of its sampler'])


@each('options after their data', *SETS)
def late_options(test, protocol):
    """Before its options, the sampling of a named sampler is unknown: bounds are empty."""
    world = World(test, epochs=True)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    fields = FIELDS + [(SAMPLER, 2)]
    make, row = getattr(router, protocol), row_of(Router(protocol, FAULTY))
    early, known = Flow(1, 5, more={SAMPLER: 3}), Flow(2, 7, more={SAMPLER: 3})
    world.add(router, 1, make(1, sets.template(fields=fields), sets.data([early], fields=fields),
                              count=2 - sets.ipfix), [early])
    world.capture.add(3, FAULTY, make(3, *sampling_options(router, 'sampler', 3, 100),
                                      sets.data([known], fields=fields), count=2 if sets.ipfix else 3))
    world.note(3, row, datagrams=1)
    world.expect(row, 3, records=1, counted=1)
    world.counts(3, known, 700)
    world.estimated = True
    world.unknown.add(1)
    world.run(said=[f'exporter {FAULTY} has not sent the interval of its sampler'])


@each('options after data without a sampler, of the', 'interface', 'domain')
def later_options(test, kind):
    """Earlier records counted as unsampled. The change is reported, and bounds of that interval are
    empty."""
    world = World(test, epochs=True)
    router, fields = Router('ipfix', FAULTY), FIELDS + [(INPUT, 4)]
    early, known = Flow(1, 5, more={INPUT: 3}), Flow(2, 7, more={INPUT: 3})
    world.add(router, 1.25, router.ipfix(1, IPFIX.template(fields=fields), IPFIX.data([early], fields=fields), count=1),
              [early])
    world.capture.add(1.5, FAULTY, router.ipfix(1, *sampling_options(router, kind, 3, 100),
                                                IPFIX.data([known], fields=fields), count=2))
    world.note(1, row_of(router), datagrams=1)
    world.expect(row_of(router), 1, records=1, counted=1)
    world.counts(1, known, 700)
    world.capture.add(3, FAULTY, router.ipfix(3, *sampling_options(router, kind, 3, 100),
                                              IPFIX.data([known], fields=fields), count=2))
    world.note(3, row_of(router), datagrams=1)
    world.expect(row_of(router), 3, records=1, counted=1)
    world.counts(3, known, 700)
    world.estimated = True
    world.unknown.add(1)
    world.run(said=[f'exporter {FAULTY} has sent its sampling interval late'])


@case('a sampler that --exporter describes')
def configured_sampler(test):
    world = World(test, steady=False)
    router, fields = Router('v9', FAULTY), FIELDS + [(SAMPLER, 2)]
    flow = Flow(1, 5, more={SAMPLER: 3})
    world.capture.add(1, FAULTY, router.v9(1, V9.template(fields=fields), V9.data([flow], fields=fields), count=2))
    estimated(world, 1, row_of(router), flow, 50, 'configured', datagrams=1)
    world.run('--exporter', f'{FAULTY},sampling=50')


@case('sampling by the header of v5')
def sampling_header(test):
    world = World(test)
    router = Router('v5', FAULTY)
    flow = Flow(1, 5)
    world.capture.add(1, router.address, router.v5(1, [flow], sampling=0x4000 | 100))
    estimated(world, 1, row_of(router), flow, 100, 'header', datagrams=1)
    world.run()


@case('an exporter that lies about sampling')
def sampling_lie(test):
    """It reports 1 of 1000, and its sample pool shows 1 of 512. A warning has both numbers."""
    world = World(test)
    router = Router('sflow', FAULTY)
    world.estimated = True
    for i in range(60):
        flows = [Flow(1 + i * 8 + j) for j in range(8)]
        when = 1 + i / 10
        world.capture.add(when, FAULTY, router.sflow(when, [router.sample(flow, 1000, step=512) for flow in flows]))
        world.note(when, row_of(router), datagrams=1)
        for flow in flows:
            world.counts(when, flow, 1000)
        world.expect(row_of(router), records=8, counted=8)
    world.sampling[row_of(router)] = '1000', 'sample'
    world.run(said=['192.0.2.1 reports a sampling interval of 1000, but its sample pool grows by 512'])


@each('an interface index that moves', *SETS)
def interface_moves(test, protocol):
    """The flow is the same, and its packets still count once."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    fields = FIELDS + [(INPUT, 4), (OUTPUT, 4)]
    make = getattr(router, protocol)
    world.add(router, 1, make(1, sets.template(fields=fields), count=1 - sets.ipfix))
    for i, (put_in, packets) in enumerate(((3, 10), (3, 5), (17, 20), (17, 1))):
        flow = Flow(1, packets, more={INPUT: put_in, OUTPUT: 9})
        world.add(router, 2 + i, make(2 + i, sets.data([flow], fields=fields), count=1), [flow])
    links = test.path('links.csv')
    world.run('--links', links)
    got = {(row['interface'], row['direction']): int(row['packets']) for row in lib.read_csv(links, LINK_COLUMNS)
           if row['exporter'].startswith(FAULTY) and row['exporter'] in (FAULTY, FAULTY + '/0')}
    assert got == {('3', 'in'): 15, ('17', 'in'): 21, ('9', 'out'): 36}, got


HOSTILE = (b'=cmd|x!A1', b'+1', b'-1+2', b'@A1', b'  =A1', b'\t=A1', b'\r\n=A1', b'\x1b[2J', b'\xc2\x9b2J', b'\xff=', b'a",=1\n=2',
           b"'", b'Gi0/1-2=@+', b'<script>alert(1)</script>')


@each('interface names with formulas, control characters or invalid text', *SETS)
def hostile_names(test, protocol):
    """In CSV, no name starts a formula and each is one printable cell. In JSON, only invalid text
    is replaced."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    fields, make = FIELDS + [(INPUT, 4)], getattr(router, protocol)
    scope = (INPUT if sets.ipfix else 2, 4)
    flows = [Flow(1 + i, 5, more={INPUT: 1 + i}) for i in range(len(HOSTILE))]
    world.add(router, 1, make(1, sets.template(fields=fields), sets.data(flows, fields=fields),
                              count=len(flows) + (0 if sets.ipfix else 1)), flows)
    names = [{scope[0]: 1 + i, NAME: name} for i, name in enumerate(HOSTILE)]
    world.capture.add(2, FAULTY, make(2, sets.options_template(300, [scope], [(NAME, 40)]), a_set(300, rows(
        [scope, (NAME, 40)], names)), count=len(names) + (0 if sets.ipfix else 1)))
    world.note(2, row_of(router), datagrams=1)
    links = test.path('links.csv'), test.path('links.json')
    world.run('--links', links[0], '--links', f'json:{links[1]}')
    clean = [''.join(chr(byte) if 32 <= byte < 127 else '?' for byte in name) for name in HOSTILE]
    with open(links[1], encoding='ascii') as lines:
        got = {row['interface']: row['name'] for row in map(json.loads, lines) if row['interface']}
    assert got == dict(enumerate(clean, 1)), got
    got = {int(row['interface']): row['name'] for row in lib.read_csv(links[0], LINK_COLUMNS) if row['interface']}
    assert got == {i: "'" + name if name.lstrip()[0] in '=+-@' else name for i, name in enumerate(clean, 1)}, got


# ---- permitted senders


def one(world, router, when, flow, **columns):
    world.add(router, when, router.v5(when, [flow]), [flow], **columns)


@case('an allow list: refused, names, the longest prefix, sampling')
def allow_list(test):
    world = World(test)
    for i, (address, name, sampling) in enumerate((
            ('192.0.2.1', 'core', 1), ('192.0.2.64', 'special', 10), ('192.0.2.79', 'special', 10),
            ('192.0.2.65', 'one', 1), ('2001:db8::5', 'six', 1), ('192.0.2.80', 'core', 1))):
        router, flow = Router('v5', address), Flow(i + 1, 2)
        if sampling == 1:
            one(world, router, 1 + i, flow)
        else:
            world.capture.add(1 + i, address, router.v5(1 + i, [flow]))
            estimated(world, 1, row_of(router), flow, sampling, 'configured', datagrams=1)
        world.names[row_of(router)] = name
    for i, address in enumerate(('192.0.3.1', '203.0.113.9', '2001:db9::5', '198.51.100.1')):
        router = Router('v5', address)
        world.stray(1.5 + i, address, router.v5(1.5 + i, [Flow(90 + i)]), refused=1)
    world.run('--dedup', 'none', '--exporter', '192.0.2.0/24=core', '--exporter', '192.0.2.64/28=special,sampling=10',
              '--exporter', '192.0.2.65=one', '--exporter', '2001:db8::/32=six')


@case('an allow list: unreadable datagrams of permitted senders are malformed')
def allow_list_malformed(test):
    world = World(test)
    world.stray(1, '192.0.2.200', b'\0\x07' + bytes(50), malformed=1)
    world.run('--exporter', '192.0.2.0/24')


@case('an allow list: unreadable datagrams of other senders are refused, and bounds hold')
def allow_list_unread(test):
    world = World(test)
    world.stray(1, '203.0.113.1', b'\0\x07' + bytes(50), refused=1)
    world.stray(2, '203.0.113.1', Router('v5', '203.0.113.1').v5(2, [Flow(1)], count=30), refused=1)
    world.run('--exporter', '192.0.2.0/24')


@case('an allow list: an sFlow agent is its own exporter, for any permitted sender')
def agent_address(test):
    world = World(test)
    router, flow = Router('sflow', FAULTY), Flow(1)
    world.add(router, 1, router.sflow(1, [router.sample(flow)]), [flow], src='192.0.2.77')
    world.stray(2, '203.0.113.77', router.sflow(2, [router.sample(Flow(2))]), refused=1)
    other, flow = Router('sflow', '203.0.113.5'), Flow(3)
    world.add(other, 3, other.sflow(3, [other.sample(flow)]), [flow], src='192.0.2.78')
    world.run('--exporter', '192.0.2.0/24')


@case('edges: traffic that enters at an edge counts')
def edges(test):
    world = World(test, steady=False)
    router = Router('v5', FAULTY)
    flows = [Flow(i + 1, 3) for i in range(6)]
    interfaces = ((1, 9), (9, 1), (3, 9), (5, 9), (6, 9), (2, 9))
    records = [v5_record(flow, put_in, out) for flow, (put_in, out) in zip(flows, interfaces)]
    counted = [flow for flow, (put_in, _) in zip(flows, interfaces) if put_in in (1, 3, 4, 5)]
    world.add(router, 1, router.v5(1, flows, records=records), counted, duplicate=3)
    world.run('--dedup', 'edge', '--exporter', '192.0.2.0/24,edge=1+3-5')


@case('edges: records of core routers do not count, even if they come first')
def core(test):
    world = World(test, steady=False)
    inner, outer = Router('v5', '192.0.2.1'), Router('v5', '192.0.2.2')
    flows = [Flow(i + 1, 3) for i in range(6)]
    for when, router, counts in ((1, inner, False), (2, outer, True), (3, inner, False)):
        records = [v5_record(flow, 1, 9) for flow in flows]
        world.add(router, when, router.v5(when, flows, records=records), flows if counts else [],
                  duplicate=0 if counts else 6)
    world.run('--dedup', 'edge', '--exporter', '192.0.2.1', '--exporter', '192.0.2.2,edge=1')


BAD_TEXTS = (
    (('--exporter', '192.0.2.0/33'), 'not a prefix length'),
    (('--exporter', '192.0.2'), 'not an address or prefix'),
    (('--exporter', ''), "'': empty"),
    (('--exporter', '192.0.2.1='), 'a name has 1 to 47'),
    (('--exporter', '192.0.2.1=' + 'a' * 48), 'a name has 1 to 47'),
    (('--exporter', '192.0.2.1=a b'), 'a name must not contain'),
    (('--exporter', '192.0.2.1,sampling=0'), 'sampling= needs'),
    (('--exporter', '192.0.2.1,sampling=x'), 'sampling= needs'),
    (('--exporter', '192.0.2.1,edge='), 'edge= needs'),
    (('--exporter', '192.0.2.1,edge=5-3'), 'edge= needs'),
    (('--exporter', '192.0.2.1,edge=1-1000'), 'edge= is limited to'),
    (('--exporter', '192.0.2.1,speed=3'), 'not sampling=N, edge=LIST or ovsdb='),
    (('--exporters-max', '0'), 'exporters-max'),
    (('--exporters-max', '65001'), 'exporters-max'),
    (('--exporters-max', 'many'), 'exporters-max'),
    (('--dedup', 'wrong'), 'dedup'),
    (('--dedup', 'edge'), 'edge'),
    (('--export-timeout', '0'), 'export-timeout'),
    (('--export-timeout', 'soon'), 'export-timeout'),
    (('--observed-flows', '0'), 'observed-flows'),
    (('--link-overhead', '257'), 'link-overhead'),
    (('--receive-buffer', '1'), 'receive-buffer'),
)
BAD_LISTEN = ('2055', '127.0.0.1', '127.0.0.1:', '127.0.0.1:0', '127.0.0.1:65536', '127.0.0.1:x', '1.2.3:2055',
              '::1:2055x', '[::1]', '[127.0.0.1]:2055', 'localhost:2055')


@case('invalid option values')
def bad_texts(test):
    """Exit status 2, and one line with the option and its allowed values."""
    capture = Capture()
    capture.add(1, FAULTY, Router('v5', FAULTY).v5(1, [Flow(1)]))
    path = capture.write(test.path('capture.pcap'))
    for option, part in BAD_TEXTS:
        test.run('collect', '--pcap', path, *option).expect(2).expect_one_line(option[0], part)
    for address in BAD_LISTEN:
        test.run('collect', '--listen', address).expect(2).expect_one_line('--listen', address)


# ---- floods


@each('a flood from 20 000 random addresses, workers', 1, 3)
def address_flood(test, workers):
    """Exporters that sent at least twice and continue keep their slot, templates and records."""
    world = World(test, seconds=20)
    steady = [Router(protocol, f'192.0.2.{100 + i}', i) for i, protocol in enumerate(PROTOCOLS)]
    for i in range(20):
        for router in steady:
            when = 0.3 + i + 0.01 * router.domain
            flow = Flow(1000 * (router.domain + 1) + i)
            world.add(router, when, router.message(when, [flow], i == 0), [flow])
    world.estimated = True  # flows of the flood are not checked one by one
    known = {place: dict(counts) for place, counts in world.expected.items()}
    numbers = random.Random(12)
    for i in range(20000):
        when = 2 + i * 17 / 20000
        address = '.'.join(str(byte) for byte in numbers.randbytes(4))
        world.capture.add(when, address, Router('v5', address).v5(when, [Flow(100000 + i)]))
    path = world.capture.write(test.path('flood.pcap'))
    found, ledger, exporters, result = collect(
        test, '--pcap', path, *SMALL, '--interval', '0', '--exporters-max', '64', '--workers', workers)
    check_said(result, ['exporters-max 64 is too small: '])
    got = {row['exporter']: row for row in exporters}
    for (_, row), counts in known.items():
        moved = {column: int(got[row[0]][column]) for column in COUNTS}
        assert moved == counts, f'{row}: {moved} instead of {counts}'
    assert len(exporters) == 65, len(exporters)
    assert lib.total(exporters, 'datagrams') == 20000 + 40 + 80, lib.total(exporters, 'datagrams')
    assert lib.total(exporters, 'records') + lib.total(exporters, 'shed') == 20120, exporters
    flows = {lib.row_key(row): int(row['packets']) for row in found}
    for (_, key), packets in world.flows.items():
        assert flows[key] == packets, (key, flows[key], packets)


@case('more known exporters than --max-exporters')
def no_room(test):
    """Records of later exporters are shed; known exporters keep their slots."""
    world = World(test, steady=False)
    routers = [Router('v5', '192.0.2.1'), Router('v5', '192.0.2.2')]
    for i in range(10):
        for j, router in enumerate(routers):
            one(world, router, 1 + i / 5 + j / 100, Flow(100 * j + i + 1, 2))
    late = Router('v9', '192.0.2.9')
    for i in range(4):
        world.stray(1.7 + i / 5, late.address, late.message(1.7 + i / 5, [Flow(900 + i)], True), shed=1)
    world.run('--exporters-max', '2')


@case('more flows than are observed at once')
def edge_only(test):
    """The edge rule decides about other flows, and they are counted. A single exporter loses
    nothing by it."""
    world = World(test, steady=False)
    router = Router('v5', FAULTY)
    for i in range(40):
        flows = [Flow(30 * i + j + 1, 2) for j in range(30)]
        world.add(router, 1 + i / 10, router.v5(1 + i / 10, flows), flows)
    path = world.capture.write(test.path('capture.pcap'))
    found, ledger, exporters, _ = collect(test, '--pcap', path, '--sketch', 'flow-table', '--memory', '8MB', '--top',
                                          '1M', '--interval', '0', '--observed-flows', '64')
    world.check_flows(found)
    row, = exporters
    assert row['counted'] == '1200' and 1000 <= int(row['edge_only']) <= 1136, row
    assert lib.total(ledger, 'measured') == 2400, ledger


# ---- captures


@each('fragments of', 'sflow', 'ipfix', 'ipfix over IPv6')
def in_fragments(test, which):
    """Fragments in order, reversed, and with others in between."""
    world = World(test)
    protocol = which.split()[0]
    flows = [Flow(i + 1) for i in range(40)]
    orders = (lambda frames: frames, lambda frames: frames[::-1], lambda frames: frames[1:] + frames[:1])
    for i, order in enumerate(orders):
        router = Router(protocol, f'2001:db8::{i + 1}' if 'IPv6' in which else f'192.0.2.{i + 1}')
        many = [router.message(1 + i, flows, True)]
        frames = fragments(router.address, many[0], number=i + 1)
        assert len(frames) >= (3 if protocol == 'sflow' else 1)
        if len(frames) == 1:
            frames = fragments(router.address, many[0], size=400, number=i + 1)
        for j, data in enumerate(order(frames)):
            world.capture.add_frame(1 + i + j / 5, data)
        world.note(1, row_of(router), flows, datagrams=1)
    world.run('--dedup', 'none')


@case('fragments that are missing, overlap, or do not form a datagram')
def bad_fragments(test):
    world = World(test, seconds=60)
    payload = Router('sflow', FAULTY).message(1, [Flow(i + 1) for i in range(40)])
    for at in range(3):
        frames = fragments(f'192.0.2.{at + 1}', payload, number=at)
        del frames[at]
        for j, data in enumerate(frames):
            world.capture.add_frame(1 + at + j / 10, data)
        world.note(1, OTHERS, datagrams=1, malformed=1)
    frames = fragments('192.0.2.9', payload, number=9)
    other = bytearray(frames[1])
    other[34:60] = bytes(26)
    struct.pack_into('>H', other, 20, struct.unpack_from('>H', other, 20)[0] - 1)
    for j, data in enumerate((frames[0], frames[1], bytes(other), *frames[2:])):
        world.capture.add_frame(7 + j / 10, data)
    world.note(1, OTHERS, datagrams=1, malformed=1)
    world.run()


@case('a capture that ends within a datagram')
def unfinished(test):
    world = World(test)
    payload = Router('sflow', FAULTY).message(1, [Flow(i + 1) for i in range(40)])
    world.capture.add_frame(9, fragments(FAULTY, payload, number=1)[0])
    world.note(9, OTHERS, datagrams=1, malformed=1)
    world.run()


@case('a capture with a snap length')
def snapped(test):
    """Missing bytes are unknown: bounds are empty."""
    world = World(test)
    router = Router('v5', FAULTY)
    for i in range(5):
        data = frame(FAULTY, router.v5(1 + i, [Flow(1), Flow(2)]))
        world.capture.add_frame(1 + i, data, captured=100)
        world.note(1, OTHERS, datagrams=1, malformed=1)
    world.run()


@case('packets other than UDP are ignored')
def not_udp(test):
    world = World(test)
    world.capture.add_frame(1, b'\x02' * 12 + b'\x08\x06' + bytes(28))
    tcp = bytearray(frame(FAULTY, b'x' * 40))
    tcp[23] = 6
    world.capture.add_frame(2, bytes(tcp))
    world.run()


@case('sFlow samples without a flow')
def sflow_others(test):
    """Counters, discarded packets and vendor formats: the bounds stay."""
    world = World(test)
    world.harmless = True
    router, flow = Router('sflow', FAULTY), Flow(1)
    counters = struct.pack('>IIIII', 1, 1, 1, 1, 88) + struct.pack('>IIQII', 3, 6, 10**9, 1, 3) + bytes(64)
    discarded = struct.pack('>IIIIIIII', 1, 0, 3, 5, 3, 0, 256, 0)
    strange = struct.pack('>III', 1, 2, 3)
    samples = [struct.pack('>II', number, len(body)) + body
               for number, body in ((2, counters), (5, discarded), (7 << 12 | 1, strange), (8 << 12, b''))]
    world.add(router, 1, router.sflow(1, [*samples, router.sample(flow)]), [flow], unusable=2)
    world.run()


@case('sFlow lengths that lie')
def sflow_lengths(test):
    world = World(test)
    said = 0
    for i, (place, number) in enumerate(((4, 0xffffffff), (4, 20), (36, 10**6), (44, 0xfffffffc), (60, 0x7fffffff))):
        router = Router('sflow', f'192.0.2.{i + 1}')
        sample = bytearray(router.sample(Flow(i + 1)))
        struct.pack_into('>I', sample, place, number)
        payload = router.sflow(1 + i, [bytes(sample)])
        world.capture.add(1 + i, router.address, payload)
        said += 1
    path = world.capture.write(test.path('capture.pcap'))
    _, ledger, exporters, _ = collect(test, '--pcap', path, *SMALL, '--interval', '0')
    for row in exporters:
        if row['exporter'] != STEADY:
            assert (row['datagrams'], row['malformed']) == ('1', '1') and int(row['records']) <= 1, row
        else:
            assert (row['counted'], row['malformed']) == ('20', '0'), row
    assert len(exporters) == said + 1, exporters


# ---- clocks

DAY = 86400


@each('a clock that is', 'of 1970', 'of next month', '2 s behind', '5 s ahead', 'right but for 0.9 s')
def clocks(test, which):
    """The offset is reported; epochs still follow the arrival of datagrams."""
    offset = {'of 1970': 1000 - START, 'of next month': 30 * DAY, '2 s behind': -2, '5 s ahead': 5,
              'right but for 0.9 s': -0.9}[which]
    world = World(test, seconds=6, epochs=True)
    router = Router('v5', FAULTY)
    for i in range(5):
        flow = Flow(i + 1, 2)
        now = START + i + 0.5 + offset
        world.add(router, i + 0.5, router.v5(i + 0.5, [flow], exported=int(now), nanoseconds=round(now % 1 * 1e9)),
                  [flow])
    said = [] if which.startswith('right') else [
        f'the clock of exporter {FAULTY} is {abs(offset):.3f} s {"ahead" if offset > 0 else "behind"}']
    found, _, exporters, _ = world.run(said=said)
    for row in found + exporters:
        start, end = (lib.timestamp(row[name]) / 1e6 for name in ('start', 'end'))
        assert START + int(row['epoch']) <= start <= end <= START + int(row['epoch']) + 1, row


@each('a clock that is off, by', *SETS)
def coarse_clocks(test, protocol):
    world = World(test)
    router, flow = Router(protocol, FAULTY), Flow(1)
    make, sets = getattr(router, protocol), SETS[protocol]
    world.add(router, 1, make(1, sets.template(), sets.data([flow]), count=2 - sets.ipfix, exported=START + 3601),
              [flow])
    world.run(said=[f'the clock of exporter {FAULTY} is 3600.000 s ahead'])


# ---- exporters of all kinds


@case('several protocols of one address at one port')
def one_port(test):
    world = World(test)
    for i, protocol in enumerate(PROTOCOLS):
        router = Router(protocol, FAULTY, 5)
        for j in range(4):
            flow = Flow(100 * i + j + 1)
            when = 1 + j + i / 10
            world.add(router, when, router.message(when, [flow], j == 0), [flow], port=9995)
    world.run()


@each('exporters with IPv6 addresses', *PROTOCOLS)
def ipv6_exporters(test, protocol):
    world = World(test)
    router = Router(protocol, '2001:db8::1234', 5)
    for i, (payload, flows) in enumerate(stream(router, 6)):
        world.add(router, 1 + i / 5, payload, flows)
    world.run()


class Flow6(Flow):
    def __init__(self, n, packets):
        super().__init__(n, packets)
        self.src, self.dst = f'2001:db8::{n:x}', '2001:db8:1::1'

    def values(self):
        return {**super().values(), SRC6: packed(self.src), DST6: packed(self.dst)}


@each('flows of IPv6', *SETS)
def ipv6_flows(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    fields = [(SRC6, 16), (DST6, 16), (SPORT, 2), (DPORT, 2), (PROTO, 1), (PACKETS, 4), (BYTES, 4)]
    flows = [Flow6(i + 1, i + 1) for i in range(5)]
    send_records(world, router, fields, flows, flows)
    world.run()


@case('v5 omits IPv6, and nothing is invented for it')
def v5_without_ipv6(test):
    """Its sequence numbers count the records that it sends: bounds are present."""
    world = World(test)
    router = Router('v5', FAULTY)
    for i, (payload, flows) in enumerate(stream(router, 10)):
        world.add(router, 1 + i / 5, payload, flows)
    world.run()


@case('a datagram of 65 507 bytes')
def largest(test):
    world = World(test)
    router = Router('ipfix', FAULTY)
    flows = [Flow(i + 1) for i in range(2256)]
    payload = router.ipfix(1, IPFIX.template(), IPFIX.data(flows), count=len(flows))
    payload = router.ipfix(1, IPFIX.template(), IPFIX.data(flows), bytes(65507 - len(payload)), count=len(flows),
                           sequence=0)
    assert len(payload) == 65507
    world.add(router, 1, payload, flows)
    for i, data in enumerate(fragments('192.0.2.2', payload, size=1480)):
        world.capture.add_frame(1.5 + i / 1000, data)
    world.note(1, row_of(Router('ipfix', '192.0.2.2')), flows, datagrams=1)
    world.run('--dedup', 'none')


@case('several IPFIX messages in a datagram')
def several_messages(test):
    """RFC 7011, 3.1: each message has its length. Bytes after the last message may be padding."""
    world, router, flows = World(test), Router('ipfix', FAULTY, 9), [Flow(i + 1, 3 + i) for i in range(3)]
    payload = b''
    for i, flow in enumerate(flows):
        payload += router.ipfix(1, *([IPFIX.template()] if i == 0 else []), IPFIX.data([flow]))
        router.sequence = i + 1
    world.add(router, 1, payload, flows)
    more = Flow(9, 4)
    world.add(router, 2, router.ipfix(2, IPFIX.data([more])) + bytes(6), [more])
    world.run()


# ---- the file of templates


def template_world(test, protocol, first, **columns):
    """A run with an exporter that sends its template with data, or only data."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY, 9)
    make, flow = getattr(router, protocol), Flow(1, 3)
    when = 2 if first else 5
    router.sequence = 0 if first else 500
    body = [sets.template()] if first else []
    payload = make(when, *body, sets.data([flow]), count=1 + (first and not sets.ipfix))
    world.add(router, when, payload, [] if columns else [flow], **columns)
    return world, router


@each('templates outlive a restart', *SETS)
def kept_templates(test, protocol):
    kept = test.path('templates')
    template_world(test, protocol, True)[0].run('--templates', kept)
    assert sorted(os.listdir(os.path.dirname(kept))).count('templates.new') == 0
    template_world(test, protocol, False)[0].run('--templates', kept)
    template_world(test, protocol, False, waiting=1)[0].run()


@each('options outlive a restart, of a', 'sampler', 'interface', 'domain')
def kept_sampling(test, kind):
    kept = test.path('templates')
    for protocol in SETS:
        fields = FIELDS + [(SAMPLER, 2), (INPUT, 4)]
        for first in (True, False):
            world, sets, router = World(test), SETS[protocol], Router(protocol, FAULTY, 9)
            when, flow = 2 if first else 5, Flow(1, 3, more={SAMPLER: 3, INPUT: 3})
            body = [*sampling_options(router, kind, 3, 100), sets.template(fields=fields)] if first else []
            router.sequence = 0 if first else 500
            world.capture.add(when, FAULTY, getattr(router, protocol)(
                when, *body, sets.data([flow], fields=fields), count=1 + first * (3 - 2 * sets.ipfix)))
            estimated(world, when, row_of(router), flow, 100, datagrams=1)
            world.run('--templates', kept)


@case('samplers not named in any record')
def unnamed_samplers(test):
    world = World(test)
    router, flow = Router('v9', FAULTY), Flow(1, 5)
    world.add(router, 1, router.v9(1, *sampling_options(router, 'sampler', 3, 100), V9.template(), V9.data([flow]),
                                   count=4), [flow])
    world.unknown.add(0)
    world.run(said=[f'exporter {FAULTY} has samplers, but its records do not name them'])


@case('templates of an exporter that restarted meanwhile are invalid')
def kept_and_restarted(test):
    kept = test.path('templates')
    template_world(test, 'v9', True)[0].run('--templates', kept)
    world = World(test)
    router = Router('v9', FAULTY, 9)
    world.add(router, 5, router.v9(5, V9.data([Flow(1, 3)]), count=1, uptime=20000), waiting=1)
    world.run('--templates', kept)


@case('a damaged template file')
def damaged_templates(test):
    """Only damaged lines are ignored; the file is rewritten."""
    kept = test.path('templates')
    template_world(test, 'ipfix', True)[0].run('--templates', kept)
    with open(kept, encoding='ascii') as stream:
        lines = stream.read().splitlines(keepends=True)
    own = next(i for i, line in enumerate(lines) if FAULTY in line)
    place = lines[own].index(' ', 8) + 20
    hit = lines[own][:place] + ('0' if lines[own][place] != '0' else '1') + lines[own][place + 1:]
    for text, damaged in ((lines[:own] + [hit] + lines[own + 1:], '1'), ([*lines, '\0\xff what is this\n'], '1'),
                          (['a word\n', *lines[1:]], '1')):
        with open(kept, 'w', encoding='latin-1') as stream:
            stream.write(''.join(text))
        columns = {'waiting': 1} if hit in text else {}
        template_world(test, 'ipfix', False, **columns)[0].run(
            '--templates', kept, said=[f'{damaged} damaged lines ignored'])
    with open(kept, 'w', encoding='ascii') as stream:
        stream.write(''.join(lines)[:-30])  # like a file after a power failure
    world, _ = template_world(test, 'ipfix', False, **({'waiting': 1} if own == len(lines) - 1 else {}))
    world.run('--templates', kept, said=['damaged lines ignored'])


@case('a full disk of the template file')
def full_disk(test):
    """The error is reported and counting continues; the old file stays complete."""
    kept = test.path('templates')
    template_world(test, 'ipfix', True)[0].run('--templates', kept)
    with open(kept, 'rb') as stream:
        before = stream.read()
    world = World(test)
    router = Router('v9', FAULTY)
    flow = Flow(1, 3)
    flood = b''.join(V9.template(300 + i)[4:] for i in range(60))
    world.add(router, 1, router.v9(1, V9.template(), a_set(0, flood), V9.data([flow]), count=62), [flow])
    capture = world.capture.write(test.path('capture.pcap'))
    results = {name: test.path(f'{name}.csv') for name in ('output', 'exporters')}
    # The file size limit: rows of one epoch fit, hugepages do not.
    limited = ['prlimit', '--fsize=8192', test.binary]
    result = test.run('collect', '--pcap', capture, *SMALL, '--interval', '0', '--output', results['output'],
                      '--exporters', results['exporters'], '--templates', kept, '--exporters-max', '100', '--no-huge',
                      program=limited).expect(1)
    check_said(result, ['cannot write: File too large'])
    world.check_rows(read_exporters(results['exporters']))
    world.check_flows(lib.read_output(results['output']))
    with open(kept, 'rb') as stream:
        assert stream.read() == before
    assert not os.path.exists(kept + '.new')


@case('a template file that cannot be written')
def no_place(test):
    """The error is reported before any socket opens."""
    source = ('--listen', '127.0.0.1:9')
    for place, why in ((test.path('nowhere/templates'), 'No such file'), ('/dev/null/templates', 'Not a directory'),
                       (test.path('n' * 5000), 'name too long')):
        test.run('collect', *source, '--templates', place).expect(1).expect_one_line('--templates', why)
    place = test.path('readonly')
    os.mkdir(place)
    script = 'mount -t tmpfs -o ro tmpfs "$0" || exit 77; exec "$@"'
    result = test.run('collect', *source, '--templates', os.path.join(place, 'templates'),
                      program=['unshare', '-m', 'sh', '-c', script, place, test.binary])
    if 'unshare' in result.stderr or result.status == 77:
        test.skip('no mount namespace available')
    result.expect(1).expect_one_line('--templates', place, 'Read-only file system')


@case('a file that is not a template file')
def no_file(test):
    world, _ = template_world(test, 'ipfix', True)
    path = world.capture.write(test.path('capture.pcap'))
    for place in ('/dev/full', test.directory):
        test.run('collect', '--pcap', path, '--templates', place).expect(1).expect_one_line('--templates', place)
    precious = test.path('precious')
    with open(precious, 'w', encoding='ascii') as stream:
        stream.write('notes\nof mine\n')
    with open(path, 'rb') as stream:
        capture = stream.read()
    for place in (precious, path):  # foreign contents are not replaced
        test.run('collect', '--pcap', path, '--templates', place).expect(1).expect_one_line('not a template file', place)
    with open(precious, encoding='ascii') as stream:
        assert stream.read() == 'notes\nof mine\n'
    with open(path, 'rb') as stream:
        assert stream.read() == capture


# ---- live sockets


class Live:
    """A collector that listens on a free port of this host."""

    def __init__(self, test, *options, address='127.0.0.1', program=None, before=None):
        """before: called with the process before the constructor waits for it."""
        probe = sender(address, 9)
        self.address, self.port = address, probe.getsockname()[1]
        probe.close()
        self.test = test
        self.files = {kind: test.path(f'{kind}.csv') for kind in ('output', 'stats', 'exporters')}
        host = f'[{address}]' if ':' in address else address
        self.process = test.start(
            'collect', '--listen', f'{host}:{self.port}', *SMALL, '--interval', '1s',
            *(word for kind, file in self.files.items() for word in (f'--{kind}', file)), *options, program=program)
        if before is not None:
            before(self.process)
        test.until(self.listens, 'it listens')

    def listens(self):
        with open('/proc/net/udp6' if ':' in self.address else '/proc/net/udp', encoding='ascii') as table:
            there = any(line.split()[1].endswith(f':{self.port:04X}') for line in table if ':' in line.split()[1])
        assert there or self.process.running(), self.process.result.describe()
        return there

    def rows(self):
        try:
            return read_exporters(self.files['exporters'])
        except (AssertionError, OSError, IndexError):  # incomplete or missing file
            return []

    def end(self):
        self.process.signal(signal.SIGINT)
        result = self.test.wait(self.process).expect(0)
        ledger = lib.read_stats(self.files['stats'])
        lib.check_account(result, ledger)
        return lib.read_output(self.files['output']), ledger, read_exporters(self.files['exporters']), result


def sum_of(rows, column):
    return sum(int(row[column]) for row in rows)


@case('a collector that is stopped and continued')
def stopped(test):
    """Datagrams that exceed the socket buffer are counted exactly."""
    live = Live(test, '--receive-buffer', '64KB')
    router = Router('ipfix', '127.0.0.1')
    sent = 0
    with sender('127.0.0.1', live.port) as out:
        for _ in range(20):
            out.send(router.ipfix(0, IPFIX.template(), IPFIX.data([Flow(sent + 1)]), count=1, exported=START))
            sent += 1
        test.until(lambda: sum_of(live.rows(), 'datagrams') == sent, 'the first ones came')
        live.process.signal(signal.SIGSTOP)
        for _ in range(1500):
            out.send(router.ipfix(0, IPFIX.data([Flow(sent + 1)]), count=1, exported=START))
            sent += 1
        live.process.signal(signal.SIGCONT)
        test.until(lambda: sum_of(live.rows(), 'datagrams') + sum_of(live.rows(), 'lost_socket') >= sent,
                   'each is counted')
        for _ in range(20):
            out.send(router.ipfix(0, IPFIX.data([Flow(sent + 1)]), count=1, exported=START))
            sent += 1
        test.until(lambda: sum_of(live.rows(), 'datagrams') + sum_of(live.rows(), 'lost_socket') >= sent,
                   'the last ones came')
    found, ledger, exporters, _ = live.end()
    dropped = sum_of(exporters, 'lost_socket')
    assert 0 < dropped < 1500, exporters
    assert sum_of(exporters, 'datagrams') + dropped == sent, (sent, exporters)
    # The later gap is the loss that the kernel has already reported.
    assert sum_of(exporters, 'lost_network') == 0, exporters
    assert sum_of(exporters, 'counted') == sent - dropped == lib.total(ledger, 'measured'), exporters
    lossy = {row['epoch'] for row in exporters if any(int(row[name]) for name in UNKNOWN)}
    for row in found:
        assert row['confidence'] == '' or row['epoch'] not in lossy, row


@case('an IPv6 and an IPv4 socket, with several protocols')
def both_families(test):
    live = Live(test, address='::1')
    total = 0
    with sender('::1', live.port) as out:
        for i, protocol in enumerate(PROTOCOLS):
            router = Router(protocol, '::1', 3)
            for j in range(5):
                out.send(router.message(0, [Flow(100 * i + j + 1)], j == 0))
                total += 1
        for junk in (b'', b'\0', b'\0\7' + bytes(60)):
            out.send(junk)
            total += 1
        test.until(lambda: sum_of(live.rows(), 'datagrams') == total, 'all came')
    _, ledger, exporters, _ = live.end()
    assert lib.total(ledger, 'measured') == 20, ledger
    by_protocol = {}
    for row in exporters:
        by_protocol[row['protocol']] = by_protocol.get(row['protocol'], 0) + int(row['counted'])
        assert row['exporter'] in ('::1', 'others'), row
    assert by_protocol == {**{name: 5 for name in NAMES.values()}, '': 0}, by_protocol
    assert sum_of(exporters, 'malformed') == 3, exporters


@case('a second collector at the same address')
def address_in_use(test):
    live = Live(test)
    result = test.run('collect', '--listen', f'127.0.0.1:{live.port}', '--output', test.path('second.csv'))
    result.expect(1).expect_one_line('127.0.0.1', str(live.port))
    live.end()


def send_until(test, router, out, condition, what):
    """Sends datagrams of one record until the condition holds. Returns their number."""
    sent = 0

    def is_so():
        nonlocal sent
        out.send(router.ipfix(0, IPFIX.data([Flow(sent + 1)]), count=1, exported=START))
        sent += 1
        return condition()

    test.until(is_so, what)
    return sent


@case('a stalled disk of the template file')
def stalled_disk(test):
    """Datagrams are received and epochs end, including the last one; the file follows when the disk
    resumes."""
    kept = test.path('templates')
    router = Router('ipfix', '127.0.0.1')
    with held_disk.HeldDisk(test) as disk:
        live = Live(test, '--templates', kept, program=disk.program, before=disk.connect)
        with sender('127.0.0.1', live.port) as out:
            out.send(router.ipfix(0, IPFIX.template(), IPFIX.data([Flow(1)]), count=1, exported=START))
            test.until(disk.is_waiting, 'the file is written')
            epochs = len(live.rows())
            sent = 1 + send_until(test, router, out, lambda: len(live.rows()) >= epochs + 3, 'epochs end')
            out.send(router.ipfix(0, IPFIX.template(300), count=0, exported=START))  # is saved at the end
            sent += 1
            live.process.signal(signal.SIGINT)
            test.until(lambda: sum_of(live.rows(), 'datagrams') == sent, 'the last epoch is written')
        assert live.process.running(), live.process.result.describe()
        assert not os.path.exists(kept), 'it was not held up'

        def ended():
            disk.let_go()
            return not live.process.running()

        test.until(ended, 'it ends')
    _, _, exporters, _ = live.end()
    assert sum_of(exporters, 'counted') == sent - 1 and sum_of(exporters, 'lost_socket') == 0, exporters
    with open(kept, encoding='ascii') as stream:
        lines = stream.readlines()
    assert len(lines) == 3, lines


@case('the directory of the template file is removed and restored')
def lost_directory(test):
    """The begin and the end of the failure are reported once each."""
    place = test.path('place')
    os.mkdir(place)
    live = Live(test, '--templates', os.path.join(place, 'templates'))
    os.rmdir(place)
    with sender('127.0.0.1', live.port) as out:
        router = Router('ipfix', '127.0.0.1')
        out.send(router.ipfix(0, IPFIX.template(), count=0, exported=START))
        sent = 1 + send_until(test, router, out, lambda: 'cannot write' in live.process.stderr(), 'it is printed')
        epochs = len(live.rows())
        sent += send_until(test, router, out, lambda: len(live.rows()) >= epochs + 2, 'epochs end')
        os.mkdir(place)
        sent += send_until(test, router, out, lambda: 'writing again' in live.process.stderr(), 'it is also printed')
    _, _, exporters, result = live.end()
    assert sum_of(exporters, 'counted') == sent - 1, exporters
    assert os.listdir(place) == ['templates']
    said = [line for line in result.said() if '--templates' in line]
    assert len(said) == 2 and 'No such file' in said[0] and place in said[0] and place in said[1], result.describe()

# SPDX-License-Identifier: BSD-3-Clause
"""The fault matrix of sketchtap collect: each trap and each fault by name, with the counter that moves.

Beside each faulty exporter a steady one sends in the same capture: all its records must count.
"""

import functools
import os
import random
import re
import signal
import struct

import lib
from datagrams import (
    APPLICATION, BOOTED, BYTES, DIRECTION, DPORT, DST, DST6, FIELDS, FLAGS, INPUT, INTERVAL, IPFIX, KEY, NAME,
    OUTPUT, PACKETS, PADDING, PROTO, REVERSE, SAMPLER, SAMPLER_INTERVAL, SETS, SPORT, SRC, SRC6, START,
    TOTAL_BYTES, TOTAL_PACKETS, V9, VARIABLE, Capture, Flow, Router, a_set, fragments, frame, packed, rows,
    sender, v5_record)
from test_collect import EVERYTHING, EXPORTER_COLUMNS, LINK_COLUMNS, collect, read_exporters

PROTOCOLS = ('v5', 'v9', 'ipfix', 'sflow')
NAMES = {'v5': 'netflow5', 'v9': 'netflow9', 'ipfix': 'ipfix', 'sflow': 'sflow'}
FAULTY = '192.0.2.1'
STEADY = '192.0.2.200'
STEADY_FLOWS = 60000
COUNTS = EXPORTER_COLUMNS[7:8] + EXPORTER_COLUMNS[9:24]  # but for bytes
# Where one of them is not 0, there may be packets of which nothing is known.
UNKNOWN = ('waiting', 'unknown_template', 'unusable', 'malformed', 'shed', 'lost_network', 'lost_socket')
OTHERS = ('others', '', '')
# Three flow tables of 1 M flows are not needed.
SMALL = ('--sketch', 'flow-table', '--memory', '8MB', '--top', '1M', '--observed-flows', '64K')

CASES = []


def case(name, *arguments):
    def add(function):
        CASES.append((name, lambda test: function(test, *arguments)))
        return function
    return add


def each(name, *choices):
    """A case of each choice, which is behind its name."""
    def add(function):
        for choice in choices:
            case(f'{name}, {choice}', choice)(function)
        return function
    return add


def cases(settings):
    return lib.some(settings, CASES)


def row_of(router):
    return router.address, str(router.domain), NAMES[router.protocol]


class World:
    """A capture, and what must come of it: whoever adds a datagram says what it moves."""

    def __init__(self, test, seconds=10, epochs=False, steady=True):
        self.test = test
        self.epochs = epochs
        self.capture = Capture()
        self.expected = {}  # {(epoch, row): {column: count}}
        self.flows = {}     # {(epoch, key): packets}
        self.estimated = False  # bounds of what is sampled are not the figures
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
        """flows: of records that count; duplicate: records beside them."""
        for flow in flows:
            self.counts(when, flow, flow.packets)
        self.expect(row, self.epoch(when), records=len(flows) + unusable + duplicate, counted=len(flows),
                    unusable=unusable, duplicate=duplicate, **columns)

    def add(self, router, when, payload, flows=(), src=None, port=2055, source_port=50000, row=None, **columns):
        self.capture.add(when, src or router.address, payload, port=port, source_port=source_port)
        self.note(when, row or row_of(router), flows, datagrams=1, **columns)

    def stray(self, when, src, payload, **columns):
        """A datagram that is nobody's."""
        self.capture.add(when, src, payload)
        self.note(when, OTHERS, datagrams=1, **columns)

    def run(self, *options, said=(), everything=True):
        """said: what each line on standard error has a part of."""
        path = self.capture.write(self.test.path(f'capture{len(self.test.processes)}.pcap'))
        table = SMALL if everything else ()
        rows, ledger, exporters, result = collect(
            self.test, '--pcap', path, *table, '--interval', '1s' if self.epochs else '0', *options)
        check_said(result, said)
        self.check_rows(exporters)
        self.check_flows(rows)
        measured = sum(self.flows.values())
        assert self.estimated or lib.total(ledger, 'measured') == measured, (measured, ledger)
        return rows, ledger, exporters, result

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
        unknown = {epoch for (epoch, _), counts in self.expected.items() if any(counts[name] for name in UNKNOWN)}
        for row in rows:
            assert (int(row['epoch']) in unknown) == (row['confidence'] == '') == (row['packets_high'] == ''), row
            if not self.estimated:
                assert row['packets_low'] == row['packets'], row
                assert row['packets_high'] in ('', row['packets']), row


def check_said(result, parts):
    lines = result.said()
    left = list(parts)
    for line in lines:
        match = next((part for part in left if part in line), None)
        assert match is not None, f'unexpected: {line}\n{result.describe()}'
        left.remove(match)
    assert not left, f'not said: {left}\n{result.describe()}'


def steady_start(world, router, messages=6, first=1000, when=0.1):
    """Messages that count, so that sequence numbers are understood; returns when they end."""
    for i in range(messages):
        flows = [Flow(first + 2 * i), Flow(first + 2 * i + 1)]
        world.add(router, when, router.message(when, flows, i == 0 and router.protocol in SETS), flows)
        when += 0.1
    return when


# ---- what is no datagram of a protocol


@case('unknown versions, and nothing at all')
def unknown_versions(test):
    world = World(test)
    payloads = [struct.pack('>HH', version, 1) + bytes(60) for version in (1, 6, 7, 8, 11, 0xffff)]
    payloads += [b'', b'\0', b'\0\5', b'\0\0\0\5', struct.pack('>III', 4, 1, 1) + bytes(40), b'GET / HTTP/1.1\r\n\r\n']
    for i, payload in enumerate(payloads):
        world.stray(1 + i / 10, f'203.0.113.{i}', payload, malformed=1)
    world.run()


def whole_message(protocol, router, flows):
    """(payload, where its records end)"""
    payload = router.message(1, flows, protocol in SETS)
    if protocol == 'sflow':
        size = (len(payload) - 28) // len(flows)
    else:
        size = {'v5': 48}.get(protocol, 29)
    return payload, [len(payload) - size * i for i in reversed(range(len(flows)))]


@each('cut at every length', *PROTOCOLS)
def cut(test, protocol):
    world = World(test)
    flows = [Flow(i + 1, 1 if protocol == 'sflow' else i + 1) for i in range(3)]
    # The length of an IPFIX message is in its header: of one that is cut nothing is believed.
    header = {'v5': 24, 'v9': 20, 'ipfix': 1 << 16, 'sflow': 28}[protocol]
    for length in range(len(whole_message(protocol, Router(protocol, FAULTY), flows)[0]) + 1):
        router = Router(protocol, f'10.99.{length >> 8}.{length & 255}')
        payload, ends = whole_message(protocol, router, flows)
        when = 1 + length / 1000
        if length < min(header, len(payload)):
            world.stray(when, router.address, payload[:length], malformed=1)
        else:
            world.add(router, when, payload[:length], [flow for flow, end in zip(flows, ends) if end <= length],
                      malformed=length < len(payload))
    world.run('--dedup', 'none', said=[] if protocol == 'ipfix' else ['is malformed'])


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
    world.run('--dedup', 'none', said=['is malformed: its count of records'] * 4)


@case('counts that are too small')
def small_counts(test):
    world = World(test)
    flows = [Flow(1, 5), Flow(2, 7)]
    router = Router('v5', '192.0.2.1')
    world.add(router, 1, router.v5(1, flows, count=1), flows[:1], malformed=1)
    router = Router('sflow', '192.0.2.2')
    samples = [router.sample(flow) for flow in flows]
    world.add(router, 2, router.sflow(2, samples, count=1), [Flow(1)], malformed=1)
    # What stands behind an IPFIX message is none of it.
    router = Router('ipfix', '192.0.2.3')
    payload = router.ipfix(3, IPFIX.template(), IPFIX.data(flows), count=2)
    world.add(router, 3, payload + b'what is this', flows)
    world.run('--dedup', 'none', said=['is malformed: its count of records'] * 2)


@each('a v9 count that disagrees', 'with the sets', 'but counts data alone', 'but counts sets')
def v9_count(test, choice):
    world = World(test)
    router = Router('v9', FAULTY)
    flows = [Flow(i, 2) for i in range(1, 5)]
    count = {'with the sets': 77, 'but counts data alone': 4, 'but counts sets': 2}[choice]
    world.add(router, 1, router.v9(1, V9.template(), V9.data(flows), count=count), flows, malformed=count == 77)
    world.run(said=['is malformed: its count of records'] if count == 77 else [])


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
    world.run('--dedup', 'none', said=['is malformed: a set has a length below 4'] * 2)


@case('sets that are longer than the datagram')
def long_set(test):
    world = World(test)
    flows = [Flow(1, 2), Flow(2, 3)]
    for i, protocol in enumerate(SETS):
        sets, router = SETS[protocol], Router(protocol, f'192.0.2.{i + 1}')
        payload = getattr(router, protocol)(1 + 2 * i, sets.template(), sets.data(flows, length=20000), count=3)
        world.add(router, 1 + 2 * i, payload, flows, malformed=1)
    world.run('--dedup', 'none', said=['is malformed: a length goes beyond its end'] * 2)


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
    world.run('--dedup', 'none', said=['is malformed: a set has a length below 4, or a reserved'] * 3)


@case('padding of sets and messages, also such that looks like a set')
def padding(test):
    world = World(test)
    flows = [Flow(1, 2), Flow(2, 3)]
    template_like = V9.template(256, KEY)[:24]
    for i, inside in enumerate((bytes(3), bytes(28), b'\0\0\0\x04', b'\x01\0\0\x08abcd', template_like)):
        for j, protocol in enumerate(SETS):
            sets, router = SETS[protocol], Router(protocol, f'192.0.2.{10 * j + i + 1}')
            make = getattr(router, protocol)
            world.add(router, 1 + i, make(1 + i, sets.template(), sets.data(flows, padding=inside), count=3 - j), flows)
            more = [Flow(3, 4)]
            world.add(router, 1.1 + i, make(1.1 + i, sets.data(more), bytes(4 * i + 2), count=1), more)
    world.run('--dedup', 'none')


# ---- templates


@each('a template longer than the datagram', 3, 65535)
def long_template(test, count):
    """Its data waits for one that is whole."""
    world = World(test)
    flows = [Flow(1, 2), Flow(2, 3)]
    for i, protocol in enumerate(SETS):
        sets, router = SETS[protocol], Router(protocol, f'192.0.2.{i + 1}')
        make = getattr(router, protocol)
        wrong = sets.template(256, FIELDS[:2], count=count)
        world.add(router, 1 + 2 * i, make(1 + 2 * i, wrong, count=1), malformed=1)
        world.add(router, 1.1 + 2 * i, make(1.1 + 2 * i, sets.data(flows), count=2), waiting=1)
        world.templates[row_of(router)] = 0
    world.run('--dedup', 'none', said=['is malformed: a length goes beyond its end'] * 2)


@case('a template of as many fields as a datagram holds')
def many_fields(test):
    world = World(test)
    flow = Flow(1, 2)
    for i, protocol in enumerate(SETS):
        sets, router = SETS[protocol], Router(protocol, f'192.0.2.{i + 1}')
        make = getattr(router, protocol)
        # Of 8 MB for 1000 domains each has 8 KB: the large one finds no room.
        fields = FIELDS + [(PADDING, 0)] * 16000
        world.add(router, 1 + 2 * i, make(1 + 2 * i, sets.template(300, fields), sets.template(), count=2), malformed=1)
        world.add(router, 1.1 + 2 * i, make(1.1 + 2 * i, sets.data([flow]), count=1), [flow])
        world.templates[row_of(router)] = 1
    world.run('--dedup', 'none', said=['is malformed: there is no room for another template'] * 2)


@each('a template without fields', *SETS)
def no_fields(test, protocol):
    """In IPFIX it withdraws one; v9 knows no such thing, but what it was before is gone."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make, flow = getattr(router, protocol), Flow(1, 2)
    world.add(router, 1, make(1, sets.template(), sets.data([flow]), count=2 - (protocol == 'ipfix')), [flow])
    world.add(router, 2, make(2, a_set(2 if sets.ipfix else 0, struct.pack('>HH', 256, 0)), count=1 - sets.ipfix),
              malformed=not sets.ipfix)
    world.add(router, 3, make(3, sets.data([Flow(2, 2)]), count=1), waiting=1)
    world.run(said=[] if sets.ipfix else ['is malformed: a template has no fields'])


@each('a template that is redefined', *SETS)
def redefined(test, protocol):
    """In mid-stream, and between two sets of one datagram."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    other = [(BYTES, 4), *reversed(KEY), (FLAGS, 1), (PACKETS, 2)]
    flows = [Flow(i, i) for i in range(1, 9)]
    options = sets.ipfix  # templates are no data records

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
    """A domain has its share of memory; what it sends beyond costs itself."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    flow = Flow(1, 2)
    world.add(router, 1, make(1, sets.template(), sets.data([flow]), count=2 - sets.ipfix), [flow])
    for i in range(40):
        body = b''.join(sets.template(1000 + 300 * i + j)[4:] for j in range(300))
        world.add(router, 1.1 + i / 10, make(1.1 + i / 10, a_set(2 if sets.ipfix else 0, body),
                                             count=0 if sets.ipfix else 300), malformed=1)
    flow = Flow(2, 2)
    world.add(router, 6, make(6, sets.data([flow]), count=1), [flow])
    # 64 MB for 30 000 domains: 2237 bytes each, of which a template takes at least 100.
    _, _, exporters, _ = world.run('--exporters-max', '30000', said=['there is no room for another template'])
    kept, = (int(row['templates']) for row in exporters if row['exporter'] == FAULTY)
    assert 5 <= kept <= 22, exporters


@each('data before its template', *SETS)
def data_first(test, protocol):
    """It waits, and counts in the epoch in which the template comes."""
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


@each('data of another template goes on waiting', *SETS)
def other_template(test, protocol):
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    flow = Flow(2, 5)
    world.add(router, 1, make(1, sets.data([Flow(1, 3)], 300), count=1), waiting=1)
    world.add(router, 2, make(2, sets.data([flow]), count=1), [flow])
    world.add(router, 3, make(3, sets.template(), count=1 - sets.ipfix))
    world.run()


@case('too much waits: the largest heap gives')
def waiting_room(test):
    """Who sends most without a template loses its own oldest; another's single set stays."""
    world = World(test)
    greedy, modest = Router('v9', '192.0.2.1'), Router('v9', '192.0.2.2')
    flow = Flow(1, 3)
    world.add(modest, 1, modest.v9(1, V9.data([flow]), count=1))
    sets = 350
    for i in range(sets):
        when = 1.1 + i / 200
        world.capture.add(when, greedy.address, greedy.v9(when, a_set(300, bytes(60000)), count=1000))
    world.add(modest, 5, modest.v9(5, V9.template(), count=1), [flow])
    # 16 MB hold 60 000 bytes as blocks of 512, of which 4 are the next one's number.
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


# ---- sequence numbers


def some_flows(i):
    """Of message i; losses of records are told as datagrams of the mean size."""
    return [Flow(4 * i + 1 + j) for j in range(3 + i % 2)]


def stream(router, n):
    """n messages of some records each: [(payload, flows)]"""
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
    """Where messages are counted a loss looks like records that are counted."""
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
    """Bounds and confidence are empty in that one alone."""
    world = World(test, epochs=True)
    router = Router(protocol, FAULTY)
    for i, (payload, flows) in enumerate(stream(router, 20)):
        if i != 11:
            world.add(router, 1 + i / 5, payload, flows)
    world.expect(row_of(router), 3, lost_network=1)
    world.run()


def conventions(n, which):
    """Sequence numbers of n IPFIX messages."""
    return [{'own records included': sum(len(some_flows(j)) for j in range(i + 1)), 'always 0': 0,
             'messages': i}[which] for i in range(n)]


@each('sequence numbers of IPFIX', 'own records included', 'always 0', 'messages')
def other_convention(test, which):
    """What an exporter counts is recognized, said, and no loss."""
    world = World(test)
    router = Router('ipfix', FAULTY)
    words = {'own records included': "count data records, the message's own included", 'always 0': 'count nothing',
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
    world.run(said=['which its protocol does not say'])


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
    """Nothing is lost; templates and samplers are those of before, and void."""
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
    """It is no restart, and flows' times stay where they are."""
    world = World(test)
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
    found, _, _, _ = world.run()
    for row in found:
        if row['src_ip'].startswith('10.0.0.') and 'first' in row:
            assert START <= lib.timestamp(row['first']) / 1e6 <= START + 10, row


# ---- what records say


def send_records(world, router, fields, flows, counted, when=1, packets=None, **columns):
    """One message with the template and the records; in both protocols."""
    sets = SETS[router.protocol]
    body = a_set(256, rows(fields, flows))
    count = len(flows) + (not sets.ipfix)
    world.add(router, when, getattr(router, router.protocol)(when, sets.template(fields=fields), body, count=count),
              counted, **columns)


@each('totals alone, over several reports', *SETS)
def totals(test, protocol):
    """As Juniper's SRX says them: they are differenced."""
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
    """As Open vSwitch says them: the deltas count."""
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
    """As Open vSwitch says them: each packet once."""
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


@case('a record of variable length that is cut')
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
    world.run('--dedup', 'none', said=['is malformed: a length goes beyond its end'] * 4)


@each('fields of length 0', *SETS)
def zero_length(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    fields = [(FLAGS, 0), *KEY, (PADDING, 0), (PACKETS, 4), (INPUT, 0), (BYTES, 4), (NAME, 0)]
    flows = [Flow(1, 3), Flow(2, 4)]
    send_records(world, router, fields, flows, flows)
    world.run()


@each('nothing but fields of length 0', *SETS)
def only_zero_length(test, protocol):
    """Its records would have no end."""
    world = World(test)
    sets, router = SETS[protocol], Router(protocol, FAULTY)
    make = getattr(router, protocol)
    world.add(router, 1, make(1, sets.template(300, [(SRC, 0), (PACKETS, 0)]), count=1 - sets.ipfix), malformed=1)
    world.add(router, 3, make(3, a_set(300, bytes(100)), count=1), waiting=1)
    world.run(said=['is malformed: a template has no fields'])


@each('records without packets, or without a key', *SETS)
def unusable(test, protocol):
    world = World(test)
    router = Router(protocol, FAULTY)
    send_records(world, router, KEY + [(BYTES, 4)], [Flow(1), Flow(2)], [], unusable=2)
    router.domain, router.sequence = 1, 0
    send_records(world, router, FIELDS[2:], [Flow(1), Flow(2), Flow(3)], [], when=2, unusable=3)
    world.run()


@each('options without anything that is known', *SETS)
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
    """A record that stands for `interval` times its packets."""
    world.estimated = True
    world.note(when, row, **columns)
    world.expect(row, records=1, counted=1)
    world.counts(when, flow, flow.packets * interval)
    world.sampling[row] = str(interval), source


def sampling_options(router, kind, identity, interval):
    """(sets, data records) that say how a sampler, an interface or the domain samples."""
    sets = SETS[router.protocol]
    v9 = router.protocol == 'v9'
    scope = {'sampler': (SAMPLER, 4) if not v9 else (1, 4), 'interface': (2, 4) if v9 else (INPUT, 4),
             'domain': (1, 4) if v9 else (149, 4)}[kind]
    fields = [(SAMPLER, 4), (SAMPLER_INTERVAL, 4)] if kind == 'sampler' and v9 else [
        (SAMPLER_INTERVAL if kind == 'sampler' else INTERVAL, 4)]
    values = {scope[0]: identity, SAMPLER: identity, SAMPLER_INTERVAL: interval, INTERVAL: interval}
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
    if kind != 'domain':  # of another one nothing is said
        other = Flow(2, 7, more={SAMPLER: 4, INPUT: 4})
        world.add(router, 2, make(2, sets.data([other], fields=fields), count=1), [other])
    world.run()


for chosen in SETS:
    each(f'sampling by options of {chosen}', 'sampler', 'interface', 'domain')(
        functools.partial(lambda test, kind, protocol: sampling_case(test, protocol, kind), protocol=chosen))


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
    """It says 1 of 1000; by its sample pool it takes 1 of 512. A warning has both numbers."""
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
    world.run(said=['192.0.2.1 says that it samples 1 of 1000 packets, its sample pool says 1 of 512'])


@each('an interface index that moves', *SETS)
def interface_moves(test, protocol):
    """The flow is the same; its packets go on to count, once."""
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

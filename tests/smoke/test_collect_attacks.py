# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect against malicious senders. docs/SECURITY.md names these tests."""

import os
import random

import lib
import net
from collected import LINK_COLUMNS, collect
from datagrams import BYTES, DST, PACKETS, PROTO, SETS, SRC, Flow, Router, v5_record
from test_collect_faults import COUNTS, PROTOCOLS, SMALL, World

CASES = lib.Cases()
case, each, cases = CASES.case, CASES.each, CASES.some


@each('forged senders that send good datagrams, of each', 1, 3, 6)
def forged_senders(test, datagrams):
    """Proven exporters that are silent keep their slot and their templates."""
    world = World(test, seconds=60, epochs=True, steady=False)
    good = [Router(protocol, f'192.0.2.{100 + i}', i) for i, protocol in enumerate(PROTOCOLS)]
    for i, router in enumerate(good):
        for j, when in enumerate((0.1, 0.2, 50, 55)):
            flow = Flow(1000 * i + j)
            world.add(router, when + i / 100, router.message(when + i / 100, [flow], when < 0.2), [flow])
    numbers = random.Random(datagrams)
    for i in range(300):
        forged = Router(numbers.choice(PROTOCOLS), f'198.18.{i // 250}.{i % 250}', i)
        for j in range(datagrams):
            when = 2 + 45 * j / datagrams + i / 1000
            world.capture.add(when, forged.address, forged.message(when, [Flow(100000 + 10 * i + j)], True))
    known = {place: dict(counts) for place, counts in world.expected.items()}
    path = world.capture.write(test.path('forged.pcap'))
    _, _, exporters, _ = collect(test, '--pcap', path, *SMALL, '--interval', '1s', '--exporters-max', '64')
    got = {(int(row['epoch']), row['exporter']): row for row in exporters}
    for (epoch, row), counts in known.items():
        moved = {column: int(got[epoch, row[0]][column]) for column in COUNTS}
        assert moved == counts, f'{epoch}, {row}: {moved} instead of {counts}'


@case('records without an interface')
def no_interface(test):
    """--links counts records without an interface in a row of their own, and invents no
    interface."""
    world = World(test, steady=False)
    routers = [Router(protocol, f'192.0.2.{i + 1}') for i, protocol in enumerate(PROTOCOLS)]
    for i, router in enumerate(routers):
        for j in range(3):
            flows = [Flow(10 * i + j)]
            payload = router.message(1 + j, flows, j == 0)
            if router.protocol == 'sflow':
                payload = router.sflow(1 + j, [router.sample(flow, put_in=(0, 0x3fffffff)[j % 2], out=0x3fffffff)
                                               for flow in flows])
            world.add(router, 1 + j, payload, flows)
    named = Router('v5', '192.0.2.9')
    world.add(named, 5, named.v5(5, [Flow(99, 7)], records=[v5_record(Flow(99, 7), 4, 5)]), [Flow(99, 7)])
    links = test.path('links.csv')
    world.run('--links', links)
    rows = [(row['exporter'], row['interface'], row['name'], row['direction'], int(row['packets']))
            for row in lib.read_csv(links, LINK_COLUMNS)]
    assert rows == [(router.address, '', '', '', 3) for router in routers] + [
        (named.address, '4', '', 'in', 7), (named.address, '5', '', 'out', 7)], rows


@each('a public address without --exporter', '192.0.2.9', '10.0.0.9', '')
def open_address(test, address):
    """collect and the doctor warn about it. If it listens on all addresses, those of the host
    decide."""
    there = net.Namespace(test)
    there.set('lo', 'up')
    limits = ((), True), (('--exporter', '0.0.0.0/0'), True), (('--exporter', '127.0.0.0/8'), False)
    for public in (False, True) if address == '' else (address.startswith('192'),):
        there.ip('address', 'add', address or ('203.0.113.5' if public else '172.20.0.1'), 'dev', 'lo')
        listen = '--listen', f'{address}:2055'
        for limit, is_open in limits:
            process = test.start('collect', *listen, *limit, '--duration', '100ms', '--output', os.devnull,
                                 '--no-huge', inside=there)
            said = test.wait(process).expect(0).said()
            warned = [line for line in said if 'any host can send records' in line and '--exporter PREFIX' in line]
            assert len(warned) == (public and is_open), (public, limit, said)
            process = test.start('doctor', *listen, *limit, '--format', 'csv', inside=there)
            found = [line for line in test.wait(process).stdout.splitlines() if 'senders' in line]
            assert len(found) == 1 and ('warning' in found[0]) == (public and is_open), (public, limit, found)


WIDE = [(SRC, 4), (DST, 4), (PROTO, 1), (PACKETS, 8), (BYTES, 8)]


@each('absurd counts of one exporter', 'v9', 'ipfix')
def absurd_counts(test, protocol):
    """Absurd counts exhaust only their exporter's share of the sums. Other exporters lose no
    record, and bounds hold."""
    world = World(test, seconds=3, epochs=True, steady=False)
    good, bad = Router('v5', '192.0.2.1'), Router(protocol, '192.0.2.66')
    sets, make = SETS[protocol], getattr(bad, protocol)
    sent = {}
    for epoch in range(3):
        for part in range(30):
            when = epoch + 0.001 + part / 1000
            # Records with a few impossible counts, many maximum counts, and decreasing ones.
            counts = [2**63, 2**64 - 1, *[2**52 - 20 - 2**part] * 150, *[2**i for i in range(51, 5, -1)]]
            flows = [Flow(9999, 1, more={BYTES: count}) for count in counts]
            world.capture.add(when, bad.address, make(when, sets.template(fields=WIDE), sets.data(flows, fields=WIDE),
                                                      count=len(flows) + (protocol == 'v9')))
        for i in range(20):
            when = epoch + 0.1 + i / 25
            flow = Flow(1 + i % 3, 7)
            world.capture.add(when, good.address, good.v5(when, [flow]))
            sent[epoch, flow.key()] = sent.get((epoch, flow.key()), 0) + 7
    path = world.capture.write(test.path('absurd.pcap'))
    rows, _, exporters, result = collect(test, '--pcap', path, *SMALL, '--interval', '1s', '--dedup', 'none')
    for row in exporters:
        is_good = row['exporter'] == good.address
        assert (int(row['unusable']) == 0) == is_good, row
        assert not is_good or int(row['records']) == int(row['counted']) == 20, row
    assert sum(row['exporter'] == good.address for row in exporters) == 3, exporters
    for text in ('records with impossible counts', 'above the limit of packets or bytes per exporter and interval'):
        assert any(f'exporter {bad.address}: ' in line and text in line for line in result.said()), result.describe()
    got = {(int(row['epoch']), lib.row_key(row)): row for row in rows}
    for place, packets in sent.items():
        row = got[place]
        assert int(row['packets']) == packets == int(row['packets_low']), (place, row)
        assert row['packets_high'] == '' and row['confidence'] == '', row
    assert {place[0] for place in got.keys() - sent.keys()} == {0, 1, 2} and len(got) == len(sent) + 3, got.keys()

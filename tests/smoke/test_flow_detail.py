# SPDX-License-Identifier: BSD-3-Clause
"""--flow-detail against a simple model of the rules in FLOWTABLE.md, and against tshark."""

import os
import random
import re
import socket
import struct

import lib
import peers

LONG = ('captures', 'tshark_agrees')

FLOW_COLUMNS = (
    'epoch,measurement,start,src_ip,dst_ip,src_port,dst_port,proto,packets,bytes,first,last,'
    'tcp_flags,ended').split(',')
TABLE = ('--sketch', 'flow-table', '--seed', '5', '--top', '1000000')
MILLISECOND, SECOND = 10 ** 6, 10 ** 9
FIN, SYN, RST = 1, 2, 4
# Existing captures are tested; the first few are compared with tshark.
CAPTURES = ('zoo/mix__snabb__sanitized4k.pcap', 'zoo/filefmt-ng__ndpi__alexa-app.pcapng',
            'zoo/mix__ndpi__gnutella.pcap', 'zoo/malformed__ndpi__fuzz-2006-06-26-2594.pcap',
            'zoo/tso__chrissanders__mail_sender_attachment.pcapng', 'zoo/ipv6__pcapplusplus__tls2.pcap',
            'zoo/qinq__ndpi__zoom.pcap', 'zoo/frag__ndpi__ip_fragmented_garbage.pcap',
            'zoo/vlan__libtrace__vlan.pcap', 'zoo/link-sll__ndpi__rtsp.pcap',
            'zoo/web__own__recorded.pcap', 'zoo/bulk__own__recorded.pcap', 'zoo/shell__own__recorded.pcap',
            'zoo/offload__own__recorded.pcap', 'zoo/vxlan__own__recorded.pcap', 'zoo/ip__own__frames.pcap',
            'zoo/qinq-shell__own__recorded.pcap', 'zoo/sll-names__own__recorded.pcap')


class Packet:
    """Input of the rules: key, time, length, and for TCP sequence, payload, window and flags."""

    def __init__(self, key, time, length, tcp):
        self.key, self.time, self.length, self.tcp = key, time, length, tcp


def segment(data, available, proto, fragment):
    """Returns the ports, and (sequence, payload, window, flags), after an IP header with a length
    of `available`."""
    ports = struct.unpack_from('>HH', data) if proto in (6, 17, 132) and len(data) >= 4 else (0, 0)
    if proto != 6 or fragment or len(data) < 16:
        return ports, None
    sequence, _, offset, flags, window = struct.unpack_from('>IIBBH', data, 4)
    return ports, (sequence, max(0, available - (offset >> 4) * 4), window, flags)


def read_ip(kind, data, wire):
    """Returns (source, destination, protocol, payload, expected bytes of payload, fragment, later
    fragment)."""
    header = (data[0] & 15) * 4
    if kind == 0x0800 and data[0] >> 4 == 4 and 20 <= header <= len(data):
        length, place = struct.unpack_from('>H', data, 2)[0] or wire, struct.unpack_from('>H', data, 6)[0]
        return (data[12:16], data[16:20], data[9], data[header:], length - header, place & 0x3fff != 0,
                place & 0x1fff != 0)
    if kind != 0x86dd or data[0] >> 4 != 6 or len(data) < 40:
        return None
    proto, at, fragment, later, walked = data[6], 40, False, False, 0
    length = struct.unpack_from('>H', data, 4)[0]
    total = length + 40 if length else wire
    while proto in (0, 43, 44, 51, 60) and not later:
        walked += 1
        if len(data) < at + 8 or walked > 8:
            return None
        following = data[at]
        if proto == 44:
            fragment, later = True, struct.unpack_from('>H', data, at + 2)[0] >> 3 != 0
            at += 8
        else:
            at += (data[at + 1] + 2) * 4 if proto == 51 else (data[at + 1] + 1) * 8
        proto = following
    return data[8:24], data[24:40], proto, data[at:], total - at, fragment, later


def packets_of(oracle, records):
    packets = []
    for record in records:
        _, time, data, wire = record
        at, kind = oracle.layer3(record)
        if at is None or kind not in (0x0800, 0x86dd) or at >= len(data):
            continue
        found = read_ip(kind, data[at:], wire - at)
        if found is None:
            continue
        src, dst, proto, rest, available, fragment, later = found
        ports, tcp = segment(b'' if later else rest, available, proto, fragment)
        family = socket.AF_INET if len(src) == 4 else socket.AF_INET6
        key = (socket.inet_ntop(family, src), socket.inet_ntop(family, dst), *map(str, ports), str(proto))
        packets.append(Packet(key, time, wire, tcp))
    return packets


class Connection:
    """One direction of a connection."""

    def __init__(self, sequence):
        self.due, self.hole = sequence, None
        self.late = {'retransmitted': 0, 'out_of_order': 0}

    def follow(self, sequence, length, flags):
        ahead = (sequence - self.due + 2 ** 31) % 2 ** 32 - 2 ** 31
        if length > 0 and ahead < 0:
            keep_alive = length == 1 and ahead == -1 and not flags & (SYN | FIN | RST)
            if not keep_alive:
                self.come_late(sequence, length)
        if ahead + length > 0:
            if ahead > 0:
                self.hole = (self.due, ahead)
            self.due = (sequence + length) % 2 ** 32

    def come_late(self, sequence, length):
        into = (sequence - self.hole[0]) % 2 ** 32 if self.hole else 0
        if not self.hole or into >= self.hole[1]:
            self.late['retransmitted'] += 1
            return
        self.late['out_of_order'] += 1
        if into > 0:
            self.hole = (self.hole[0], into)
        else:
            filled = min(length, self.hole[1])
            self.hole = ((sequence + filled) % 2 ** 32, self.hole[1] - filled) if filled < self.hole[1] else None


class Flow:
    """A flow record according to the rules."""

    def __init__(self, packet):
        self.packets, self.last, self.own, self.state = 0, packet.time, 'count', 'count'
        self.back = 0  # packet count at the last return to level count
        self.gaps, self.windows, self.in_burst, self.bursts = [], [], False, 0
        self.peak, self.connection, self.seen_tcp = 0, None, False
        self.sums = {'retransmitted': 0, 'out_of_order': 0, 'zero_windows': 0}

    def add(self, packet, total, settings):
        gap = max(0, packet.time - self.last)
        if self.own != 'count' and gap > SECOND:
            if self.own == 'rate':
                self.back = self.packets
            self.own = {'tcp': 'rate', 'rate': 'count'}[self.own]
        elif self.own == 'count' and self.packets - self.back >= settings['after']:
            self.own = 'rate'
        before, self.state = self.state, self.own
        if self.state == 'tcp' and packet.tcp is None:
            self.state = 'rate'
        self.packets += 1
        self.last = max(self.last, packet.time)
        burst = self.state != 'count' and self.look_at_rate(packet, gap, before)
        if self.state == 'tcp':
            self.look_at_tcp(packet, before)
        if (settings['deepest'] == 'tcp' and self.own == 'rate' and packet.key[4] == '6' and
                (burst or self.packets >= settings['share'] * total)):
            self.own = 'tcp'

    def look_at_rate(self, packet, gap, before):
        self.gaps.append(min(gap, SECOND))
        if before == 'count' or not self.windows or self.last - self.windows[0][0] >= MILLISECOND:
            self.windows, self.in_burst = [], False
        self.windows.append((self.last, packet.length))
        self.peak = max(self.peak, sum(length for _, length in self.windows))
        begins = (not self.in_burst and len(self.windows) % 16 == 0 and
                  len(self.windows) * sum(self.gaps) > 4 * MILLISECOND * len(self.gaps))
        self.in_burst |= begins
        self.bursts += begins
        return begins

    def look_at_tcp(self, packet, before):
        sequence, payload, window, flags = packet.tcp
        length = payload + (flags & SYN != 0) + (flags & FIN != 0)
        self.seen_tcp = True
        self.sums['zero_windows'] += window == 0 and not flags & (SYN | FIN | RST)
        if before != 'tcp':
            self.connection = Connection((sequence + length) % 2 ** 32)
            return
        late = dict(self.connection.late)
        self.connection.follow(sequence, length, flags)
        for name, count in self.connection.late.items():
            self.sums[name] += count - late[name]

    def row(self):
        """Returns the columns of the outputs."""
        row = dict.fromkeys(lib.DEEP_COLUMNS, '')
        row.update(state=self.state, deep_packets=str(len(self.gaps)))
        if self.gaps:
            row.update(peak_bps=str(self.peak * 8000), bursts=str(self.bursts), gap_min_ns=str(min(self.gaps)),
                       gap_mean_ns=str((sum(self.gaps) + len(self.gaps) // 2) // len(self.gaps)))
        if self.seen_tcp:
            row.update({name: str(count) for name, count in self.sums.items()})
        return row


def model(packets, deepest='tcp', after=16, share=0.01):
    settings, flows = {'deepest': deepest, 'after': after, 'share': share}, {}
    for total, packet in enumerate(packets, 1):
        flows.setdefault(packet.key, Flow(packet)).add(packet, total, settings)
    return flows


def options_of(deepest='tcp', after=16, share=0.01):
    return ('--deep', deepest, '--deep-after', str(after),
            *(('--deep-share', str(share)) if deepest == 'tcp' else ()))


def measure(test, path, *options):
    """Returns the rows of --flows and of --output."""
    name = len(test.processes)
    flows, output = test.path(f'flows{name}.csv'), test.path(f'output{name}.csv')
    result = test.run('--pcap', path, *TABLE, '--interval', '0', '--flows', flows, '--output', output,
                      *options).expect(0)
    return (lib.read_csv(flows, FLOW_COLUMNS + lib.DEEP_COLUMNS),
            lib.read_csv(output, lib.OUTPUT_COLUMNS + lib.RECORD_COLUMNS + lib.DEEP_COLUMNS), result)


def figures(rows):
    found = {lib.row_key(row): {name: row[name] for name in lib.DEEP_COLUMNS} for row in rows}
    assert len(found) == len(rows), 'a key twice'
    return found


def check(test, path, packets, settings, *options):
    expected = {key: flow.row() for key, flow in model(packets, **settings).items()}
    for rows in measure(test, path, *options_of(**settings), *options)[:2]:
        found = figures(rows)
        assert found.keys() == expected.keys(), f'{path}: other keys'
        for key, row in expected.items():
            assert found[key] == row, f'{path} {settings} {key}:\n{found[key]}\nand by the rules\n{row}'
    return expected


def captures(test):
    return [file for file in CAPTURES if os.path.exists(os.path.join(test.traces, file))]


SETTINGS = ({}, {'after': 1, 'share': 0}, {'deepest': 'rate', 'after': 3}, {'after': 5, 'share': 1})


def test_captures(test):
    """All flows of the captures."""
    oracle, looked = lib.Oracle(), 0
    for number, file in enumerate(test.some(captures(test))):
        path = lib.unpack(test, file)
        packets = packets_of(oracle, oracle.records(path))
        settings = SETTINGS[number % len(SETTINGS)]
        expected = check(test, path, packets, settings, '--workers', '1')
        looked += sum(int(row['deep_packets']) for row in expected.values())
    assert looked > 1000


# ---- generated connections


def tcp_packet(time, flow, sequence, payload, window=1000, flags=16):
    header = struct.pack('>HHIIBBHHH', 1000 + flow, 80, sequence % 2 ** 32, 0, 5 << 4, flags, window, 0, 0)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 40 + payload, 0, 0, 64, 6, 0, b'\x0a\0\0\1', b'\x0a\0\0\2')
    return time, b'\2' * 12 + b'\x08\0' + ip + header + bytes(payload)


def made_up(test, flows, packets, seed):
    """Connections with all features of the rules: bursts, pauses, losses, repetition, wrapping
    numbers."""
    draw, time, frames = random.Random(seed), 10 ** 15, []
    due = [draw.randrange(2 ** 32) for _ in range(flows)]
    for _ in range(packets):
        flow = min(draw.randrange(flows), draw.randrange(flows))
        time += draw.choice((0, 0, 0, 1, 1, 10, 50, 300)) if draw.random() < 0.997 else draw.randrange(3 * 10 ** 6)
        burst = draw.randrange(30) if draw.random() < 0.03 else 1
        for _ in range(burst):
            payload = draw.choice((0, 1, 10, 100, 100))
            sequence = due[flow] + draw.choice((0,) * 12 + (-1, 100, 200, -100, -50, -300))
            frames.append(tcp_packet(time, flow, sequence, payload, draw.choice((0, 1, 500, 500)),
                                     draw.choice((16,) * 20 + (2, 17, 4, 20))))
            due[flow] = max(due[flow], sequence + payload)
    return lib.write_pcap(test.path(f'made_up{seed}.pcap'), frames)


def test_made_up_connections(test):
    """Features that are rare in captures, with one worker and four, and with records that pauses
    end."""
    oracle = lib.Oracle()
    path = made_up(test, 60, 8000, 3)
    packets = packets_of(oracle, oracle.records(path))
    sums = dict.fromkeys(('bursts', 'retransmitted', 'out_of_order', 'zero_windows'), 0)
    for settings in SETTINGS:
        for row in check(test, path, packets, settings).values():
            for name in sums:
                sums[name] += int(row[name] or 0)
    assert min(sums.values()) > 20, sums
    # Shares depend on the packets of one worker; these two settings do not use shares.
    for settings in SETTINGS[1:3]:
        for options in (('--workers', '4'), ('--design', 'async', '--dispatch', 'flow', '--workers', '4')):
            check(test, path, packets, settings, *options)


def test_records_that_end_within(test):
    """A record that --idle-timeout ends keeps its figures, and the next one starts at level
    count."""
    oracle = lib.Oracle()
    path = made_up(test, 40, 4000, 4)
    packets, timeout = packets_of(oracle, oracle.records(path)), 500 * MILLISECOND
    expected, last = {}, {}
    for packet in packets:
        number, time = last.get(packet.key, (0, packet.time))
        number += packet.time - time > timeout
        last[packet.key] = number, packet.time
        record = expected.setdefault((packet.key, number), Flow(packet))
        record.add(packet, 1, {'deepest': 'tcp', 'after': 2, 'share': 0})
    rows, output, _ = measure(test, path, *options_of('tcp', 2, 0), '--idle-timeout', '500ms')
    assert len(expected) > 100
    assert sorted((*lib.row_key(row), *(row[name] for name in lib.DEEP_COLUMNS)) for row in rows) == sorted(
        (*key, *record.row().values()) for (key, _), record in expected.items())
    for row in output:  # sums over the records of a key
        records = [record for (key, _), record in expected.items() if key == lib.row_key(row)]
        assert int(row['deep_packets']) == sum(len(record.gaps) for record in records)
        assert int(row['bursts'] or 0) == sum(record.bursts for record in records)
        assert int(row['peak_bps'] or 0) == 8000 * max(record.peak for record in records)
        gaps = [gap for record in records for gap in record.gaps]
        assert row['gap_min_ns'] == (str(min(gaps)) if gaps else '')
        assert int(row['retransmitted'] or 0) == sum(record.sums['retransmitted'] for record in records)


def test_no_room(test):
    """The first due flows get the available entries. The others are only counted, with a
    warning."""
    oracle = lib.Oracle()
    path = made_up(test, 60, 3000, 5)
    flows = model(packets_of(oracle, oracle.records(path)), 'rate', 4)
    deep = [key for key, flow in flows.items() if flow.gaps]
    rows, _, result = measure(test, path, *options_of('rate', 4), '--deep-flows', '10', '--workers', '1')
    found = figures(rows)
    looked = [key for key in found if found[key]['deep_packets'] != '0']
    assert len(looked) == 10 and set(looked) < set(deep), looked
    for key in looked:
        assert found[key] == flows[key].row(), key
    said = re.search(r'no room for the details of (\d+) flows: raise max= of --flow-detail', result.stderr)
    assert said and int(said[1]) == len(deep) - 10, result.stderr


def test_tshark_agrees(test):
    """Late and repeated segments, and closed windows, in connections without pauses."""
    peers.needs(test, 'tshark')
    oracle, compared = lib.Oracle(), 0
    for file in captures(test)[:3]:
        path = lib.unpack(test, file)
        ours = figures(measure(test, path, *options_of('tcp', 1, 0), '--workers', '1')[0])
        theirs, times, paused = {}, {}, set()
        for line in peers.tshark(
                test, path, '-Y', 'tcp && !icmp', '-T', 'fields', '-E', 'separator=;', '-e', 'frame.time_epoch',
                '-e', 'ip.src',
                '-e', 'ip.dst', '-e', 'ipv6.src', '-e', 'ipv6.dst', '-e', 'tcp.srcport', '-e', 'tcp.dstport',
                '-e', 'tcp.analysis.retransmission', '-e', 'tcp.analysis.out_of_order',
                '-e', 'tcp.analysis.zero_window'):
            fields = line.split(';')
            key = (fields[1] or fields[3], fields[2] or fields[4], *fields[5:7], '6')
            time = float(fields[0])
            if time - times.get(key, time) > 1:
                paused.add(key)
            times[key] = time
            theirs.setdefault(key, []).append((fields[7] != '' or fields[8] != '', fields[9] != ''))
        for key, frames in theirs.items():
            if key in paused or len(frames) < 4 or key not in ours:
                continue
            # The third segment is the first one at level tcp, and the reference for later ones.
            late, closed = sum(late for late, _ in frames[3:]), sum(closed for _, closed in frames[2:])
            row = ours[key]
            assert (int(row['retransmitted']) + int(row['out_of_order']), int(row['zero_windows'])) == (
                late, closed), f'{file} {key}: {row}'
            compared += 1
    assert compared > 50, compared


def test_what_cannot_be(test):
    path = made_up(test, 1, 1, 6)
    for options, said in (
            (('--sharing', 'shared', '--deep', 'rate'), '--deep: needs the packets of a flow'),
            (('--sharing', 'shared', '--deep', 'tcp'), '--sharing separate'),
            (('--key', 'src', '--deep', 'tcp'), '--deep: tcp inspects'),
            (('--deep', 'packets'), '--deep:'),
            (('--deep', 'rate', '--deep-share', '0.1'), '--deep-share: has no effect'),
            (('--deep-after', '4'), '--deep-after: has no effect'),
            (('--deep-flows', '4'), '--deep-flows: has no effect'),
            (('--deep', 'tcp', '--deep-share', '1.5'), '--deep-share:'),
            (('--deep', 'tcp', '--deep-after', '0'), '--deep-after:')):
        result = test.run('--pcap', path, '--sketch', 'flow-table', *options).expect(2)
        assert said in result.stderr, result.describe()
    result = test.run('--pcap', path, '--deep', 'rate').expect(2)
    assert '--deep: has no effect without --sketch flow-table' in result.stderr, result.describe()

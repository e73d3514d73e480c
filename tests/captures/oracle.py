# SPDX-License-Identifier: BSD-3-Clause
"""What is in a capture, exactly: reads capture files and keys their packets by the key rule.

The rule is the one that src/rx/packet/parse.h states; nothing here comes from the C code. Plain on
purpose: a loop over records and a walk over headers, in the order in which the rule names them.
"""

import bz2
import collections
import csv
import gzip
import io
import lzma
import socket
import struct
import zlib

Record = collections.namedtuple('Record', 'link time data length')  # time: ns since 1970; length: on the wire

KEY_COLUMNS = ('src_ip', 'dst_ip', 'src_port', 'dst_port', 'proto')
LINK_NAMES = {0: 'NULL', 1: 'EN10MB', 9: 'PPP', 12: 'RAW', 14: 'RAW', 101: 'RAW', 104: 'C_HDLC', 108: 'LOOP',
              113: 'LINUX_SLL', 228: 'IPV4', 229: 'IPV6', 276: 'LINUX_SLL2'}
IPV4, IPV6, MPLS = 0x0800, 0x86dd, (0x8847, 0x8848)
VLAN = (0x8100, 0x88a8, 0x9100, 0x9200)
PPP_TYPES = {0x0021: IPV4, 0x0057: IPV6, 0x0281: MPLS[0]}
NULL_TYPES = {2: IPV4, 10: IPV6, 24: IPV6, 28: IPV6, 30: IPV6}
HOP_BY_HOP, TCP, UDP, ROUTING, FRAGMENT, AH, DESTINATION, SCTP = 0, 6, 17, 43, 44, 51, 60, 132
EXTENSIONS_MAX = 8
PACKET_BYTES_MAX = 262144


class Refused(Exception):
    """Nothing of the file can be measured; the text says why."""


# ---- files


def unpacked(path):
    """The bytes of a file, or those of what is packed in it, as far as it is whole."""
    with open(path, 'rb') as stream:
        data = stream.read()
    for magic, module in ((b'\x1f\x8b', gzip), (b'\xfd7zXZ\0', lzma), (b'BZh', bz2)):
        if data.startswith(magic):
            pieces = []
            with module.open(io.BytesIO(data)) as packed:
                try:
                    while piece := packed.read(1 << 16):
                        pieces.append(piece)
                except (EOFError, OSError, zlib.error, lzma.LZMAError):
                    pass
            return b''.join(pieces)
    return data


class Capture:
    """Records of a file up to its end, or up to the damage that `damage` then names."""

    PCAP = {0xa1b2c3d4: (1000, 16, 'usec'), 0xa1b23c4d: (1, 16, 'nsec'), 0xa1b2cd34: (1000, 24, 'modified')}

    def __init__(self, path):
        data = unpacked(path)
        self.damage, self.form, self.records = '', '', []
        if len(data) < 24:
            raise Refused('too short')
        if data[:4] == b'\x0a\x0d\x0d\x0a':
            self._read_blocks(data)
            return
        for order, word in (('<', 'LE'), ('>', 'BE')):
            kind = self.PCAP.get(struct.unpack_from(order + 'I', data)[0])
            if kind is not None:
                self.form = f'pcap {kind[2]} {word}'
                self._read_records(data, order, *kind[:2])
                return
        raise Refused('no capture file')

    def _read_records(self, data, order, unit, header):
        major, minor, _, _, snapped, link = struct.unpack_from(order + 'HHIIII', data, 4)
        if major < 2:
            raise Refused(f'archaic pcap version {major}.{minor}')
        if not 0 < snapped <= 0x7fffffff:
            snapped = 0x7fffffff
        at = 24
        while at < len(data):
            if at + header > len(data):
                self.damage = 'cut'
                return
            seconds, fraction, captured, length = struct.unpack_from(order + 'IIII', data, at)
            at += header
            # Before version 2.3 the two lengths stood the other way round; files of 2.3 have them either way.
            if (major, minor) < (2, 3) or (major, minor) == (2, 3) and captured > length or major == 543:
                captured, length = length, captured
            if captured > PACKET_BYTES_MAX or at + captured > len(data):
                self.damage = 'corrupt' if captured > PACKET_BYTES_MAX else 'cut'
                return
            self.records.append(Record(link & 0xffff, seconds * 10**9 + fraction * unit,
                                       data[at:at + min(captured, snapped)], length))
            at += captured

    def _read_blocks(self, data):
        at, order, interfaces, orders = 0, '<', [], set()
        while at + 12 <= len(data):
            if data[at:at + 4] == b'\x0a\x0d\x0d\x0a':
                order = '<' if data[at + 8:at + 12] == b'\x4d\x3c\x2b\x1a' else '>'
                interfaces = []
                orders.add('LE' if order == '<' else 'BE')
            kind, size = struct.unpack_from(order + 'II', data, at)
            if size < 12 or at + size > len(data):
                break
            self._read_block(order, kind, data[at + 8:at + size - 4], interfaces)
            at += size
        if not interfaces:
            raise Refused('pcapng without an interface')
        if at != len(data):
            self.damage = 'cut'
        self.form = 'pcapng ' + '+'.join(sorted(orders))

    def _read_block(self, order, kind, body, interfaces):
        if kind == 1:
            link, _, snapped = struct.unpack_from(order + 'HHI', body)
            interfaces.append((link, snapped, self._unit(order, body)))
        elif kind in (2, 6):  # packets, of old and of today
            if kind == 6:
                number, high, low, captured, length = struct.unpack_from(order + 'IIIII', body)
            else:
                number, _, high, low, captured, length = struct.unpack_from(order + 'HHIIII', body)
            if number < len(interfaces):
                link, _, (numerator, denominator) = interfaces[number]
                time = (high << 32 | low) * numerator // denominator
                self.records.append(Record(link, time, body[20:20 + captured], length))
        elif kind == 3 and interfaces:  # a packet without a time
            length, = struct.unpack_from(order + 'I', body)
            link, snapped, _ = interfaces[0]
            captured = min(length, snapped) if snapped else length
            self.records.append(Record(link, 0, body[4:4 + captured], length))

    @staticmethod
    def _unit(order, body):
        """Nanoseconds of one unit of an interface's times, as a fraction."""
        at = 8
        while at + 4 <= len(body):
            code, size = struct.unpack_from(order + 'HH', body, at)
            if code == 0:
                break
            if code == 9 and size == 1:
                power = body[at + 4]
                return (10**9, 2**(power & 127)) if power & 128 else (10**9, 10**power)
            at += 4 + (size + 3) // 4 * 4
        return (1000, 1)


# ---- the key rule


class Malformed(Exception):
    """A header is cut or contradicts itself."""


def need(data, size):
    if len(data) < size:
        raise Malformed


def number16(data, at):
    return data[at] << 8 | data[at + 1]


def version_type(data):
    need(data, 1)
    return {4: IPV4, 6: IPV6}.get(data[0] >> 4)


def layer3(link, data):
    """(where the link's header and its VLAN tags end, the EtherType of what is there)"""
    if link in (1, 113, 276):
        size, at = {1: (14, 12), 113: (16, 14), 276: (20, 0)}[link]
        need(data, size)
        kind, at = number16(data, at), size
        while kind in VLAN:
            need(data, at + 4)
            kind, at = number16(data, at + 2), at + 4
        return at, kind
    if link in (0, 108):
        need(data, 4)
        family = min(int.from_bytes(data[:4], 'little'), int.from_bytes(data[:4], 'big'))
        return 4, NULL_TYPES.get(family)
    if link == 9:
        at = 2 if data[:2] == b'\xff\x03' else 0
        need(data, at + 2)
        return at + 2, PPP_TYPES.get(number16(data, at))
    if link == 104:
        need(data, 4)
        return 4, number16(data, 2)
    return 0, version_type(data)


def skip_labels(data, at):
    bottom = False
    while not bottom:
        need(data, at + 4)
        bottom, at = data[at + 2] & 1, at + 4
    return at, version_type(data[at:])


def is_ip(data, length):
    """Whether what has labels before it is IP, of `length` bytes, and no frame with such a MAC address."""
    if version_type(data) == IPV6:
        told = 40 + number16(data, 4) if len(data) >= 40 else length
        return length - 64 <= told <= length and (len(data) < 40 or data[7] > 0)
    size = (data[0] & 15) * 4
    if size < 20 or len(data) < size:
        return True  # malformed
    total = sum(number16(data, place) for place in range(0, size, 2))
    told = number16(data, 2)
    right = total % 0xffff == 0 or number16(data, 10) == 0 and told == length
    return right and max(size, length - 64) <= told <= length


def read_ipv4(data):
    """(source, destination, protocol, where the next header begins, whether it is a later fragment)"""
    need(data, 20)
    size = (data[0] & 15) * 4
    if data[0] >> 4 != 4 or size < 20:
        raise Malformed
    need(data, size)
    return data[12:16], data[16:20], data[9], size, number16(data, 6) & 0x1fff != 0


def read_ipv6(data):
    need(data, 40)
    if data[0] >> 4 != 6:
        raise Malformed
    proto, at, later = data[6], 40, False
    for walked in range(EXTENSIONS_MAX + 1):
        if later or proto not in (HOP_BY_HOP, ROUTING, FRAGMENT, AH, DESTINATION):
            return data[8:24], data[24:40], proto, at, later
        if walked == EXTENSIONS_MAX:
            break
        need(data, at + 8)
        if proto == FRAGMENT:
            later, size = number16(data, at + 2) >> 3 != 0, 8
        else:
            size = (data[at + 1] + 2) * 4 if proto == AH else (data[at + 1] + 1) * 8
        proto, at = data[at], at + size
    raise Malformed


def key_of(link, data, length):
    """The 5-tuple as numbers and bytes; None: not IP. Raises Malformed."""
    at, kind = layer3(link, data)
    if kind in MPLS:
        at, kind = skip_labels(data, at)
        null = {0: IPV4, 2: IPV6}.get(number16(data, at - 4) << 4 | data[at - 2] >> 4)  # "explicit null"
        if kind in (IPV4, IPV6) and null != kind and not is_ip(data[at:], max(length, len(data)) - at):
            return None
    if kind not in (IPV4, IPV6):
        return None
    data = data[at:]
    source, destination, proto, at, later = (read_ipv4 if kind == IPV4 else read_ipv6)(data)
    ports = (0, 0)
    if proto in (TCP, UDP, SCTP) and not later and len(data) >= at + 4:
        ports = struct.unpack_from('>HH', data, at)
    return source, destination, *ports, proto


def address(data):
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


def count(records):
    """(ledger, {5-tuple of strings: (packets, bytes)}), most packets first"""
    ledger, flows = {'measured': 0, 'non_ip': 0, 'malformed': 0}, {}
    for link, _, data, length in records:
        try:
            key = key_of(link, data, length)
        except Malformed:
            ledger['malformed'] += 1
            continue
        if key is None:
            ledger['non_ip'] += 1
            continue
        ledger['measured'] += 1
        packets, size = flows.get(key, (0, 0))
        flows[key] = packets + 1, size + length
    ordered = sorted(flows.items(), key=lambda flow: (-flow[1][0], -flow[1][1], len(flow[0][0]), flow[0]))
    return ledger, {(address(source), address(destination), *map(str, rest)): figures
                    for (source, destination, *rest), figures in ordered}


# ---- the index


INDEX_COLUMNS = ('file', 'expected', 'what', 'packets', 'measured', 'non_ip', 'malformed', 'keys', 'damage')


def describe(path, file):
    """(row of the index, flows) of a capture, as it must be measured."""
    row = dict.fromkeys(INDEX_COLUMNS[3:8], 0)
    try:
        capture = Capture(path)
        unknown = {record.link for record in capture.records} - LINK_NAMES.keys()
        if unknown:
            raise Refused(f'link type {min(unknown)}')
    except Refused as reason:
        return {**row, 'file': file, 'expected': 'refused', 'what': str(reason), 'damage': ''}, {}
    ledger, flows = count(capture.records)
    links = '+'.join(sorted({LINK_NAMES[record.link] for record in capture.records}))
    return {**row, **ledger, 'file': file, 'what': f'{links}, {capture.form}', 'packets': len(capture.records),
            'expected': 'measured up to the damage' if capture.damage else 'measured',
            'keys': len(flows), 'damage': capture.damage}, flows


def write_truth(path, flows):
    """The same bytes for the same flows."""
    with open(path, 'wb') as raw, gzip.GzipFile('', 'wb', 9, raw, 0) as packed:
        with io.TextIOWrapper(packed, newline='') as stream:
            writer = csv.writer(stream, lineterminator='\n')
            writer.writerow((*KEY_COLUMNS, 'packets', 'bytes'))
            writer.writerows((*key, *figures) for key, figures in flows.items())

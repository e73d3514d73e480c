# SPDX-License-Identifier: BSD-3-Clause
"""Builds NetFlow v5 and v9, IPFIX and sFlow v5 datagrams, valid or faulty, and captures of them."""

import functools
import ipaddress
import socket
import struct

START = 1700000000  # start of captures, in seconds: 2023-11-14 22:13:20 UTC
SECOND = 10**9
BOOTED = 3600000  # exporter uptime at START, in ms

# Information elements, by the names that tests use.
BYTES, PACKETS, PROTO, FLAGS, SPORT, SRC, INPUT, DPORT, DST, OUTPUT = 1, 2, 4, 6, 7, 8, 10, 11, 12, 14
LAST, FIRST, SRC6, DST6, INTERVAL, SAMPLER, SAMPLER_INTERVAL, DIRECTION = 21, 22, 27, 28, 34, 48, 50, 61
NAME, TOTAL_BYTES, TOTAL_PACKETS, APPLICATION, PADDING = 82, 85, 86, 96, 210
VARIABLE = 65535
REVERSE = 29305  # enterprise number of reverse elements (RFC 5103)

KEY = [(SRC, 4), (DST, 4), (SPORT, 2), (DPORT, 2), (PROTO, 1)]
FIELDS = KEY + [(PACKETS, 8), (BYTES, 8)]  # 29 bytes


class Flow:
    """Values of a record of flow number n. `more`: other elements, by number or (number,
    enterprise)."""

    def __init__(self, n, packets=1, size=100, more=None):
        self.n, self.packets, self.bytes = n, packets, packets * size
        self.src, self.dst = f'10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}', '198.51.100.1'
        self.sport, self.dport, self.proto = 1024 + n % 50000, 80, 6
        self.more = more or {}

    def key(self):
        return (self.src, self.dst, str(self.sport), str(self.dport), str(self.proto))

    def values(self):
        return {SRC: packed(self.src), DST: packed(self.dst), SPORT: self.sport, DPORT: self.dport,
                PROTO: self.proto, PACKETS: self.packets, BYTES: self.bytes, **self.more}


@functools.lru_cache(maxsize=4096)
def packed(address):
    return ipaddress.ip_address(address).packed


def v5_record(flow, put_in=0, out=0):
    return struct.pack('>4s4s4sHHIIIIHHxBBBHHBBxx', packed(flow.src), packed(flow.dst), bytes(4), put_in, out,
                       flow.packets, flow.bytes, 0, 0, flow.sport, flow.dport, 0, flow.proto, 0, 0, 0, 0, 0)


def specifier(field, ipfix):
    """(element, length), or in IPFIX (element, length, enterprise)."""
    if len(field) == 3:
        assert ipfix, 'v9 has no enterprises'
        return struct.pack('>HHI', field[0] | 0x8000, field[1], field[2])
    return struct.pack('>HH', *field)


def value(values, field):
    """Encodes a field of a record. Numbers are truncated to the field's length; missing values are
    0."""
    said = values.get((field[0], field[2]) if len(field) == 3 else field[0], 0)
    if field[1] == VARIABLE:
        said = said if isinstance(said, bytes) else b''
        return (bytes([len(said)]) if len(said) < 255 else b'\xff' + struct.pack('>H', len(said))) + said
    if isinstance(said, bytes):
        return said.ljust(field[1], b'\0')[:field[1]]
    return said.to_bytes(8, 'big')[8 - field[1]:] if field[1] <= 8 else bytes(field[1])


def rows(fields, flows):
    return b''.join(value(flow.values() if isinstance(flow, Flow) else flow, field)
                    for flow in flows for field in fields)


def a_set(number, body, length=None):
    return struct.pack('>HH', number, 4 + len(body) if length is None else length) + body


class Sets:
    """Sets of one protocol: v9 or IPFIX."""

    def __init__(self, ipfix):
        self.ipfix = ipfix

    def definition(self, number, fields, count=None):
        return struct.pack('>HH', number, len(fields) if count is None else count) + b''.join(
            specifier(field, self.ipfix) for field in fields)

    def template(self, number=256, fields=None, count=None):
        fields = FIELDS if fields is None else fields
        return a_set(2 if self.ipfix else 0, self.definition(number, fields, count))

    def options_template(self, number, scopes, fields):
        """v9 numbers its scopes separately: 1 is the system, 2 an interface."""
        specifiers = b''.join(specifier(field, self.ipfix) for field in [*scopes, *fields])
        if self.ipfix:
            head = struct.pack('>HHH', number, len(scopes) + len(fields), len(scopes))
        else:
            head = struct.pack('>HHH', number, 4 * len(scopes), 4 * len(fields))
        return a_set(3 if self.ipfix else 1, head + specifiers)

    def data(self, flows, number=256, fields=None, padding=b'', length=None):
        return a_set(number, rows(FIELDS if fields is None else fields, flows) + padding, length)


V9, IPFIX = Sets(False), Sets(True)
SETS = {'v9': V9, 'ipfix': IPFIX}


class Router:
    """An exporter with its sequence number; `when` is in seconds from START.

    Its methods build the next payload. Named arguments replace the correct values.
    """

    def __init__(self, protocol, address, domain=0):
        self.protocol, self.address, self.domain = protocol, address, domain
        self.sequence = 0
        self.samples = self.pool = 0

    def header_time(self, when):
        return START + int(when), (BOOTED + int(when * 1000)) & 0xffffffff

    def v5(self, when, flows, count=None, sequence=None, uptime=None, exported=None, sampling=0, nanoseconds=None,
           records=None):
        now, up = self.header_time(when)
        sequence = self.sequence if sequence is None else sequence
        self.sequence = (sequence + len(flows)) & 0xffffffff
        if nanoseconds is None:
            nanoseconds = int(when * SECOND) % SECOND
        return struct.pack('>HHIIIIHH', 5, len(flows) if count is None else count, up if uptime is None else uptime,
                           now if exported is None else exported, nanoseconds, sequence, self.domain,
                           sampling) + b''.join(records or [v5_record(flow) for flow in flows])

    def v9(self, when, *sets, count=0, sequence=None, uptime=None, exported=None):
        """count: number of records, including templates."""
        now, up = self.header_time(when)
        sequence = self.sequence if sequence is None else sequence
        self.sequence = (sequence + 1) & 0xffffffff
        return struct.pack('>HHIIII', 9, count, up if uptime is None else uptime,
                           now if exported is None else exported, sequence, self.domain) + b''.join(sets)

    def ipfix(self, when, *sets, count=0, sequence=None, exported=None, length=None):
        """count: number of data records, which advances the next sequence number."""
        now, _ = self.header_time(when)
        sequence = self.sequence if sequence is None else sequence
        self.sequence = (sequence + count) & 0xffffffff
        body = b''.join(sets)
        return struct.pack('>HHIII', 10, 16 + len(body) if length is None else length,
                           now if exported is None else exported, sequence, self.domain) + body

    def sflow(self, when, samples, count=None, sequence=None, uptime=None, agent=None):
        _, up = self.header_time(when)
        self.sequence = self.sequence + 1 if sequence is None else sequence
        agent = packed(self.address if agent is None else agent)
        return struct.pack('>II', 5, 1 if len(agent) == 4 else 2) + agent + struct.pack(
            '>IIII', self.domain, self.sequence, up if uptime is None else uptime,
            len(samples) if count is None else count) + b''.join(samples)

    def sample(self, flow, sampling=1, step=None, put_in=1, out=2, source=1, size=114, protocol=1, header=None):
        """A sampled header. step: packets since the last sample."""
        self.samples += 1
        self.pool += sampling if step is None else step
        header = tcp_frame(flow, size) if header is None else header
        padding = bytes(-len(header) % 4)
        raw = struct.pack('>IIIIII', 1, 16 + len(header) + len(padding), protocol, size + 4, 4,
                          len(header)) + header + padding
        body = struct.pack('>IIIIIIII', self.samples, source, sampling, self.pool & 0xffffffff, 0, put_in, out,
                           1) + raw
        return struct.pack('>II', 1, len(body)) + body

    def message(self, when, flows, template=False):
        """Returns a payload of this protocol with these flows."""
        if self.protocol == 'v5':
            return self.v5(when, flows)
        if self.protocol == 'sflow':
            return self.sflow(when, [self.sample(flow) for flow in flows])
        sets = SETS[self.protocol]
        body = [sets.template()] if template else []
        if flows:
            body.append(sets.data(flows))
        if self.protocol == 'v9':
            return self.v9(when, *body, count=len(flows) + template)
        return self.ipfix(when, *body, count=len(flows))


def tcp_frame(flow, size=114):
    """The first 64 bytes of a frame of `size` bytes; the IP packet is 14 bytes shorter."""
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, size - 14, 0, 0, 64, flow.proto, 0, packed(flow.src),
                     packed(flow.dst))
    return (b'\x02' * 12 + b'\x08\x00' + ip + struct.pack('>HH', flow.sport, flow.dport)).ljust(64, b'\0')


# ---- packets


def udp(payload, port, source_port):
    return struct.pack('>HHHH', source_port, port, 8 + len(payload), 0) + payload


def ipv4(src, body, dst='192.0.2.254', number=0, flags=0, proto=17):
    return b'\x02' * 12 + b'\x08\x00' + struct.pack(
        '>BBHHHBBH4s4s', 0x45, 0, 20 + len(body), number, flags, 64, proto, 0, packed(src), packed(dst)) + body


def ipv6(src, body, dst='2001:db8::fe', number=None, flags=0):
    header = b'' if number is None else struct.pack('>BBHI', 17, 0, flags, number)
    return b'\x02' * 12 + b'\x86\xdd' + struct.pack(
        '>IHBB16s16s', 6 << 28, len(header) + len(body), 44 if header else 17, 64, packed(src), packed(dst)
    ) + header + body


def frame(src, payload, port=2055, source_port=50000):
    body = udp(payload, port, source_port)
    return ipv6(src, body) if ':' in src else ipv4(src, body)


def fragments(src, payload, size=1400, number=7, port=6343):
    """Fragments as frames; `size` is a multiple of 8."""
    body, made = udp(payload, port, 50000), []
    for at in range(0, len(body), size):
        more = at + size < len(body)
        if ':' in src:
            made.append(ipv6(src, body[at:at + size], number=number, flags=at | more))
        else:
            made.append(ipv4(src, body[at:at + size], number=number, flags=at // 8 | more << 13))
    return made


class Capture:
    """Datagrams and frames; times are in seconds from START. Written in order of time."""

    def __init__(self):
        self.packets = []

    def add(self, when, src, payload, **options):
        self.add_frame(when, frame(src, payload, **options))

    def add_frame(self, when, data, captured=None):
        self.packets.append((when, data if captured is None else data[:captured], len(data)))

    def write(self, path):
        with open(path, 'wb') as stream:
            stream.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
            for when, data, size in sorted(self.packets, key=lambda packet: packet[0]):
                nanoseconds = round(when * SECOND)
                stream.write(struct.pack('<IIII', START + nanoseconds // SECOND, nanoseconds % SECOND, len(data),
                                         size) + data)
        return path


def sender(address, port):
    """A connected UDP socket."""
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    out = socket.socket(family, socket.SOCK_DGRAM)
    out.connect((address, port))
    return out

# SPDX-License-Identifier: BSD-3-Clause
"""Frames built by hand: each kind that the parser knows, with what must become of it.

A frame is a pair (bytes, verdict): a key of strings, 'non_ip' or 'malformed'. `captures()` yields
what the files are made of; whoever writes them checks the oracle by the verdicts.
"""

import functools
import socket
import struct

NON_IP, MALFORMED = 'non_ip', 'malformed'
SOURCE, TARGET = '192.0.2.1', '198.51.100.2'
SOURCE6, TARGET6 = '2001:db8::1', '2001:db8:1::2'
TCP, UDP, SCTP, ICMP, ICMP6 = 6, 17, 132, 1, 58
IPV4, IPV6 = 0x0800, 0x86dd


def packed(text):
    return socket.inet_pton(socket.AF_INET6 if ':' in text else socket.AF_INET, text)


# ---- what lies above IP


def tcp(sport, dport, payload=b'', flags=0x10, sequence=1, window=1000):
    return struct.pack('>HHIIBBHHH', sport, dport, sequence & 0xffffffff, 1, 5 << 4, flags, window, 0, 0) + payload


def udp(sport, dport, payload=b''):
    return struct.pack('>HHHH', sport, dport, 8 + len(payload), 0) + payload


def sctp(sport, dport):
    return struct.pack('>HHII', sport, dport, 1, 0) + b'\0\0\0\4'


def echo(kind=8):
    return struct.pack('>BBHHH', kind, 0, 0, 1, 1) + bytes(range(32))


# ---- IP


def checksum(header):
    total = sum(struct.unpack(f'>{len(header) // 2}H', header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ipv4(proto, payload, source=SOURCE, target=TARGET, options=b'', fragment=0, tos=0, ttl=64):
    words = 5 + len(options) // 4
    header = struct.pack('>BBHHHBBH4s4s', 0x40 | words, tos, words * 4 + len(payload), 1, fragment, ttl, proto, 0,
                         packed(source), packed(target)) + options
    return header[:10] + struct.pack('>H', checksum(header)) + header[12:] + payload


def ipv6(proto, payload, source=SOURCE6, target=TARGET6, extensions=(), tos=0):
    """extensions: pairs (number, function of the following header's number)"""
    chain = b''
    for number, make in reversed(extensions):
        chain, proto = make(proto) + chain, number
    return struct.pack('>IHBB16s16s', 6 << 28 | tos << 20, len(chain) + len(payload), proto, 64, packed(source),
                       packed(target)) + chain + payload


def option_header(number, words=0):
    """Hop-by-hop and destination options, routing."""
    return number, lambda following: bytes((following, words)) + bytes(6 + 8 * words)


def fragment_header(offset, more):
    return 44, lambda following: struct.pack('>BBHI', following, 0, offset << 3 | more, 7)


def authentication(words=4):
    return 51, lambda following: bytes((following, words)) + bytes(4 * (words + 2) - 2)


def key(proto, sport=0, dport=0, source=SOURCE, target=TARGET):
    return source, target, str(sport), str(dport), str(proto)


key6 = functools.partial(key, source=SOURCE6, target=TARGET6)


def protocols():
    """(packet, key) of IP alone."""
    yield ipv4(TCP, tcp(1000, 80)), key(TCP, 1000, 80)
    yield ipv4(UDP, udp(1001, 53)), key(UDP, 1001, 53)
    yield ipv4(SCTP, sctp(1002, 36412)), key(SCTP, 1002, 36412)
    yield ipv4(ICMP, echo()), key(ICMP)
    yield ipv4(89, bytes(24)), key(89)
    yield ipv4(255, b''), key(255)
    yield ipv6(TCP, tcp(1000, 443)), key6(TCP, 1000, 443)
    yield ipv6(UDP, udp(1001, 53)), key6(UDP, 1001, 53)
    yield ipv6(SCTP, sctp(1002, 3868)), key6(SCTP, 1002, 3868)
    yield ipv6(ICMP6, echo(128)), key6(ICMP6)
    yield ipv6(59, b''), key6(59)


def cuts(whole, verdict):
    """A packet cut after each byte, the first of which its link has; verdict(bytes that are left)"""
    return [(whole[:size], verdict(size)) for size in range(1, len(whole))]


def ipv4_frames():
    """Headers of every length, fragments, and each cut."""
    yield from protocols()
    for words in range(11):
        yield ipv4(UDP, udp(2000 + words, 9), options=b'\1' * 4 * words), key(UDP, 2000 + words, 9)
    for fragment, ports in ((0x4000, (3000, 9)), (0x2000, (3001, 9)), (0x2001, (0, 0)), (185, (0, 0)), (0x1fff, (0, 0))):
        yield ipv4(UDP, udp(*(ports if ports[0] else (3333, 9)), bytes(40)), fragment=fragment), key(UDP, *ports)
    yield ipv4(TCP, tcp(4000, 9), options=b'\1' * 8, fragment=0x2000, tos=184), key(TCP, 4000, 9)
    yield ipv4(UDP, udp(4001, 9)) + bytes(18), key(UDP, 4001, 9)  # padded
    whole = ipv4(TCP, tcp(5000, 80))
    yield from cuts(whole, lambda size: MALFORMED if size < 20 else key(TCP, *((5000, 80) if size >= 24 else (0, 0))))
    options = ipv4(UDP, udp(5001, 80), options=b'\1' * 12)
    yield from cuts(options, lambda size: MALFORMED if size < 32 else key(UDP, *((5001, 80) if size >= 36 else (0, 0))))
    for words in range(5):  # a header that says it is shorter than any
        yield bytes((0x40 | words,)) + whole[1:], MALFORMED


def ipv6_frames():
    """Chains of extension headers, fragments, and each cut."""
    ports = iter(range(6000, 7000))
    kinds = [option_header(0), option_header(60), option_header(43, 2), authentication(), fragment_header(0, 1)]
    for kind in kinds:
        port = next(ports)
        yield ipv6(UDP, udp(port, 9), extensions=[kind]), key6(UDP, port, 9)
    yield ipv6(TCP, tcp(1, 9), extensions=kinds), key6(TCP, 1, 9)
    for number in range(1, 11):
        port = next(ports)
        chain = [option_header(60, number % 3)] * number
        yield ipv6(UDP, udp(port, 9), extensions=chain), key6(UDP, port, 9) if number <= 8 else MALFORMED
    for offset in (1, 185, 0x1fff):
        yield ipv6(UDP, bytes(64), extensions=[fragment_header(offset, 1)]), key6(UDP)
    # What a later fragment begins with looks like a header only.
    yield ipv6(60, bytes((60, 255)) * 20, extensions=[fragment_header(3, 0)]), key6(60)
    yield ipv6(50, bytes(40)), key6(50)  # ESP is not walked
    chain = [option_header(0), authentication(), fragment_header(0, 1)]
    whole = ipv6(TCP, tcp(6999, 80), extensions=chain)  # of 40, 8, 24 and 8 bytes, then TCP
    yield from cuts(whole, lambda size: MALFORMED if size < 80 else key6(TCP, *((6999, 80) if size >= 84 else (0, 0))))


def cut_extension():
    """A packet whose chain says that it goes on behind its end."""
    yield ipv6(60, b'\x11\xff' + bytes(6)), key6(UDP)
    yield ipv6(0, b'\x11\0\0\0'), MALFORMED


# ---- links


def ethernet(kind, payload, source=b'\2\0\0\0\0\1', target=b'\2\0\0\0\0\2'):
    return target + source + struct.pack('>H', kind) + payload


def tagged(tags, kind, payload):
    """tags: pairs (TPID, VLAN id)"""
    inner = payload
    for tpid, number in reversed(tags):
        inner, kind = struct.pack('>HH', number, kind) + inner, tpid
    return ethernet(kind, inner)


def labels(*numbers, payload):
    last = len(numbers) - 1
    return b''.join(struct.pack('>I', number << 12 | (place == last) << 8 | 64)
                    for place, number in enumerate(numbers)) + payload


LINKS = {
    'raw12': (12, lambda kind, data: data),
    'raw14': (14, lambda kind, data: data),
    'raw101': (101, lambda kind, data: data),
    'ipv4': (228, lambda kind, data: data),
    'ipv6': (229, lambda kind, data: data),
    'null': (0, lambda kind, data: struct.pack('<I', {IPV4: 2, IPV6: 30}.get(kind, 7)) + data),
    'loop': (108, lambda kind, data: struct.pack('>I', {IPV4: 2, IPV6: 24}.get(kind, 7)) + data),
    'sll': (113, lambda kind, data: bytes(14) + struct.pack('>H', kind) + data),
    'sll2': (276, lambda kind, data: struct.pack('>H', kind) + bytes(18) + data),
    'ppp': (9, lambda kind, data: b'\xff\x03' + struct.pack('>H', {IPV4: 0x21, IPV6: 0x57, 0x8847: 0x281}.get(kind, 0xc021))
            + data),
    'chdlc': (104, lambda kind, data: b'\x0f\0' + struct.pack('>H', kind) + data),
}
TYPED = ('sll', 'sll2', 'chdlc', 'ppp')  # their header says what follows
HEADERS = {'null': 4, 'loop': 4, 'sll': 16, 'sll2': 20, 'ppp': 4, 'chdlc': 4}


def type_of(packet):
    return IPV4 if packet[0] >> 4 == 4 else IPV6


def link_frames(name):
    number, wrap = LINKS[name]
    for packet, verdict in [*ipv4_frames(), *ipv6_frames(), *cut_extension()]:
        yield wrap(type_of(packet), packet), verdict
    whole = ipv4(UDP, udp(7000, 9))
    if name in HEADERS:
        yield wrap(0x0806, bytes(28)), NON_IP
        framed = wrap(IPV4, whole)
        for size in range(1, HEADERS[name]):
            yield framed[:size], MALFORMED
        yield wrap(IPV4, b'\x65' + whole[1:]), MALFORMED  # the version contradicts the type
        yield wrap(IPV6, b'\x45' + bytes(50)), MALFORMED
    else:
        yield b'\x55' + whole[1:], NON_IP
        yield b'\0', NON_IP
    if name in TYPED:
        yield wrap(0x8847, labels(16, 17, payload=whole)), key(UDP, 7000, 9)
    if name in ('sll', 'sll2'):
        yield wrap(0x8100, struct.pack('>HH', 5, IPV4) + whole), key(UDP, 7000, 9)
        yield wrap(0x8100, b'\0\5\x08'), MALFORMED
    if name == 'ppp':
        yield wrap(IPV4, whole)[2:], key(UDP, 7000, 9)
    if name == 'null':
        for family in (10, 24, 28, 30):
            yield struct.pack('>I', family) + ipv6(UDP, udp(7000 + family, 9)), key6(UDP, 7000 + family, 9)


def ethernet_frames():
    for packet, verdict in [*ipv4_frames(), *ipv6_frames(), *cut_extension()]:
        yield ethernet(type_of(packet), packet), verdict
    whole = ipv4(TCP, tcp(8000, 80))
    for kind in (0x0806, 0x8863, 0x8864, 0x88e5, 0x88cc, 0x8035, 0x0026, 0x6558):
        yield ethernet(kind, bytes(46)), NON_IP
    for size in range(1, 14):
        yield ethernet(IPV4, whole)[:size], MALFORMED
    yield ethernet(IPV4, b'\x65' + whole[1:]), MALFORMED
    yield ethernet(IPV4, whole), key(TCP, 8000, 80)


def tag_frames():
    whole, six = ipv4(UDP, udp(9000, 9)), ipv6(UDP, udp(9000, 9))
    for tpid in (0x8100, 0x88a8, 0x9100, 0x9200):
        yield tagged([(tpid, 0x2005)], IPV4, whole), key(UDP, 9000, 9)
        yield tagged([(tpid, 5), (0x8100, 6)], IPV6, six), key6(UDP, 9000, 9)
    for depth in (3, 5, 8):
        yield tagged([(0x8100, place) for place in range(depth)], IPV4, whole), key(UDP, 9000, 9)
    yield tagged([(0x8100, 5)], 0x0806, bytes(28)), NON_IP
    yield tagged([(0x8101, 5)], IPV4, whole), NON_IP  # no tag that the rule names
    for size in range(1, 8):
        yield tagged([(0x88a8, 5), (0x8100, 6)], IPV4, whole)[:14 + size], MALFORMED
    for depth in (1, 2, 3, 7):
        stack = labels(*range(16, 16 + depth), payload=whole)
        yield ethernet(0x8847, stack), key(UDP, 9000, 9)
        yield tagged([(0x8100, 7)], 0x8848, labels(*range(16, 16 + depth), payload=six)), key6(UDP, 9000, 9)
    yield ethernet(0x8847, labels(16, payload=b'\0' + bytes(60))), NON_IP  # a pseudowire
    for target in ('455e0c112233', '4600002e0000', '4500002e0000', '600308aabbcc', '6c5e0c112233', '6000000000ff'):
        for packet in (whole, six, ipv4(TCP, tcp(1, 2) + bytes(100))):
            frame = ethernet(type_of(packet), packet, b'\2\0\0\0\0\1', bytes.fromhex(target))
            yield ethernet(0x8847, labels(16, 17, payload=frame)), NON_IP  # one without a control word
    yield ethernet(0x8847, labels(16, payload=whole + bytes(18))), key(UDP, 9000, 9)  # padding
    yield ethernet(0x8847, labels(0, payload=whole[:10] + b'\1\2' + whole[12:])), key(UDP, 9000, 9)  # explicit null
    yield ethernet(0x8847, labels(16, payload=whole[:10] + b'\1\2' + whole[12:])), NON_IP
    yield ethernet(0x8847, labels(16, payload=b'')), MALFORMED
    yield ethernet(0x8847, labels(16, 17, payload=whole)[:6]), MALFORMED
    yield ethernet(0x8847, b'\0\1\0\x40' * 5), MALFORMED  # no bottom


def tunnel_frames():
    """The outermost header counts."""
    inner = ipv4(TCP, tcp(1, 2), '10.0.0.1', '10.0.0.2')
    frame = ethernet(IPV4, inner)
    gre = key(47)
    for header in (b'\0\0\x08\0', b'\x20\0\x08\0\0\0\0\7', b'\xb0\0\x08\0\0\0\0\0\0\0\0\7\0\0\0\1'):
        yield ipv4(47, header + inner), gre
    yield ipv4(47, b'\0\0\x65\x58' + frame), gre
    yield ipv4(47, b'\x10\0\x88\xbe\0\0\0\1' + bytes(8) + frame), gre  # ERSPAN
    yield ipv4(4, inner), key(4)
    yield ipv4(41, ipv6(TCP, tcp(1, 2))), key(41)
    yield ipv6(4, inner), key6(4)
    yield ipv6(41, ipv6(TCP, tcp(1, 2))), key6(41)
    for port, header, payload in ((4789, b'\x08\0\0\0\0\0\x2a\0', frame), (6081, b'\0\0\x65\x58\0\0\x2a\0', frame),
                                  (2152, b'\x30\xff\0\x28\0\0\0\1', inner), (3544, b'', ipv6(TCP, tcp(1, 2)))):
        yield ipv4(UDP, udp(50000, port, header + payload)), key(UDP, 50000, port)
        yield ipv6(UDP, udp(50000, port, header + payload)), key6(UDP, 50000, port)
    yield ipv4(50, bytes(40)), key(50)
    yield ipv4(51, b'\x04\x04' + bytes(22) + inner), key(51)

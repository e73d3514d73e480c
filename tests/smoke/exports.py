# SPDX-License-Identifier: BSD-3-Clause
"""Independent decoder of router exports, written from the format specifications: NetFlow v5, v9,
IPFIX, sFlow v5."""

import socket
import struct
import time

PORTS = {'v5': 2055, 'v9': 2055, 'ipfix': 4739, 'sflow': 6343}
ADDRESSES = {8: 'src_ip', 12: 'dst_ip', 15: 'next_hop', 27: 'src_ip', 28: 'dst_ip', 62: 'next_hop'}
NUMBERS = {1: 'bytes', 2: 'packets', 4: 'proto', 6: 'tcp_flags', 7: 'src_port', 10: 'input', 11: 'dst_port',
           14: 'output', 21: 'last', 22: 'first', 34: 'sampling', 61: 'direction', 136: 'reason', 152: 'first',
           153: 'last', 305: 'sampled', 306: 'skipped'}


def frames(path):
    """Yields (time in ns, captured bytes) of a classic capture."""
    with open(path, 'rb') as stream:
        data = stream.read()
    unit = {0xa1b2c3d4: 1000, 0xa1b23c4d: 1}[struct.unpack_from('<I', data)[0]]
    place = 24
    while place < len(data):
        seconds, part, captured, _ = struct.unpack_from('<IIII', data, place)
        place += 16 + captured
        yield seconds * 10**9 + part * unit, data[place - captured:place]


def datagrams(path):
    """Yields (time in ns, router address, UDP port, payload)."""
    for when, frame in frames(path):
        assert frame[12:15] == b'\x08\x00\x45' and frame[23] == 17, frame[:40].hex()
        port, length = struct.unpack_from('>HH', frame, 36)
        assert 34 + length == len(frame), (length, len(frame))
        yield when, socket.inet_ntoa(frame[26:30]), port, frame[42:]


def address(data):
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, bytes(data))


def packet(frame):
    """Returns (5-tuple of strings, layer 3 bytes) of a frame with Ethernet, VLAN tags and IP."""
    place = 12
    while frame[place:place + 2] == b'\x81\x00':
        place += 4
    ip = frame[place + 2:]
    if frame[place:place + 2] == b'\x08\x00':
        proto, ends, length, rest = ip[9], (ip[12:16], ip[16:20]), struct.unpack_from('>H', ip, 2)[0], ip[20:]
    else:
        assert frame[place:place + 2] == b'\x86\xdd', frame[:40].hex()
        proto, ends, length, rest = ip[6], (ip[8:24], ip[24:40]), struct.unpack_from('>H', ip, 4)[0] + 40, ip[40:]
    ports = struct.unpack_from('>HH', rest) if proto in (6, 17, 132) else (0, 0)
    return (address(ends[0]), address(ends[1]), str(ports[0]), str(ports[1]), str(proto)), length


def v5(data):
    version, count = struct.unpack_from('>HH', data)
    sampling = struct.unpack_from('>H', data, 22)[0]
    assert version == 5 and len(data) == 24 + 48 * count, (version, count, len(data))
    if sampling:
        yield {'sampling': sampling & 0x3fff}
    for place in range(24, len(data), 48):
        src, dst, hop, put_in, out, packets, size, first, last, sport, dport, flags, proto = struct.unpack_from(
            '>4s4s4sHHIIIIHHxBB', data, place)
        yield {'key': (address(src), address(dst), str(sport), str(dport), str(proto)), 'next_hop': address(hop),
               'input': put_in, 'output': out, 'packets': packets, 'bytes': size, 'first': first, 'last': last,
               'tcp_flags': flags}


def templates_of(number, body, options):
    """{template: [(element, length)]}"""
    found, place = {}, 0
    while len(body) - place >= 4:
        template, count = struct.unpack_from('>HH', body, place)
        place += 4
        if options:
            second = struct.unpack_from('>H', body, place)[0]
            count, place = (count + second) // 4 if number == 9 else count, place + 2
        found[template] = [struct.unpack_from('>HH', body, place + 4 * i) for i in range(count)]
        place += 4 * count
        if options:
            break
    return found


def fields(template, data):
    record, place = {}, 0
    for element, length in template:
        value = data[place:place + length]
        place += length
        if element in ADDRESSES:
            record[ADDRESSES[element]] = address(value)
        elif element in NUMBERS:
            record[NUMBERS[element]] = int.from_bytes(value, 'big')
    if 'src_ip' in record:
        record['key'] = tuple(str(record[name]) for name in ('src_ip', 'dst_ip', 'src_port', 'dst_port', 'proto'))
    elif 'skipped' in record:
        record['sampling'] = (record['sampled'] + record['skipped']) // record['sampled']
    return record


def message(data, templates):
    """Decodes v9 and IPFIX. `templates` belongs to the router and is updated."""
    number = struct.unpack_from('>H', data)[0]
    place = {9: 20, 10: 16}[number]
    while place < len(data):
        which, length = struct.unpack_from('>HH', data, place)
        body = data[place + 4:place + length]
        assert length >= 4 and len(body) == length - 4, (which, length)
        place += length
        if which < 256:
            templates.update(templates_of(number, body, which in (1, 3)))
            continue
        size = sum(length for _, length in templates[which])
        for start in range(0, len(body) - size + 1, size):
            yield fields(templates[which], body[start:start + size])


def sflow(data):
    version, kind = struct.unpack_from('>II', data)
    samples = struct.unpack_from('>I', data, 24)[0]
    assert (version, kind) == (5, 1), (version, kind)
    place = 28
    for _ in range(samples):
        form, length = struct.unpack_from('>II', data, place)
        sample = data[place + 8:place + 8 + length]
        place += 8 + length
        if form == 2:
            index, size_in, packets_in, size_out, packets_out = struct.unpack_from('>I20xQI20xQI', sample, 20)
            yield {'interface': index, 'in': (packets_in, size_in), 'out': (packets_out, size_out)}
            continue
        sampling, pool, _, put_in, out = struct.unpack_from('>IIIII', sample, 8)
        size, stripped, captured = struct.unpack_from('>III', sample, 44)
        key, layer3 = packet(sample[56:56 + captured])
        yield {'key': key, 'input': put_in, 'output': out, 'packets': 1, 'bytes': layer3,
               'frame': size - stripped, 'sampling': sampling, 'pool': pool}
    assert place == len(data), (place, len(data))


def told(path):
    """Yields (time in ns, router address, record) in order of arrival, for any protocol."""
    templates = {}
    for when, router, _, data in datagrams(path):
        version = struct.unpack_from('>H', data)[0]
        if version in (9, 10):
            records = message(data, templates.setdefault((router, version), {}))
        else:
            records = {5: v5, 0: sflow}[version](data)
        for record in records:
            yield when, router, record


def write(path, datagrams_to_write):
    """Writes a capture of (time in ns, router address, UDP port, payload)."""
    with open(path, 'wb') as stream:
        stream.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        for when, router, port, data in datagrams_to_write:
            udp = struct.pack('>HHHH', 50000, port, 8 + len(data), 0) + data
            ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                             socket.inet_aton(router), socket.inet_aton('203.0.113.1'))
            frame = bytes(12) + b'\x08\x00' + ip + udp
            stream.write(struct.pack('<IIII', when // 10**9, when % 10**9, len(frame), len(frame)) + frame)
    return path


def v5_datagram(sequence, seconds, records):
    """A datagram of at most 30 records as told() returns them, with next hops, interfaces, packets
    and bytes."""
    data = struct.pack('>HHIIIIBBH', 5, len(records), 3600000, seconds, 0, sequence, 0, 0, 0)
    for record in records:
        src, dst, sport, dport, proto = record['key']
        data += struct.pack('>4s4s4sHHIIIIHHxBBxHHBBxx', socket.inet_aton(src), socket.inet_aton(dst),
                            socket.inet_aton(record.get('next_hop', '0.0.0.0')), record['input'],
                            record['output'], record['packets'], record['bytes'], 3599000, 3600000, int(sport),
                            int(dport), 0, int(proto), 0, 0, 0, 0)
    return data


def read(path, form):
    """Returns [(router address, record)]."""
    templates, found = {}, []
    for _, router, port, data in datagrams(path):
        assert port == PORTS[form], port
        if form in ('v9', 'ipfix'):
            records = message(data, templates.setdefault(router, {}))
        else:
            records = {'v5': v5, 'sflow': sflow}[form](data)
        found.extend((router, record) for record in records)
    return found


def add(sums, key, packets, size):
    before = sums.get(key, (0, 0))
    sums[key] = (before[0] + packets, before[1] + size)


def traffic(path):
    """Returns {5-tuple: (packets, layer 3 bytes)} of a capture of packets."""
    sums = {}
    for _, frame in frames(path):
        key, size = packet(frame)
        add(sums, key, 1, size)
    return sums


def by_router(records):
    """Returns {router: {5-tuple: (packets, layer 3 bytes)}}."""
    sums = {}
    for router, record in records:
        if 'key' in record:
            add(sums.setdefault(router, {}), record['key'], record['packets'], record['bytes'])
    return sums


def send(path, port, rest=lambda: time.sleep(0.002)):
    """Sends a capture's datagrams to a port of this host; calls rest() after every 16, so that the
    receiver keeps up."""
    count = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(('127.0.0.1', port))
        for _, _, _, data in datagrams(path):
            out.send(data)
            count += 1
            if count % 16 == 0:
                rest()
    return count

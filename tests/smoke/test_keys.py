# SPDX-License-Identifier: BSD-3-Clause
"""Keys of every kind of field, on every capture and in every sketch, against the packets."""

import functools
import socket
import struct

import lib

# Each kind of key: a layout of 16 or 40 bytes, of both address families or one.
KEYS = (
    'src_port',
    'dst_port,proto',
    'vlan',
    'dscp,tcp_flags',
    'mpls',
    'in_port',
    'src/24/48,dst_port',
    'dst/9',
    '5tuple,vlan',
    'src/13/33,dst/32/127,vlan,mpls,dscp',
    'src,dst/32/64,src_port,dst_port,proto,vlan,dscp,in_port',
)
# Fields of a packet itself, as returned by fields_of(); each has a row in KEYS.
COLUMNS = (*lib.KEY_COLUMNS, 'tcp_flags', 'vlan', 'dscp', 'mpls')
TOP = 200
FEW = 4096  # maximum number of distinct packets


def ipv4_fields(found, header):
    """Adds fields; returns the payload, empty for later fragments, or None if malformed."""
    size = (header[0] & 15) * 4 if header else 0
    if len(header) < 20 or header[0] >> 4 != 4 or size < 20 or len(header) < size:
        return None
    found['dscp'], found['proto'] = header[1] >> 2, header[9]
    found['src_ip'], found['dst_ip'] = header[12:16], header[16:20]
    later = int.from_bytes(header[6:8], 'big') & 0x1fff
    return b'' if later else header[size:]


def ipv6_fields(found, header):
    """Like ipv4_fields()."""
    if len(header) < 40 or header[0] >> 4 != 6:
        return None
    proto, rest, walked = header[6], header[40:], 0
    found['dscp'] = int.from_bytes(header[:2], 'big') >> 6 & 63
    found['src_ip'], found['dst_ip'] = header[8:24], header[24:40]
    while proto in (0, 43, 44, 51, 60):
        walked += 1
        if walked > 8 or len(rest) < 8:
            return None
        later = proto == 44 and int.from_bytes(rest[2:4], 'big') >> 3
        size = 8 if proto == 44 else (rest[1] + 2) * 4 if proto == 51 else (rest[1] + 1) * 8
        proto, rest = rest[0], rest[size:]
        if later:
            rest = b''
            break
    found['proto'] = proto
    return rest


def fields_of(oracle, record):
    """Returns the key fields of a packet by column, addresses as bytes; None if it has no key.
    Follows the rule of truth.py, and adds the outermost VLAN id and the top MPLS label."""
    link, _, data, _ = record
    at, kind = oracle.layer3(record)
    if at is None:
        return None
    tag = {1: 14, 113: 16, 276: 20}.get(link, at)  # end of the link header
    found = dict.fromkeys(COLUMNS, 0)
    if at > tag:
        found['vlan'] = int.from_bytes(data[tag:tag + 2], 'big') & 0xfff
    if kind in (0x8847, 0x8848):
        found['mpls'] = int.from_bytes(data[at:at + 3], 'big') >> 4
        bottom = False
        while not bottom and len(data) >= at + 4:
            bottom = data[at + 2] & 1
            at += 4
        if not bottom or len(data) == at:
            return None
        kind = {4: 0x0800, 6: 0x86dd}.get(data[at] >> 4)
    reader = {0x0800: ipv4_fields, 0x86dd: ipv6_fields}.get(kind)
    rest = reader and reader(found, data[at:])
    if rest is None:
        return None
    if found['proto'] in (6, 17, 132) and len(rest) >= 4:
        found['src_port'], found['dst_port'] = struct.unpack_from('>HH', rest)
        if found['proto'] == 6 and len(rest) > 13:
            found['tcp_flags'] = rest[13]
    return found


def packets_of(traces, path):
    """Returns {fields in the order of COLUMNS: (packets, bytes)}."""
    oracle, counts = lib.Oracle(), {}
    for record in oracle.records(path):
        found = fields_of(oracle, record)
        if found is not None:
            fields = tuple(found[column] for column in COLUMNS)
            before = counts.get(fields, (0, 0))
            counts[fields] = before[0] + 1, before[1] + record[3]
    return counts


@functools.lru_cache(maxsize=1 << 18)
def address(raw, lengths):
    """Formats an address like the outputs; lengths: the given ones, of IPv4 and IPv6."""
    family, bits, given = ((socket.AF_INET, 32, lengths[:1]) if len(raw) == 4 else
                           (socket.AF_INET6, 128, lengths[1:]))
    length = int(given[0]) if given else bits
    number = int.from_bytes(raw, 'big') >> (bits - length) << (bits - length)
    text = socket.inet_ntop(family, number.to_bytes(bits // 8, 'big'))
    return text if length == bits else f'{text}/{length}'


def printer(word, column):
    """Returns a function from the fields of a packet to the text of a column."""
    if column == 'in_port':
        return lambda fields: '0'
    place, lengths = COLUMNS.index(column), tuple(word.split('/')[1:])
    if column in ('src_ip', 'dst_ip'):
        return lambda fields: address(fields[place], lengths)
    return lambda fields: str(fields[place])


def truth_of(packets, rule):
    """Returns {key as printed: (packets, bytes)}."""
    printers = [printer(word, column) for word in rule.split(',')
                for column in lib.key_columns(word)]
    truth = {}
    for fields, (count, size) in packets.items():
        key = tuple(text(fields) for text in printers)
        before = truth.get(key, (0, 0))
        truth[key] = before[0] + count, before[1] + size
    return truth


def configuration(test, sketch, keys, packets):
    """Writes a measurement per key. Tables are small if there are few packets, because there are
    many tables."""
    path = test.path(f'{sketch}.conf')
    with open(path, 'w', encoding='utf-8') as stream:
        if packets <= FEW:
            stream.write(f'width = {4 * FEW}\n')
        stream.write(f'sketch = {sketch}\ntop = {TOP}\n')
        for number, key in enumerate(keys):
            stream.write(f'[measurement key{number}]\nkey = {key}\n')
    return path


def keys_of(sketch):
    """Returns the keys of a sketch. A reversible sketch has too few spare bits for one of them."""
    return [key for key in KEYS if sketch != 'reversible' or key != '5tuple,vlan']


def check_rows(rows, truth, key, sketch, what):
    """Keys may be missing: in a simple-hash without free entries, or if a sketch with many keys
    stops decoding."""
    complete = sketch in ('count-min', 'flow-table') or (
        sketch != 'simple-hash' and len(truth) <= FEW)
    try:
        lib.check_bounds(rows, truth, key)
        assert not complete or len(rows) == min(TOP, len(truth)), (
            f'{len(rows)} rows of {len(truth)} keys')
        if sketch == 'flow-table':
            lib.check_exact(rows, truth, key)
            lib.check_top(rows, truth, TOP, key)
    except AssertionError as error:
        raise AssertionError(f'{what}, --sketch {sketch} --key {key}: {error}') from error


def case(entry, number):
    """Exact in the flow table; within bounds in one of the other sketches, in turn."""
    def check(test):
        path = lib.unpack(test, entry['file'])
        packets = packets_of(test.traces, path)
        truths = {key: truth_of(packets, key) for key in KEYS}
        assert truth_of(packets, '5tuple') == lib.load_truth(test.traces, entry['file']), 'the oracle is another one'
        sharing = ('separate', 'shared')[number % 2]
        sketches = lib.sketches(test.binary, sharing)
        others = [sketch for sketch in sketches if sketch != 'flow-table']
        for turn, sketch in enumerate(('flow-table', others[number % len(others)])):
            keys = keys_of(sketch)
            rows, _, _ = test.measure(
                '--config', configuration(test, sketch, keys, len(packets)), '--pcap', path, '--interval', '0',
                '--workers', 1 + (number + turn) % 3, '--sharing', sharing,
                status=1 if entry['expected'] != 'measured' else 0)
            for place, key in enumerate(keys):
                check_rows(lib.in_epoch(rows, '0', f'key{place}'), truths[key], key, sketch,
                           entry['file'])
    return check


def cases(settings):
    entries = [entry for entry in lib.short(settings, lib.index(settings.traces)) if entry['expected'] != 'refused']
    return [(f'keys of {entry["file"]}', case(entry, number))
            for number, entry in enumerate(lib.few(settings, entries))]


def tagged(flow, vlan):
    frame = lib.udp_frame(flow)
    return frame[:12] + b'\x81\x00' + vlan.to_bytes(2, 'big') + frame[12:]


def test_vlans_are_never_one(test):
    """VLANs of one 5-tuple are separate, for any reserved bits of a sketch."""
    path = lib.write_pcap(test.path('vlans.pcap'), [
        (number, tagged(7, number % 16)) for number in range(160)])
    for turn, sketch in enumerate(lib.sketches(test.binary)):
        for key in ('vlan', '5tuple,vlan', 'src,vlan,dscp', 'in_port,src,vlan'):
            turn += 1
            if sketch == 'reversible' and key == '5tuple,vlan':
                continue
            sharing = 'shared' if turn % 2 == 1 and lib.shares(sketch) else 'separate'
            rows, _, _ = test.measure(
                '--pcap', path, '--key', key, '--sketch', sketch, '--sharing', sharing, '--interval', '0',
                '--workers', 2)
            assert {(row['vlan'], row['packets']) for row in rows} == {
                (str(vlan), '10') for vlan in range(16)}, f'{sketch}, {key}: {rows}'


def test_files_are_ports(test):
    """in_port is the number of the capture file, in command line order."""
    paths = [lib.write_pcap(test.path(f'{name}.pcap'), [
        (number * 10 + place, lib.udp_frame()) for number in range(3 + place)])
             for place, name in enumerate('cab')]
    arguments = [word for path in paths for word in ('--pcap', path)]
    for design in ('rss', 'async', 'sync'):
        rows, _, _ = test.measure(*arguments, '--key', 'in_port', '--interval', '0',
                                  '--design', design)
        assert [(row['in_port'], row['packets']) for row in rows] == [
            ('2', '5'), ('1', '4'), ('0', '3')], rows


def test_ports_are_numbered(test):
    """in_port is the number of the --port option, independent of DPDK's device number."""
    paths = [lib.write_pcap(test.path(f'{name}.pcap'), [
        (number, lib.udp_frame()) for number in range(3 + 2 * place)])
             for place, name in enumerate('ab')]
    rows, _, _ = test.measure(
        '--port', f'net_pcap1,rx_pcap={paths[1]}', '--port', f'net_pcap0,rx_pcap={paths[0]}',
        '--packets', '8', '--interval', '0', '--key', 'in_port', '--workers', '1', '--eal', '--no-pci')
    assert [(row['in_port'], row['packets']) for row in rows] == [('0', '5'), ('1', '3')], rows


def test_columns_only_where_asked(test):
    """Columns of further fields are at the end, only in runs with such a key."""
    path = lib.write_pcap(test.path('one.pcap'), [(0, tagged(1, 5))])
    conf = test.path('two.conf')
    with open(conf, 'w', encoding='utf-8') as stream:
        stream.write('[measurement a]\nkey = vlan,src/8\n[measurement b]\nkey = mpls\n')
    rows, _, _ = test.measure('--pcap', path, '--config', conf)
    assert list(rows[0]) == lib.OUTPUT_COLUMNS + ['vlan', 'mpls'], rows
    assert [(row['src_ip'], row['vlan'], row['mpls']) for row in rows] == [
        ('10.0.0.0/8', '5', ''), ('', '', '0')], rows
    rows, _, _ = test.measure('--pcap', path, '--key', 'src/24,dst_port')
    assert list(rows[0]) == lib.OUTPUT_COLUMNS, rows
    flows = test.path('flows.csv')
    rows, _, _ = test.measure('--pcap', path, '--key', 'dscp,src/8,vlan', '--sketch',
                              'flow-table', '--flows', flows)
    assert list(rows[0]) == lib.OUTPUT_COLUMNS + lib.RECORD_COLUMNS + ['vlan', 'dscp'], rows
    with open(flows, encoding='utf-8') as stream:
        header, row = stream.read().splitlines()
    assert header.endswith(',tcp_flags,ended,vlan,dscp'), header
    assert row.endswith(',0,end,5,0') and ',10.0.0.0/8,,,,,' in row, row


def test_table_shows_them(test):
    path = lib.write_pcap(test.path('one.pcap'), [(0, tagged(1, 5))])
    result = test.run('--pcap', path, '--format', 'table', '--key', 'src/8,dst_port,vlan,proto')
    result.expect(0)
    assert '10.0.0.0/8 -> :53 udp vlan 5 ' in result.stdout, result.describe()


def test_refused_keys(test):
    """Exit status 2, the option and the allowed values."""
    for arguments, mentions in (
            (('--key', 'vlan,colour'), ('--key', 'allowed: 5tuple', 'in_port', 'src/24/48')),
            (('--key', 'src,vlan,src'), ('--key', 'src twice')),
            (('--key', 'src/33'), ('--key', '/1 to /32')),
            (('--key', 'vlan/4'), ('--key', 'vlan')),
            (('--key', '6tuple,vlan'), ('--key', '40 bytes', '39')),
            (('--key', '5tuple,vlan', '--sketch', 'reversible'), ('--key', '5tuple,vlan'))):
        test.run('--pcap', 'absent.pcap', *arguments).expect(2).expect_one_line(*mentions)

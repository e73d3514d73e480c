# SPDX-License-Identifier: BSD-3-Clause
"""--filter: for every packet of the zoo and every design, the measured packets are those that
libpcap selects."""

import ctypes
import functools
import struct

import lib

DESIGNS = ('rss', 'async', 'sync')
EXPRESSIONS = (
    'tcp', 'udp', 'icmp', 'ip', 'ip6', 'arp', 'vlan', 'mpls', 'tcp port 80', 'udp port 53',
    'src port 443', 'portrange 1-1023', 'host 192.168.1.1', 'net 10.0.0.0/8', 'dst net 192.168.0.0/16',
    'src net 10.0.0.0/8 or dst net 172.16.0.0/12', 'not tcp', 'tcp or udp', 'ip and not tcp', 'len > 100',
    'greater 500', 'less 64', 'len = 60', 'len <= 1514 and len >= 590', 'tcp[tcpflags] & tcp-syn != 0',
    'tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not tcp[tcpflags] & tcp-ack != 0', 'ip[0] & 0xf > 5',
    'ip[6:2] & 0x1fff != 0', 'ip[8] < 64', 'udp[8:4] > 65536', 'tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420',
    'tcp[20:2] != 0', 'ip[2:2] - ((ip[0] & 0xf) << 2) > 100', 'ip proto 50 or ip proto 51', 'sctp',
    'ip6 protochain 6', 'ip broadcast or ip multicast', 'ip[ip[2:2] - 1] = 0', 'len - 14 > ip[2:2]',
    'vlan and tcp', 'udp port 4789 or udp port 6081', 'not ip and not ip6')


class Header(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('fraction', ctypes.c_long),
                ('captured', ctypes.c_uint32), ('length', ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [('n', ctypes.c_uint), ('insns', ctypes.c_void_p)]


@functools.lru_cache(maxsize=1)
def libpcap():
    library = ctypes.CDLL('libpcap.so.0.8')
    library.pcap_open_offline.restype = ctypes.c_void_p
    library.pcap_geterr.restype = ctypes.c_char_p
    for name in ('pcap_geterr', 'pcap_close'):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.pcap_compile.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32]
    library.pcap_next_ex.argtypes = [ctypes.c_void_p] * 3
    library.pcap_offline_filter.argtypes = [ctypes.c_void_p] * 3
    return library


def matching(path, expression):
    """Returns for each packet of a capture if it matches, or None if libpcap refuses the
    expression."""
    pcap = libpcap()
    error = ctypes.create_string_buffer(256)
    handle = pcap.pcap_open_offline(path.encode(), error)
    assert handle, error.value
    program, header, data = Program(), ctypes.POINTER(Header)(), ctypes.c_void_p()
    matches = []
    try:
        compiled = pcap.pcap_compile(handle, ctypes.byref(program), expression.encode(), 1, 0) == 0
        if not compiled and b'rejects all' not in pcap.pcap_geterr(handle):
            return None
        while pcap.pcap_next_ex(handle, ctypes.byref(header), ctypes.byref(data)) == 1:
            matches.append(compiled and pcap.pcap_offline_filter(
                ctypes.byref(program), header, data) != 0)
        if compiled:
            pcap.pcap_freecode(ctypes.byref(program))
    finally:
        pcap.pcap_close(handle)
    return matches


class Zoo:
    """Every packet of the captures that libpcap and the oracle read completely: ledger column and
    key."""

    def __init__(self, test):
        oracle = lib.Oracle()
        self.packets = {}
        for row in lib.index(test.traces):
            if (row['file'].startswith('zoo/') and row['expected'] == 'measured' and
                    row['file'] not in lib.UNLIKE_INTERFACES):
                path = lib.unpack(test, row['file'])
                self.packets[path] = [oracle.count([record]) for record in oracle.records(path)]

    def expect(self, expression):
        """Returns (files, ledger, flows) of the matching packets."""
        files, flows = [], {}
        ledger = dict.fromkeys(('offered', 'measured', 'filtered', 'non_ip', 'malformed'), 0)
        for path, packets in self.packets.items():
            matches = matching(path, expression)
            if matches is None:
                continue
            assert len(matches) == len(packets), path
            files.append(path)
            for match, (column, keys) in zip(matches, packets):
                ledger['offered'] += 1
                if not match:
                    ledger['filtered'] += 1
                    continue
                for name in ('measured', 'non_ip', 'malformed'):
                    ledger[name] += int(column.get(name, 0))
                for key, (n, size) in keys.items():
                    before = flows.get(key, (0, 0))
                    flows[key] = (before[0] + n, before[1] + size)
        return files, ledger, flows


def check_expression(test, zoo, expression, *options):
    files, ledger, flows = zoo.expect(expression)
    assert files, expression
    arguments = [argument for path in files for argument in ('--pcap', path)]
    rows, stats, result = test.measure(
        *arguments, '--filter', expression, '--interval', '0', '--sketch', 'flow-table', '--top', '1M',
        '--workers', '2', '--no-progress', *options)
    assert len(stats) == 1
    got = {name: int(stats[0][name]) for name in ledger}
    assert got == ledger, (expression, got, ledger, result.describe())
    counted = {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in rows}
    assert counted == flows, expression


def test_as_libpcap_says(test):
    zoo = Zoo(test)
    for number, expression in enumerate(test.few(EXPRESSIONS)):
        check_expression(test, zoo, expression, '--design', DESIGNS[number % len(DESIGNS)])


LINKS = (  # link type, header before IPv4; in files of either byte order
    (1, {'<': b'\2' * 12 + b'\x08\0', '>': b'\2' * 12 + b'\x08\0'}),
    (0, {'<': b'\2\0\0\0', '>': b'\0\0\0\2'}),
    (101, {'<': b'', '>': b''}),
    (113, {'<': bytes(14) + b'\x08\0', '>': bytes(14) + b'\x08\0'}),
    (108, {'<': b'\0\0\0\2', '>': b'\0\0\0\2'}),
)


def write_classic(path, link, packets, order):
    with open(path, 'wb') as stream:
        stream.write(struct.pack(order + 'IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, link))
        for time_ns, data in packets:
            stream.write(struct.pack(order + 'IIII', time_ns // 10**9, time_ns % 10**9, len(data),
                                     len(data)) + data)
    return path


def test_unlike_interfaces(test):
    """Each packet of a pcapng file is filtered as in a file with only its interface."""
    packets = [(10**9 + i * 1000, i * len(LINKS) // 300 if i < 200 else i % len(LINKS), lib.udp_frame(i, 200)[14:])
               for i in range(300)]
    for order in '<>':
        whole = lib.write_pcapng(
            test.path('whole'), [(link, 65535, 1) for link, _ in LINKS],
            [(time, n, LINKS[n][1][order] + ip) for time, n, ip in packets], order)
        parts = [write_classic(test.path(f'part{n}'), LINKS[n][0],
                               [(time, LINKS[n][1][order] + ip) for time, of, ip in packets if of == n],
                               order) for n in range(len(LINKS))]
        for expression, some in (('udp and src net 10.0.0.0/25', True), ('ip6', False),
                                 ('src portrange 1024-1050 or len > 195', True)):
            options = ('--filter', expression, '--interval', '0', '--top', '1K', '--seed', '1',
                       '--workers', '1')
            rows, stats, _ = test.measure('--pcap', whole, *options)
            expected = test.measure(*(word for part in parts for word in ('--pcap', part)), *options)
            assert rows == expected[0] and bool(rows) == some, (order, expression)
            for column in ('offered', 'measured', 'filtered'):
                assert stats[0][column] == expected[1][0][column], (order, expression, column)
            assert stats[0]['offered'] == '300', stats


def test_an_interface_that_the_filter_does_not_suit(test):
    """Packets of an interface that the filter does not support are filtered with a warning, in any
    order of interfaces; the others are measured."""
    ip, frame = lib.udp_frame()[14:], lib.udp_frame()
    both = [(1, 65535, 1000), (101, 65535, 1000)]
    for order in ((0, 1), (1, 0), (0, 1, 0, 1), (1, 1, 0)):
        # Interface 0 is described first: in one order the raw interface comes first, in the other
        # later.
        first = order[0]
        interfaces = [both[first], both[1 - first]]
        packets = [(i, int(n != first), ip if n else frame) for i, n in enumerate(order)]
        path = lib.write_pcapng(test.path('both.pcapng'), interfaces, packets)
        rows, stats, result = test.measure('--pcap', path, '--filter', 'not vlan 5', '--interval', '0')
        raw = order.count(1)
        assert int(stats[0]['measured']) == len(order) - raw and int(stats[0]['filtered']) == raw, stats
        assert sum(int(row['packets']) for row in rows) == len(order) - raw, rows
        result.expect_one_warning('both.pcapng', 'link type 101 (RAW)', '--filter does not apply',
                                  f'{raw} packet{"s" if raw > 1 else ""} not measured')
    files = [write_classic(test.path(f'{link}.pcap'), link, [(1, data)], '<') for link, data in ((101, ip), (1, frame))]
    _, stats, result = test.measure('--pcap', files[0], '--pcap', files[1], '--filter', 'not vlan 5', '--interval', '0')
    assert stats[0]['measured'] == stats[0]['filtered'] == '1', stats
    result.expect_one_warning('101.pcap', '--filter does not apply', ': 1 packet not measured')


def test_a_filter_that_suits_no_interface(test):
    ip = lib.udp_frame()[14:]
    path = lib.write_pcapng(test.path('raw.pcapng'), [(101, 65535, 1000), (189, 65535, 1000), (228, 65535, 1000)],
                            [(1, 0, ip), (2, 1, ip), (3, 2, ip)])
    test.run('--pcap', path, '--filter', 'vlan 5').expect(1).expect_one_line('raw.pcapng', 'vlan')


def test_paced_and_generated(test):
    """The ledger balances with a filter, with or without loss, in every design."""
    for design in DESIGNS:
        _, stats, _ = test.measure(
            '--synthetic', 'packets=200K,flows=1K,rate=1Mpps', '--filter', 'udp', '--design', design,
            '--workers', '2', '--interval', '50ms', '--pace', '50Mpps',
            *(('--ring-size', '64') if design == 'async' else ()))
        assert lib.total(stats, 'filtered') > 0 and lib.total(stats, 'offered') == 200000


def test_nothing_matches(test):
    rows, stats, _ = test.measure('--synthetic', 'packets=1K', '--filter', 'len > 9000')
    assert not rows and lib.total(stats, 'filtered') == 1000


def test_beyond_what_a_key_needs(test):
    """A filter on the last bytes of a long frame, which no key needs."""
    frames = [(i, lib.udp_frame(i, 1500)[:-1] + bytes([i % 3])) for i in range(90)]
    capture = lib.write_pcap(test.path('deep.pcap'), frames)
    for expression in ('ether[1499] = 1', 'ether[len - 1] = 1', 'udp[1465] = 1'):
        rows, stats, _ = test.measure('--pcap', capture, '--filter', expression, '--interval', '0')
        assert int(stats[0]['measured']) == 30 and int(stats[0]['filtered']) == 60, expression
        assert {row['src_ip'] for row in rows} == {lib.udp_key(i)[0] for i in range(1, 90, 3)}


def test_mistakes(test):
    for expression, *mentions in (
            ('tcp prot 80', "'prot'"), ('host', 'at the end'), ('tcp and port 99999', "'99999'"),
            ('(udp', 'syntax error'), ('ip[0:3] = 1', '--filter')):
        test.run('--synthetic', 'packets=10', '--filter', expression).expect(2).expect_one_line(*mentions)
    for command in ('run', 'plan', 'doctor'):
        test.run(command, '--synthetic', 'packets=10', '--filter', 'tcp prot').expect(2)
    capture = lib.write_pcap(test.path('one.pcap'), [(0, lib.udp_frame())])
    test.run('--pcap', capture, '--filter', 'outbound').expect(1).expect_one_line('one.pcap', 'outbound')

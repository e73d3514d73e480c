# SPDX-License-Identifier: BSD-3-Clause
"""A port over a kernel interface measures the same packets as a capture of the interface, to the
byte.

dumpcap captures the interface during the run. Traffic passes it under every setting that makes the
kernel join, segment or tag frames: segmentation offloads, GRO, MTUs, BIG TCP, tags, fragments.
"""

import collections
import os
import shutil
import signal
import struct
import time

import lib
import net
import test_kernel

NEAR, FAR = '198.18.0.1', '198.18.0.2'
NEAR6, FAR6 = 'fd00::1', 'fd00::2'
TRANSFER = 1500000
MARKER = '198.18.9.9'

# ethtool -K settings for both ends, MTU, workers, design.
SETTINGS = (
    ('all offloads, 1 worker', '', 1500, 1, 'rss'),
    ('all offloads, 2 workers', '', 1500, 2, 'rss'),
    ('all offloads, async', '', 1500, 2, 'async'),
    ('gro of the receiver', 'tso off gso off gro on', 1500, 2, 'rss'),
    ('no offload at all', 'tso off gso off gro off tx off rx off', 1500, 2, 'rss'),
    ('tags in the frames', 'txvlan off rxvlan off', 1500, 1, 'rss'),
    ('jumbo frames', 'tso off', 9000, 2, 'rss'),
    ('frames as long as IP allows', 'gso off', 65535, 1, 'rss'),
)

# Largest share of a CPU, wake-ups per second, options. The program of --kernel does not wake up its worker.
IDLE = (
    (0.02, 60, '--port', 'tap0', '--workers', '1'),
    (0.02, 60, '--port', 'tap0', '--workers', '2', '--design', 'async'),
    (0.02, 60, '--port', 'tap0', '--workers', '2', '--design', 'sync'),
    (0.08, 2000, '--kernel', 'tap0', '--workers', '1', '--design', 'async'),
    (0.02, 200, '--kernel', 'tap0', '--workers', '1', '--sketch', 'flow-table'),
)

SERVER = """
import socket, sys
server = socket.create_server((sys.argv[1], 5001), family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)
server.settimeout(60)
print('ready', flush=True)
connection, _ = server.accept()
connection.settimeout(60)
left = int(sys.argv[2])
while left > 0:
    left -= len(connection.recv(1 << 20)) or sys.exit('the client left')
connection.sendall(bytes(int(sys.argv[2])))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
"""

# A packet socket that is never read. At the end, it prints the number of frames that it has lost.
UNREAD = """
import signal, socket, struct
unread = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
unread.bind(('tap0', 3))
print('ready', flush=True)
signal.sigwait({signal.SIGINT})
print(struct.unpack('II', unread.getsockopt(263, 6, 8))[1])
"""

CLIENT = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 5001), 60)
connection.sendall(bytes(int(sys.argv[2])))
while connection.recv(1 << 20):
    pass
"""


def frames_of(path):
    """Returns (length on the wire, bytes) of each frame of a capture in either byte order."""
    with open(path, 'rb') as file:
        data = file.read()
    if len(data) < 24:
        return []
    order = '<' if data[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else '>'
    frames, at = [], 24
    while at + 16 <= len(data):
        _, _, captured, length = struct.unpack_from(order + '4I', data, at)
        frames.append((length, data[at + 16:at + 16 + captured]))
        at += 16 + captured
    return frames


def source_of(frame):
    """Returns the source address of a frame, or None if it is not IP."""
    at, kind = 14, frame[12:14]
    while kind in (b'\x81\x00', b'\x88\xa8'):
        kind = frame[at + 2:at + 4]
        at += 4
    if kind == b'\x08\x00':
        return '.'.join(map(str, frame[at + 12:at + 16]))
    if kind == b'\x86\xdd':
        import ipaddress  # pylint: disable=import-outside-toplevel
        return str(ipaddress.IPv6Address(frame[at + 8:at + 24]))
    return None


def ipv4(source, size, number=0, fragment=0, proto=17):
    header = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + size, number, fragment, 64, proto, 0,
                         bytes(map(int, source.split('.'))), bytes((198, 51, 100, 1)))
    total = sum(struct.unpack('!10H', header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    ports = struct.pack('!HHHH', 1000 + number % 7, 80, size, 0) if fragment & 0x1fff == 0 else bytes(8)
    return header[:10] + struct.pack('!H', ~total & 0xffff) + header[12:] + ports + bytes(size - 8)


def odd_frames(mtu):
    """Fragments of complete and incomplete datagrams, tags, non-IP frames, all lengths."""
    ethernet = bytes(12)
    frames = []
    for i in range(60):
        for part in range(3):  # complete, in three fragments
            frames.append(b'\x08\x00' + ipv4('198.18.1.1', 1000, i, (0x2000 if part < 2 else 0) | part * 125))
        frames.append(b'\x08\x00' + ipv4('198.18.1.2', 800, i, 0x2000 | 100))  # never complete
        frames.append(bytes.fromhex('81000005') + b'\x08\x00' + ipv4('198.18.1.3', 64 + i, i))
        frames.append(bytes.fromhex('88a80005') + bytes.fromhex('81000006') + b'\x08\x00' + ipv4('198.18.1.4', 64 + i, i))
        frames.append(bytes.fromhex('88b5') + bytes(46 + i))
        frames.append(b'\x08\x00' + ipv4('198.18.1.5', min(mtu, 65000) - 20 - i, i))
    return [ethernet + frame for frame in frames]


class Cable:
    """Two namespaces with the interfaces tap0 and wire0 between them."""

    def __init__(self, test, settings, mtu):
        self.test = test
        for tool in ('ethtool', 'dumpcap'):
            if shutil.which(tool) is None:
                test.skip(f'{tool} is not installed')
        self.near, self.far = net.Namespace(test), net.Namespace(test)
        self.near.veth('tap0', 'wire0', queues=2, mtu=mtu)
        self.near.ip('link', 'set', 'wire0', 'netns', self.far.holder.popen.pid)
        ends = ((self.near, 'tap0', NEAR, NEAR6), (self.far, 'wire0', FAR, FAR6))
        for space, name, address, address6 in ends:
            if settings:
                space.call('ethtool', '-K', name, *settings.split())
            space.set(name, 'multicast', 'off', 'arp', 'on', 'up')
            space.ip('addr', 'add', f'{address}/24', 'dev', name)
            if os.path.exists('/proc/sys/net/ipv6'):
                space.call('sh', '-c', f'echo 0 >/proc/sys/net/ipv6/conf/{name}/disable_ipv6; '
                           f'echo 0 >/proc/sys/net/ipv6/conf/{name}/accept_dad')
                space.ip('addr', 'add', f'{address6}/64', 'dev', name, 'nodad')
        for (space, name, _, _), (other, far, address, address6) in zip(ends, ends[::-1]):
            mac = other.link(far)['address']
            for peer in (address, address6):
                space.ip('neigh', 'replace', peer, 'lladdr', mac, 'dev', name, 'nud', 'permanent')

    def serve(self, program, *arguments):
        """Starts a Python program next to tap0, and waits for its first line."""
        server = self.test.start(*arguments, program=['python3', '-c', program], inside=self.near)
        said = os.path.join(server.directory, 'stdout')
        self.test.until(lambda: os.path.getsize(said) > 0 or not server.running(), 'a server')
        return server

    def transfer(self, address):
        """Sends the same bytes in both directions over TCP."""
        server = self.serve(SERVER, address, TRANSFER)
        self.test.wait(self.test.start(address, TRANSFER, program=['python3', '-c', CLIENT],
                                       inside=self.far)).expect(0)
        self.test.wait(server).expect(0)

    def send(self, frames, name):
        capture = lib.write_pcap(self.test.path(name), list(enumerate(frames)))
        self.test.wait(self.far.send('wire0', capture, 20000)).expect(0)


def compare(test, cable, workers, design, traffic):
    """Runs both, generates the traffic, and compares frames, and packets and bytes of each
    source. Losses of another socket do not count."""
    unread = cable.serve(UNREAD)
    output, stats, captured = test.path('output.csv'), test.path('stats.csv'), test.path('captured.pcap')
    run = test.start('--port', 'tap0', '--workers', workers, '--design', design, '--key', 'src', '--top', 100,
                     '--interval', '100ms', '--no-huge', '--output', output, '--stats', stats, inside=cable.near)
    net.wait_until_ready(test, run, stats)
    dumpcap = test.start('-i', 'tap0', '-P', '-q', '-B', '64', '-w', captured, program=['dumpcap'], inside=cable.near)
    # The comparison begins at the first marker that both have received.
    begin = [0]

    def marked():
        begin[0] += 1
        cable.send([bytes(12) + b'\x08\x00' + ipv4('198.18.9.8', 60)], f'begin{begin[0]}.pcap')
        return any(source_of(frame) == '198.18.9.8' for _, frame in frames_of(captured))

    test.until(lambda: os.path.exists(captured), 'a capture')
    test.until(marked, 'the capture sees frames')
    traffic()
    cable.send([bytes(12) + b'\x08\x00' + ipv4(MARKER, 60)], 'end.pcap')
    test.until(lambda: any(row['src_ip'] == MARKER for row in lib.read_output(output)), 'the end is measured')
    test.until(lambda: any(source_of(frame) == MARKER for _, frame in frames_of(captured)), 'the end is captured')
    for process in (dumpcap, run, unread):
        process.signal(signal.SIGINT)
    result = test.wait(run).expect(0)
    test.wait(dumpcap).expect(0)
    assert int(test.wait(unread).expect(0).stdout.split()[-1]) > 0
    ledger = lib.read_stats(stats)
    lib.check_account(result, ledger)
    lib.expect_lossless(ledger)
    truth = collections.defaultdict(lambda: [0, 0])
    other = 0
    for length, frame in frames_of(captured):
        source = source_of(frame)
        if source is None:
            other += 1
            continue
        truth[source][0] += 1
        truth[source][1] += length
    seen = collections.defaultdict(lambda: [0, 0])
    for row in lib.read_output(output):
        assert row['packets'] == row['packets_low'] == row['packets_high'], row
        assert row['bytes'] == row['bytes_low'] == row['bytes_high'], row
        seen[row['src_ip']][0] += int(row['packets'])
        seen[row['src_ip']][1] += int(row['bytes'])
    assert lib.total(ledger, 'non_ip') >= other
    for source, counts in truth.items():
        if source.startswith('fe80') or source == '198.18.9.8':
            continue
        assert seen[source] == counts, (source, seen[source], counts, result.describe())
    return truth, frames_of(captured)


def case(settings, mtu, workers, design):
    def check(test):
        cable = Cable(test, settings, mtu)

        def traffic():
            cable.transfer(NEAR)
            cable.send(odd_frames(mtu), 'odd.pcap')

        truth, frames = compare(test, cable, workers, design, traffic)
        assert truth['198.18.1.1'][0] == 180 and truth['198.18.1.2'][0] == 60, truth
        assert truth['198.18.1.3'][0] == truth['198.18.1.4'][0] == truth['198.18.1.5'][0] == 60, truth
        if settings == '':
            assert max(length for length, _ in frames) > 20000, 'no frames were joined'
    return check


def cases(settings):
    return ([(name, case(*rest)) for name, *rest in SETTINGS] +
            [(f'nothing comes: {" ".join(how)}', idle_case(share, wakeups, *how)) for share, wakeups, *how in IDLE])


def big_cable(test):
    cable = Cable(test, '', 1500)
    for space, name in ((cable.near, 'tap0'), (cable.far, 'wire0')):
        try:
            for option in ('gso_max_size', 'gro_max_size', 'gso_ipv4_max_size', 'gro_ipv4_max_size'):
                space.ip('link', 'set', 'dev', name, option, 185000)
        except AssertionError as reason:
            if 'ipv4' not in str(reason):
                test.skip(f'no BIG TCP: {reason}')
    return cable


def test_big_tcp(test):
    """Frames longer than an IP length field can hold: 0 in IPv4, a jumbogram or 0 in IPv6."""
    cable = big_cable(test)

    def traffic():
        for address in (NEAR, NEAR6):
            cable.transfer(address)

    _, frames = compare(test, cable, 2, 'rss', traffic)
    if max(length for length, _ in frames) <= 65549:
        test.skip('the kernel made no frames beyond 64 KB')


def test_big_tcp_by_a_program(test):
    """--kernel counts the segments of such packets, which carry no jumbo payload option on the
    wire."""
    test_kernel.needs_program(test)
    cable = big_cable(test)
    output, stats = test.path('output.csv'), test.path('stats.csv')
    run = test.start('--kernel', 'tap0', '--design', 'async', '--workers', '1', '--key', 'src', '--interval', '100ms',
                     '--output', output, '--stats', stats, inside=cable.near)
    net.wait_until_ready(test, run, stats)
    cable.transfer(NEAR6)
    cable.send([bytes(12) + b'\x08\x00' + ipv4(MARKER, 60)], 'end.pcap')
    test.until(lambda: any(row['src_ip'] == MARKER for row in lib.read_output(output)), 'the end is measured')
    run.signal(signal.SIGINT)
    test.wait(run).expect(0)
    rows = [row for row in lib.read_output(output) if row['src_ip'] == FAR6]
    # Ethernet, IPv6, TCP with timestamps, and 8 more bytes of options in the first packet.
    expected = TRANSFER + lib.total(rows, 'packets') * (14 + 40 + 32) + 8
    assert lib.total(rows, 'bytes') == expected, (rows, expected)


def work_of(process):
    """Returns the CPU time of all threads, in seconds, and how often they went to sleep."""
    total, sleeps, folder = 0, 0, f'/proc/{process.popen.pid}/task'
    for thread in os.listdir(folder):
        total += int(lib.read_text(f'{folder}/{thread}/schedstat').split()[0])
        sleeps += sum(int(line.split()[1]) for line in lib.read_text(f'{folder}/{thread}/status').splitlines()
                      if line.startswith('voluntary'))
    return total / 1e9, sleeps


def idle_case(share, wakeups, *options):
    def check(test):
        space = net.Namespace(test)
        space.veth('tap0', 'wire0')
        output, stats = test.path('output.csv'), test.path('stats.csv')
        process = test.start(*options, '--no-huge', '--interval', '1s', '--output', output, '--stats', stats,
                             inside=space)
        test.until(lambda: os.path.exists(stats) or not process.running(), 'it starts')
        if not process.running():
            test.skip(process.result.stderr.strip())
        test.until(lambda: os.path.getsize(stats) > 0, 'it measures')
        before, began = work_of(process), time.monotonic()
        time.sleep(2)
        (used, sleeps), passed = work_of(process), time.monotonic() - began
        used, sleeps = used - before[0], sleeps - before[1]
        process.signal(signal.SIGINT)
        test.wait(process).expect(0)
        assert used <= share * passed, f'{used:.3f} s of CPU time in {passed:.2f} s'
        assert sleeps <= wakeups * passed, f'{sleeps} times asleep in {passed:.2f} s'
    return check


def measured(test, space, stats, *options):
    process = test.start('--port', 'tap0', '--no-huge', *options, '--output', test.path('output.csv'), '--stats', stats,
                         inside=space)
    net.wait_until_ready(test, process, stats)
    return process


@lib.alone
def test_short_intervals(test):
    """With few packets, most intervals still end at multiples of their length."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    stats, traffic = test.path('stats.csv'), lib.write_pcap(test.path('few.pcap'), [(0, lib.udp_frame())] * 400)
    process = measured(test, space, stats, '--interval', '100ms')
    test.wait(space.send('wire0', traffic, 200)).expect(0)
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    ends = [lib.timestamp(row['end']) for row in lib.read_stats(stats)]
    late = [end for end in ends[:-1] if end % 100000]
    assert len(ends) > 5 and len(late) < len(ends) / 2, f'{len(late)} of {len(ends)} end later'


def test_a_stopped_reader(test):
    """While the program is stopped, the ring receives for seconds, however few frames a block holds."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    stats, traffic = test.path('stats.csv'), lib.write_pcap(test.path('many.pcap'), [(0, lib.udp_frame())] * 3000)
    process = measured(test, space, stats, '--interval', '1s', '--workers', '1')
    sender = space.send('wire0', traffic, 2000)
    test.until(lambda: space.sent('wire0') > 100, 'it sends')
    process.signal(signal.SIGSTOP)
    time.sleep(1)
    process.signal(signal.SIGCONT)
    test.wait(sender).expect(0)
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    rows = lib.read_stats(stats)
    lib.expect_lossless(rows)
    assert lib.total(rows, 'measured') == 3000, rows

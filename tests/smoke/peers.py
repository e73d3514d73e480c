# SPDX-License-Identifier: BSD-3-Clause
"""Exporters and collectors of other projects: recorded datagrams, and what each counts of a
capture."""

import fcntl
import json
import os
import pickle
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import collected
import exports
import lib

SO_RCVBUFFORCE = 33
EVERYTHING = (*collected.EVERYTHING, '--link-overhead', '0')


def needs(test, *programs):
    """Skips the test unless the programs exist; returns the path of the first. Also searches the
    folders of root's PATH on Debian and of Go."""
    paths = ':'.join((os.environ['PATH'], '/usr/sbin', '/sbin', os.path.expanduser('~/go/bin')))
    found = [shutil.which(program, path=paths) for program in programs]
    for program, path in zip(programs, found):
        if path is None:
            test.skip(f'{program} is not installed')
    return found[0]


def cached(test, name, make):
    """Returns the value of make(), computed once for all tests."""
    path = os.path.join(test.settings.cache, name)
    with open(path + '.lock', 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            made = make()
            with open(path, 'wb') as stream:
                pickle.dump(made, stream)
        with open(path, 'rb') as stream:
            return pickle.load(stream)


def outside(name):
    """A persistent folder for downloads from a package registry."""
    base = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return os.path.join(base, 'sketchtap-tests', name)


def fetched(test, name, fetch):
    """Returns outside(name), filled once by fetch(folder); skips the test if the download fails."""
    folder = outside(name)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + '.lock', 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder):
            shutil.rmtree(folder + '.part', ignore_errors=True)
            why = fetch(folder + '.part')
            if why is not None:
                test.skip(f'{name} is not available: {why}')
            os.rename(folder + '.part', folder)
    return folder


def call(*arguments, cwd=None):
    """Runs a command; returns None, or the last output line if it failed."""
    result = subprocess.run(arguments, cwd=cwd, capture_output=True, text=True, check=False)
    return None if result.returncode == 0 else (result.stdout + result.stderr).strip().split('\n')[-1]


CHDB = """import json, sys
from chdb import session
base = session.Session(sys.argv[1])
print(json.dumps([str(base.query(query, 'TabSeparated')) for query in json.load(sys.stdin)]))"""


def chdb(test):
    """Returns a folder with a Python package of a current ClickHouse library."""
    def fetch(folder):
        os.makedirs(folder)
        return call(sys.executable, '-m', 'pip', 'install', '--quiet', '--target', folder, 'chdb==4.4.0')
    return fetched(test, 'chdb-4.4.0', fetch)


def ask_chdb(test, folder, begin, query):
    """Returns the lines of the query's answer. The queries of `begin` run once, before the first
    query."""
    base, queries = test.path('chdb'), test.path('queries')
    with open(queries, 'w', encoding='utf-8') as stream:
        json.dump([query] if os.path.exists(base) else [*begin, query], stream)
    with open(queries, encoding='utf-8') as stream:
        result = test.run('-c', f'import sys\nsys.path.insert(0, {folder!r})\n{CHDB}', base, program=[sys.executable],
                          stdin=stream).expect(0)
    return json.loads(result.stdout)[-1].split('\n')[:-1]


class Recorder:
    """A socket for datagrams of other exporters; read after the exporter has ended."""

    def __init__(self, test, size=64 << 20):
        self.test = test
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, size)
        except PermissionError:
            test.skip('only root can set a receive buffer for a burst')
        self.socket.bind(('127.0.0.1', 0))
        self.port = self.socket.getsockname()[1]
        self.socket.setblocking(False)

    def datagrams(self):
        """Returns [(sender address, sender port, payload)] received so far."""
        found = []
        while True:
            try:
                data, sender = self.socket.recvfrom(65535)
            except BlockingIOError:
                return found
            found.append((*sender, data))


def frame(sender, port, to_port, data, to='127.0.0.1'):
    """Returns a datagram as an Ethernet frame to 02:02:02:02:02:02."""
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 28 + len(data), 0, 0, 64, 17, 0, socket.inet_aton(sender),
                     socket.inet_aton(to))
    total = sum(struct.unpack('>10H', ip))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + ip[12:]
    return b'\x02' * 12 + b'\x08\x00' + ip + struct.pack('>HHHH', port, to_port, 8 + len(data), 0) + data


def write(path, form, datagrams):
    """Writes a capture of datagrams stamped with the current time, 0.1 ms apart."""
    start = int(time.time() * 1000000)
    return lib.write_pcap(path, [
        (start + number * 100, frame(sender, port, exports.PORTS[form], data))
        for number, (sender, port, data) in enumerate(datagrams)])


def socket_row(port):
    """Returns (waiting bytes, dropped datagrams) of the UDP socket at a port, from the kernel."""
    with open('/proc/net/udp', encoding='ascii') as sockets:
        for line in sockets:
            words = line.split()
            if words[1].endswith(f':{port:04X}'):
                return int(words[4].split(':')[1], 16), int(words[12])
    return None


def until_read(test, port, what):
    test.until(lambda: (socket_row(port) or (0,))[0] == 0, f'{what} has read all')


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def nfcapd(test, form, path):
    """Returns the counts of nfcapd or sfcapd for a capture's datagrams: flows, packets, bytes,
    errors, bad."""
    program = needs(test, 'sfcapd' if form == 'sflow' else 'nfcapd')
    port = free_port()
    process = test.start('-w', test.directory, '-b', '127.0.0.1', '-p', str(port), '-S', '0', '-B', '4000000',
                         program=[program])
    test.until(lambda: 'Startup' in process.stderr(), f'{program} listens')
    assert exports.send(path, port) > 10
    until_read(test, port, program)
    process.signal(signal.SIGTERM)
    said = test.wait(process).stderr
    total = re.search(r'Flows: (\d+), Packets: (\d+), Bytes: (\d+), Sequence Errors: (\d+), Bad Packets: (\d+)', said)
    assert total, said
    return dict(zip(('flows', 'packets', 'bytes', 'errors', 'bad'), map(int, total.groups())))


def goflow2(test, form, path):
    """Returns {key: [packets, bytes]} of the records that GoFlow2 writes for a capture's
    datagrams."""
    program, port, out = needs(test, 'goflow2'), free_port(), test.path('goflow2.json')
    protocols = {'TCP': '6', 'UDP': '17', 'ICMP': '1', 'IPv6-ICMP': '58'}
    # With two workers, one may read data before the other has read the template.
    scheme = 'sflow' if form == 'sflow' else 'netflow'
    process = test.start('-listen', f'{scheme}://127.0.0.1:{port}?workers=1', '-transport.file', out, '-addr', '127.0.0.1:0', program=[program])
    test.until(lambda: socket_row(port) is not None, 'goflow2 listens')
    # GoFlow2 has a default receive buffer: datagrams that it does not read in time would be lost.
    assert exports.send(path, port, lambda: until_read(test, port, 'goflow2')) > 10
    expected = sum('key' in record for _, record in exports.read(path, form))

    def records():
        with open(out, encoding='utf-8') as stream:
            return stream.read().splitlines()

    test.until(lambda: os.path.exists(out) and len(records()) >= expected, 'goflow2 has written all')
    process.signal(signal.SIGTERM)
    test.wait(process)
    sums = {}
    for record in map(json.loads, records()):
        key = (record['src_addr'], record['dst_addr'], str(record['src_port']), str(record['dst_port']),
               protocols[record['proto']])
        figures = sums.setdefault(key, [0, 0])
        every = max(record['sampling_rate'], 1)
        figures[0] += every * record['packets']
        figures[1] += every * record['bytes']
    return sums


def tshark(test, path, *arguments):
    """Returns the output lines of tshark, which decodes UDP port 2055 as NetFlow."""
    return subprocess.run(
        [needs(test, 'tshark'), '-n', '-r', path, '-d', 'udp.port==2055,cflow', *arguments],
        capture_output=True, text=True, check=True).stdout.splitlines()


def built(test, name, library):
    """Builds a program of this folder with a library."""
    compiler = needs(test, 'gcc', 'pkg-config')
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', library], capture_output=True, text=True,
                           check=False)
    if flags.returncode != 0:
        test.skip(f'{library} is not installed with its headers')
    program, source = test.path(name), os.path.join(os.path.dirname(__file__), f'{name}.c')
    subprocess.run([compiler, '-o', program, source, *flags.stdout.split()], check=True)
    return program


def fixbuf(test, name):
    return built(test, name, 'libfixbuf')


# ---- softflowd 1.1


def words(data, place):
    return struct.unpack_from('>H', data, place)[0]


def layer3(data):
    """Returns (EtherType, offset of IP, offset from which bytes count). Skips one VLAN tag and any
    MPLS labels; the labels count."""
    place = 16 if words(data, 12) == 0x8100 else 12
    kind, counted = words(data, place), place + 2
    place += 2
    if kind == 0x8847:
        while not data[place + 2] & 1:
            place += 4
        place += 4
        kind = {4: 0x0800, 6: 0x86dd}.get(data[place] >> 4)
    return kind, place, counted


def behind_ipv6(header):
    """Returns (protocol, payload); (0, b'') for later fragments, whose header softflowd does not
    read."""
    proto, rest = header[6], header[40:]
    while proto in (0, 43, 44, 60):
        if proto == 44:
            if words(rest, 2) & 0xfff8:
                return 0, b''
            proto, rest = rest[0], rest[8:]
        else:
            proto, rest = rest[0], rest[(rest[1] + 1) * 8:]
    return proto, rest


def softflowd_flow(data, length):
    """Returns (5-tuple, bytes) of a packet as softflowd counts it, or None if softflowd ignores it.
    Bytes are those of the frame after Ethernet and a VLAN tag, including padding and MPLS labels.
    SCTP has no ports. softflowd skips one VLAN tag, not two, and does not parse AH."""
    if len(data) < 14 or words(data, 12) == 0x8100 and len(data) < 18:
        return None
    kind, place, counted = layer3(data)
    header = data[place:]
    if kind == 0x0800 and len(header) >= 20 and header[0] >> 4 == 4:
        size = (header[0] & 15) * 4
        if size < 20 or len(header) < size:
            return None
        proto, ends = header[9], (header[12:16], header[16:20])
        rest = b'' if words(header, 6) & 0x1fff else header[size:]
    elif kind == 0x86dd and len(header) >= 40 and header[0] >> 4 == 6:
        ends = (header[8:24], header[24:40])
        proto, rest = behind_ipv6(header)
    else:
        return None
    ports = (0, 0)
    if len(rest) >= {6: 20, 17: 8}.get(proto, 1 << 16):
        ports = struct.unpack_from('>HH', rest)
    return (*map(exports.address, ends), *map(str, ports), str(proto)), length - counted


def softflowd_truth(test, path, form, every=1):
    """Returns {5-tuple: (packets, bytes)} that softflowd counts in a capture, or in every
    `every`-th packet."""
    def make():
        sums, number = {}, 0
        for _, _, data, length in lib.Oracle().records(path):
            found = softflowd_flow(data, length)
            number += 1
            if found is not None and number % every == 0:
                exports.add(sums, found[0], 1, found[1])
        return sums

    sums = cached(test, f'softflowd-{os.path.basename(path)}-{every}', make)
    return {key: figures for key, figures in sums.items() if form != 'v5' or ':' not in key[0]}


def softflowd(test, capture, form, port, *options):
    """Runs softflowd; returns the number of datagrams it reports as sent. It has no control socket:
    with one, it would wait for a client at the end of a capture."""
    version = {'v5': '5', 'v9': '9', 'ipfix': '10'}[form]
    process = test.start('-d', '-r', capture, '-n', f'127.0.0.1:{port}', '-v', version, '-t', 'maxlife=1h', '-m',
                         '100000', '-c', 'none', '-p', test.path('softflowd.pid'), *options,
                         program=[needs(test, 'softflowd')])
    said = test.wait(process).expect(0)
    sent = re.search(r'in (\d+) packets \(0 failures\)', said.stdout + said.stderr)
    assert sent, said.describe()
    return int(sent[1])


def recorded(test, name, form, run):
    """A capture of the datagrams of run(port), made once for all tests. run() returns how many it
    sent, or None."""
    path = os.path.join(test.settings.cache, f'{name}.pcap')

    def make():
        recorder = Recorder(test)
        sent = run(recorder.port)
        datagrams = recorder.datagrams()
        assert sent in (None, len(datagrams)), (sent, len(datagrams))
        write(path, form, datagrams)

    cached(test, name, make)
    return path

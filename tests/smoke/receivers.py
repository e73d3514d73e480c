# SPDX-License-Identifier: BSD-3-Clause
"""IPFIX receivers of other projects and our own. Each starts on a free port of this host and
returns its records at the end. A record is (5-tuple of strings, packets, layer 3 bytes, first, last
in ms, TCP flags)."""

import csv
import datetime
import json
import os
import re
import signal
import subprocess

import exports
import lib
import peers
import test_collect_live

FLAGS = 'CEUAPRSF'


def milliseconds(text):
    """Converts a time in UTC; truncates to milliseconds."""
    whole, _, part = text.rstrip('Z').replace('T', ' ').partition('.')
    since = datetime.datetime.strptime(whole, '%Y-%m-%d %H:%M:%S') - datetime.datetime(1970, 1, 1)
    return (since.days * 86400 + since.seconds) * 1000 + int(part.ljust(3, '0')[:3])


def of_flows(row, octets=None):
    """Converts a row of --flows to a record."""
    return (lib.row_key(row), int(row['packets']), octets, milliseconds(row['first']), milliseconds(row['last']),
            int(row['tcp_flags'] or 0))


class Receiver:
    """A UDP receiver. Skips the test if the kernel dropped datagrams: the machine was too busy."""

    scheme, name, each = 'ipfix', None, True

    @staticmethod
    def knows(record):
        """Returns the part of a record that this receiver can store."""
        return record

    def __init__(self, test):
        self.test, self.port = test, peers.free_port()
        self.start()
        self.url = f'{self.scheme}://127.0.0.1:{self.port}'

    def home(self, name):
        return self.test.path(f'{self.name}.{name}')

    def listens(self):
        self.test.until(lambda: peers.socket_row(self.port) is not None, f'{self.name} listens')

    def read_all(self):
        peers.until_read(self.test, self.port, self.name)
        if peers.socket_row(self.port)[1]:
            self.test.skip(f'{self.name} was too slow here: the kernel dropped datagrams')


class Nfcapd(Receiver):
    name = 'nfcapd'

    def start(self):
        program = peers.needs(self.test, 'nfcapd', 'nfdump')
        os.mkdir(self.home('d'))
        self.process = self.test.start('-w', self.home('d'), '-b', '127.0.0.1', '-p', str(self.port), '-B', '4000000',
                                       program=[program])
        self.test.until(lambda: 'Startup' in self.process.stderr(), 'nfcapd listens')

    def finish(self):
        self.read_all()
        self.process.signal(signal.SIGTERM)
        said = re.search(r'Flows: (\d+), Packets: (\d+), Bytes: (\d+), Sequence Errors: (\d+), Bad Packets: (\d+)',
                         self.test.wait(self.process).stderr)
        *self.sums, errors, bad = map(int, said.groups())
        assert (errors, bad) == (0, 0), said[0]
        listed = subprocess.run(['nfdump', '-R', self.home('d'), '-o', 'json'], check=True, capture_output=True,
                                text=True, env={**os.environ, 'TZ': 'UTC'}).stdout
        # nfdump prints no JSON if there are no records.
        return [self.record(row) for row in json.loads(listed)] if '{' in listed else []

    @staticmethod
    def record(row):
        ends = [row.get(f'{end}4_addr') or row[f'{end}6_addr'] for end in ('src', 'dst')]
        ports = [str(row.get(f'{end}_port', 0)) for end in ('src', 'dst')]
        flags = sum(1 << 7 - FLAGS.index(letter) for letter in row.get('tcp_flags', '') if letter in FLAGS)
        assert row['input_snmp'] == 1, row
        return ((*ends, *ports, str(row['proto'])), row['in_packets'], row['in_bytes'], milliseconds(row['first']),
                milliseconds(row['last']), flags)


class Nfacctd(Receiver):
    """pmacct's collector, which adds up records with equal fields."""

    name, each = 'nfacctd', False

    def start(self):
        program = peers.needs(self.test, 'nfacctd')
        with open(self.home('conf'), 'w', encoding='ascii') as stream:
            stream.write('\n'.join((
                'daemonize: false', 'nfacctd_ip: 127.0.0.1', f'nfacctd_port: {self.port}', 'plugins: print[a]',
                'aggregate[a]: src_host, dst_host, src_port, dst_port, proto, tcpflags, timestamp_start, '
                'timestamp_end, in_iface', 'timestamps_since_epoch: true', 'print_num_protos: true',
                'print_output[a]: json', f'print_output_file[a]: {self.home("json")}',
                'print_output_file_append[a]: true', 'print_refresh_time[a]: 3600',
                'print_cache_entries[a]: 16411', 'plugin_buffer_size: 102400', 'plugin_pipe_size: 102400000',
                'nfacctd_pipe_size: 8000000', '')))
        self.process = self.test.start('-f', self.home('conf'), program=[program])
        self.listens()

    def finish(self):
        self.read_all()
        self.process.signal(signal.SIGINT)
        result = self.test.wait(self.process)
        said = result.stdout + result.stderr
        assert 'expecting flow' not in said and 'missing data' not in said, said
        if not os.path.exists(self.home('json')):
            return []
        with open(self.home('json'), encoding='utf-8') as stream:
            return [self.record(json.loads(line)) for line in stream]

    @staticmethod
    def knows(record):
        """Replaces a start time within the first second of 1970 by the current time."""
        key, packets, octets, first, last, flags = record
        return key, packets, octets, 0 if first < 1000 or first > last else first, last, flags

    @staticmethod
    def record(row):
        first, last = (round(float(row[f'timestamp_{end}']) * 1000) for end in ('start', 'end'))
        assert row['iface_in'] == 1, row
        return ((row['ip_src'], row['ip_dst'], str(row['port_src']), str(row['port_dst']), str(row['ip_proto'])),
                row['packets'], row['bytes'], first, last, int(row['tcp_flags']))


class Goflow2(Receiver):
    """`proto`: how it prints protocols. none: as numbers. proto: by its names."""

    name = 'goflow2'

    def __init__(self, test, proto='none'):
        self.proto = proto
        super().__init__(test)

    def start(self):
        program = peers.needs(self.test, 'goflow2')
        with open(self.home('yaml'), 'w', encoding='ascii') as stream:
            stream.write(f'formatter:\n  render:\n    proto: {self.proto}\n')
        # With two workers, one may read data before the other has read the template.
        self.process = self.test.start(
            '-listen', f'netflow://127.0.0.1:{self.port}?workers=1', '-transport.file', self.home('json'), '-mapping',
            self.home('yaml'), '-addr', '127.0.0.1:0', program=[program])
        self.listens()

    def rows(self):
        """Returns its JSON objects."""
        self.read_all()
        self.process.signal(signal.SIGTERM)
        self.test.wait(self.process)
        if not os.path.exists(self.home('json')):
            return []
        with open(self.home('json'), encoding='utf-8') as stream:
            return [json.loads(line) for line in stream]

    def finish(self):
        return [self.record(row) for row in self.rows()]

    @staticmethod
    def record(row):
        # Akvorado, which uses this decoder, drops records without an interface or a
        # sampling rate.
        assert (row['sampling_rate'], row['in_if']) == (1, 1), row
        first, last = (row[f'time_flow_{end}_ns'] // 1000000 for end in ('start', 'end'))
        return ((row['src_addr'], row['dst_addr'], str(row['src_port']), str(row['dst_port']), str(row['proto'])),
                row['packets'], row['bytes'], first, last, row['tcp_flags'])


class Libfixbuf(Receiver):
    """Receives over TCP with a reader built for this test."""

    name, scheme = 'libfixbuf', 'ipfix+tcp'

    def start(self):
        self.process = self.test.start(str(self.port), program=[peers.fixbuf(self.test, 'fixbuf_read')])
        self.test.until(lambda: 'listens' in self.process.stderr(), 'libfixbuf listens')

    def finish(self):
        result = self.test.wait(self.process).expect(0)
        # The reader reports gaps in the sequence and unknown templates.
        assert result.stderr.splitlines() == ['listens', 'End of file'], result.describe()
        return [(tuple(row[:5]), *map(int, row[5:])) for row in csv.reader(result.stdout.splitlines())]


class Tshark(Receiver):
    """Decodes recorded datagrams."""

    name = 'tshark'
    FIELDS = ('srcaddr', 'srcaddrv6', 'dstaddr', 'dstaddrv6', 'srcport', 'dstport', 'protocol', 'packets', 'octets',
              'abstimestart', 'abstimeend', 'tcpflags', 'inputint', 'sampling_interval')

    def __init__(self, test):
        self.test, self.recorder = test, peers.Recorder(test)
        peers.needs(test, 'tshark')
        self.url = f'ipfix://127.0.0.1:{self.recorder.port}'

    def finish(self):
        path = peers.write(self.home('pcap'), 'ipfix', self.recorder.datagrams())
        assert peers.tshark(self.test, path, '-Y', '_ws.expert or _ws.malformed') == []
        found = []
        for line in peers.tshark(self.test, path, '-Y', 'cflow.packets', '-T', 'fields', '-E', 'aggregator=;',
                                 *(f'-ecflow.{field}' for field in self.FIELDS)):
            # Each message holds addresses of either IPv4 or IPv6.
            columns = [part.split(';') for part in line.split('\t') if part]
            found += [self.record(record) for record in zip(*columns, strict=True)]
        return found

    @staticmethod
    def time(text):
        month, day, year, clock, zone = text.replace(',', '').split()
        assert zone == 'UTC', text
        day = datetime.datetime.strptime(f'{month} {day} {year}', '%b %d %Y').date()
        return milliseconds(f'{day} {clock}')

    @classmethod
    def record(cls, record):
        *key, packets, octets, first, last, flags, interface, rate = record
        assert (interface, rate) == ('1', '1'), record
        return (tuple(key), int(packets), int(octets), cls.time(first), cls.time(last), int(flags, 16))


OTHERS = (Nfcapd, Nfacctd, Goflow2, Libfixbuf, Tshark)


class Collect(test_collect_live.Listening):
    """A second sketchtap."""

    def __init__(self, test):
        super().__init__(test, '--sketch', 'flow-table', '--top', '1M', '--link-overhead', '0')
        self.url = f'ipfix://127.0.0.1:{self.port}'

    def finish(self):
        """Returns {5-tuple: (packets, layer 3 bytes)}; checks that no sequence number is missing
        and the rate is 1:1."""
        self.read_all()
        rows, _, exporters, _ = super().finish()
        assert {(row['lost_network'], row['lost_socket'], row['unusable']) for row in exporters} <= {('0', '0', '0')}
        assert {row['sampling'] for row in exporters if row['records'] != '0'} <= {'1'}, exporters
        return test_collect_live.sums_of(rows)


def octets_of(test, path):
    """Returns {5-tuple: (packets, layer 3 bytes)} of a capture. Lengths come from the IP headers,
    limited to the frame; if a header has 0, the whole frame counts."""
    oracle = lib.Oracle()
    shorter = []
    for record in oracle.records(path):
        link, time, data, length = record
        at, kind = oracle.layer3(record)
        if at is not None and kind in (0x8847, 0x8848):
            while len(data) >= at + 4 and not data[at + 2] & 1:
                at += 4
            at += 4
            link, data, length, at = 101, data[at:], length - at, 0  # raw IP
        if at is not None and len(data) >= at + 6:
            ipv4 = data[at] >> 4 == 4
            told = int.from_bytes(data[at + 2:at + 4] if ipv4 else data[at + 4:at + 6], 'big')
            told += 40 if not ipv4 and told else 0
            length = min(told or length - at, length - at)
        shorter.append((link, time, data, length))
    return oracle.count(shorter)[1]


def by_time(records):
    """Returns {record without packets and bytes: packets}."""
    sums = {}
    for key, packets, _, first, last, flags in records:
        sums[key, first, last, flags] = sums.get((key, first, last, flags), 0) + packets
    return sums


def sums_of(records):
    sums = {}
    for key, packets, octets, *_ in records:
        exports.add(sums, key, packets, octets)
    return sums

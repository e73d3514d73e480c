# SPDX-License-Identifier: BSD-3-Clause
"""A master (sketchtap collect --collectors) reports what one collector reports that hears all exporters."""

import base64
import functools
import os
import signal
import socket
import threading
import time

import collected
import datagrams
import lib
import networks

INTERVALS = 24
METHODS = {'best': 'unsampled', 'exporter': 'sflow: elephants', 'window': 'mixed', 'edge': 'sflow',
           'none': 'unsampled: loss'}
MORE = ('unsampled: both sides', 'unsampled: router fails', 'sflow: mice', 'caches')
WAIT = '3s'  # of the master for a silent collector
ROW = 'epoch,start,end,row,time_ns,socket,dropped,source,source_port,destination,destination_port,payload,last,host,run'
CLOCK_COLUMNS = ('rx_seconds', 'count_seconds', 'free_seconds', 'drop_rate')


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def split(capture, parts):
    """Divides a capture by exporter. Equal times become different: a master cannot know their order."""
    made, last = [datagrams.Capture() for _ in range(parts)], -1
    for when, data, size in sorted(capture.packets, key=lambda packet: packet[0]):
        last = max(round(when * datagrams.SECOND), last + 1)
        made[data[29] % parts].packets.append((last / datagrams.SECOND, data, size))
    whole = datagrams.Capture()
    whole.packets = [packet for part in made for packet in part.packets]
    return whole, made


class Master:
    """A master, and the arguments of all collectors of its network."""

    def __init__(self, test, arguments, collectors=2, name='master'):
        self.test, self.arguments, self.port = test, [*arguments], free_port()
        self.output, self.stats, self.exporters = (test.path(f'{name}-{kind}.csv')
                                                   for kind in ('output', 'stats', 'exporters'))
        self.collectors = collectors
        self.start()

    def start(self):
        self.process = self.test.start('collect', *self.arguments, '--collectors', f'127.0.0.1:{self.port},{self.collectors}',
                                       '--set', f'collectors-wait={WAIT}', '--output', self.output,
                                       '--stats', self.stats, '--exporters', self.exporters)
        self.test.until(self.listens, 'the master listens')

    def listens(self):
        assert self.process.running(), self.process.stderr()
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', self.port)) == 0

    def url(self):
        return f'tcp://127.0.0.1:{self.port}'

    def rows(self):
        return lib.read_stats(self.stats) if os.path.exists(self.stats) else []

    def until(self, end):
        """Waits until the interval with this end has a row, then stops the master."""
        self.test.until(lambda: any(row['end'] >= end for row in self.rows()), f'{end} is reported')
        self.process.signal(signal.SIGINT)
        return self.test.wait(self.process).expect(0)


def read(path):
    with open(path, encoding='utf-8') as stream:
        return stream.read().splitlines()


def rows_before(path, epoch):
    """The rows of intervals before `epoch`. The end of a run settles what its last interval left open, and the
    run of a master does not end with it."""
    lines = read(path)
    return lines[:1] + [line for line in lines[1:] if int(line.split(',')[0]) < epoch]


def compare(master, one):
    """The rows of a master and those of one collector."""
    last = max(int(row['epoch']) for row in lib.read_stats(one['stats']))
    for kind in ('output', 'exporters'):
        ours, theirs = (rows_before(path, last) for path in (getattr(master, kind), one[kind]))
        assert len(theirs) > last
        assert ours == theirs, f'{kind}: {[pair for pair in zip(ours, theirs) if pair[0] != pair[1]][:3]}'


def collect_alone(test, arguments, capture):
    one = {kind: test.path(f'one-{kind}.csv') for kind in ('output', 'stats', 'exporters')}
    test.run('collect', *arguments, '--pcap', capture, '--output', one['output'], '--stats', one['stats'],
             '--exporters', one['exporters']).expect(0)
    return one


def world_of(test, name, method, collectors):
    """Returns the arguments of a collector, the captures of all collectors together and of each."""
    world = networks.World(name, 1, INTERVALS).run()
    whole, parts = split(world.capture, collectors)
    arguments = networks.arguments(world, method, test.directory)
    at = arguments.index('--pcap')
    paths = [part.write(test.path(f'part{number}.pcap')) for number, part in enumerate(parts)]
    return arguments[1:at] + arguments[at + 2:], whole.write(test.path('whole.pcap')), paths


def is_equal(test, method, name, collectors, workers=1):
    arguments, whole, parts = world_of(test, name, method, collectors)
    arguments[arguments.index('--workers') + 1] = str(workers)
    one = collect_alone(test, arguments, whole)
    master = Master(test, arguments, collectors)
    running = [test.start('collect', *arguments, '--pcap', part, '--output', '/dev/null',
                          '--export', f'datagrams={master.url()}') for part in parts]
    for process in running:
        test.wait(process).expect(0)
    master.until(lib.read_stats(one['stats'])[-1]['end'])
    compare(master, one)


def cases(_):
    made = [(f'a master equals one collector, {method}', functools.partial(is_equal, method=method, name=name, collectors=2))
            for method, name in METHODS.items()]
    made += [(f'a master equals one collector, best, {name}', functools.partial(is_equal, method='best', name=name, collectors=3))
             for name in MORE]
    made += [('a master equals one collector, 2 workers', functools.partial(is_equal, method='best', name='mixed', collectors=2, workers=2))]
    return made

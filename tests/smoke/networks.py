#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random networks of exporters with exact truth, to check the rows of sketchtap collect.

usage: networks.py BINARY [--worlds N] [--intervals N] [KIND[:SEED] ...]

A world has routers, some of which export, hosts at their edge ports, and flows between hosts. A flow's packets
come in groups ("atoms"), one for each step of an interval and each path. An atom knows which exporters metered
it and when records that contain it arrived, so the truth of an interval is exact:

- An atom that an unsampled exporter metered belongs to the interval in which the first record that contains it
  arrived. If all of these records were lost, it belongs to the interval in which the gap in the sequence
  numbers showed. An atom that is lost with an exporter's cache is in no interval.
- An atom that only sampling exporters metered belongs to its own interval. They export before its end.
- An atom that no live exporter metered does not exist.
"""

import argparse
import collections
import math
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import datagrams  # noqa: E402
import lib  # noqa: E402

OVERHEAD = 14  # bytes of each packet before layer 3
HOST_PORT = 101  # the first port to hosts; ports to other routers count from 1
HOST_PORTS = 3
TTLS = (64, 64, 64, 128, 255)
STEPS = 4  # steps per interval
NEVER = math.inf
KEYS = ('5tuple', 'src', 'dst_port', 'proto')  # proto has only two keys: the sum of all flows
WARM_UP = 20  # intervals in which roles may be unknown
HEAVY = 3  # rows per interval whose width is measured
CONFIDENCE = 0.999
UNLIKELY = 1e-3

# Information elements that datagrams.py does not define.
MIN_TTL, MAX_TTL, START_S, END_S, START_MS, END_MS, TTL = 52, 53, 150, 151, 152, 153, 192


def binomial(rng, n, p):
    """Returns the number of packets that a sampler takes out of n, each with the probability p."""
    if p >= 1 or n == 0:
        return n
    if n * p > 100:
        return max(0, min(n, round(rng.gauss(n * p, math.sqrt(n * p * (1 - p))))))
    taken, at, log = 0, 0, math.log1p(-p)
    while True:
        at += int(math.log(1 - rng.random()) / log) + 1
        if at > n:
            return taken
        taken += 1


# ---- topologies: (routers, cables between them, routers with hosts, routers that never export)


def chain(rng):
    n = rng.randint(2, 6)
    return n, [(i, i + 1) for i in range(n - 1)], range(n), ()


def wire(rng):
    """A chain with hosts only at its ends."""
    n, cables, _, _ = chain(rng)
    return n, cables, (0, n - 1), ()


def ring(rng):
    n = rng.randint(3, 7)
    return n, [(i, (i + 1) % n) for i in range(n)], range(n), ()


def spines(rng):
    leaves, roots = rng.randint(2, 5), rng.randint(2, 3)
    return leaves + roots, [(i, leaves + j) for i in range(leaves) for j in range(roots)], range(leaves), ()


def roots(rng):
    """Spines with exports only from the spines: no exporter sees all packets of an edge."""
    n, cables, leaves, _ = spines(rng)
    return n, cables, leaves, leaves


def hub(rng):
    n = rng.randint(3, 8)
    return n, [(0, i) for i in range(1, n)], range(1, n), ()


def mesh(rng):
    n = rng.randint(3, 6)
    return n, [(i, j) for i in range(n) for j in range(i)], range(n), ()


def pair(rng):
    """Switches 0 and 1 form an MLAG pair. Access switches and a core router (2) connect to both."""
    access = range(3, 3 + rng.randint(2, 4))
    return 3 + len(access), [(i, j) for j in (*access, 2) for i in (0, 1)], (2, *access), access


TOPOLOGIES = {'chain': chain, 'wire': wire, 'ring': ring, 'spines': spines, 'roots': roots, 'hub': hub, 'mesh': mesh,
              'pair': pair}


# ---- scenarios


def kind(sampled='no', event=None, topologies=tuple(TOPOLOGIES), methods=('best',), **more):
    return {'sampled': sampled, 'event': event, 'topologies': topologies, 'methods': methods, **more}


REDUNDANT = ('ring', 'spines', 'mesh', 'roots', 'pair')
BRANCHES = ('spines', 'roots', 'pair')
EDGES = ('chain', 'wire', 'hub', 'ring', 'mesh', 'spines')  # all edge routers export
EXACT = ('best', 'exporter', 'edge')

# sampled: no, sflow, caches (v5, v9 and IPFIX), all of these, mixed (with unsampled exporters).
# beyond: fraction of intervals that may be wrong in addition to chance. docs/ESTIMATES.md, "Each
# packet once", gives the reasons: flows that move before all of their records arrived, and packets
# of one flow on several paths. flush: caches are exported at the end of each interval, so that all
# exporters report a packet in one interval.
KINDS = {
    'unsampled': kind(),
    'unsampled: without times': kind(times=False),
    'unsampled: both sides': kind(sides=True),
    'unsampled: clocks': kind(clocks=True),
    'unsampled: equal timeouts': kind(flush=True, topologies=EDGES, methods=EXACT),
    'unsampled: pair': kind(topologies=('pair',)),
    'unsampled: by packet': kind(topologies=BRANCHES, spray=True, beyond=0.01),
    'unsampled: dark routers': kind(dark=True),
    'unsampled: late': kind(event='late'),
    'unsampled: exporter dies': kind(event='die'),
    'unsampled: router fails': kind(event='fail', topologies=REDUNDANT),
    'unsampled: link fails': kind(event='cut', topologies=REDUNDANT),
    'unsampled: restart': kind(event='restart'),
    'unsampled: link flaps': kind(event='flap', topologies=REDUNDANT),
    'unsampled: loss': kind(event='loss'),
    'unsampled: early loss': kind(event='early loss'),
    'sflow': kind('sflow', topologies=EDGES, methods=('best', 'edge')),
    'sflow: elephants': kind('sflow', traffic='elephants', topologies=EDGES, methods=EXACT),
    'sflow: mice': kind('sflow', traffic='mice'),
    'sflow: rates': kind('sflow', rates=True),
    'sflow: pair': kind('sflow', topologies=('pair',)),
    'sflow: by packet': kind('sflow', topologies=('spines', 'roots'), spray=True),
    'sflow: dark routers': kind('sflow', dark=True),
    'sflow: late': kind('sflow', event='late'),
    'sflow: exporter dies': kind('sflow', event='die'),
    'sflow: router fails': kind('sflow', event='fail', topologies=REDUNDANT),
    'sflow: link fails': kind('sflow', event='cut', topologies=REDUNDANT),
    'sflow: restart': kind('sflow', event='restart'),
    'sflow: rate changes': kind('sflow', event='rerate'),
    'sflow: loss': kind('sflow', event='loss'),
    'caches': kind('caches', flush=True),
    'caches: rates': kind('caches', rates=True, flush=True),
    'caches: exporter dies': kind('caches', event='die', flush=True),
    'caches: rate changes': kind('caches', event='rerate', flush=True),
    'all protocols': kind('all', rates=True, flush=True),
    'all protocols: exporter dies': kind('all', event='die', rates=True, flush=True),
    'mixed': kind('mixed', rates=True, flush=True),
    'mixed: exporter dies': kind('mixed', event='die', rates=True, flush=True),
    'mixed: link fails': kind('mixed', event='cut', rates=True, flush=True, topologies=REDUNDANT),
    'mixed: loss': kind('mixed', event='loss', rates=True, flush=True),
    'one exporter': kind('one', methods=('best', 'exporter', 'none')),
    'bursts': kind(traffic='bursts', flush=True, topologies=EDGES, methods=('best', 'exporter', 'window', 'edge')),
}


class Flow:
    """Packets between hosts of two edge ports. `size`: layer 3 lengths, one per step in turn."""

    def __init__(self, rng, number, edges, step):
        self.number = number
        self.source, self.target = rng.sample(edges, 2)
        self.src = f'10.{self.source[0]}.{self.source[1]}.{rng.randint(1, 12)}'
        self.dst = f'10.{self.target[0]}.{self.target[1]}.{rng.randint(1, 12)}'
        self.sport, self.dport = 1024 + number % 60000, rng.choice((80, 443, 53, 8080, 25))
        self.proto = rng.choice((6, 6, 6, 17))
        self.size = [rng.randint(60, 1500) for _ in range(3)]
        self.ttl = rng.choice(TTLS)
        self.offset = rng.random() * 0.1 * step
        # separate generator, so that a flow is the same without the others
        self.rng = random.Random(number)
        self.key = (self.src, self.dst, str(self.sport), str(self.dport), str(self.proto))
        self.addresses = datagrams.packed(self.src), datagrams.packed(self.dst)
        self.frames = {}

    def frame(self, size, ttl, macs):
        """The first 64 bytes of one of its packets."""
        made = self.frames.get((size, ttl, macs))
        if made is None:
            ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, size, 0, 0, ttl, self.proto, 0, *self.addresses)
            ports = struct.pack('>HHHH', self.sport, self.dport, size - 20, 0)
            made = self.frames[size, ttl, macs] = (macs + b'\x08\x00' + ip + ports).ljust(64, b'\0')
        return made


class Atom:
    """Packets of a flow that took one path at one time."""

    __slots__ = 'flow', 'packets', 'bytes', 'own', 'told', 'lost'

    def __init__(self, flow, packets, size):
        self.flow, self.packets, self.bytes = flow, packets, packets * size
        self.own = None  # the time, if a sampling exporter metered it
        # arrival of the first record, or the time its loss was detected
        self.told = self.lost = NEVER

    def when(self):
        if self.told < NEVER:
            return self.told
        return self.own if self.own is not None else self.lost


class Entry:
    """A flow in a cache."""

    __slots__ = 'flow', 'first', 'last', 'packets', 'bytes', 'put_in', 'out', 'low_ttl', 'high_ttl', 'atoms', 'side'

    def __init__(self, flow, first, put_in, out, ttl, side):
        self.flow, self.first, self.last, self.put_in, self.out, self.side = flow, first, first, put_in, out, side
        self.low_ttl = self.high_ttl = ttl
        self.packets = self.bytes = 0
        self.atoms = []


class Exporter:
    """Meters the packets of one router: samples, caches and exports. Times are in seconds since
    datagrams.START."""

    def __init__(self, rng, number, protocol, rate, interval):
        self.rng, self.protocol, self.rate, self.interval = rng, protocol, rate, interval
        self.number, self.address = number, f'192.0.2.{number + 1}'
        self.router = datagrams.Router(protocol, self.address, rng.choice((0, 0, 7)) if protocol != 'v5' else 0)
        self.active = rng.choice((0.1, 0.2, 0.5, 1, 1.5, 3, 6)) * interval
        self.inactive = rng.choice((0.2, 0.5, 1.5)) * interval
        self.scans, self.phase = rng.choice((1, 1, 2)), rng.randrange(2)  # scan period in steps
        self.sides = ('in',)
        self.interfaces = rng.random() < 0.9 or protocol in ('v5', 'sflow')
        self.times = {'v5': 'uptime', 'v9': 'uptime', 'ipfix': rng.choice(('ms', 'ms', 's')), 'sflow': None}[protocol]
        self.ttl = rng.choice((None, None, 'one', 'both'))
        self.alive, self.flush, self.loss, self.offset = True, False, 0, rng.random() * 0.02
        self.boot = -datagrams.BOOTED / 1000
        self.cache, self.samples = {}, []
        # packets per interface: total, and at the last sample
        self.pools, self.passed = collections.Counter(), collections.Counter()
        self.full, self.sent = rng.choice((3, 8, 24)) if protocol != 'sflow' else rng.choice((5, 8)), []
        # source port of the watched flow, and its records: (when, entry, lost)
        self.watched, self.log = None, []
        self.told_of = -1  # interval of its last template
        self.sequences = collections.Counter()
        self.settle()

    def settle(self):
        """Chooses the fields of its records."""
        ipfix = self.protocol == 'ipfix'
        fields = list(datagrams.KEY) + [(datagrams.PACKETS, 8 if ipfix else 4), (datagrams.BYTES, 8 if ipfix else 4)]
        if self.interfaces:
            fields += [(datagrams.INPUT, 4), (datagrams.OUTPUT, 4)]
        if self.times == 'uptime':
            fields += [(datagrams.FIRST, 4), (datagrams.LAST, 4)]
        elif self.times == 'ms':
            fields += [(START_MS, 8), (END_MS, 8)]
        elif self.times == 's':
            fields += [(START_S, 4), (END_S, 4)]
        fields += {'one': [(TTL, 1)], 'both': [(MIN_TTL, 1), (MAX_TTL, 1)], None: []}[self.ttl]
        if self.sides != ('in',):
            fields += [(datagrams.DIRECTION, 1)]
        if self.rate > 1:
            fields += [(datagrams.INTERVAL, 4)]
        self.fields = fields
        self.layout = struct.Struct('>4s4sHHB' + ''.join({1: 'B', 4: 'I', 8: 'Q'}[size] for _, size in fields[5:]))

    def describe(self):
        words = [self.protocol, f'1:{self.rate}']
        if self.protocol != 'sflow':
            words += [f'active={self.active:g}', f'inactive={self.inactive:g}', f'scans={self.scans}+{self.phase}',
                      f'times={self.times}', f'offset={self.offset:.2f}']
            words += ['flush'] * self.flush + ['no interfaces'] * (not self.interfaces) + ['+'.join(self.sides)]
            words += [f'ttl={self.ttl}'] if self.ttl and self.protocol != 'v5' else []
        return ' '.join(words)

    # ---- metering

    def meter(self, atom, hop, at, length):
        _, put_in, out, ttl, macs = hop
        if self.rate == 1 and self.protocol != 'sflow':
            taken = atom.packets
        else:
            atom.own = at
            taken = binomial(self.rng, atom.packets, 1 / self.rate)
        if self.protocol == 'sflow':
            self.pools[put_in] += atom.packets
            size = atom.bytes // atom.packets
            self.samples += [(atom.flow.frame(size, ttl, macs), size, put_in, out)] * taken
            if atom.flow.sport == self.watched and taken:
                entry = Entry(atom.flow, at, put_in, out, ttl, 'in')
                entry.packets = taken
                self.log.append((at, entry, False))
            return
        if taken == 0:
            return
        first, last = at, at + (length if taken > 1 else 0)
        if self.rate > 1:
            first, last = sorted((at + length * self.rng.random(), at + length * self.rng.random()))
        for side in self.sides:
            key = atom.flow.number, side, put_in if side == 'in' else out
            seen = ttl if side == 'in' else ttl - 1
            entry = self.cache.get(key)
            if entry is None:
                entry = self.cache[key] = Entry(atom.flow, first, put_in, out, seen, side)
            entry.last = max(entry.last, last)
            entry.low_ttl, entry.high_ttl = min(entry.low_ttl, seen), max(entry.high_ttl, seen)
            entry.packets += taken
            entry.bytes += taken * (atom.bytes // atom.packets)
            if self.rate == 1:
                entry.atoms.append(atom)

    # ---- exporting

    def record(self, entry):
        flow = entry.flow
        first, last = (entry.first - self.boot) * 1000, (entry.last - self.boot) * 1000
        if self.protocol == 'v5':
            return struct.pack('>4s4s4xHHIIIIHHxBBBHHBBxx', *flow.addresses, entry.put_in, entry.out, entry.packets,
                               entry.bytes, int(first), int(last), flow.sport, flow.dport, 0, flow.proto, 0, 0, 0, 0, 0)
        values = [*flow.addresses, flow.sport, flow.dport, flow.proto]
        values += [entry.packets, entry.bytes]
        if self.interfaces:
            values += [entry.put_in, entry.out]
        if self.times == 'uptime':
            values += [int(first), int(last)]
        elif self.times is not None:
            unit = 1000 if self.times == 'ms' else 1
            values += [int((datagrams.START + time + self.offset) * unit) for time in (entry.first, entry.last)]
        values += {'one': [entry.low_ttl], 'both': [entry.low_ttl, entry.high_ttl], None: []}[self.ttl]
        if self.sides != ('in',):
            values += [entry.side == 'out']
        if self.rate > 1:
            values += [self.rate]
        return self.layout.pack(*values)

    def due(self, now, step):
        """Removes and returns the cache entries to export now."""
        last_step = step % STEPS == STEPS - 1
        if self.flush and last_step:
            entries, self.cache = list(self.cache.values()), {}
            return entries
        if (step + self.phase) % self.scans:
            return []
        due = [key for key, entry in self.cache.items()
               if now - entry.first >= self.active or now - entry.last >= self.inactive]
        return [self.cache.pop(key) for key in due]

    def payload(self, when, records):
        """A datagram with these records."""
        header = {'exported': int(datagrams.START + when + self.offset)}
        uptime = int((when - self.boot) * 1000)
        if self.protocol == 'v5':
            fraction = int((when + self.offset) % 1 * datagrams.SECOND)
            return self.router.v5(when, records, records=records, uptime=uptime, nanoseconds=fraction,
                                  sampling=0 if self.rate == 1 else 1 << 14 | self.rate, **header)
        sets = datagrams.SETS[self.protocol]
        interval = int(when / self.interval)
        body = []
        if interval != self.told_of:
            body.append(sets.template(fields=self.fields))
        if records:
            body.append(datagrams.a_set(256, b''.join(records)))
        template, self.told_of = len(body) - (1 if records else 0), interval
        if self.protocol == 'v9':
            return self.router.v9(when, *body, count=len(records) + template, uptime=uptime, **header)
        return self.router.ipfix(when, *body, count=len(records), **header)

    def sflow(self, when, samples):
        made = []
        for (frame, size, put_in, out), pool in samples:
            self.sequences[put_in] += 1
            raw = struct.pack('>IIIIII', 1, 16 + len(frame), 1, size + 18, 4, len(frame)) + frame
            made.append(struct.pack('>IIIIIIIIII', 1, 32 + len(raw), self.sequences[put_in], put_in, self.rate,
                                    pool & 0xffffffff, 0, put_in, out, 1) + raw)
        return self.router.sflow(when, made, uptime=int((when - self.boot) * 1000))

    def pooled(self):
        """Takes the samples in random order, each with the packets that its interface has passed by
        then."""
        samples, self.samples = self.samples, []
        self.rng.shuffle(samples)
        counts, seen = collections.Counter(sample[2] for sample in samples), collections.Counter()
        made = []
        for sample in samples:
            put_in = sample[2]
            seen[put_in] += 1
            before = self.passed[put_in]
            made.append((sample, before + (self.pools[put_in] - before) * seen[put_in] // counts[put_in]))
        self.passed.update({put_in: self.pools[put_in] - self.passed[put_in] for put_in in counts})
        return made

    def export(self, now, step, capture):
        """Sends due records."""
        if not self.alive:
            return
        if self.protocol == 'sflow':
            units = self.pooled()
        else:
            units = self.due(now, step)
        groups = [units[at:at + self.full] for at in range(0, len(units), self.full)]
        if not groups and step % STEPS == 0 and self.protocol != 'v5':
            groups = [[]]  # a keepalive, and templates
        now += ((self.number * 7919 + step * 104729) * 2654435761 & 0xffffffff) / 2**32 * 0.01 * self.interval
        for number, group in enumerate(groups):
            when = now + 0.03 * self.interval * number / len(groups)
            if self.protocol == 'sflow':
                self.sent.append((when, self.sflow(when, group), []))
            else:
                self.sent.append((when, self.payload(when, [self.record(entry) for entry in group]), group))
        if step % STEPS == STEPS - 1:
            self.deliver(capture)

    def deliver(self, capture):
        """Sends an interval's datagrams. The last one is never lost: that gap would show in the
        next interval."""
        missed = []
        for number, (when, payload, entries) in enumerate(self.sent):
            is_lost = number < len(self.sent) - 1 and self.rng.random() < self.loss
            self.log += [(when, entry, is_lost) for entry in entries if entry.flow.sport == self.watched]
            atoms = [atom for entry in entries for atom in entry.atoms]
            if is_lost:
                missed += atoms
                continue
            capture.add(when, self.address, payload)
            for atom in atoms:
                atom.told = min(atom.told, when)
            for atom in missed:
                atom.lost = min(atom.lost, when)
            missed = []
        self.sent = []

    # ---- events

    def die(self):
        self.alive, self.cache, self.samples = False, {}, []

    def restart(self, now):
        self.cache, self.boot, self.told_of, self.router.sequence = {}, now - 1, -1, 0
        for counter in self.sequences, self.pools, self.passed:
            counter.clear()


class World:
    """One network, from its kind and seed."""

    def __init__(self, name, seed, intervals=60):
        self.name, self.seed, self.intervals = name, seed, intervals
        self.kind = KINDS[name]
        rng = self.rng = random.Random(f'{name} {seed}')
        self.interval = rng.choice((10, 10, 1))
        self.steps = self.interval * 0.19  # seconds between two steps
        kinds = self.kind['topologies']
        self.topology = kinds[(seed + list(KINDS).index(name)) % len(kinds)]
        self.nodes, self.cables, hosts, silent = TOPOLOGIES[self.topology](rng)
        self.ports = collections.defaultdict(dict)
        for a, b in self.cables:
            port_a, port_b = len(self.ports[a]) + 1, len(self.ports[b]) + 1
            self.ports[a][port_a], self.ports[b][port_b] = (b, port_b), (a, port_a)
        self.edges = [(node, HOST_PORT + i) for node in hosts for i in range(HOST_PORTS)]
        # Devices that do not decrement the TTL.
        self.switches = {*silent, *rng.choice(((), (0, 1)))} if self.topology == 'pair' else set()
        self.down, self.salt, self.ways, self.routes = set(), rng.random(), {}, {}
        self.make_exporters(set(range(self.nodes)) - {*silent})
        self.make_event()
        self.make_traffic()
        self.atoms = []
        self.capture = datagrams.Capture()

    def make_exporters(self, where):
        rng, sampled = self.rng, self.kind['sampled']
        where = sorted(where)
        if sampled == 'one' or self.kind.get('dark'):
            where = sorted(rng.sample(where, 1 if sampled == 'one' else max(1, len(where) - rng.randint(1, 2))))
        choices = [10, 10, 50, 100]
        common = rng.choice(choices)
        coarse = rng.random() < 0.3 and self.kind.get('rates')
        self.exporters = {}
        for node in where:
            is_sampled = {'no': False, 'mixed': rng.random() < 0.5, 'one': self.seed % 2}.get(sampled, True)
            protocols = {'sflow': ('sflow',), 'caches': ('v5', 'v9', 'ipfix')}.get(
                sampled, ('v5', 'v9', 'ipfix', 'sflow') if is_sampled else ('v5', 'v9', 'ipfix'))
            rate = (rng.choice(choices + [1000] * coarse) if self.kind.get('rates') else common) if is_sampled else 1
            # independent of events elsewhere
            own = random.Random(f'{self.name} {self.seed} {node}')
            exporter = self.exporters[node] = Exporter(own, node, rng.choice(protocols), rate, self.interval)
            exporter.flush = self.kind.get('flush', False) or is_sampled
            exporter.interfaces |= 'edge' in self.kind['methods']
            if exporter.flush:
                exporter.active = exporter.inactive = 0.3 * self.interval
            if self.kind.get('sides') and exporter.protocol in ('v9', 'ipfix'):
                exporter.sides = rng.choice((('in',), ('out',), ('in', 'out')))
            if self.kind.get('times') is False and exporter.protocol != 'v5':
                exporter.times = None
            if self.kind.get('clocks'):
                exporter.offset = rng.choice((0, rng.uniform(-5, 5), rng.uniform(-60, 60), 3600))
            exporter.settle()

    def make_traffic(self):
        rng, traffic = self.rng, self.kind.get('traffic', 'flows')
        steps = self.intervals * STEPS
        # A sampler at 1:10 and one at 1:100 get the same number of samples of a flow.
        scale = max(1, statistics.median_low(exporter.rate for exporter in self.exporters.values()) / 10)
        # flows that begin at a step: (flow, steps, packets per step)
        self.flows = collections.defaultdict(list)
        number = 0
        is_sampled = self.kind['sampled'] not in ('no', 'one')  # roles are learned from many flows
        together = {'flows': 100 if is_sampled else 40, 'mice': 0, 'elephants': 40, 'bursts': 0}[traffic]
        until = [0] * together + [0] * 3
        for step in range(steps):
            for slot, end in enumerate(until):
                if end > step:
                    continue
                flow = Flow(rng, number, self.edges, self.steps)
                number += 1
                if slot >= together:  # a large flow, except among mice
                    life, packets = rng.randint(20, 80), 40 if traffic == 'mice' else int(400 * scale)
                elif traffic == 'elephants':
                    life, packets = rng.randint(5, 60), int(rng.randint(20, 100) * scale)
                else:
                    size = min(int(2000 * scale), int(5 * scale * rng.paretovariate(1)))
                    life = min(size, rng.randint(1, 40))
                    packets = size // life
                until[slot] = step + life
                self.flows[step].append((flow, life, packets))
            if traffic in ('mice', 'bursts'):
                for _ in range(60 if traffic == 'mice' else 15):
                    self.flows[step].append((Flow(rng, number, self.edges, self.steps), 1, rng.randint(1, 60)))
                    number += 1
        if traffic == 'bursts':  # no other flows: a flow has one record
            for step in self.flows:
                self.flows[step] = [entry for entry in self.flows[step] if entry[1] == 1]

    def make_event(self):
        rng, event = self.rng, self.kind['event']
        self.at = self.intervals // 2
        self.victim = rng.choice(sorted(self.exporters))
        self.cable = rng.choice(self.cables)
        exporter = self.exporters[self.victim]
        if event == 'late':
            exporter.alive = False
        self.loss = rng.choice((0.002, 0.01, 0.1))
        if event == 'loss':
            self.at = 5  # the unit of each sequence number is known by then
        if event == 'early loss':
            self.at = 0

    def happen(self, interval):
        """Events at the beginning of an interval."""
        event, exporter = self.kind['event'], self.exporters[self.victim]
        if event == 'flap' and interval >= 10:
            self.down ^= {frozenset(self.cable)}
        elif interval != self.at:
            return
        elif event in ('loss', 'early loss'):
            for other in self.exporters.values():
                other.loss = self.loss
        elif event == 'die':
            exporter.die()
        elif event == 'late':
            exporter.alive = True
        elif event == 'restart':
            exporter.restart(interval * self.interval)
        elif event == 'rerate':
            # A rate so coarse that it samples no packet stays unknown.
            exporter.rate = self.rng.choice([rate for rate in (10, 50, 100) if rate != exporter.rate])
        elif event == 'fail':
            exporter.die()
            self.down.add(self.victim)
        elif event == 'cut':
            self.down.add(frozenset(self.cable))
        self.ways, self.routes = {}, {}

    # ---- routes

    def distances(self, target):
        if target not in self.ways:
            found, queue = {target: 0}, [target]
            for node in queue:
                for peer, _ in self.ports[node].values():
                    if peer not in found and not {peer, frozenset((node, peer))} & self.down:
                        found[peer] = found[node] + 1
                        queue.append(peer)
            self.ways[target] = found
        return self.ways[target]

    def paths(self, flow):
        """Returns [(share, [(exporter, in, out, ttl, MAC addresses)])] with the hops of live routers
        that export."""
        if flow.number not in self.routes:
            (node, port), (target, _) = flow.source, flow.target
            found = []
            if not {node, target} & self.down and node in self.distances(target):
                self.walk(flow, node, port, flow.ttl, 1.0, [], found)
                found = [(share, self.addressed(hops, flow)) for share, hops in found]
            self.routes[flow.number] = found
        return self.routes[flow.number]

    def walk(self, flow, node, port, ttl, share, hops, found):
        target, last = flow.target
        if node == target:
            found.append((share, [*hops, (node, port, last, ttl)]))
            return
        left = self.distances(target)
        ways = [(out, *peer) for out, peer in sorted(self.ports[node].items())
                if left.get(peer[0], NEVER) == left[node] - 1 and frozenset((node, peer[0])) not in self.down]
        if not self.kind.get('spray'):
            ways = [ways[hash((flow.number, node, self.salt)) % len(ways)]]
        for out, peer, entered in ways:
            self.walk(flow, peer, entered, ttl - (node not in self.switches), share / len(ways),
                      [*hops, (node, port, out, ttl)], found)

    def addressed(self, hops, flow):
        """Adds the MAC addresses of arriving frames, which switches leave as they are; keeps the hops
        that export."""
        made, target = [], b'\2\1' + flow.addresses[1]
        for node, port, out, ttl in reversed(hops):
            target = target if node in self.switches else b'\2\0\0\0\0' + bytes([node])
            made.append((node, port, out, ttl, target))
        source, hops = b'\2\1' + flow.addresses[0], []
        for node, port, out, ttl, target in reversed(made):
            if node in self.exporters:
                hops.append((self.exporters[node], port, out, ttl, target + source))
            source = source if node in self.switches else b'\2\0\0\0\1' + bytes([node])
        return hops

    # ---- a run

    def run(self):
        live = []
        for step in range(self.intervals * STEPS):
            interval, part = divmod(step, STEPS)
            if part == 0:
                self.happen(interval)
            begin = interval * self.interval + 0.12 * self.interval + part * self.steps
            live += [(flow, step + life, packets) for flow, life, packets in self.flows[step]]
            live = [entry for entry in live if entry[1] > step]
            for flow, _, packets in live:
                self.send(flow, max(1, round(packets * flow.rng.uniform(0.7, 1.3))), begin + flow.offset,
                          flow.size[step % len(flow.size)])
            for exporter in self.exporters.values():
                exporter.export(begin + 0.16 * self.interval, step, self.capture)
        return self

    def send(self, flow, packets, at, size):
        left = 1.0
        for share, hops in self.paths(flow):
            here = packets if share >= left - 1e-9 else binomial(flow.rng, packets, share / left)
            packets, left = packets - here, left - share
            if here == 0 or not any(hop[0].alive for hop in hops):
                continue
            atom = Atom(flow, here, size)
            self.atoms.append(atom)
            for hop in hops:
                if hop[0].alive:
                    hop[0].meter(atom, hop, at, 0.1 * self.interval)

    def truth(self):
        """{interval: {5-tuple: [packets, bytes]}}"""
        found = collections.defaultdict(dict)
        for atom in self.atoms:
            when = atom.when()
            if when < NEVER:
                sums = found[int(when / self.interval)].setdefault(atom.flow.key, [0, 0])
                sums[0] += atom.packets
                sums[1] += atom.bytes + OVERHEAD * atom.packets
        return found

    def describe(self):
        lines = [f'{self.name}:{self.seed}: {self.topology} of {self.nodes}, {self.interval} s']
        lines += [f'  {node}: {exporter.describe()}' for node, exporter in self.exporters.items()]
        if self.kind['event']:
            who = {'cut': f'link {self.cable}', 'flap': f'link {self.cable}', 'loss': self.loss,
                   'early loss': self.loss}.get(self.kind['event'], f'exporter {self.victim}')
            lines.append(f'  {self.kind["event"]} at interval {self.at}: {who}')
        return '\n'.join(lines)


def aggregate(truth, rule):
    columns = [lib.KEY_COLUMNS.index(column) for column in lib.key_columns(rule)]
    sums = {}
    for key, (packets, size) in truth.items():
        entry = sums.setdefault(tuple(key[i] for i in columns), [0, 0])
        entry[0] += packets
        entry[1] += size
    return sums


# ---- the judge


class Verdict:
    """Counts of the rows of one method and key."""

    def __init__(self):
        self.intervals = self.bad = self.silent = self.rows = self.open = self.equal = self.late_rows = 0
        self.late_open = self.late_equal = 0
        self.widths, self.examples = [], []
        self.counted = self.truth = 0
        self.first_bad = None

    def add(self, other):
        for name in ('intervals', 'bad', 'silent', 'rows', 'open', 'equal', 'late_rows', 'late_open', 'late_equal',
                     'counted', 'truth'):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.widths += other.widths
        self.examples += other.examples


def outside(row, metric, true):
    low, high = row[f'{metric}_low'], row[f'{metric}_high']
    return low != '' and true < int(low) or high != '' and true > int(high)


def interval_of(world, row):
    return int((lib.timestamp(row['start']) / 1e6 - datagrams.START) // world.interval)


def judge(world, truth, rows, rule):
    """Compares the rows of one measurement. Intervals without `confidence` are judged by their
    bounds."""
    verdict = Verdict()
    by_interval = collections.defaultdict(list)
    for row in rows:
        by_interval[interval_of(world, row)].append(row)
    for interval in range(world.intervals):
        sums = aggregate(truth.get(interval, {}), rule)
        verdict.intervals += 1
        verdict.truth += sum(packets for packets, _ in sums.values())
        wrong = []
        found = by_interval.get(interval, [])
        verdict.silent += any(row['confidence'] == '' for row in found)
        for row in found:
            key = lib.row_key(row, rule)
            true = sums.get(key, (0, 0))
            verdict.counted += int(row['packets'])
            if outside(row, 'packets', true[0]) or outside(row, 'bytes', true[1]):
                wrong.append((interval, key, true, *(row[column] for column in (
                    'packets_low', 'packets', 'packets_high', 'bytes_low', 'bytes_high'))))
            is_open, equal = row['packets_high'] == '', row['packets_low'] == row['packets_high']
            late = interval >= WARM_UP
            verdict.rows += 1
            verdict.open += is_open
            verdict.equal += equal
            verdict.late_rows += late
            verdict.late_open += late and is_open
            verdict.late_equal += late and equal
            if late and not is_open and true[0] and int(row['rank']) <= HEAVY:
                verdict.widths.append((int(row['packets_high']) - int(row['packets_low'])) / true[0])
        if wrong:
            verdict.bad += 1
            verdict.examples.append((f'{world.name}:{world.seed}', rule, *max(wrong, key=lambda bad: bad[2][0])))
    return verdict


CONFIGURATION = 'no-huge = yes\nsketch = flow-table\nwidth = 2048\ntop = 1500\n' + ''.join(
    f'\n[measurement {rule}]\nkey = {rule}\n' for rule in KEYS)


def arguments(world, method, folder):
    """Writes the configuration and the capture; returns the arguments of the command line."""
    capture, configuration = os.path.join(folder, 'exports.pcap'), os.path.join(folder, 'keys.conf')
    if not os.path.exists(capture):
        world.capture.write(capture)
        with open(configuration, 'w', encoding='utf-8') as stream:
            stream.write(CONFIGURATION)
    edge = ',edge=101-109' if method == 'edge' else ''
    return ['collect', '--config', configuration, '--pcap', capture, '--interval', f'{world.interval}s',
            '--dedup', method, '--workers', '1', '--observed-flows', '32K', '--exporters-max', '16', '--seed', '1',
            '--confidence', str(CONFIDENCE), '--exporter', f'192.0.2.0/24{edge}']


def judge_all(world, truth, rows):
    """Returns {key: Verdict} of all rows of a run."""
    by_rule = collections.defaultdict(list)
    for row in rows:
        by_rule[row['measurement']].append(row)
    return {rule: judge(world, truth, by_rule[rule], rule) for rule in KEYS}


def is_unlikely(bad, intervals, risk=1 - CONFIDENCE):
    """Returns true if the probability of `bad` or more wrong intervals by chance is below
    UNLIKELY."""
    left = sum(math.comb(intervals, k) * risk**k * (1 - risk)**(intervals - k) for k in range(bad))
    return bad > 0 and 1 - left < UNLIKELY


# ---- as a script


def print_flow(world, truth, rows):
    """Prints the records of the watched flow, and the rows that counted them."""
    log = [(*record, exporter) for exporter in world.exporters.values() for record in exporter.log]
    sport = next(iter(world.exporters.values())).watched
    found = {interval_of(world, row): row for row in rows if row['src_port'] == str(sport)}
    for interval in range(world.intervals):
        now = [record for record in log if int(record[0] / world.interval) == interval]
        for when, entry, is_lost, exporter in sorted(now, key=lambda record: record[0]):
            print(f'    {when:8.3f} exporter {exporter.number} interface {entry.put_in} TTL {entry.low_ttl}: '
                  f'{entry.packets} packets, {entry.first:.3f} to {entry.last:.3f}' + ', lost' * is_lost)
        true = [sums for key, sums in truth[interval].items() if key[2] == str(sport)]
        if true or interval in found:
            row = found.get(interval, {})
            print(f'  interval {interval}: truth {true[0] if true else 0}, counted', *(
                f'{column}={row.get(column, "")}' for column in lib.OUTPUT_COLUMNS[10:16]))


def run_world(binary, name, seed, settings):
    """Runs one world; returns its description and {(method, key): Verdict}."""
    found = {}
    world = World(name, seed, settings.intervals)
    described = world.describe()
    for exporter in world.exporters.values():
        exporter.watched = settings.flow
    if settings.flow and settings.alone:
        for step, flows in world.flows.items():
            world.flows[step] = [entry for entry in flows if entry[0].sport == settings.flow]
    world.run()
    truth = world.truth()
    with tempfile.TemporaryDirectory(prefix='sketchtap-networks-') as folder:
        for method in settings.method or world.kind['methods']:
            output = os.path.join(folder, f'{method}.csv')
            subprocess.run([binary, *arguments(world, method, folder), '--output', output], check=True,
                           capture_output=True, env={**os.environ, 'RUNTIME_DIRECTORY': folder})
            rows = lib.read_output(output)
            if settings.flow:
                print(described)
                print_flow(world, truth, [row for row in rows if row['measurement'] == '5tuple'])
            for rule, verdict in judge_all(world, truth, rows).items():
                found[method, rule] = verdict
    return described, found


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else NEVER


def figure(value):
    return '' if value == NEVER else f'{value:.2f}'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('binary')
    parser.add_argument('--worlds', type=int, default=2, help='worlds per kind')
    parser.add_argument('--intervals', type=int, default=60)
    parser.add_argument('--method', action='append', help='deduplication method, instead of all that suit the world')
    parser.add_argument('--examples', type=int, default=0, help='rows outside their bounds to print for each kind')
    parser.add_argument('--flow', type=int, metavar='PORT', help='print the records of the flow with this source port')
    parser.add_argument('--alone', action='store_true', help='simulate only the flow of --flow')
    parser.add_argument('kind', nargs='*', help='KIND or KIND:SEED, as printed')
    settings = parser.parse_intermixed_args()
    chosen = []
    for name in settings.kind or KINDS:
        base, _, seed = name.rpartition(':')
        chosen += [(base, int(seed))] if seed.isdecimal() else [(name, seed) for seed in range(settings.worlds)]
    print('| world | method | intervals | bad: 5-tuple, src, dst_port, sum | counted / truth | no confidence | '
          'rows without high | low = high | width, median | 90 % | of the sum |')
    print('|---|---|---|---|---|---|---|---|---|---|---|')
    sums, described = {}, {}
    for name, seed in chosen:
        text, found = run_world(settings.binary, name, seed, settings)
        described.setdefault(name, []).append(text)
        for (method, rule), verdict in found.items():
            sums.setdefault((name, method), {}).setdefault(rule, Verdict()).add(verdict)
        if (name, seed) == chosen[-1] or chosen[chosen.index((name, seed)) + 1][0] != name:
            for (kind_name, method), rules in sums.items():
                if kind_name == name:
                    print_row(name, method, rules, settings.examples)
            if settings.examples:
                print('\n'.join(described[name]))
            sys.stdout.flush()
    return 0


def print_row(name, method, rules, examples):
    every, total = rules['5tuple'], rules['proto']
    rows = max(1, every.late_rows)
    print(f'| {name} | {method} | {every.intervals} | ' + ', '.join(str(rules[rule].bad) for rule in KEYS) +
          f' | {total.counted / max(1, total.truth):.3f} | {total.silent / total.intervals:.2f} | '
          f'{every.late_open / rows:.2f} | {every.late_equal / rows:.2f} | '
          f'{figure(quantile(every.widths, 0.5))} | {figure(quantile(every.widths, 0.9))} | '
          f'{figure(statistics.median(total.widths) if total.widths else NEVER)} |')
    for example in [bad for rule in KEYS for bad in rules[rule].examples[:examples]]:
        print('   ', *example)


if __name__ == '__main__':
    sys.exit(main())

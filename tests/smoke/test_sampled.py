# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of sampled figures against exact truth, over many intervals with few samples.

An interval may exclude the truth with a probability of 1 - CONFIDENCE. A test fails if the number
of such intervals has a probability below RISK.
"""

import json
import math
import random
import socket
import struct

from collected import collect
from datagrams import FIELDS, IPFIX, SAMPLER, SAMPLER_INTERVAL, V9, Capture, Flow, Router
from test_sockets import Reader

LONG = ('silent',)

CONFIDENCE, RISK = 0.99, 1e-6
INTERVALS = 100
FINE, COARSE = 20, 5000
ASKED = ('--interval', '1s', '--key', 'src', '--confidence', str(CONFIDENCE), '--sketch', 'flow-table', '--memory',
         '8MB', '--observed-flows', '16K')


def sampled(chance, packets, rate):
    """Returns the number of packets that a sampler of one in `rate` takes."""
    taken, at, miss = 0, 0, math.log1p(-1 / rate)
    while (at := at + int(math.log(1 - chance.random()) / miss) + 1) <= packets:
        taken += 1
    return taken


class Agent:
    """Samples packets at random. Its sample pool and its drops are correct."""

    def __init__(self, address, rate, seed):
        self.router, self.rate, self.chance = Router('sflow', address), rate, random.Random(seed)
        self.samples, self.drops = [], 0
        self.said = rate
        # loses a sample: counted in drops, or only in sequence numbers
        self.lose = self.gap = lambda: False

    def see(self, *traffic):
        """traffic: (Flow, packets, size of the frame), passing in random order. Returns the number
        of samples."""
        taken = [(flow, size) for flow, packets, size in traffic
                 for _ in range(sampled(self.chance, packets, self.rate))]
        self.chance.shuffle(taken)
        begin, total = self.router.pool, sum(packets for _, packets, _ in traffic)
        for place, (flow, size) in zip(sorted(self.chance.randrange(total) + 1 for _ in taken), taken):
            self.router.pool = begin + place
            if self.lose():
                self.drops += 1
            elif self.gap():
                self.router.samples += 1
            else:
                sample = self.router.sample(flow, self.said, step=0, size=size)
                self.samples.append(sample[:24] + struct.pack('>I', self.drops) + sample[28:])
        self.router.pool = begin + total
        return len(taken)

    def send(self, capture, when):
        for i in range(0, len(self.samples), 8):
            capture.add(when, self.router.address, self.router.sflow(when, self.samples[i:i + 8]))
        self.samples = []

    def send_counters(self, capture, when):
        """Sends a datagram with an empty counter sample."""
        sample = struct.pack('>IIIII', 2, 12, self.router.sequence, 1, 0)
        capture.add(when, self.router.address, self.router.sflow(when, [sample]))


class NetFlow:
    """A router that samples at random, and announces it in options."""

    SCOPE, OPTIONS = [(1, 4)], [(SAMPLER, 1), (SAMPLER_INTERVAL, 4)]

    def __init__(self, address, rate, seed):
        self.router, self.rate, self.chance = Router('v9', address), rate, random.Random(seed)
        self.records = []

    def see(self, *traffic):
        counts = [(flow, sampled(self.chance, packets, self.rate), size) for flow, packets, size in traffic]
        for flow, packets, size in counts:
            if packets:
                record = Flow(flow.n, packets, size - 14, {SAMPLER: 7})
                record.dst = flow.dst
                self.records.append(record)
        return sum(packets for _, packets, _ in counts)

    def send(self, capture, when):
        fields = FIELDS + [(SAMPLER, 1)]
        sets = [V9.template(fields=fields), V9.options_template(257, self.SCOPE, self.OPTIONS),
                V9.data([{SAMPLER: 7, SAMPLER_INTERVAL: self.rate}], 257, self.SCOPE + self.OPTIONS)]
        if self.records:
            sets.append(V9.data(self.records, fields=fields))
        capture.add(when, self.router.address, self.router.v9(when, *sets, count=3 + len(self.records)))
        self.records = []


class World:
    def __init__(self, test):
        self.test, self.capture, self.truth = test, Capture(), {}

    def passes(self, epoch, *traffic):
        for flow, packets, size in traffic:
            before = self.truth.get((epoch, flow.src), (0, 0))
            self.truth[epoch, flow.src] = (before[0] + packets, before[1] + packets * size)

    def check(self, *options, promised=INTERVALS):
        """Checks that rows, and the bounds of keys without a row in --stats, hold the truth.
        Returns the rows and those of --exporters."""
        path = self.capture.write(self.test.path('exports.pcap'))
        with socket.create_server(('127.0.0.1', 0)) as server:
            reader = Reader(server)
            rows, _, exporters, result = collect(self.test, '--pcap', path, *ASKED, *options, '--stats',
                                                 f'json:tcp://127.0.0.1:{server.getsockname()[1]}')
            reader.join(20)
        stats = [json.loads(line) for line in reader.bytes.decode().splitlines()]
        epochs, failed = set(), {}
        for row in rows:
            if row['confidence'] == '':
                continue
            epochs.add(int(row['epoch']))
            for figure, true in zip(('packets', 'bytes'), self.truth[int(row['epoch']), row['src_ip']]):
                if not int(row[f'{figure}_low']) <= true <= int(row[f'{figure}_high']):
                    failed[int(row['epoch'])] = f'{true} {figure}: {row}'
        most = {(row['epoch'], figure): row.get(f'unlisted_{figure}_high') for row in stats
                for figure in ('packets', 'bytes')}
        shown = {(int(row['epoch']), row['src_ip']) for row in rows}
        for (epoch, source), figures in self.truth.items():
            for figure, true in zip(('packets', 'bytes'), figures):
                limit = most.get((epoch, figure))
                if (epoch, source) not in shown and limit is not None and true > limit:
                    failed[epoch] = f'{source} has {true} {figure} and no row: {limit}'
        assert len(epochs) >= promised, f'{len(epochs)} intervals promise something'
        assert not is_defect(len(failed), len(epochs)), (
            f'{len(failed)} of {len(epochs)} intervals exclude the truth, such as {list(failed.values())[:2]}')
        return rows, exporters, result


def is_defect(failed, epochs):
    """Returns true if chance lets this number fail with a probability below RISK."""
    risk = 1 - CONFIDENCE
    return sum(math.comb(epochs, n) * risk**n * (1 - risk)**(epochs - n) for n in range(failed, epochs + 1)) < RISK


def to(flow, dst):
    flow.dst = dst
    return flow


def silent(kind, heard, shared):
    """A fine sampler and a coarse one. In many intervals the coarse one has no sample, or none of
    flows that only it sees."""
    def check(test):
        world = World(test)
        fine, coarse = Agent('192.0.2.1', FINE, 1), kind('192.0.2.2', COARSE, 2)
        both = [(to(Flow(3), '203.0.113.1'), 30000, 300)] if shared else []
        near = [(Flow(1), 4000, 300)]
        far = [(to(Flow(1), '203.0.113.2'), 5000, 300), (Flow(2), 5000, 300)]
        without = 0
        for epoch in range(INTERVALS):
            fine.see(*near, *both)
            if both:
                coarse.see(*both)
            while not coarse.see(*far):
                if epoch > 0:
                    without += 1
                    break
                world.passes(epoch, *far)
            world.passes(epoch, *near, *both, *far)
            fine.send(world.capture, epoch + 0.3)
            coarse.send(world.capture, epoch + 0.4)
            if heard:
                coarse.send_counters(world.capture, epoch + 0.5)
        assert without > INTERVALS / 20, without
        world.check()
    check.timeout = 300
    return check


def test_changing_rate(test):
    """An agent changes its rate within an interval. In many intervals, the packets before the change have no
    sample: the bounds must not be those of the finer rate."""
    world, agent, chance = World(test), Agent('192.0.2.1', COARSE, 11), random.Random(12)
    before, after, rest = (to(Flow(n), f'203.0.113.{n}') for n in (1, 2, 3))
    intervals, without = 800, 0
    for epoch in range(intervals):
        fine = chance.choice((5, 10, FINE, 100))
        traffic = [(before, chance.randrange(1000, 6000), 300)]
        at = 0.1
        if epoch % 2 == 0:  # ends at the coarse rate, with a sample of it
            agent.rate = agent.said = fine
            agent.see(*traffic, (after, 3000, 300))
            agent.send(world.capture, epoch + at)
            agent.rate = agent.said = COARSE
            traffic += [(rest, 20000, 300)]
            while not agent.see(traffic[-1]):
                traffic += traffic[-1:]
        else:
            without += not agent.see(*traffic)
            agent.send(world.capture, epoch + at)
            agent.rate = agent.said = fine
            agent.see((after, 3000, 300), *traffic)
            traffic += traffic
        agent.send(world.capture, epoch + 0.6)
        world.passes(epoch, *traffic, (after, 3000, 300))
    assert without > 100, without
    _, _, result = world.check(promised=intervals - 5)
    assert 'its sample pool grows' not in result.stderr, result.describe()


def test_large_packets(test):
    """Few large packets among many small ones: some intervals have no sample of a large one."""
    world, agent = World(test), Agent('192.0.2.1', 1000, 3)
    for epoch in range(INTERVALS):
        traffic = [(to(Flow(1), '203.0.113.1'), 1800, 1514), (Flow(1), 2000, 90)]
        traffic += [(Flow(n), 1500, 90) for n in range(2, 12)]
        agent.see(*traffic)
        world.passes(epoch, *traffic)
        agent.send(world.capture, epoch + 0.5)
    world.check(promised=INTERVALS - 5)


def test_jumbo_frames(test):
    """After the first sample of a jumbo frame, later intervals allow for jumbo frames."""
    world, agent = World(test), Agent('192.0.2.1', 1000, 4)
    for epoch in range(INTERVALS):
        traffic = [(to(Flow(1), '203.0.113.1'), 1800, 9014), (Flow(1), 2000, 90)]
        traffic += [(Flow(n), 1500, 90) for n in range(2, 12)]
        while not agent.see(traffic[0]) and epoch == 0:
            world.passes(epoch, traffic[0])
        agent.see(*traffic[1:])
        world.passes(epoch, *traffic)
        agent.send(world.capture, epoch + 0.5)
    world.check(promised=INTERVALS - 5)


def test_one_rate(test):
    """Once roles are known, another exporter with an equal or finer rate does not change the
    bounds, alive or not."""
    found, elsewhere = [], to(Flow(1 << 16), '203.0.113.1')
    for others in ((), ('192.0.2.2',), ('192.0.2.2', '192.0.2.3')):
        world, agent = World(test), Agent('192.0.2.1', 50, 5)
        silent_ones = [Agent(address, 50, 6) for address in others]
        for epoch in range(20):
            traffic = [(Flow(n), 1000 * n, 1514) for n in range(1, 8)]
            agent.see(*traffic)
            world.passes(epoch, *traffic)
            agent.send(world.capture, epoch + 0.5)
            for other in silent_ones:
                if epoch == 0:
                    other.see((elsewhere, 2000, 1514))
                other.send(world.capture, epoch + 0.6)
                other.send_counters(world.capture, epoch + 0.7)
            if epoch == 0 and silent_ones:
                world.passes(epoch, (elsewhere, 2000 * len(silent_ones), 1514))
        rows, _, _ = world.check(promised=20)
        found.append([[row[name] for name in ('epoch', 'src_ip', 'packets_low', 'packets_high', 'bytes_low',
                                              'bytes_high')] for row in rows if int(row['epoch']) > 12])
    assert found[0] and found[0] == found[1] == found[2], found[1][:3]


def losing(how, share):
    """An agent loses this share of its samples, shown in its drops or as gaps in its numbers:
    intervals hold."""
    def check(test):
        world, agent, chance = World(test), Agent('192.0.2.1', 100, 7), random.Random(8)
        setattr(agent, how, lambda: chance.random() < share)
        lost = 0
        for epoch in range(INTERVALS):
            traffic = [(Flow(n), chance.randrange(10000, 40000), chance.choice((90, 600, 1514))) for n in range(1, 4)]
            lost += agent.see(*traffic)
            world.passes(epoch, *traffic)
            lost -= len(agent.samples)
            agent.send(world.capture, epoch + 0.5)
        _, exporters, result = world.check()
        # Losses before the first two samples and after the last one are not visible in the numbers.
        told = sum(int(row['lost_agent']) for row in exporters)
        assert 0.9 * lost < told <= lost, (told, lost)
        assert f', perhaps {100 * told} more' in result.stderr, result.describe()
    check.timeout = 300
    return check


def pool(rate, said):
    """An agent whose samples announce a wrong rate: its pool shows the real one after some
    samples."""
    def check(test):
        world, agent = World(test), Agent('192.0.2.1', rate, 9)
        agent.said = said
        for epoch in range(INTERVALS):
            traffic = [(Flow(n), 30000 * n, 600) for n in range(1, 4)]
            agent.see(*traffic)
            world.passes(epoch, *traffic)
            agent.send(world.capture, epoch + 0.5)
        _, _, result = world.check()
        assert f'reports a sampling interval of {said}, but its sample pool grows by ' in result.stderr, result.describe()
    return check


def test_lost_datagrams(test):
    """Samples lost with their datagram do not count as lost by the agent."""
    world, agent = World(test), Agent('192.0.2.1', 10, 10)
    for epoch in range(10):
        traffic = [(Flow(n), 1000 * n, 600) for n in range(1, 4)]
        agent.see(*traffic)
        world.passes(epoch, *traffic)
        agent.send(Capture() if epoch == 5 else world.capture, epoch + 0.5)
    rows, exporters, _ = world.check(promised=8)
    assert {row['lost_agent'] for row in exporters} == {'0'}, exporters
    assert {row['epoch'] for row in rows if row['confidence'] == ''} == {'6'}, rows


RELIABILITY = [(144, 4)], [(164, 8), (166, 8), (167, 8)]


def test_reported_losses(test):
    """Packets that an exporter did not send or meter may have been of any key."""
    capture, router = Capture(), Router('ipfix', '192.0.2.1')
    lost = {2: (0, 0, 0), 3: (7, 0, 0), 4: (7, 5, 90), 5: (7, 9, 90), 6: (7, 9, 90)}
    for epoch in range(8):
        sets = [IPFIX.template(), IPFIX.data([Flow(n, 10 * n) for n in range(1, 4)])]
        if epoch in lost:
            counts = dict(zip((164, 166, 167), lost[epoch]))
            sets += [IPFIX.options_template(300, *RELIABILITY), IPFIX.data([counts], 300, sum(RELIABILITY, []))]
        capture.add(epoch + 0.5, router.address, router.ipfix(epoch, *sets, count=3 + (epoch in lost)))
    rows, _, exporters, _ = collect(test, '--pcap', capture.write(test.path('exports.pcap')), *ASKED)
    assert [row['lost_agent'] for row in exporters] == ['0', '0', '0', '7', '90', '4', '0', '0'], exporters
    wanted = ['0', '0', '0', '7', '90', '', '0', '0']
    for row in rows:
        packets, high = int(row['packets']), row['packets_high']
        assert row['packets_low'] == row['packets'], row
        assert (high and str(int(high) - packets)) == wanted[int(row['epoch'])], row
        assert high == '' or int(row['bytes_high']) == int(row['bytes']) + (int(high) - packets) * 1514, row


def cases(settings):
    return [(f'an agent that loses samples, {name} of {share}', losing(how, share))
            for how, name in (('lose', 'drops'), ('gap', 'gaps')) for share in (0.1, 0.5)] + [
        (f'a pool of one in {rate} and samples of one in {said}', pool(rate, said))
        for rate, said in ((400, 100), (150, 600))] + [(f'silent, {name}', silent(*how)) for name, how in (
        ('detected by counters', (Agent, True, False)), ('detected by its samples', (Agent, False, False)),
        ('with flows that both sample', (Agent, False, True)), ('detected by options', (NetFlow, False, False)))]

# SPDX-License-Identifier: BSD-3-Clause
"""Large captures, made up from a seed: an uplink, and a crowd of everything with floods and scans in it.

Flows are drawn by Zipf's law, each in two directions. The same bytes every time: random.Random draws
the same from one version of Python to the next.
"""

import itertools
import random
import struct

import frames
from frames import ICMP, ICMP6, IPV4, IPV6, SCTP, TCP, UDP

SECOND = 10**6  # times are in microseconds
START = 1700000000 * SECOND
SIZES = (40, 40, 40, 52, 52, 90, 150, 300, 576, 1200, 1400, 1400)  # of IP packets
ESP = 50


class Flow:
    """A connection: how a packet of it looks, there or back."""

    def __init__(self, draw, number, six=False, tags=(), inside=False, rare=3):
        self.proto = draw.choices((TCP, UDP, ICMP6 if six else ICMP, SCTP, ESP), (60, 34, 3, rare, rare))[0]
        self.ends = self._address(six, 10, number), self._address(six, 10 if inside else 20 + number % 60, 7 * number)
        self.ports = draw.randrange(1024, 65536), draw.choice((53, 80, 443, 443, 443, 22, 8080))
        self.six, self.tags, self.sequence = six, tags, draw.randrange(2**32)

    @staticmethod
    def _address(six, network, host):
        high, low = host >> 16, host & 0xffff
        return f'2001:db8:{network}:{high:x}::{low:x}' if six else f'{network}.{high}.{low >> 8}.{low & 255}'

    def _transport(self, draw, ports, room):
        if self.proto == TCP:
            self.sequence += max(1, room - 20)
            return frames.tcp(*ports, flags=draw.choice((2, 16, 16, 16, 24, 17)), sequence=self.sequence)
        if self.proto == UDP:
            return frames.udp(*ports, bytes(max(0, room - 8)))
        if self.proto == SCTP:
            return frames.sctp(*ports)
        return struct.pack('>I', 7) if self.proto == ESP else frames.echo(8 if self.proto == ICMP else 128)

    def packet(self, draw, fragment=0x4000):
        way = 1 if draw.random() < 0.6 else -1
        room = draw.choice(SIZES) - 20
        payload = self._transport(draw, self.ports[::way], room).ljust(room, b'\0')
        if self.six:
            return frames.tagged(self.tags, IPV6, frames.ipv6(self.proto, payload, *self.ends[::way]))
        return frames.tagged(self.tags, IPV4, frames.ipv4(self.proto, payload, *self.ends[::way], fragment=fragment))


def times(draw, packets, begin, duration):
    return sorted(START + begin + draw.randrange(duration) for _ in range(packets))


def traffic(draw, flows, packets, duration):
    """Flows with the time of each of their packets: [(time, flow)]"""
    weights = itertools.accumulate(1 / (rank + 4) for rank in range(len(flows)))
    chosen = draw.choices(flows, cum_weights=list(weights), k=packets)
    return zip(times(draw, packets, 0, duration), chosen)


def uplink():
    """TCP, UDP and ICMP of IPv4, without tags or fragments, 100 s."""
    draw = random.Random(1)
    flows = [Flow(draw, number, rare=0) for number in range(1500)]
    return [(time, flow.packet(draw)) for time, flow in traffic(draw, flows, 31000, 100 * SECOND)]


# ---- floods and scans


def reflection(begin=0):
    """From thousands of servers, a packet or two each, to one host."""
    draw = random.Random(2)
    return [(time, frames.ethernet(IPV4, frames.ipv4(UDP, frames.udp(123, 80, bytes(440)), f'100.{64 + number % 3}.'
                                                     f'{number >> 8 & 255}.{number & 255}', '203.0.113.9')))
            for number, time in enumerate(times(draw, 4000, begin, SECOND * 2 // 5))]


def flood6(begin=0):
    """From a few hosts to one, IPv6."""
    draw = random.Random(3)
    return [(time, frames.ethernet(IPV6, frames.ipv6(ICMP6, frames.echo(128), f'2001:db8:66::{draw.randrange(12):x}',
                                                     '2001:db8:99::1')))
            for time in times(draw, 6000, begin, 4 * SECOND)]


def scan(begin=0):
    """From one host, each port of another, and what that answers."""
    draw, seen = random.Random(4), []
    for number, time in enumerate(times(draw, 3000, begin, 10 * SECOND)):
        seen.append((time, frames.ethernet(IPV4, frames.ipv4(TCP, frames.tcp(40000, number + 1, flags=2),
                                                             '203.0.113.50', '10.0.0.9'))))
        if number % 40 == 0:
            seen.append((time + 1, frames.ethernet(IPV4, frames.ipv4(TCP, frames.tcp(number + 1, 40000, flags=20),
                                                                     '10.0.0.9', '203.0.113.50'))))
    return seen


def mixed_flows(draw):
    """Of both families, some behind tags, some between hosts of one network."""
    for number in range(12000):
        kind = draw.random()
        tags = [(0x8100, 1 + number % 9)] if kind < 0.1 else [(0x88a8, 7), (0x8100, number % 9)] if kind < 0.12 else []
        yield Flow(draw, number, six=draw.random() < 0.15, tags=tags, inside=draw.random() < 0.3)


def crowd():
    """60 s of everything; between second 20 and 40 the floods and the scan."""
    draw = random.Random(5)
    packets = []
    for time, flow in traffic(draw, list(mixed_flows(draw)), 40000, 60 * SECOND):
        kind = draw.random()
        if kind < 0.01:
            packets.append((time, frames.ethernet(0x0806, bytes(46))))
        elif kind < 0.015:
            packets.append((time, flow.packet(draw, fragment=0x20b9)))  # a later one, where it is IPv4
        else:
            packets.append((time, flow.packet(draw)))
    packets += reflection(22 * SECOND) + flood6(25 * SECOND) + scan(28 * SECOND)
    packets += [(START + second * SECOND, frames.ethernet(IPV4, b'\x45' + bytes(8))) for second in (10, 50)]
    return sorted(packets, key=lambda packet: packet[0])

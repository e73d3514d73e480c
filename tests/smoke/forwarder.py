#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A device under test: sends on one interface what it receives on another, but for what it is told to do.

forwarder.py FROM TO [WORD=NUMBER...]

  hold=MS        every frame is held so long
  drop=N         every N-th frame goes nowhere
  twice=N        every N-th is sent twice
  swap=N         every N-th is sent behind the one that follows it
  change=N,at=B  every N-th has byte B turned over; negative: from the end
  route=1        addresses of Ethernet, hop limit and checksum as a router leaves them
  rate=PPS,depth=N   what is beyond a token bucket is dropped
  noise=N        before every N-th a frame that nobody sent

Says `ready` once it receives, and what it did when it is asked to end: forwarded, dropped.
"""

import collections
import select
import signal
import socket
import struct
import sys
import time

ALL = 3  # ETH_P_ALL
BUFFER = 64 << 20
SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_TIMESTAMPNS = 32, 33, 35
NOISE = b'\x02' * 12 + b'\x88\xb5' + bytes(46)


def open_socket(interface):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    raw.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, BUFFER)
    raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    raw.bind((interface, ALL))
    return raw


def checksum(header):
    total = sum(struct.unpack(f'>{len(header) // 2}H', header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def routed(frame):
    """Of IPv4 and IPv6 without a tag."""
    out = bytearray(frame)
    out[:12] = bytes(range(12))
    if out[12:14] == b'\x86\xdd':
        out[21] -= 1
        return bytes(out)
    out[22] -= 1
    out[24:26] = b'\0\0'
    out[24:26] = struct.pack('>H', checksum(out[14:34]))
    return bytes(out)


def arrival(ancillary):
    """When the kernel had it, in seconds, however late we look."""
    seconds, ns = struct.unpack('@qq', next(data for _, kind, data in ancillary if kind == SO_TIMESTAMPNS))
    return seconds + ns / 1e9


class Bucket:
    def __init__(self, rate, depth):
        self.rate, self.depth = rate, depth
        self.tokens, self.filled = depth, 0

    def take(self, now):
        self.tokens = min(self.depth, self.tokens + (now - self.filled) * self.rate)
        self.filled = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Forwarder:
    def __init__(self, source, target, words):
        self.words = words
        self.source, self.target = open_socket(source), open_socket(target)
        self.bucket = Bucket(words['rate'], words['depth']) if 'rate' in words else None
        self.count = self.dropped = self.forwarded = 0
        self.held = collections.deque()  # (due, frame)
        self.swapped = None

    def every(self, word):
        return word in self.words and self.count % self.words[word] == 0

    def receive(self):
        """Every frame that is there."""
        while True:
            try:
                frame, ancillary, _, address = self.source.recvmsg(65536, 64, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            if address[2] != socket.PACKET_OUTGOING:
                self.take(frame, arrival(ancillary))

    def take(self, frame, came):
        self.count += 1
        if self.every('noise'):
            self.put(NOISE)
        if self.every('drop') or (self.bucket is not None and not self.bucket.take(came)):
            self.dropped += 1
            return
        self.forwarded += 1
        if self.every('change'):
            damaged = bytearray(frame)
            damaged[self.words['at']] ^= 0xff
            frame = bytes(damaged)
        if 'route' in self.words:
            frame = routed(frame)
        if self.every('swap'):
            self.swapped = frame
            return
        self.put(frame)
        if self.every('twice'):
            self.put(frame)
        if self.swapped is not None:
            self.put(self.swapped)
            self.swapped = None

    def put(self, frame):
        if 'hold' in self.words:
            self.held.append((time.monotonic() + self.words['hold'] / 1000, frame))
        else:
            self.target.send(frame)

    def release(self):
        """Sends what is due; returns the seconds until something is."""
        while self.held:
            left = self.held[0][0] - time.monotonic()
            if left > 0:
                return left
            self.target.send(self.held.popleft()[1])
        return 0.05

    def run(self, stopped):
        while not stopped:
            select.select([self.source], [], [], self.release())
            self.receive()


def main():
    stopped = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.append(True))
    words = {}
    for word in sys.argv[3:]:
        for part in word.split(','):
            name, _, value = part.partition('=')
            words[name] = int(value)
    forwarder = Forwarder(sys.argv[1], sys.argv[2], words)
    print('ready', flush=True)
    forwarder.run(stopped)
    print(f'forwarded {forwarder.forwarded} dropped {forwarder.dropped}', flush=True)


if __name__ == '__main__':
    main()

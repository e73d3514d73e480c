#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A device under test: forwards frames from one interface to another, with selectable faults.

forwarder.py FROM TO [WORD=NUMBER...]

  hold=MS        hold every frame for MS milliseconds
  drop=N         drop every N-th frame
  twice=N        send every N-th frame twice
  swap=N         send every N-th frame after the next one
  change=N,at=B  invert byte B of every N-th frame; a negative B counts from the end
  route=1        change Ethernet addresses, hop limit and checksum as a router does
  rate=PPS,depth=N   drop frames that exceed a token bucket
  noise=N        insert a foreign frame before every N-th frame

Prints `ready` once it receives, and at the end the numbers of forwarded and dropped frames.
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
    """Returns a frame of untagged IPv4 or IPv6 as a router would send it."""
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
    """Returns the time in seconds at which the kernel received it, independent of when this program
    reads it."""
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
        """Receives all waiting frames."""
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
        """Sends due frames; returns the seconds until the next one is due."""
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

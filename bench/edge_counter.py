#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""edge_counter.py --socket ADDRESS:PORT [--pcap FILE] | --interface NAME

Helper of bench/living-edge. Counts the datagrams of a UDP socket, as a collector would receive them, or all
IPv4 flows that an interface receives, as the reference. Prints "ready", then answers each line of standard
input with a line of JSON. Exits at the end of its input.
"""

import argparse
import ctypes
import json
import select
import socket
import struct
import sys
import time

SO_RCVBUFFORCE, SO_MEMINFO = 33, 55
SOL_PACKET, PACKET_STATISTICS, PACKET_OUTGOING, ETH_P_ALL = 263, 6, 4, 3
MEMINFO_DROPS = 8
BUFFER = 64 << 20
PORTS = (6, 17)  # protocols that have ports


class Datagrams:
    """Counts datagrams, payload bytes and kernel drops at the socket of the collector."""

    def __init__(self, where, capture):
        address, port = where.rsplit(':', 1)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        self.socket.bind((address, int(port)))
        self.here = self.socket.getsockname()
        self.capture = open(capture, 'wb') if capture else None
        if self.capture:
            self.capture.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        self.datagrams = self.bytes = self.samples = 0
        self.buffer = bytearray(65536)

    def take(self):
        size, sender = self.socket.recvfrom_into(self.buffer)
        self.datagrams += 1
        self.bytes += size
        # sFlow v5 of an agent with an IPv4 address: the header has the number of samples.
        if size >= 28 and self.buffer[:8] == b'\0\0\0\5\0\0\0\1':
            self.samples += int.from_bytes(self.buffer[24:28], 'big')
        if self.capture:
            self.write(sender, self.buffer[:size])

    def write(self, sender, payload):
        """Writes a packet of link type RAW, without checksums."""
        whole = 28 + len(payload)
        now = time.time_ns() // 1000
        self.capture.write(
            struct.pack('<IIII', now // 1000000, now % 1000000, whole, whole)
            + struct.pack('>BBHHHBBH4s4s', 0x45, 0, whole, 0, 0, 64, 17, 0,
                          socket.inet_aton(sender[0]), socket.inet_aton(self.here[0]))
            + struct.pack('>HHHH', sender[1], self.here[1], 8 + len(payload), 0) + payload)

    def say(self):
        if self.capture:
            self.capture.flush()
        info = self.socket.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 64)
        return {'datagrams': self.datagrams, 'bytes': self.bytes, 'samples': self.samples,
                'lost': struct.unpack_from('I', info, 4 * MEMINFO_DROPS)[0]}


class Flows:
    """Counts packets and layer 3 bytes of each IPv4 5-tuple that an interface receives."""

    def __init__(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        self.socket.bind((interface, ETH_P_ALL))
        self.flows = {}
        self.lost = 0
        self.buffer = bytearray(2048)

    def take(self):
        size, where = self.socket.recvfrom_into(self.buffer)
        frame = self.buffer
        if where[2] == PACKET_OUTGOING or size < 38 or frame[12:14] != b'\x08\0' or frame[23] not in PORTS:
            return
        ports = 14 + 4 * (frame[14] & 15)
        flow = self.flows.setdefault(bytes(frame[26:34] + frame[ports:ports + 4] + frame[23:24]), [0, 0])
        flow[0] += 1
        flow[1] += frame[16] << 8 | frame[17]

    def say(self):
        statistics = self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)  # cleared by reading
        self.lost += struct.unpack('II', statistics)[1]
        return {'lost': self.lost, 'flows': [(*name(key), *counts) for key, counts in self.flows.items()]}


def name(key):
    source, destination, source_port, destination_port, protocol = struct.unpack('>4s4sHHB', key)
    return (socket.inet_ntoa(source), socket.inet_ntoa(destination), str(source_port), str(destination_port),
            str(protocol))


def main():
    parser = argparse.ArgumentParser()
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument('--socket')
    what.add_argument('--interface')
    parser.add_argument('--pcap')
    settings = parser.parse_args()
    counter = Datagrams(settings.socket, settings.pcap) if settings.socket else Flows(settings.interface)
    print('ready', flush=True)
    both = select.poll()
    both.register(counter.socket, select.POLLIN)
    both.register(sys.stdin, select.POLLIN)
    while True:
        for descriptor, _ in both.poll():
            if descriptor == counter.socket.fileno():
                counter.take()
            elif sys.stdin.readline() == '':
                return
            else:
                # The answer includes all packets that arrived before the request.
                counter.socket.setblocking(False)
                try:
                    while True:
                        counter.take()
                except BlockingIOError:
                    counter.socket.setblocking(True)
                print(json.dumps(counter.say()), flush=True)


if __name__ == '__main__':
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: end with bench/living-edge
    main()

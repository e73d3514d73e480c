#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""send.py INTERFACE PCAP RATE REPEAT: sends the frames of a classic pcap file on a kernel
interface.

Sends every frame or fails; prints their number. Sends at most RATE packets per second, in small
bursts, and does not catch up after a pause.
"""

import errno
import socket
import struct
import sys
import time

BURST = 16


def frames(path):
    with open(path, 'rb') as stream:
        data = stream.read()
    order = '<' if data[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else '>'
    place = 24
    found = []
    while place < len(data):
        captured = struct.unpack_from(order + 'IIII', data, place)[2]
        found.append(data[place + 16:place + 16 + captured])
        place += 16 + captured
    return found


def send(port, frame):
    while True:
        try:
            port.send(frame)
            return
        except OSError as error:
            if error.errno not in (errno.ENOBUFS, errno.EAGAIN):
                raise
            time.sleep(0.001)


def main():
    interface, path, rate, repeat = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    port.bind((interface, 0))
    sent = 0
    due = time.monotonic()
    for frame in frames(path) * repeat:
        if sent % BURST == 0:
            now = time.monotonic()
            if due > now:
                time.sleep(due - now)
            due = max(due, now) + BURST / rate
        send(port, frame)
        sent += 1
    print(sent)


if __name__ == '__main__':
    main()

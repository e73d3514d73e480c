#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record.py CAPTURE PORT...: writes datagrams received at these ports of 127.0.0.1 to a classic
capture.

Prints their number when SIGTERM ends it, after it has read all that wait.
"""

import select
import signal
import socket
import sys
import time

import lib
import peers


def main():
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    sockets = {}
    for port in map(int, sys.argv[2:]):
        listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener.setsockopt(socket.SOL_SOCKET, peers.SO_RCVBUFFORCE, 64 << 20)
        listener.bind(('127.0.0.1', port))
        listener.setblocking(False)
        sockets[listener] = port
    print('ready', flush=True)
    found = []
    while True:
        last = bool(ended)
        ready, _, _ = select.select(list(sockets), [], [], 0 if last else 0.1)
        for listener in ready:
            data, sender = listener.recvfrom(65535)
            found.append((int(time.time() * 1000000), peers.frame(*sender, sockets[listener], data)))
        if last and not ready:
            break
    lib.write_pcap(sys.argv[1], found)
    print(len(found))


if __name__ == '__main__':
    main()

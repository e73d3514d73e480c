#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""transfer.py ADDRESS PORT BYTES [serve]: a TCP transfer in both directions, one after the other.

Each side sends BYTES of its own, and prints the SHA-256 of the data it sent and received.
"""

import hashlib
import random
import socket
import sys

CHUNK = 1 << 16


def send(connection, count, seed):
    source, digest = random.Random(seed), hashlib.sha256()
    while count > 0:
        data = source.randbytes(min(CHUNK, count))
        connection.sendall(data)
        digest.update(data)
        count -= len(data)
    return digest.hexdigest()


def receive(connection, count):
    digest = hashlib.sha256()
    while count > 0:
        data = connection.recv(min(CHUNK, count))
        assert data, 'the other side closed'
        digest.update(data)
        count -= len(data)
    return digest.hexdigest()


def main():
    address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if 'serve' in sys.argv:
        with socket.create_server((address, port)) as server:
            print('ready', flush=True)
            connection, _ = server.accept()
        got = receive(connection, count)
        sent = send(connection, count, 2)
        connection.recv(1)  # until the other side has received everything
    else:
        connection = socket.create_connection((address, port), timeout=120)
        sent = send(connection, count, 1)
        got = receive(connection, count)
    connection.close()
    print(sent, got)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""joined_frames.py INTERFACE BYTES...: a machine behind a tap that hands over joined TCP packets of one byte each.

Makes the tap, tries what the kernel takes of it (6.1 no frame of 64 KB), prints these numbers, and on each SIGUSR1 sends two
frames with each number of bytes of payload, one of them with a tag; what joined them does not say how many packets it were.
"""

import errno
import fcntl
import os
import signal
import struct
import subprocess
import sys

TUNSETIFF = 0x400454ca
TAP, NO_PACKET_INFORMATION, VNET_HEADER = 2, 0x1000, 0x4000
NEEDS_CHECKSUM, TCP_OVER_IPV4 = 1, 1


def frame(payload, tag):
    """virtio's header, Ethernet, IPv4 and TCP without options."""
    virtio = struct.pack('<BBHHHH', NEEDS_CHECKSUM, TCP_OVER_IPV4, 54 + len(tag), 1, 34 + len(tag), 16)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 0, 0, 0, 64, 6, 0, bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
    tcp = struct.pack('>HHIIBBHHH', 1000, 2000, 0, 0, 0x50, 0x10, 0, 0, 0)
    return virtio + b'\2' * 12 + tag + b'\x08\x00' + ip + tcp + bytes(payload)


def send(tap, payload):
    """Two of them; whether the kernel takes such."""
    try:
        for tag in b'', b'\x81\x00\x00\x05':
            os.write(tap, frame(payload, tag))
    except OSError as refused:
        if refused.errno != errno.EMSGSIZE:
            raise
        return False
    return True


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGUSR1,))
    tap = os.open('/dev/net/tun', os.O_RDWR)
    name = sys.argv[1]
    fcntl.ioctl(tap, TUNSETIFF, struct.pack('16sH', name.encode(), TAP | NO_PACKET_INFORMATION | VNET_HEADER))
    subprocess.run(('ip', 'link', 'set', name, 'arp', 'off', 'multicast', 'off', 'up'), check=True)
    taken = [payload for payload in map(int, sys.argv[2:]) if send(tap, payload)]
    print(*taken, flush=True)
    while signal.sigwait((signal.SIGUSR1,)):
        for payload in taken:
            send(tap, payload)


if __name__ == '__main__':
    main()

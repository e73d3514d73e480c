#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""joined_frames.py INTERFACE PACKETS...: a machine behind a tap that hands over joined TCP packets of eight bytes each,
of which newer kernels make any that are smaller.

Makes the tap, tries what the kernel takes of it (not all take frames of half a megabyte), prints these numbers, and on each
SIGUSR1 sends two frames of each number of packets, one of them with a tag; what joined them does not say how many it were.
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
SEGMENT = 8  # bytes
NEEDS_CHECKSUM, TCP_OVER_IPV4 = 1, 1


def frame(packets, tag):
    """virtio's header, Ethernet, IPv4 and TCP without options."""
    virtio = struct.pack('<BBHHHH', NEEDS_CHECKSUM, TCP_OVER_IPV4, 54 + len(tag), SEGMENT, 34 + len(tag), 16)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 0, 0, 0, 64, 6, 0, bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
    tcp = struct.pack('>HHIIBBHHH', 1000, 2000, 0, 0, 0x50, 0x10, 0, 0, 0)
    return virtio + b'\2' * 12 + tag + b'\x08\x00' + ip + tcp + bytes(packets * SEGMENT)


def send(tap, packets):
    """Two of them; whether the kernel takes such."""
    try:
        for tag in b'', b'\x81\x00\x00\x05':
            os.write(tap, frame(packets, tag))
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
    taken = [packets for packets in map(int, sys.argv[2:]) if send(tap, packets)]
    print(*taken, flush=True)
    while signal.sigwait((signal.SIGUSR1,)):
        for packets in taken:
            send(tap, packets)


if __name__ == '__main__':
    main()

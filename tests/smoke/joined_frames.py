#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""joined_frames.py INTERFACE PACKETS...: a machine on a tap that passes joined TCP packets with
segments of eight bytes. Newer kernels accept any segment size above zero.

Creates the tap, tries each number of packets (not all kernels accept frames of half a megabyte),
and prints the accepted numbers. On each SIGUSR1 it sends two frames of each number of packets, one
of them tagged. The frames do not carry the number of joined packets.
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
    """Returns a frame: virtio header, Ethernet, IPv4 and TCP without options."""
    virtio = struct.pack('<BBHHHH', NEEDS_CHECKSUM, TCP_OVER_IPV4, 54 + len(tag), SEGMENT, 34 + len(tag), 16)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 0, 0, 0, 64, 6, 0, bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
    tcp = struct.pack('>HHIIBBHHH', 1000, 2000, 0, 0, 0x50, 0x10, 0, 0, 0)
    return virtio + b'\2' * 12 + tag + b'\x08\x00' + ip + tcp + bytes(packets * SEGMENT)


def send(tap, packets):
    """Sends one untagged and one tagged frame; returns true if the kernel accepts the size."""
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

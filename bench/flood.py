#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""flood.py INTERFACE PACKETS FLOWS [TIMES [DELAY]]: sends UDP packets of 60 bytes on a veth, some million per second.

The kernel runs an XDP program on generated frames (BPF_F_TEST_XDP_LIVE_FRAMES, Linux 5.18 or newer), which redirects
them to the interface. Its peer receives them only with `ethtool -K PEER gro on`. Packet i has the source port i modulo
FLOWS, a power of two, from 10.0.0.1 to port 2000 of 10.0.0.2. Sends PACKETS packets TIMES times, with pauses for the
receiver. Before each packet, the program reads the clock DELAY times, which limits the rate. Prints the number of sent
packets, and the nanoseconds per packet of each time. These include the path through the peer and the monitors there.
"""

import ctypes
import os
import socket
import struct
import sys
import time

BPF = 321  # the system call, on x86-64
MAP_CREATE, PROG_LOAD, PROG_TEST_RUN = 0, 5, 10
ARRAY, XDP = 2, 6
LIVE_FRAMES = 2
BATCH = 64
FRAME = 60
PAUSE = 0.03  # seconds
SOURCE_PORT_AT = 34
DURATION_AT = 36  # in the attributes after PROG_TEST_RUN

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = libc.syscall(BPF, command, buffer, len(attributes))
    if result < 0:
        raise OSError(ctypes.get_errno(), f'bpf {command}: {os.strerror(ctypes.get_errno())}')
    return result, buffer.raw


def instruction(code, to=0, of=0, offset=0, value=0):
    return struct.pack('<BBhi', code, to | of << 4, offset, value)


def program(interface, flows, delay):
    counter, _ = bpf(MAP_CREATE, struct.pack('<IIII', ARRAY, 4, 4, 1).ljust(72, b'\0'))
    code = b''.join((
        instruction(0x61, 6, 1, 0),  # r6 = data
        instruction(0x61, 7, 1, 4),  # r7 = data_end
        instruction(0x85, value=5) * delay,  # bpf_ktime_get_ns()
        instruction(0xbf, 2, 6),
        instruction(0x07, 2, value=FRAME),
        instruction(0x2d, 2, 7, offset=18),  # cut: drop
        instruction(0x62, 10, offset=-4, value=0),
        instruction(0x18, 1, 1, value=counter),  # r1 = the map, two instructions long
        instruction(0),
        instruction(0xbf, 2, 10),
        instruction(0x07, 2, value=-4),
        instruction(0x85, value=1),  # r0 = bpf_map_lookup_elem()
        instruction(0x15, 0, offset=11),  # NULL: drop
        instruction(0x61, 1, 0),  # r1 = number
        instruction(0xbf, 2, 1),
        instruction(0x07, 2, value=1),
        instruction(0x63, 0, 2),
        instruction(0x57, 1, value=flows - 1),
        instruction(0xdc, 1, value=16),  # to network order
        instruction(0x6b, 6, 1, SOURCE_PORT_AT),
        instruction(0xb7, 1, value=socket.if_nametoindex(interface)),
        instruction(0xb7, 2),
        instruction(0x85, value=23),  # bpf_redirect()
    ))
    code += instruction(0x95) + instruction(0xb7, 0, value=1) + instruction(0x95)
    held = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b'GPL')
    return bpf(PROG_LOAD, struct.pack('<IIQQ', XDP, len(code) // 8, *map(ctypes.addressof, held)).ljust(128, b'\0'))[0]


def main():
    interface, given = sys.argv[1], [int(word) for word in sys.argv[2:]]
    packets, flows, times, delay = given + [1, 0][len(given) - 2:]
    sender = program(interface, flows, delay)
    frame = ctypes.create_string_buffer((
        bytes.fromhex('020000000001020000000002 0800') +
        struct.pack('>BBHHHBBH', 0x45, 0, FRAME - 14, 0, 0, 64, 17, 0) + bytes((10, 0, 0, 1, 10, 0, 0, 2)) +
        struct.pack('>HHHH', 0, 2000, FRAME - 34, 0)).ljust(FRAME, b'\0'), FRAME)
    context = ctypes.create_string_buffer(struct.pack('<IIIIII', 0, FRAME, 0, 0, 0, 0), 24)
    took = []
    for _ in range(times):
        time.sleep(PAUSE if times > 1 else 0)
        _, told = bpf(PROG_TEST_RUN, struct.pack(
            '<IIIIQQIIIIQQIII', sender, 0, FRAME, 0, ctypes.addressof(frame), 0, packets, 0, 24, 0,
            ctypes.addressof(context), 0, LIVE_FRAMES, 0, BATCH).ljust(80, b'\0'))
        took.append(struct.unpack_from('<I', told, DURATION_AT)[0])
    print(packets * times, *took)


if __name__ == '__main__':
    main()

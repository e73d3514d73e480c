# SPDX-License-Identifier: BSD-3-Clause
"""A disk that stalls: fsync() calls of a program block until a test releases them.

The kernel passes the calls to the test through the listener of a seccomp filter. Run as a program,
this file installs the filter, sends the listener to the abstract socket named by its first
argument, and executes its remaining arguments.
"""

import ctypes
import fcntl
import os
import platform
import select
import socket
import struct
import sys

SECCOMP_CALL, FSYNC = {'x86_64': (317, 74), 'aarch64': (277, 82)}.get(platform.machine(), (None, None))
NO_NEW_PRIVILEGES = 38
SET_MODE_FILTER, NEW_LISTENER = 1, 1 << 3
ALLOW, ASK = 0x7fff0000, 0x7fc00000
RECEIVE, SEND = 0xc0502100, 0xc0182101
CONTINUE = 1
IMPOSSIBLE = 77  # exit status if the kernel has no such filters


class HeldDisk:
    """Start a process with `program`, then wait until it is_waiting()."""

    def __init__(self, test):
        if SECCOMP_CALL is None:
            test.skip(f'unknown number of fsync() on {platform.machine()}')
        self.test = test
        self.meeting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.meeting.bind('')  # the kernel chooses an unused abstract name
        self.meeting.listen(1)
        self.meeting.setblocking(False)
        self.program = [sys.executable, os.path.abspath(__file__), self.meeting.getsockname().hex(), test.binary]
        self.listener = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Blocked calls then fail with ENOSYS."""
        self.meeting.close()
        if self.listener is not None:
            os.close(self.listener)

    def connect(self, process):
        def arrived():
            if not process.running():
                if process.result.status == IMPOSSIBLE:
                    self.test.skip(process.result.stderr.strip())
                raise AssertionError(process.result.describe())
            return select.select([self.meeting], [], [], 0)[0]

        self.test.until(arrived, 'calls are passed on')
        with self.meeting.accept()[0] as peer:
            self.listener = socket.recv_fds(peer, 1, 1)[1][0]

    def is_waiting(self):
        return bool(select.select([self.listener], [], [], 0)[0])

    def let_go(self):
        """Lets all waiting calls proceed."""
        while self.is_waiting():
            asked = bytearray(80)
            try:
                fcntl.ioctl(self.listener, RECEIVE, asked)
                fcntl.ioctl(self.listener, SEND, struct.pack('=QqiI', *struct.unpack_from('=Q', asked), 0, 0, CONTINUE))
            except OSError:  # the caller has ended
                return


def install_filter():
    """Returns the listener."""
    def instruction(code, value, yes=0, no=0):
        return struct.pack('=HBBI', code, yes, no, value)

    filters = b''.join((
        instruction(0x20, 0),  # load the system call number
        instruction(0x15, FSYNC, no=1),   # equal?
        instruction(0x06, ASK),
        instruction(0x06, ALLOW),
    ))
    buffer = ctypes.create_string_buffer(filters, len(filters))
    program = struct.pack('@HP', len(filters) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0:
        listener = libc.syscall(SECCOMP_CALL, SET_MODE_FILTER, NEW_LISTENER, program)
        if listener >= 0:
            return listener
    print(f'no calls can be held up: {os.strerror(ctypes.get_errno())}', file=sys.stderr)
    sys.exit(IMPOSSIBLE)


def main():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as meeting:
        meeting.connect(bytes.fromhex(sys.argv[1]))
        socket.send_fds(meeting, [b'x'], [install_filter()])
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == '__main__':
    main()

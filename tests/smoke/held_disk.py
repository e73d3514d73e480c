# SPDX-License-Identifier: BSD-3-Clause
"""A disk that stalls: calls of fsync() of a program wait until a test lets them go.

The kernel passes them to the test by a seccomp filter's listener. As a program, this file installs the
filter, sends the listener to the abstract socket that its first argument names, and becomes the program
of its further arguments.
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
IMPOSSIBLE = 77  # the exit status where there are no such filters


class HeldDisk:
    """Start a process with `program`, then wait until it is_waiting()."""

    def __init__(self, test):
        if SECCOMP_CALL is None:
            test.skip(f'no number of fsync() on {platform.machine()} is known')
        self.test = test
        self.meeting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.meeting.bind('')  # to a name that nobody has
        self.meeting.listen(1)
        self.meeting.setblocking(False)
        self.program = [sys.executable, os.path.abspath(__file__), self.meeting.getsockname().hex(), test.binary]
        self.listener = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Whoever waits then is told that there is no such call."""
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
        """Answers those who wait: the call is made."""
        while self.is_waiting():
            asked = bytearray(80)
            try:
                fcntl.ioctl(self.listener, RECEIVE, asked)
                fcntl.ioctl(self.listener, SEND, struct.pack('=QqiI', *struct.unpack_from('=Q', asked), 0, 0, CONTINUE))
            except OSError:  # who asked is gone
                return


def install_filter():
    """Returns the listener."""
    def instruction(code, value, yes=0, no=0):
        return struct.pack('=HBBI', code, yes, no, value)

    filters = b''.join((
        instruction(0x20, 0),             # load the call's number
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

# SPDX-License-Identifier: BSD-3-Clause
"""A program on a pseudo-terminal of the test."""

import fcntl
import os
import pty
import struct
import termios
import threading


class Terminal:
    """Passes all output of the program to take(), in a separate thread, until the terminal
    closes."""

    def __init__(self, test, rows, columns, *arguments, program, reads=False, inside=None):
        self.test = test
        self.master, slave = pty.openpty()
        self.set_size(rows, columns)
        self.process = test.start(*arguments, program=program, stdin=slave if reads else None, stdout=slave,
                                  inside=inside)
        os.close(slave)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def take(self, part):
        raise NotImplementedError

    def read(self):
        while True:
            try:
                part = os.read(self.master, 65536)
            except OSError:  # all processes have closed the terminal
                part = b''
            if not part:
                return
            self.take(part)

    def set_size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def finish(self):
        result = self.test.wait(self.process)
        self.reader.join()
        os.close(self.master)
        return result

# SPDX-License-Identifier: BSD-3-Clause
"""The socket of a service manager: readiness, status, watchdog, reload, stop."""

import ctypes
import os
import signal
import socket
import time

import lib

LONG = ('watchdog_is_fed',)

LIVE = ('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1')
ENDLESS = ('--synthetic', 'flows=1K,packets=100G,rate=100K,seed=1', '--pace', 'recorded')


class Manager:
    """The manager's end of the socket, and the messages received: [{name: value}]."""

    def __init__(self, test, abstract=False):
        self.test = test
        path = test.path('notify')
        self.name = f'@sketchtap-test-{os.getpid()}-{id(self)}' if abstract else path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind('\0' + self.name[1:] if abstract else path)
        self.socket.setblocking(False)
        self.heard = []

    def start(self, *options, watchdog=None, **more):
        program = ['env', f'NOTIFY_SOCKET={self.name}']
        if watchdog is not None:
            program.append(f'WATCHDOG_USEC={int(watchdog * 1e6)}')
        return self.test.start(*options, program=[*program, self.test.binary], **more)

    def listen(self):
        while True:
            try:
                message = self.socket.recv(4096).decode()
            except BlockingIOError:
                return self.heard
            lines = dict(line.split('=', 1) for line in message.split('\n'))
            self.heard.append(lines)

    def messages(self, name):
        return [lines[name] for lines in self.listen() if name in lines]

    def wait_for(self, name, count=1):
        self.test.until(lambda: len(self.messages(name)) >= count, f'{count} x {name}')

    def close(self):
        self.socket.close()


def test_the_life_of_a_service(test):
    for abstract in (False, True):
        manager = Manager(test, abstract)
        output = test.path(f'output{abstract}.csv')
        process = manager.start(*LIVE, '--interval', '100ms', '--output', output)
        manager.wait_for('READY')
        assert os.path.exists(output), 'ready without outputs'
        manager.wait_for('STATUS')
        process.signal(signal.SIGHUP)
        manager.wait_for('RELOADING')
        manager.wait_for('READY', 2)
        process.signal(signal.SIGTERM)
        test.wait(process).expect(0)
        order = [name for lines in manager.listen() for name in lines
                 if name in ('READY', 'RELOADING', 'STOPPING')]
        assert order == ['READY', 'RELOADING', 'READY', 'STOPPING'], order
        reload = next(lines for lines in manager.heard if 'RELOADING' in lines)
        assert 0 < int(reload['MONOTONIC_USEC']) <= time.monotonic() * 1e6, reload
        assert 'packets per second' in manager.messages('STATUS')[0], manager.heard
        assert not manager.messages('WATCHDOG'), 'not requested'
        manager.close()


def test_a_run_that_cannot_start_is_never_ready(test):
    manager = Manager(test)
    for options in (('--port', 'net_nonexistent0', '--eal', '--no-pci'),
                    ('--pcap', '/nonexistent'),
                    (*ENDLESS, '--output', '/nonexistent/output.csv')):
        test.wait(manager.start(*options)).expect(1)
    assert manager.listen() == [], manager.heard


def expect_signs_of_life(manager, process, count=8):
    manager.wait_for('WATCHDOG', count)
    assert process.running(), process.result.describe()


def test_watchdog_is_fed(test):
    """The watchdog is notified during any wait: a long epoch, an endless one, input, traffic."""
    for source in (LIVE, ENDLESS):
        for interval in ('50ms', '1h', '0'):
            manager = Manager(test, abstract=True)
            process = manager.start(*source, '--interval', interval, '--output', '/dev/null',
                                    watchdog=1)
            expect_signs_of_life(manager, process)
            process.signal(signal.SIGTERM)
            test.wait(process).expect(0)
            manager.close()


def test_watchdog_while_input_does_not_come(test):
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i)) for i in range(50)])
    manager = Manager(test)
    reading, writing = os.pipe()
    process = manager.start('--pcap', '-', '--output', '/dev/null', watchdog=1, stdin=reading)
    os.close(reading)
    with open(capture, 'rb') as stream:
        os.write(writing, stream.read())
    expect_signs_of_life(manager, process)
    os.close(writing)
    test.wait(process).expect(0)


def test_watchdog_while_a_reader_does_not_read(test):
    """A replay that waits for the reader of its rows still notifies the watchdog."""
    manager = Manager(test)
    reading, writing = os.pipe()
    process = manager.start('--synthetic', 'flows=100K,packets=0,rate=10M', '--interval', '10ms',
                            '--output', '-', watchdog=1, stdout=writing)
    os.close(writing)
    expect_signs_of_life(manager, process)
    process.kill()
    os.close(reading)


def test_watchdog_of_another_process(test):
    manager = Manager(test)
    process = test.start(*LIVE, '--interval', '50ms', '--output', '/dev/null', program=[
        'env', f'NOTIFY_SOCKET={manager.name}', 'WATCHDOG_USEC=100000', 'WATCHDOG_PID=1',
        test.binary])
    manager.wait_for('STATUS', 2)
    process.signal(signal.SIGTERM)
    test.wait(process).expect(0)
    assert not manager.messages('WATCHDOG'), manager.heard


def test_nobody_listens(test):
    """A missing socket causes a warning, and the run continues."""
    process = test.start('--synthetic', 'flows=1K,packets=1K,seed=1', '--output', '/dev/null',
                         program=['env', 'NOTIFY_SOCKET=/nonexistent', test.binary])
    result = test.wait(process).expect(0)
    assert 'warning' in result.stderr and 'NOTIFY_SOCKET' in result.stderr, result.describe()


class Frozen:
    """Stops one thread of a process while the others run (ptrace, without a kill at exit)."""

    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def __init__(self, thread):
        self.thread = thread
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p,
                                     ctypes.c_void_p]

    def call(self, request):
        return self.libc.ptrace(request, self.thread, None, None) == 0

    def __enter__(self):
        if not self.call(self.SEIZE):
            raise lib.Skip('ptrace is not permitted')
        assert self.call(self.INTERRUPT)
        os.waitpid(self.thread, 0x40000000)  # __WALL
        return self

    def __exit__(self, *_):
        self.call(self.DETACH)


def worker_thread(process):
    folder = f'/proc/{process.popen.pid}/task'
    for thread in os.listdir(folder):
        with open(f'{folder}/{thread}/comm', encoding='utf-8') as stream:
            if 'worker' in stream.read():
                return int(thread)
    raise AssertionError('no thread of a worker')


def test_watchdog_starves_while_a_worker_hangs(test):
    """Only the worker is stopped: epochs do not close, and the watchdog is not notified."""
    manager = Manager(test)
    process = manager.start(*LIVE, '--interval', '50ms', '--output', '/dev/null', watchdog=1)
    manager.wait_for('WATCHDOG', 2)
    with Frozen(worker_thread(process)):
        test.until_said(process, 'is not responding')
        count = len(manager.messages('WATCHDOG'))
        begin = time.monotonic()
        test.until(lambda: time.monotonic() > begin + 1.5, 'more than a period has passed')
        assert len(manager.messages('WATCHDOG')) == count, 'fed although no epoch closes'
    count = len(manager.messages('WATCHDOG'))
    manager.wait_for('WATCHDOG', count + 2)
    process.signal(signal.SIGTERM)
    test.wait(process).expect(0)

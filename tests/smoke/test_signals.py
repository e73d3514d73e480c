# SPDX-License-Identifier: BSD-3-Clause
"""SIGINT and SIGTERM write the open epoch and end normally; SIGHUP continues in new files."""

import contextlib
import fcntl
import gzip
import os
import signal
import struct
import termios
import threading
import time

import lib

LONG = ('a_live_run_that_is_over_waits_for_no_reader',)

ENDLESS = 'flows=1K,packets=100G,rate=100K,seed=1'


def start_endless(test, interval, *options):
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--synthetic', ENDLESS, '--pace', 'recorded', '--interval', interval,
                         '--top', '3', '--output', output, '--stats', stats, *options)
    return process, output, stats


def wait_for_lines(test, process, path, count):
    def there():
        assert process.running(), process.result.describe()
        if not os.path.exists(path):
            return False
        with open(path, 'rb') as stream:
            return stream.read().count(b'\n') >= count

    test.until(there, f'{path} has {count} lines')


def pause(test):
    """Waits a second, until a run without visible progress has started."""
    begin = time.monotonic()
    test.until(lambda: time.monotonic() > begin + 1, 'a second has passed')


def check_end(test, number):
    process, output, stats = start_endless(test, '100ms', '--workers', '2')
    wait_for_lines(test, process, stats, 4)
    process.signal(number)
    test.wait(process).expect(0)
    rows, ledger = lib.read_output(output), lib.read_stats(stats)
    numbers = [int(row['epoch']) for row in ledger]
    assert numbers == list(range(len(numbers))), numbers
    # On a busy machine, a paced epoch may lose all of its packets.
    assert {row['epoch'] for row in rows} == {
        row['epoch'] for row in ledger if int(row['measured']) > 0}


def test_sigint(test):
    check_end(test, signal.SIGINT)


def test_sigterm(test):
    check_end(test, signal.SIGTERM)


def test_the_open_epoch_is_written(test):
    """With --interval 0, all rows are written after the signal."""
    for number in (signal.SIGINT, signal.SIGTERM):
        process, output, stats = start_endless(test, '0', '--force')
        wait_for_lines(test, process, stats, 1)
        pause(test)
        process.signal(number)
        test.wait(process).expect(0)
        ledger = lib.read_stats(stats)
        assert len(ledger) == 1 and int(ledger[0]['measured']) > 1000, ledger
        assert len(lib.read_output(output)) == 3


def test_signal_while_the_feeder_waits_for_input(test):
    """Silent standard input does not delay the end."""
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i)) for i in range(50)])
    reading, writing = os.pipe()
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--pcap', '-', '--interval', '0', '--output', output, '--stats', stats,
                         stdin=reading)
    os.close(reading)
    try:
        with open(capture, 'rb') as stream:
            os.write(writing, stream.read())
        wait_for_lines(test, process, stats, 1)
        pause(test)
        process.signal(signal.SIGTERM)
        test.wait(process).expect(0)
    finally:
        os.close(writing)
    lib.read_output(output)
    lib.read_stats(stats)


def test_a_stamp_of_another_time(test):
    """With --pace recorded, a gap of years between two timestamps is waited for and reported."""
    stats = test.path('stats.csv')
    capture = lib.write_pcap(test.path('odd.pcap'), [(0, lib.udp_frame(1)), (10**15, lib.udp_frame(2))])
    process = test.start('--pcap', capture, '--pace', 'recorded', '--output', test.path('output.csv'), '--stats', stats)
    test.until_said(process, 'the next packet is due in 277777.8 hours')
    process.signal(signal.SIGTERM)
    test.wait(process).expect(0)
    assert [row['measured'] for row in lib.read_stats(stats)] == ['1']


def test_signal_before_the_first_byte(test):
    """Standard input that never has data, as when the file was forgotten."""
    reading, writing = os.pipe()
    process = test.start('--pcap', '-', stdin=reading)
    os.close(reading)
    try:
        pause(test)
        process.signal(signal.SIGINT)
        assert test.wait(process).expect(0).account()['offered'] == 0
    finally:
        os.close(writing)


def open_end(kind, path):
    """Returns (--pcap, its standard input, function that opens the writing end) of a source that
    waits for its writer."""
    if kind == 'fifo':
        os.mkfifo(path)
        return path, None, lambda: os.open(path, os.O_WRONLY)
    reading, writing = os.pipe()
    if kind == 'not blocking':
        os.set_blocking(reading, False)
    return '-', reading, lambda: writing


def test_other_signals_before_the_first_byte(test):
    """Log rotation on a quiet link, and a signal without meaning, do not end the wait."""
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i)) for i in range(50)])
    with open(capture, 'rb') as stream:
        data = stream.read()
    for kind in ('pipe', 'not blocking', 'fifo'):
        path, reading, write_end = open_end(kind, test.path(kind))
        process = test.start('--pcap', path, '--interval', '0', stdin=reading)
        if reading is not None:
            os.close(reading)
        pause(test)
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGHUP):
            assert process.running(), (kind, process.result.describe())
            process.signal(number)
        pause(test)
        assert process.running(), (kind, process.result.describe())
        writing = write_end()
        try:
            for at in (slice(0, 10), slice(10, None)):  # the header arrives in pieces
                os.write(writing, data[at])
                process.signal(signal.SIGUSR1)
        finally:
            os.close(writing)
        result = test.wait(process).expect(0)
        assert result.stdout.count('\n') == 51, result.describe()
        assert result.said() == [] and result.account()['measured'] == 50, result.describe()


def test_stop_before_a_fifo_has_a_writer(test):
    path, _, _ = open_end('fifo', test.path('fifo'))
    process = test.start('--pcap', path)
    pause(test)
    process.signal(signal.SIGTERM)
    result = test.wait(process).expect(0)
    assert result.said() == [] and result.account()['offered'] == 0, result.describe()


def block(number, body=b''):
    """Returns a block of pcapng."""
    length = struct.pack('<I', len(body) + 12)
    return struct.pack('<I', number) + length + body + length


SECTION = block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1))
NO_PACKET = 0xbad
HOLE = 2**32 - 2**16  # bytes of a block that are a hole in a file
FRAGMENT = lib.udp_frame()[:20] + b'\x20\0' + lib.udp_frame()[22:]


def interface(link):
    return block(1, struct.pack('<HHI', link, 0, 0))


def packet(frame):
    return block(6, struct.pack('<IIIII', 0, 0, 0, len(frame), len(frame)) + frame + b'\0' * (-len(frame) % 4))


def record(frame):
    return struct.pack('<IIII', 1, 0, len(frame), len(frame)) + frame


CLASSIC = struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 65535, 1)
ONE = SECTION + interface(1) + packet(lib.udp_frame())

# name: (beginning, repeated part, number of packets, or None for as many as the run reads)
ENDLESS_INPUTS = {
    'blocks without packets': (ONE, block(NO_PACKET, bytes(65536)), 1),
    'empty blocks': (ONE, block(NO_PACKET), 1),
    'sections': (ONE, SECTION + interface(1), 1),
    'blocks before the first packet': (SECTION + interface(1), block(NO_PACKET, bytes(1024)), 0),
    'an unknown link type': (ONE + SECTION + interface(189), packet(bytes(60)), None),
    'gzip, empty members': (gzip.compress(ONE), gzip.compress(b''), 1),
    'gzip, empty members from the first': (b'', gzip.compress(b''), 0),
    'gzip, a member without bytes': (gzip.compress(b'')[:10], b'\0\0\0\xff\xff', 0),
    'gzip, blocks without packets': (gzip.compress(ONE), gzip.compress(block(NO_PACKET, bytes(65536)) * 16), 1),
    'gzip, one long block': (gzip.compress(ONE + struct.pack('<II', NO_PACKET, HOLE)), gzip.compress(bytes(2**20)), 1),
    'packets': (CLASSIC, record(lib.udp_frame()), None),
    'packets without bytes': (CLASSIC, record(b''), None),
    'fragments': (CLASSIC, record(FRAGMENT), None),
}


class EndlessInput:
    """A FIFO with endless data until its reader closes."""

    def __init__(self, path, head, rest):
        self.path, self.head, self.rest = path, head, rest * (2**18 // len(rest) + 1)
        self.written = 0
        self.enough = 2**19 if head.startswith(b'\x1f\x8b') or rest.startswith(b'\x1f\x8b') else 2**22  # zeros shrink by 1000
        os.mkfifo(path)
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        with contextlib.suppress(BrokenPipeError), open(self.path, 'wb', buffering=0) as stream:
            stream.write(self.head)
            while True:
                self.written += stream.write(self.rest)

    def await_reader(self, test, process):
        """Waits until more was read than pipes and buffers hold."""
        def there():
            assert process.running(), process.result.describe()
            return self.written > self.enough

        test.until(there, 'the input is read')

    def end(self):
        """Ends the writer, even if no reader opened the FIFO."""
        with contextlib.suppress(OSError):
            os.close(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK))
        self.thread.join()


def stop_while_reading(test, name, *words, status=0):
    head, rest, packets = ENDLESS_INPUTS[name]
    endless = EndlessInput(test.path(f'fifo{len(test.processes)}'), head, rest)
    process = test.start(*words, endless.path)
    try:
        endless.await_reader(test, process)
        process.signal(signal.SIGTERM)
        result = test.wait(process).expect(status)
    finally:
        process.kill()
        endless.end()
    return result, packets


def check_endless_input(test, name):
    """Endless input in every parser state; the signal ends each run."""
    result, packets = stop_while_reading(test, name, '--interval', '1s', '--workers', '1', '--pcap')
    assert packets in (None, result.account()['offered']), result.describe()


def cases(settings):
    return [(f'an input without end: {name}', lambda test, name=name: check_endless_input(test, name))
            for name in lib.some(settings, ENDLESS_INPUTS)]


def test_an_input_without_end_of_a_collector(test):
    for name in test.few(ENDLESS_INPUTS):
        stop_while_reading(test, name, 'collect', '--interval', '1s', '--pcap')


def test_an_input_without_end_to_tune_for(test):
    """Input that never has enough frames with a key."""
    for name in ('blocks without packets', 'packets without bytes', 'gzip, empty members'):
        result, _ = stop_while_reading(test, name, 'tune', '--pcap', status=1)
        result.expect_one_line('stopped before')


def write_holes(path, head, number):
    """Writes a file of terabytes, nearly all holes, whose blocks have no packets."""
    with open(path, 'wb') as stream:
        stream.write(head)
        for _ in range(500):
            begin = stream.tell()
            stream.write(struct.pack('<II', number, HOLE))
            stream.seek(begin + HOLE - 4)
            stream.write(struct.pack('<I', HOLE))
    return path


def consumed(process):
    """Returns the number of bytes read so far."""
    with open(f'/proc/{process.popen.pid}/io', encoding='ascii') as stream:
        return int(stream.readline().split()[1])


def test_a_regular_file_of_terabytes(test):
    """Reads from a file never block. States: before the first packet, after it, and while skipping
    unknown link types."""
    heads = {'first': SECTION + interface(1), 'behind': ONE, 'known': SECTION + interface(189) + packet(bytes(60))}
    for name, head in heads.items():
        for number in (NO_PACKET, 6):  # in type 6, the holes are options of an empty packet
            if number == 6 and name != 'behind':
                continue
            path = write_holes(test.path(f'{name}{number}.pcapng'), head, number)
            process = test.start('--pcap', path, '--interval', '1s', '--workers', '1')

            def read(process=process):
                assert process.running(), process.result.describe()
                return consumed(process) > 2**28

            test.until(read, 'the file is read')
            process.signal(signal.SIGINT)
            test.wait(process).expect(0).account()


def test_signal_while_an_output_waits_for_its_reader(test):
    fifo = test.path('fifo')
    os.mkfifo(fifo)
    process = test.start('--synthetic', 'packets=1000', '--output', fifo)
    pause(test)
    process.signal(signal.SIGTERM)
    assert test.wait(process).expect(0).account()['offered'] == 0


def test_an_output_waits_for_its_reader_whatever_is_signalled(test):
    """SIGHUP of logrotate, and a signal without meaning, end no run."""
    fifo = test.path('fifo')
    os.mkfifo(fifo)
    process = test.start('--synthetic', 'packets=1000', '--output', fifo)
    pause(test)
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGHUP):
        process.signal(number)
        begin = time.monotonic()
        test.until(lambda: time.monotonic() > begin + 0.2, 'it had the time to end')
        assert process.running(), process.result.describe()
    with open(fifo, encoding='utf-8') as stream:
        rows = lib.read_output(stream.read())
    test.wait(process).expect(0)
    assert rows, 'no rows'


def waiting_in(pipe):
    return struct.unpack('i', fcntl.ioctl(pipe, termios.FIONREAD, b'    '))[0]


def test_second_signal_ends_at_once(test):
    """The first signal cannot take effect here, because the pipe of the rows is not read."""
    reading, writing = os.pipe()
    process = test.start('--synthetic', 'flows=100K,packets=0,rate=10M', '--interval', '10ms',
                         '--output', '-', stdout=writing)
    size = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
    os.close(writing)
    try:
        test.until(lambda: waiting_in(reading) > size * 3 // 4, 'the pipe is full')
        process.signal(signal.SIGINT)
        pause(test)
        assert process.running(), 'the run wrote to an unread pipe'
        process.signal(signal.SIGINT)
        result = test.wait(process)
        result.expect(128 + signal.SIGINT)
    finally:
        os.close(reading)


def test_two_signals_at_once_are_one(test):
    """timeout(1) signals a process and then its group; the last interval is still written."""
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--synthetic', 'flows=100,packets=0,rate=10K', '--pace', 'recorded', '--interval', '0',
                         '--output', output, '--stats', stats)
    test.until(lambda: os.path.exists(output) and os.path.exists(stats), 'it has begun')
    pause(test)
    process.signal(signal.SIGINT)
    process.signal(signal.SIGTERM)
    test.wait(process).expect(0)
    assert lib.read_output(output) and lib.read_stats(stats)


ROWS_FOR_A_PIPE = {
    'replay': ('--synthetic', 'flows=100K,packets=0,rate=10M', '--interval', '10ms'),
    'live': ('--port', 'net_pcap0,rx_pcap={capture},infinite_rx=1', '--eal', '--no-pci',
             '--workers', '1', '--interval', '10ms'),
}


def start_into_a_pipe(test, kind, *more):
    """Returns the run, and the unread end of its output pipe."""
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i)) for i in range(100)])
    reading, writing = os.pipe()
    process = test.start(*[option.format(capture=capture) for option in ROWS_FOR_A_PIPE[kind]],
                         '--output', '-', *more, stdout=writing)
    size = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
    os.close(writing)
    test.until(lambda: waiting_in(reading) > size * 3 // 4, 'the pipe is full')
    return process, reading


def test_one_signal_is_enough_where_nobody_reads(test):
    for kind in ROWS_FOR_A_PIPE:
        process, reading = start_into_a_pipe(test, kind)
        try:
            process.signal(signal.SIGTERM)
            result = test.wait(process)
        finally:
            os.close(reading)
        result.expect(1)
        assert 'does not read' in result.stderr, result.describe()
        assert 'rows could not be written' in result.stderr, result.describe()


def test_a_live_run_that_is_over_waits_for_no_reader(test):
    """A run that ends by --duration; the same holds for --deliveries, which is written last."""
    fifo = test.path('deliveries')
    os.mkfifo(fifo)
    unread = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(unread, fcntl.F_SETPIPE_SZ, 4096)
    try:
        process, reading = start_into_a_pipe(test, 'live', '--duration', '2s', '--deliveries', fifo)
        result = test.wait(process)
        os.close(reading)
    finally:
        os.close(unread)
    result.expect(1)
    for name in ('standard output', fifo):
        assert f'{name}: its reader does not read' in result.stderr, result.describe()


def test_a_slow_reader_is_waited_for_at_the_end(test):
    process, reading = start_into_a_pipe(test, 'replay')
    process.signal(signal.SIGTERM)
    pause(test)
    text = b''
    with open(reading, 'rb', buffering=0) as stream:
        for piece in iter(lambda: stream.read(65536), b''):
            text += piece
            time.sleep(0.01)
    test.wait(process).expect(0)
    assert lib.read_output(text.decode()), 'no rows'


def test_live_port(test):
    """On a port, epochs follow the clock; the last one ends with the signal."""
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--port', 'net_null0', '--eal', '--no-pci', '--interval', '200ms',
                         '--workers', '1', '--output', output, '--stats', stats)
    wait_for_lines(test, process, stats, 4)
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    ledger = lib.read_stats(stats)
    numbers = [int(row['epoch']) for row in ledger]
    # A busy machine may close an epoch late, which skips numbers.
    assert numbers == sorted(set(numbers)) and numbers[0] == 0, numbers
    for before, after in zip(ledger, ledger[1:]):
        assert before['end'] == after['start'], f'{before} and {after}'


def test_sighup_reopens(test):
    process, output, stats = start_endless(test, '50ms', '--workers', '2')
    wait_for_lines(test, process, stats, 4)
    for path in (output, stats):
        os.rename(path, path + '.1')
    process.signal(signal.SIGHUP)
    wait_for_lines(test, process, stats, 4)
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    for path, read in ((output, lib.read_output), (stats, lib.read_stats)):
        old, new = read(path + '.1'), read(path)  # each has its header
        numbers = sorted({int(row['epoch']) for row in old + new})
        assert numbers == list(range(len(numbers))), f'epochs {numbers}'
        both = {row['epoch'] for row in old} & {row['epoch'] for row in new}
        assert not both, f'epochs {both} in both files'

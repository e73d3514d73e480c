# SPDX-License-Identifier: BSD-3-Clause
"""Epochs: aligned, half open, exact in sum; silent ones are skipped; time may jump or run
backwards."""

import os
import struct

import lib

LONG = ('captures_with_odd_times',)

SECOND = 1000000  # in microseconds, as in the CSV and write_pcap()
START = 1700000000 * SECOND


def expect_aligned(stats, interval):
    """Checks that epochs are multiples of the interval (in microseconds), numbered by distance from
    the first."""
    origin = lib.timestamp(stats[0]['start'])
    assert stats[0]['epoch'] == '0', stats[0]
    numbers = [int(row['epoch']) for row in stats]
    assert numbers == sorted(set(numbers)), numbers
    for row in stats:
        start, end = lib.timestamp(row['start']), lib.timestamp(row['end'])
        assert start % interval == 0 and end == start + interval, row
        assert start == origin + int(row['epoch']) * interval, row
        assert int(row['offered']) > 0, f'a silent epoch has a row: {row}'


def measure(test, packets, interval, *options):
    name = f'capture{len(test.processes)}.pcap'
    path = lib.write_pcap(test.path(name), packets)
    return test.measure('--pcap', path, '--interval', interval, '--seed', '1', *options)


def test_generator_at_full_speed(test):
    epochs = 20 if test.slow else 60
    for workers in test.some((2, 1, 4)):
        _, stats, _ = test.measure(
            '--synthetic', f'flows=10K,packets={10 * epochs}K,rate=1M,seed=1', '--interval', '10ms',
            '--workers', workers, '--top', '5')
        assert lib.total(stats, 'offered') == lib.total(stats, 'measured') == 10000 * epochs
        lib.expect_lossless(stats)
        expect_aligned(stats, 10000)
        # 10 000 packets each except the first and last; one more or less, because times are rounded
        for row in stats[1:-1]:
            assert abs(int(row['offered']) - 10000) <= 1, row
        assert epochs <= len(stats) <= epochs + 2, len(stats)


def test_half_open(test):
    """A packet at the border belongs to the later epoch."""
    times = (0, 999999, 1000000, 1999999, 2000000)
    rows, stats, _ = measure(test, [(START + time, lib.udp_frame()) for time in times], '1s')
    assert [row['offered'] for row in stats] == ['2', '2', '1'], stats
    expect_aligned(stats, SECOND)
    assert [row['packets'] for row in rows] == ['2', '2', '1'], rows


def test_half_open_on_every_worker(test):
    packets = [(START + i * 250000, lib.udp_frame(flow)) for i in range(40) for flow in range(8)]
    for workers in (1, 2, 4):
        rows, stats, _ = measure(test, packets, '1s', '--workers', workers)
        assert [row['offered'] for row in stats] == ['32'] * 10, stats
        assert {row['packets'] for row in rows} == {'4'} and len(rows) == 80, rows
        expect_aligned(stats, SECOND)


def test_unaligned_first_packet(test):
    """Aligned to UTC, not to the first packet."""
    base = 1700000000 * SECOND - 1700000000 % 3600 * SECOND
    packets = [(base + minute * 60 * SECOND, lib.udp_frame()) for minute in (59, 61)]
    _, stats, _ = measure(test, packets, '1h')
    assert [row['offered'] for row in stats] == ['1', '1'], stats
    expect_aligned(stats, 3600 * SECOND)


def test_silent_epochs_are_skipped(test):
    packets = [(START + second * SECOND, lib.udp_frame()) for second in (0, 1, 5, 1000)]
    rows, stats, _ = measure(test, packets, '1s', '--workers', '2')
    assert [row['epoch'] for row in stats] == ['0', '1', '5', '1000'], stats
    assert [row['epoch'] for row in rows] == ['0', '1', '5', '1000'], rows
    expect_aligned(stats, SECOND)


def test_ten_years_of_silence(test):
    gap = 10 * 365 * 86400
    packets = [(START, lib.udp_frame(1)), (START + gap * SECOND, lib.udp_frame(2))]
    for interval, step in (('10ms', 10000), ('1s', SECOND)):
        rows, stats, _ = measure(test, packets, interval)
        assert [row['epoch'] for row in stats] == ['0', str(gap * SECOND // step)], stats
        assert len(rows) == 2, rows
        expect_aligned(stats, step)


def write_pcapng(path, packets):
    """packets: (time in nanoseconds, frame), any 64 bits"""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        length = struct.pack('<I', 12 + len(body))
        return struct.pack('<I', kind) + length + body + length

    nanoseconds = struct.pack('<HHB3xHH', 9, 1, 9, 0, 0)
    with open(path, 'wb') as stream:
        stream.write(block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1)))
        stream.write(block(1, struct.pack('<HHI', 1, 0, 0) + nanoseconds))
        for time, frame in packets:
            head = struct.pack('<IIIII', 0, time >> 32, time & 0xffffffff, len(frame), len(frame))
            stream.write(block(6, head + frame))
    return path


LATEST = 9 * 10**18  # SOURCE_TIME_MAX, in the year 2255
DAY = 86400 * 10**9


def test_any_time_and_any_interval(test):
    """Epoch bounds against integers of unlimited size, up to the last valid time."""
    for latest in (DAY, 7 * 10**18, 8 * 10**18, LATEST):
        times = sorted({0, latest // 3, *(latest - i * 10**9 for i in range(4))})
        for text, interval in (('1ms', 10**6), ('7d', 7 * DAY), ('2499d', 2499 * DAY),
                               ('2500d', 2500 * DAY)):
            packets = [(time, lib.udp_frame()) for time in times]
            _, stats, _ = test.measure(
                '--pcap', write_pcapng(test.path('any.pcapng'), packets), '--interval', text)
            expected = {}
            for time in times:
                expected[time // interval] = expected.get(time // interval, 0) + 1
            seen = [(int(row['epoch']), lib.timestamp(row['start']), lib.timestamp(row['end']),
                     int(row['offered'])) for row in stats]
            assert seen == [(n, n * interval // 1000, (n + 1) * interval // 1000, count)
                            for n, count in expected.items()], (latest, text, seen)


def test_interval_beyond_the_last_time(test):
    """An epoch that would end beyond 64 bits is refused, not numbered wrongly."""
    capture = write_pcapng(test.path('late.pcapng'),
                           [(8 * 10**18 + i * 10**9, lib.udp_frame()) for i in range(5)])
    for interval in ('36525d', '7300d', '2501d'):
        test.run('--pcap', capture, '--interval', interval).expect(2).expect_one_line(
            '--interval', interval, 'the maximum is 2500d (or 0: once, at the end)')


def test_time_running_back(test):
    """A packet older than the open epoch counts in the open one."""
    times = (10, 11, 5, 10, 12, 3, 12, 13)  # 5 and 10 after 11 count in 11, 3 counts in 12
    for workers in (1, 2, 4):
        packets = [(START + second * SECOND, lib.udp_frame(i)) for i, second in enumerate(times)]
        _, stats, _ = measure(test, packets, '1s', '--workers', workers)
        assert [(row['epoch'], row['offered']) for row in stats] == [
            ('0', '1'), ('1', '3'), ('2', '3'), ('3', '1')], stats
        expect_aligned(stats, SECOND)


def test_time_running_back_throughout(test):
    packets = [(START - i * SECOND, lib.udp_frame(i % 5)) for i in range(100)]
    for interval in ('1s', '0'):
        rows, stats, _ = measure(test, packets, interval, '--workers', '2')
        assert [row['offered'] for row in stats] == ['100'], stats
        assert [row['packets'] for row in rows] == ['20'] * 5, rows


def test_captures_with_odd_times(test):
    """Every small capture with 1 s intervals, against an oracle that reads the times itself."""
    oracle = lib.Oracle()
    odd = 0
    for entry in lib.index(test.traces):
        name = entry['file']
        if entry['expected'] != 'measured' or name.startswith('large/'):
            continue
        path = os.path.join(test.traces, name)
        times = [record[1] for record in oracle.records(path)]
        backwards = any(b < a for a, b in zip(times, times[1:]))
        gap = max((b - a for a, b in zip(times, times[1:])), default=0)
        if not backwards and gap < 30 * 86400 * 10**9:
            continue
        odd += 1
        split = oracle.epochs(path, 10**9)
        _, stats, _ = test.measure('--pcap', path, '--interval', '1s', '--workers', '2')
        assert [(row['epoch'], row['offered']) for row in stats] == [
            (str(number), str(len(split[number]))) for number in sorted(split)], f'{name}: {stats}'
        expect_aligned(stats, SECOND)
    assert odd >= 2, f'only {odd} captures with odd times'


def test_one_epoch(test):
    """--interval 0 spans from the first packet to the last."""
    times = (1, 5, 777777)
    rows, stats, _ = measure(test, [(START + time, lib.udp_frame()) for time in times], '0')
    assert len(stats) == len(rows) == 1, stats
    for row in (rows[0], stats[0]):
        assert lib.timestamp(row['start']) == START + 1, row
        assert lib.timestamp(row['end']) == START + 777777, row
    assert rows[0]['packets'] == '3' and rows[0]['share'] == '1.000000', rows


def test_one_packet(test):
    rows, stats, _ = measure(test, [(START, lib.udp_frame(9, 100))], '0')
    assert stats[0]['pps'] == '' and stats[0]['bps'] == '', stats
    assert stats[0]['bytes'] == '100' and stats[0]['distinct_keys'] == '1', stats
    assert lib.row_key(rows[0]) == lib.udp_key(9), rows
    assert rows[0]['packets'] == '1' and rows[0]['bytes'] == '100', rows
    for row in (rows[0], stats[0]):
        assert row['start'] == row['end'] == '2023-11-14T22:13:20.000000Z', row


def test_no_packet(test):
    """A capture with only a header: both CSV headers, no row."""
    rows, stats, _ = measure(test, [], '1s')
    assert rows == [] and stats == [], stats

# SPDX-License-Identifier: BSD-3-Clause
"""Packet times of a live port: from timestamps of its device, or from polls.

libpcap stamps packets when the kernel receives them, so net_pcap over an interface acts like a
device with timestamps. A run that is stopped meanwhile polls the packets later.
"""

import signal
import time

import lib
import net

PACKETS = 20
SLACK = 2000  # largest difference between two clocks, in microseconds


def now():
    return time.time_ns() // 1000


def stamped_while_it_stood_still(test, *options):
    """Returns (time of the first packet, time of continuation, first and last of the flow,
    Result)."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    output, stats = test.path('output.csv'), test.path('stats.csv')
    capture = lib.write_pcap(test.path('sent.pcap'), [(i, lib.udp_frame()) for i in range(PACKETS)])
    process = test.start(
        '--port', 'net_pcap0,rx_iface=tap0', '--no-huge', '--workers', '1', '--sketch', 'flow-table',
        '--interval', '0', '--packets', PACKETS, '--output', output, '--stats', stats, *options,
        inside=space)
    net.wait_until_ready(test, process, stats)
    process.signal(signal.SIGSTOP)
    begin = now()
    test.wait(space.send('wire0', capture, 100)).expect(0)
    time.sleep(0.1)
    went_on = now()
    process.signal(signal.SIGCONT)
    result = test.wait(process).expect(0)
    rows = lib.read_output(output)
    assert [row['packets'] for row in rows] == [str(PACKETS)], result.describe()
    return begin, went_on, lib.timestamp(rows[0]['first']), lib.timestamp(rows[0]['last']), result


def test_stamps_of_the_device(test):
    begin, went_on, first, last, result = stamped_while_it_stood_still(test)
    assert begin <= first <= last <= went_on, (begin, first, last, went_on)
    assert 'have arrival timestamps' in result.stderr, result.describe()


def test_time_of_the_poll(test):
    _, went_on, first, last, result = stamped_while_it_stood_still(test, '--timestamps', 'poll')
    assert went_on <= first + SLACK and first <= last, (went_on, first, last)
    assert 'have arrival timestamps' not in result.stderr, result.describe()


def test_stamps_of_another_time(test):
    """Timestamps of a file are not from this run: its packets get the current time."""
    capture = lib.write_pcap(test.path('old.pcap'), [(i, lib.udp_frame()) for i in range(PACKETS)])
    begin = now()
    rows, _, _ = test.measure('--port', f'net_pcap0,rx_pcap={capture}', '--no-huge', '--workers', '1',
                              '--sketch', 'flow-table', '--interval', '0', '--packets', str(PACKETS))
    assert begin <= lib.timestamp(rows[0]['first']) + SLACK, rows
    assert lib.timestamp(rows[0]['last']) <= now() + SLACK, rows

# SPDX-License-Identifier: BSD-3-Clause
"""Memory does not grow with the capture, and a run loads only the drivers that it needs."""

import os
import re
import shutil
import signal

import lib

LIMIT = 600 << 20  # resident bytes
SPEC = 'flows=100K,zipf=1.0,size=1500,packets=1420K,rate=1M,seed=1'  # 2.15 GB


def expect_small(test):
    if test.sanitized:
        test.skip('a sanitizer keeps freed memory')


@lib.alone
def test_two_gigabytes_from_a_file(test):
    expect_small(test)
    if shutil.disk_usage(test.directory).free < 6 << 30:
        test.skip('less than 6 GB of disk')
    capture = test.path('big.pcap')
    test.run('generate', '--synthetic', SPEC, '--output', capture).expect(0)
    assert os.path.getsize(capture) > 2 << 30, os.path.getsize(capture)
    _, stats, result = test.measure('--pcap', capture)
    assert lib.total(stats, 'measured') == 1420000, stats
    assert result.max_rss < LIMIT, f'{result.max_rss >> 20} MB resident'


@lib.alone
def test_two_gigabytes_through_a_pipe(test):
    expect_small(test)
    reading, writing = os.pipe()
    generator = test.start('generate', '--synthetic', SPEC, '--output', '-', stdout=writing)
    os.close(writing)
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--pcap', '-', '--output', output, '--stats', stats, stdin=reading)
    os.close(reading)
    result = test.wait(process).expect(0)
    test.wait(generator).expect(0)
    assert lib.total(lib.read_stats(stats), 'measured') == 1420000
    assert result.max_rss < LIMIT, f'{result.max_rss >> 20} MB resident'


def drivers_of(test, *arguments):
    """Returns the DPDK drivers that a run has loaded when its first interval ends."""
    stats = test.path(f'stats{len(test.processes)}.csv')
    process = test.start(*arguments, '--workers', '1', '--interval', '50ms', '--stats', stats, '--output', '/dev/null')
    test.until(lambda: os.path.exists(stats) and len(lib.read_text(stats).splitlines()) > 1 or not process.running(), 'an interval ends')
    with open(f'/proc/{process.popen.pid}/maps', encoding='ascii') as maps:
        drivers = set(re.findall(r'/librte_((?:baseband|crypto|event|mempool|net|raw)_\w+)\.so', maps.read()))
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    return drivers


def test_drivers(test):
    own = {'mempool_ring', 'net_ring'}
    assert drivers_of(test, '--synthetic', 'flows=10,packets=1G,rate=1K', '--pace', 'recorded') == own
    assert drivers_of(test, '--port', 'net_null0') == own | {'net_null'}
    capture = test.path('one.pcap')
    test.run('generate', '--synthetic', 'flows=1,packets=1', '--output', capture).expect(0)
    assert drivers_of(test, '--port', f'eth_pcap0,rx_pcap={capture},infinite_rx=1') == own | {'net_pcap'}
    # EAL creates this device, so it loads all drivers.
    assert drivers_of(test, '--port', 'net_null0', '--eal', '--vdev=net_null1') > own | {'net_null', 'net_pcap'}

# SPDX-License-Identifier: BSD-3-Clause
"""Memory does not grow with the capture."""

import os
import shutil

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

# SPDX-License-Identifier: BSD-3-Clause
"""Kernel interfaces under a live port: everything that a real sender sent is in the account."""

import signal

import lib
import net

RATE = 20000  # packets a second: what the paths carry on a busy machine, sanitizers and all


def finish(test, process):
    process.signal(signal.SIGINT)
    return test.wait(process, 60).expect(0)


def start_measuring(test, space, *options):
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--output', output, '--stats', stats, *options, inside=space)
    net.wait_until_ready(test, process, stats)
    return process, output, stats


def test_af_packet(test):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    capture = lib.write_pcap(test.path('sent.pcap'),
                             [(i, lib.udp_frame(i % 50, 60 + i % 100)) for i in range(5000)])
    process, output, stats = start_measuring(
        test, space, '--port', net.af_packet('tap0'), '--interval', '100ms')
    sent = int(test.wait(space.send('wire0', capture, RATE)).expect(0).stdout)
    assert sent == space.sent('wire0') == 5000
    test.until(lambda: lib.total(lib.read_stats(stats), 'received') >= sent, 'all')
    finish(test, process)
    ledger = lib.read_stats(stats)
    assert lib.total(ledger, 'measured') == sent

# SPDX-License-Identifier: BSD-3-Clause
"""Live ports that need neither a card nor the kernel: one process sends to another."""

import signal
import socket

import lib
import net

SENT = 100000


def test_sender_that_goes_away(test):
    """Its end resets the device's counters; the ledger balances all the same."""
    path = test.path('socket')
    output, stats = test.path('output.csv'), test.path('stats.csv')
    device = f'socket={path},socket-abstract=no,rsize=10'
    receiver = test.start('--port', f'net_memif0,role=server,{device}', '--interval', '100ms',
                          '--output', output, '--stats', stats)
    net.wait_until_ready(test, receiver, stats)
    test.run('generate', '--synthetic', f'packets={SENT},flows=1000', '--port',
             f'net_memif0,role=client,{device}').expect(0)
    test.until(lambda: lib.total(lib.read_stats(stats), 'measured') > 0, 'a packet')
    receiver.signal(signal.SIGINT)
    test.wait(receiver).expect(0)
    ledger = lib.read_stats(stats)
    measured = lib.total(ledger, 'measured')
    assert 0 < measured <= SENT, measured
    lib.expect_lossless(ledger)
    for row in lib.read_output(output):
        assert int(row['packets_low']) <= int(row['packets']) <= int(row['packets_high']), row


def test_peer_that_says_nothing(test):
    """It is listened to, and never answered: why nothing leaves is said once, and a signal ends it."""
    path = test.path('socket')
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(path)
        server.listen()
        sender = test.start('generate', '--synthetic', 'packets=100', '--no-huge', '--port',
                            f'net_memif0,role=client,socket={path},socket-abstract=no')
        test.until_said(sender, 'nothing leaves')
        sender.signal(signal.SIGINT)
        result = test.wait(sender).expect(0)
    assert result.stderr.count('net_memif0: its link is down') == 1, result.describe()

# SPDX-License-Identifier: BSD-3-Clause
"""Live ports that need neither a card nor the kernel: one process sends to another."""

import os
import signal

import lib

SENT = 100000


def test_sender_that_goes_away(test):
    """Its end resets the device's counters; the ledger balances all the same."""
    socket = test.path('socket')
    output, stats = test.path('output.csv'), test.path('stats.csv')
    device = f'socket={socket},socket-abstract=no,rsize=10'
    receiver = test.start('--port', f'net_memif0,role=server,{device}', '--interval', '100ms',
                          '--output', output, '--stats', stats)
    test.until(lambda: os.path.exists(socket), 'the socket')
    test.run('generate', '--synthetic', f'packets={SENT},flows=1000', '--port',
             f'net_memif0,role=client,{device}').expect(0)
    test.until(lambda: lib.total(lib.read_stats(stats), 'measured') > 0, 'a packet')
    receiver.signal(signal.SIGINT)
    test.wait(receiver, 30).expect(0)
    ledger = lib.read_stats(stats)
    measured = lib.total(ledger, 'measured')
    assert 0 < measured <= SENT, measured
    lib.expect_lossless(ledger)
    for row in lib.read_output(output):
        assert int(row['packets_low']) <= int(row['packets']) <= int(row['packets_high']), row

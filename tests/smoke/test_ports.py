# SPDX-License-Identifier: BSD-3-Clause
"""Live ports without NIC and kernel: one process sends to another."""

import csv
import io
import signal
import socket

import lib
import net

SENT = 100000


def check_sender_goes_away(test, *options):
    """A sender that ends resets the device's counters; the ledger still balances. Returns the
    ledger."""
    path = test.path('socket')
    output, stats = test.path('output.csv'), test.path('stats.csv')
    device = f'socket={path},socket-abstract=no,rsize=10'
    receiver = test.start('--port', f'net_memif0,role=server,{device}', '--interval', '100ms',
                          '--output', output, '--stats', stats, *options)
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
    return ledger


def test_sender_that_goes_away(test):
    check_sender_goes_away(test)


def test_sender_that_goes_away_under_keep_up(test):
    """The overload log has a row for each interval, including those after the sender has ended."""
    states = test.path('states.csv')
    ledger = check_sender_goes_away(test, '--keep-up', 'best', '--states', states)
    told = {row['epoch']: row for row in csv.DictReader(io.StringIO(lib.read_text(states)))
            if row['worker'] == '' and row['measurement'] != ''}
    assert list(told) == [row['epoch'] for row in ledger], (list(told), ledger)
    for row in ledger:
        received = int(row['received'])
        looked_at = 1 - int(row['skipped']) / received if received else 1
        assert abs(float(told[row['epoch']]['share']) - looked_at) < 1e-6, (row, told[row['epoch']])


def test_peer_that_says_nothing(test):
    """A peer that accepts and never replies: one line with the reason why nothing is sent, and a
    signal ends the run."""
    path = test.path('socket')
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(path)
        server.listen()
        sender = test.start('generate', '--synthetic', 'packets=100', '--no-huge', '--port',
                            f'net_memif0,role=client,socket={path},socket-abstract=no')
        test.until_said(sender, 'no packets are sent')
        sender.signal(signal.SIGINT)
        result = test.wait(sender).expect(0)
    assert result.stderr.count('net_memif0: its link is down') == 1, result.describe()

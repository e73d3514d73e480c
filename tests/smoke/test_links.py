# SPDX-License-Identifier: BSD-3-Clause
"""Links that go down and up, and devices that vanish during a run."""

import signal

import lib
import net
import test_service

RATE = 20000  # packets per second
SENT = 1000


class Run:
    """A ready run on one port in its own namespace."""

    def __init__(self, test, port):
        self.test = test
        self.space = net.Namespace(test)
        self.space.veth('tap0', 'wire0')
        self.capture = lib.write_pcap(
            test.path('sent.pcap'), [(i, lib.udp_frame(i % 10)) for i in range(SENT)])
        self.output, self.stats = test.path('output.csv'), test.path('stats.csv')
        manager = test_service.Manager(test)
        self.process = manager.start('--port', port, '--workers', '1', '--interval', '100ms', '--output',
                                     self.output, '--stats', self.stats, inside=self.space)
        test.until(lambda: manager.messages('READY') or not self.process.running(), 'ready')
        manager.close()
        assert self.process.running(), self.process.result.describe()

    def send(self, interface):
        before = self.received()
        sender = self.space.send(interface, self.capture, RATE)
        assert int(self.test.wait(sender).expect(0).stdout) == SENT
        self.test.until(lambda: self.received() >= before + SENT, 'all')

    def received(self):
        return lib.total(lib.read_stats(self.stats), 'received')


def vanish(test, port, interface, sends_on):
    """Checks that the run ends with one error line and exit status 1, and reports all received
    packets."""
    run = Run(test, port)
    run.space.set(interface, 'arp', 'off', 'multicast', 'off', 'up')
    run.send(sends_on)
    run.space.ip('link', 'delete', interface)
    result = test.wait(run.process).expect(1)
    lines = [line for line in result.error_lines() if 'removed' in line]
    assert len(lines) == 1 and 'the device was removed at 20' in lines[0], result.describe()
    assert port.split(',')[0] in lines[0] and 'interval' in lines[0], lines
    ledger = lib.read_stats(run.stats)
    assert lib.total(ledger, 'measured') == SENT
    assert lib.total(lib.read_output(run.output), 'packets') == SENT


def test_af_packet_vanishes(test):
    vanish(test, net.af_packet('tap0'), 'tap0', 'wire0')


def test_af_xdp_vanishes(test):
    vanish(test, 'net_af_xdp0,iface=tap0,force_copy=1,busy_budget=0', 'tap0', 'wire0')


def test_tap_vanishes(test):
    vanish(test, 'net_tap0,iface=probe0', 'probe0', 'probe0')


def test_frames_that_are_not_of_ethernet(test):
    """Interfaces without Ethernet are refused: their frames would all be non_ip, or misread."""
    space = net.Namespace(test)
    try:
        space.ip('tuntap', 'add', 'mode', 'tun', 'name', 'bare0')
    except AssertionError as reason:
        test.skip(f'no tunnel can be made: {reason}')
    for port in ('bare0', 'net_af_packet0,iface=bare0', 'net_af_xdp0,iface=bare0'):
        for words in (('run', '--no-huge'), ('doctor',)):
            result = test.run(*words, '--port', port, inside=space).expect(1)
            result.expect_one_line('bare0', 'Ethernet')


def test_link_flap(test):
    """Both changes are logged with the epoch number; the run continues and counts as before."""
    run = Run(test, net.af_packet('tap0'))
    run.send('wire0')
    run.space.set('wire0', 'down')
    test.until_said(run.process, 'link down')
    run.space.set('wire0', 'up')
    test.until_said(run.process, 'link up')
    run.send('wire0')
    run.process.signal(signal.SIGINT)
    result = test.wait(run.process).expect(0)
    words = [line for line in result.stderr.splitlines() if ': link ' in line]
    assert len(words) == 2, result.describe()
    for line, word in zip(words, ('link down', 'link up')):
        assert line.endswith(word) and 'interval ' in line and 'tap0' in line, line
    ledger = lib.read_stats(run.stats)
    assert lib.total(ledger, 'measured') == 2 * SENT
    lib.expect_lossless(ledger)


def test_peer_leaves(test):
    """Packets that the peer may have left in the rings widen the upper bounds, and are in no
    column."""
    socket, stats = test.path('memif'), test.path('stats.csv')
    output = test.path('output.csv')
    device = f'socket={socket},socket-abstract=no,rsize=10'
    manager = test_service.Manager(test)
    process = manager.start('--port', f'net_memif0,role=server,{device}', '--interval', '0',
                            '--workers', '1', '--output', output, '--stats', stats)
    manager.wait_for('READY')
    manager.close()
    sender = test.start('generate', '--synthetic', 'packets=100G,flows=10,rate=20K', '--pace', 'recorded',
                        '--port', f'net_memif0,role=client,{device}')
    test.until_said(process, 'link up')
    sender.signal(signal.SIGKILL)
    test.until_said(process, 'link down')
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    ledger = lib.read_stats(stats)
    lib.expect_lossless(ledger)
    rows = lib.read_output(output)
    assert rows
    for row in rows:
        assert int(row['packets_high']) >= int(row['packets']) + 1024, row

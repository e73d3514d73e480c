# SPDX-License-Identifier: BSD-3-Clause
"""Every lost packet has a reason. Overload is certain, because the receiver is stopped meanwhile.

Received plus lost packets equal those sent, exactly, and the bounds hold the truth.
"""

import collections
import signal
import time

import lib
import net
import test_service

SENT = 6000
FLOWS = 40
RATE = 40000  # packets per second


def write_flows(test, name='sent.pcap'):
    """Returns a capture of SENT packets, and its {key: (packets, bytes)}."""
    truth = collections.Counter()
    size = {}
    packets = []
    for i in range(SENT):
        flow = i * i % FLOWS
        frame = lib.udp_frame(flow, 60 + i % 7)
        packets.append((i, frame))
        key = lib.udp_key(flow)
        truth[key] += 1
        size[key] = size.get(key, 0) + len(frame)
    return (lib.write_pcap(test.path(name), packets),
            {key: (count, size[key]) for key, count in truth.items()})


def check_loss(test, output, stats, truth, sent=SENT, bounded=True):
    """Checks that the ledger has all sent packets, some of them lost, and that every interval holds
    the truth."""
    ledger = lib.read_stats(stats)
    lost = sum(lib.total(ledger, column) for column in lib.LOSSES)
    assert lib.total(ledger, 'offered') == sent, f'{lib.total(ledger, "offered")} of {sent}'
    assert lib.total(ledger, 'measured') + lost == sent
    assert lost > 0, 'nothing was lost'
    rows = lib.read_output(output)
    assert rows
    for row in rows:
        packets, size = truth[lib.row_key(row)]
        assert int(row['packets_low']) <= packets, (row, packets)
        assert int(row['bytes_low']) <= size, (row, size)
        assert (row['packets_high'] != '') == bounded == (row['confidence'] != ''), row
        if bounded:
            assert packets <= int(row['packets_high']), (row, packets)
            assert size <= int(row['bytes_high']), (row, size)
    return ledger


class Overload:
    """A run that is stopped during sending, so that its queues overflow."""

    def __init__(self, test, space, *options, interval='0'):
        self.test, self.space = test, space
        self.output, self.stats = test.path('output.csv'), test.path('stats.csv')
        manager = test_service.Manager(test)
        self.process = manager.start('--output', self.output, '--stats', self.stats, *options,
                                     '--interval', interval, '--seed', '1', inside=space)
        # Losses before a run begins are not in its ledger.
        test.until(lambda: manager.messages('READY') or not self.process.running(), 'ready')
        manager.close()
        assert self.process.running(), self.process.result.describe()

    def send(self, interface, capture):
        self.process.signal(signal.SIGSTOP)
        sender = self.space.send(interface, capture, RATE)
        sent = int(self.test.wait(sender).expect(0).stdout)
        self.process.signal(signal.SIGCONT)
        return sent

    def finish(self, status=0):
        self.process.signal(signal.SIGINT)
        result = self.test.wait(self.process).expect(status)
        lib.check_account(result, lib.read_stats(self.stats))
        return result


def run_af_packet(test, queues, *options):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0', queues=queues)
    capture, truth = write_flows(test)
    run = Overload(test, space, '--port', net.af_packet('tap0', queues, frames=64), *options)
    sent = run.send('wire0', capture)
    # The kernel's counters are final when everything has arrived.
    test.until(lambda: space.received('tap0') == sent, 'all')
    result = run.finish()
    assert 'upper bounds' not in result.stderr, result.describe()
    ledger = check_loss(test, run.output, run.stats, truth, sent)
    # A ring of 64 slots has 128 KB; a frame takes at least 128 bytes of a block.
    assert lib.total(ledger, 'nic_missed') >= sent - 1024 * queues
    assert lib.total(ledger, 'no_mbuf') == lib.total(ledger, 'nic_errors') == 0


def test_losses_of_several_epochs(test):
    """A loss counts in one epoch, possibly the next: the summed bounds hold the truth."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    capture, truth = write_flows(test)
    run = Overload(test, space, '--port', net.af_packet('tap0', frames=64), '--workers', '1',
                   '--top', '1000', interval='50ms')
    sent = 0
    for _ in range(3):
        sent += run.send('wire0', capture)
        test.until(lambda: lib.total(lib.read_stats(run.stats), 'offered') == sent, 'all packets are reported')
    run.finish()
    ledger, rows = lib.read_stats(run.stats), lib.read_output(run.output)
    assert lib.total(ledger, 'offered') == sent == 3 * SENT, ledger
    assert len([row for row in ledger if int(row['nic_missed']) > 0]) > 1, ledger
    lost = sum(lib.total(ledger, column) for column in lib.LOSSES)
    for key, (packets, _) in truth.items():
        mine = [row for row in rows if lib.row_key(row) == key]
        seen = {row['epoch'] for row in mine}
        unseen = sum(int(row['nic_missed']) for row in ledger if row['epoch'] not in seen)
        assert lib.total(mine, 'packets_low') <= 3 * packets <= lib.total(
            mine, 'packets_high') + unseen, (key, mine)
        assert lib.total(mine, 'packets_high') <= lib.total(mine, 'packets') + lost, (key, mine)


def test_af_packet_one_queue(test):
    run_af_packet(test, 1, '--workers', '1')


def test_af_packet_two_queues(test):
    """A full queue passes flows to the other one before packets are lost."""
    run_af_packet(test, 2, '--workers', '2')


def test_af_packet_async(test):
    run_af_packet(test, 1, '--design', 'async', '--workers', '2')


def test_af_packet_two_ports(test):
    """Each port has its own sockets."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    space.veth('tap1', 'wire1')
    capture, truth = write_flows(test)
    run = Overload(test, space, '--port', net.af_packet('tap0', frames=64),
                   '--port', net.af_packet('tap1', frames=4096), '--workers', '1')
    sent = run.send('wire0', capture)
    sent += run.send('wire1', capture)
    test.until(lambda: space.received('tap0') + space.received('tap1') == sent, 'all')
    run.finish()
    check_loss(test, run.output, run.stats,
               {key: (2 * packets, 2 * size) for key, (packets, size) in truth.items()}, sent)


def test_tap(test):
    space = net.Namespace(test)
    capture, truth = write_flows(test)
    run = Overload(test, space, '--port', 'net_tap0,iface=tap0', '--workers', '1')
    space.set('tap0', 'arp', 'off', 'multicast', 'off', 'up')
    sent = run.send('tap0', capture)
    run.finish()
    ledger = check_loss(test, run.output, run.stats, truth, sent)
    assert lib.total(ledger, 'nic_missed') > 0


def test_af_xdp(test):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    capture, truth = write_flows(test)
    run = Overload(test, space, '--port', 'net_af_xdp0,iface=tap0,force_copy=1,busy_budget=0',
                   '--workers', '1')
    sent = run.send('wire0', capture)
    run.finish()
    ledger = check_loss(test, run.output, run.stats, truth, sent)
    assert lib.total(ledger, 'nic_missed') > 0


def test_memif(test):
    """The sender detects a full ring and waits: nothing that it sent is lost."""
    socket = test.path('memif')
    output, stats = test.path('output.csv'), test.path('stats.csv')
    device = f'socket={socket},socket-abstract=no,rsize=6'
    manager = test_service.Manager(test)
    process = manager.start('--port', f'net_memif0,role=server,{device}', '--interval', '0', '--seed', '1',
                            '--workers', '1', '--output', output, '--stats', stats)
    manager.wait_for('READY')
    manager.close()
    sender = test.start('generate', '--synthetic', 'packets=100K,flows=1', '--port',
                        f'net_memif0,role=client,{device}')
    for _ in range(5):
        process.signal(signal.SIGSTOP)
        time.sleep(0.05)
        process.signal(signal.SIGCONT)
        time.sleep(0.02)
    test.wait(sender).expect(0)
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    ledger = lib.read_stats(stats)
    lib.expect_lossless(ledger)
    # Only packets left on the ring by the ended sender cannot be counted.
    assert 100000 - 64 <= lib.total(ledger, 'offered') <= 100000, ledger
    for row in lib.read_output(output):
        assert int(row['packets_low']) <= 100000 <= int(row['packets_high']) + 64, row


def test_unknown_losses_leave_no_bound(test):
    """An unknown driver: a warning, the losses that it reports, and no upper bound."""
    capture, truth = write_flows(test)
    output, stats, result = test.measure(
        '--port', f'net_failsafe0,dev(net_pcap0,rx_pcap={capture})', '--workers', '1',
        '--packets', str(SENT), '--interval', '0', '--seed', '1')
    assert 'upper bounds and confidence stay empty' in result.stderr, result.describe()
    assert lib.total(stats, 'offered') == lib.total(stats, 'measured') == SENT
    assert len(output) == len(truth)
    for row in output:
        assert int(row['packets']) == truth[lib.row_key(row)][0], row
        assert row['packets_high'] == row['bytes_high'] == row['confidence'] == '', row


def check_bounds(output, stats, truth):
    """Checks the bounds of a run that was offered all packets and lost some."""
    assert lib.total(stats, 'offered') == SENT
    for row in output:
        packets, _ = truth[lib.row_key(row)]
        assert int(row['packets_low']) <= packets <= int(row['packets_high']), row


def test_paced_replay(test):
    """The feeder drops packets that do not fit, like a NIC."""
    capture, truth = write_flows(test)
    output, stats, result = test.measure(
        '--pcap', capture, '--pace', '100Mpps', '--descriptors', '64', '--workers', '1',
        '--sketch', 'reversible', '--interval', '0', '--seed', '1')
    del result
    check_bounds(output, stats, truth)


def test_async_ring(test):
    """A ring between receiver and worker that is too small: only ring_full."""
    capture, truth = write_flows(test)
    output, stats, result = test.measure(
        '--pcap', capture, '--pace', '100Mpps', '--design', 'async', '--workers', '2',
        '--ring-size', '64', '--interval', '0', '--seed', '1')
    del result
    check_bounds(output, stats, truth)


def test_the_last_line(test):
    """Loss is never silent: without other outputs, and at log level warning."""
    capture, _ = write_flows(test)
    lossy = ('--pcap', capture, '--pace', '100Mpps', '--descriptors', '64', '--workers', '1',
             '--sketch', 'reversible', '--output', '/dev/null')
    for level in ('notice', 'warning'):
        account = test.run(*lossy, '--log-level', level).expect(0).account()
        assert account['offered'] == SENT == account['measured'] + account['lost'], account
        assert account['lost'] == account['nic_missed'] > 0, account
    whole = ('--pcap', capture, '--output', '/dev/null')
    account = test.run(*whole).expect(0).account()
    assert account == {'offered': SENT, 'epochs': 1, 'measured': SENT, 'lost': 0}, account
    result = test.run(*whole, '--log-level', 'warning').expect(0)
    assert result.said() == [] and not lib.ACCOUNT.search(result.stderr), result.describe()


def test_the_last_line_of_two_measurements(test):
    """Packets that one measurement shed were measured by the other."""
    config = test.path('two.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('[measurement all]\nsketch = count-min\n'
                     '[measurement few]\nsketch = flow-table\nbuckets = 16\n')
    rows, stats, result = test.measure('--synthetic', 'flows=1K,packets=10K,seed=1',
                                       '--config', config)
    shed = lib.total(lib.in_epoch(stats, '0', 'few'), 'shed')
    assert rows and shed > 0, stats
    assert f'measured, 0 lost; few: {shed} shed; processed ' in result.stderr.splitlines()[-1], result.describe()


def test_max_loss(test):
    """A run with too many losses exits with 1 and reports their number; its outputs are
    complete."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    capture, truth = write_flows(test)
    run = Overload(test, space, '--port', net.af_packet('tap0', frames=64), '--workers', '1',
                   '--max-loss', '50%')
    sent = run.send('wire0', capture)
    test.until(lambda: space.received('tap0') == sent, 'all')
    result = run.finish(1)
    ledger = check_loss(test, run.output, run.stats, truth, sent)
    result.expect_one_line(f'lost {lib.total(ledger, "nic_missed")} of {sent} packets',
                           '--max-loss 50 %', 'worst interval is 0')


def test_max_loss_kept(test):
    """No loss satisfies --max-loss 0, and without the option any loss is allowed."""
    capture, _ = write_flows(test)
    test.measure('--pcap', capture, '--max-loss', '0')
    test.measure('--pcap', capture, '--pace', '100Mpps', '--descriptors', '64',
                 '--sketch', 'reversible')

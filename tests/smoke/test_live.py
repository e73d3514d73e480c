# SPDX-License-Identifier: BSD-3-Clause
"""Kernel interfaces under live ports: all packets of a real sender are in the ledger, exactly.

Every queue between sender and worker holds all sent packets, so that nothing is lost even on a busy
machine. Only the queues of af_xdp are shorter, and it counts its losses.
"""

import random

import lib
import net

PACKETS = 10000
FRAMES = 32768  # size of af_packet's ring and of worker rings; more than any test sends
RATE = 50000  # packets per second

# design, sharing, workers
DESIGNS = (('rss', 'separate', 1), ('async', 'shared', 2), ('sync', 'separate', 2))
TWO_QUEUES = (('rss', 'separate', 2), ('rss', 'shared', 2))


def own_capture(test, name='sent.pcap', first_flow=0):
    """Returns (path, truth) of 300 flows of different rates, with many frame sizes."""
    choice = random.Random(first_flow)
    frames, truth = [], {}
    for i in range(PACKETS):
        flow = first_flow + int(300 * choice.random() ** 3)
        frame = lib.udp_frame(flow, choice.randrange(60, 1515))
        packets, size = truth.get(lib.udp_key(flow), (0, 0))
        truth[lib.udp_key(flow)] = packets + 1, size + len(frame)
        frames.append((i, frame))
    return lib.write_pcap(test.path(name), frames), truth


class Measuring:
    """A run on live ports with one epoch, which ends after `packets` packets."""

    def __init__(self, test, space, ports, packets, design, sharing, workers, *options):
        self.test = test
        self.output, self.stats = test.path('output.csv'), test.path('stats.csv')
        self.process = test.start(
            *(word for port in ports for word in ('--port', port)), '--packets', packets,
            '--interval', '0', '--design', design, '--sharing', sharing, '--workers', workers,
            *(('--ring-size', FRAMES) if design == 'async' else ()),
            '--output', self.output, '--stats', self.stats, *options, inside=space)
        net.wait_until_ready(test, self.process, self.stats)

    def finish(self):
        """Returns (heavy hitters, ledger)."""
        self.test.wait(self.process).expect(0)
        ledger = lib.read_stats(self.stats)
        assert len(ledger) == 1, ledger
        return lib.read_output(self.output), ledger[0]


def expect_all(ledger, packets):
    assert int(ledger['offered']) == int(ledger['received']) == packets, ledger
    lib.expect_lossless([ledger])


def send_all(test, sender, packets):
    sent = int(test.wait(sender).expect(0).stdout)
    assert sent == packets, f'{sent} of {packets} were sent'


def veth_with_af_packet(queues):
    def check(test, *how):
        space = net.Namespace(test)
        space.veth('tap0', 'wire0', queues)
        capture, truth = own_capture(test)
        run = Measuring(test, space, [net.af_packet('tap0', queues, FRAMES)], PACKETS, *how)
        send_all(test, space.send('wire0', capture, RATE), PACKETS)
        rows, ledger = run.finish()
        expect_all(ledger, PACKETS)
        assert int(ledger['measured']) == PACKETS
        lib.check_top(rows, truth, 100)
    return check


def veth_with_af_xdp(test, *how):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    capture, truth = own_capture(test)
    run = Measuring(test, space, ['net_af_xdp0,iface=tap0,busy_budget=0'], 10**9, *how)
    send_all(test, space.send('wire0', capture, RATE / 5), PACKETS)
    # Packets that did not fit in the queue of veth never reached the port.
    came = PACKETS - space.link('wire0')['stats64']['tx']['dropped']
    test.until(lambda: space.received('tap0') >= came, 'the kernel has received it all')
    run.process.signal(net.END)
    rows, ledger = run.finish()
    missed = int(ledger['nic_missed'])
    assert int(ledger['offered']) == came, f'{came} came: {ledger}'
    assert int(ledger['measured']) == came - missed
    if came == PACKETS:
        for row in rows:
            packets, size = truth[lib.row_key(row)]
            assert int(row['packets_low']) <= packets <= int(row['packets_high']), row
            assert int(row['bytes_low']) <= size <= int(row['bytes_high']), row
        if missed == 0:
            lib.check_top(rows, truth, 100)


def tap(test, *how):
    space = net.Namespace(test)
    capture, truth = own_capture(test)
    run = Measuring(test, space, ['net_tap0,iface=tap0'], PACKETS, *how)
    space.silence('tap0', 'txqueuelen', FRAMES - 1)  # maximum of newer kernels
    send_all(test, space.send('tap0', capture, RATE), PACKETS)
    rows, ledger = run.finish()
    expect_all(ledger, PACKETS)
    lib.check_top(rows, truth, 100)


def two_ports(test, *how):
    """Two ports, each with its own sender."""
    space = net.Namespace(test)
    captures, truth = [], {}
    for i in range(2):
        space.veth(f'tap{i}', f'wire{i}')
        capture, part = own_capture(test, f'sent{i}.pcap', i * 1000)
        captures.append(capture)
        truth.update(part)
    ports = [net.af_packet(f'tap{i}', 1, FRAMES) for i in range(2)]
    run = Measuring(test, space, ports, 2 * PACKETS, *how)
    senders = [space.send(f'wire{i}', capture, RATE) for i, capture in enumerate(captures)]
    for sender in senders:
        send_all(test, sender, PACKETS)
    rows, ledger = run.finish()
    expect_all(ledger, 2 * PACKETS)
    lib.check_top(rows, truth, 100)


def test_queues_that_af_xdp_does_not_receive(test):
    """Packets in queues without an af_xdp socket are not in the ledger; a warning says so."""
    space = net.Namespace(test)
    for queues in (1, 2):
        space.veth(f'tap{queues}', f'wire{queues}', queues)
        result = test.run('--port', f'net_af_xdp0,iface=tap{queues},busy_budget=0', '--workers', '1',
                          '--duration', '10ms', inside=space).expect(0)
        assert ('over 2 queues, of which 1 is measured' in result.stderr) == (queues == 2), result.describe()
        assert ('ethtool -L tap2 rx 1' in result.stderr) == (queues == 2), result.describe()


def test_what_loops_counts_once(test):
    """A packet socket on lo receives each packet twice: on egress and ingress."""
    space = net.Namespace(test)
    space.set('lo', 'up')
    capture = lib.write_pcap(test.path('sent.pcap'), [(i, lib.udp_frame(i % 7)) for i in range(100)])
    run = Measuring(test, space, ['lo'], 10**9, 'rss', 'separate', 1)
    send_all(test, space.send('lo', capture, 1000), 100)
    test.until(lambda: space.received('lo') >= 100, 'all came in')
    run.process.signal(net.END)
    _, ledger = run.finish()
    expect_all(ledger, 100)


def test_af_xdp_beside_long_frames(test):
    """A packet socket needs one mbuf per frame, and af_xdp does not support such large mbufs."""
    space = net.Namespace(test)
    for i, mtu in enumerate((1500, 9000, 1500)):
        space.veth(f'tap{i}', f'wire{i}', mtu=mtu)
    ports = ('--port', 'net_af_xdp0,iface=tap0,busy_budget=0', '--workers', '1', '--duration', '10ms', '--port')
    result = test.run(*ports, 'tap1', inside=space).expect(1)
    result.expect_one_line('net_af_xdp0', 'supports mbufs of up to 3840 bytes', 'lower the MTU')
    test.run(*ports, 'tap2', inside=space).expect(0)


def test_two_ports_over_af_xdp(test):
    """The af_xdp driver allocates 2048 mbufs per queue at the start, independent of the ring
    size."""
    space = net.Namespace(test)
    capture = lib.write_pcap(test.path('sent.pcap'), [(i, lib.udp_frame(i % 7)) for i in range(100)])
    for i in range(2):
        space.veth(f'tap{i}', f'wire{i}')
    ports = [f'net_af_xdp{i},iface=tap{i},busy_budget=0' for i in range(2)]
    run = Measuring(test, space, ports, 200, 'rss', 'separate', 1)
    for i in range(2):
        send_all(test, space.send(f'wire{i}', capture, 1000), 100)
    _, ledger = run.finish()
    expect_all(ledger, 200)


KINDS = (
    ('af_packet', veth_with_af_packet(1), DESIGNS),
    ('af_packet, 2 queues', veth_with_af_packet(2), TWO_QUEUES),
    ('af_xdp', veth_with_af_xdp, DESIGNS),
    ('tap', tap, (('rss', 'separate', 2), ('async', 'separate', 2), ('sync', 'shared', 2))),
    ('two ports', two_ports, (('rss', 'shared', 1), ('async', 'separate', 2), ('sync', 'shared', 2))),
)


def case(check, how):
    return lambda test: check(test, *how)


def cases(settings):
    """With sanitizers, only one design per kind, in turn."""
    found = []
    for number, (kind, check, hows) in enumerate(KINDS):
        chosen = hows if not settings.slow else (hows[number % len(hows)],)
        for how in chosen:
            design, sharing, workers = how
            found.append((f'{kind}, {design} {sharing}, {workers} workers', case(check, how)))
    return found


def test_tcpreplay_of_a_campus_uplink(test):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0', 2)
    capture = lib.unpack(test, 'uplink')
    truth = lib.load_truth(test.traces, 'uplink')
    packets = int(lib.entry_of(test.traces, 'uplink')['packets'])
    run = Measuring(test, space, [net.af_packet('tap0', 2, FRAMES)], packets, 'rss', 'separate', 2)
    test.wait(space.tcpreplay('wire0', capture, RATE)).expect(0)
    rows, ledger = run.finish()
    expect_all(ledger, packets)
    lib.check_top(rows, truth, 100)


def zoo(test, wanted):
    """Returns (capture, number of packets, ledger, truth) of the Ethernet frames that fit a
    cable."""
    oracle = lib.Oracle()
    records = []
    for entry in lib.index(test.traces):
        if entry['file'].startswith('zoo/') and entry['expected'] == 'measured':
            part = oracle.records(lib.unpack(test, entry['file']))[:500]
            records += [(1, 0, data, len(data)) for link, _, data, _ in part
                        if link == 1 and 14 <= len(data) <= 1514 and wanted(data)]
    capture = lib.write_pcap(test.path('zoo.pcap'),
                             [(i, data) for i, (_, _, data, _) in enumerate(records)])
    return capture, len(records), *oracle.count(records)


def expect_zoo(rows, ledger, packets, expected, truth):
    expect_all(ledger, packets)
    for column in ('measured', 'non_ip', 'malformed'):
        assert int(ledger[column]) == expected[column], f'{column}: {expected[column]} and {ledger}'
    lib.check_top(rows, truth, 100)


def is_fragment(frame):
    """Returns true for IPv4 fragments with at most one VLAN tag."""
    at = 16 if frame[12:14] in (b'\x81\x00', b'\x88\xa8') else 12
    return frame[at:at + 2] == b'\x08\x00' and int.from_bytes(frame[at + 8:at + 10], 'big') & 0x3fff


def test_tcpreplay_of_the_zoo(test):
    """Without fragments, which the kernel reassembles before af_packet receives them."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    capture, packets, *truth = zoo(test, lambda frame: not is_fragment(frame) and not net.is_cut_tag(frame))
    run = Measuring(test, space, [net.af_packet('tap0', 1, FRAMES)], packets, 'rss', 'separate', 1)
    test.wait(space.tcpreplay('wire0', capture, RATE)).expect(0)
    expect_zoo(*run.finish(), packets, *truth)


def test_tcpreplay_of_the_whole_zoo_on_a_tap(test):
    space = net.Namespace(test)
    capture, packets, *truth = zoo(test, lambda frame: True)
    run = Measuring(test, space, ['net_tap0,iface=probe0'], packets, 'async', 'separate', 1)
    space.silence('probe0', 'txqueuelen', FRAMES - 1)  # maximum of newer kernels
    # The interface is not called tap: newer versions of tcpreplay would open its other end.
    test.wait(space.tcpreplay('probe0', capture, RATE)).expect(0)
    expect_zoo(*run.finish(), packets, *truth)

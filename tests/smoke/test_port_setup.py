# SPDX-License-Identifier: BSD-3-Clause
"""Finding, configuring and starting a port: names, long frames, queues, links."""

import csv
import os
import signal

import lib
import net

LONG = ('every_choice_of_rss',)

RATE = 5000
TEXT, MACHINE = 2, 1


def finish(test, process):
    process.signal(signal.SIGINT)
    return test.wait(process).expect(0)


def capture_of(test, frames):
    return lib.write_pcap(test.path('sent.pcap'), list(enumerate(frames)))


def measure_sent(test, space, sender, frames, *options):
    """Sends the frames on an interface during a run; returns (its Result, heavy hitters,
    ledger)."""
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--output', output, '--stats', stats, '--interval', '100ms', '--no-huge',
                         *options, inside=space)
    net.wait_until_ready(test, process, stats)
    test.wait(space.send(sender, capture_of(test, frames), RATE)).expect(0)
    test.until(lambda: lib.total(lib.read_stats(stats), 'received') >= len(frames), 'all')
    result = finish(test, process)
    return result, lib.read_output(output), lib.read_stats(stats)


def expect_all(ledger, frames):
    assert lib.total(ledger, 'measured') == len(frames), ledger
    assert lib.total(ledger, 'bytes') == sum(map(len, frames)), ledger


def interface_case(workers, design):
    def check(test):
        space = net.Namespace(test)
        space.veth('tap0', 'wire0')
        frames = [lib.udp_frame(i % 50, 60 + i % 100) for i in range(1000)]
        result, rows, ledger = measure_sent(
            test, space, 'wire0', frames, '--port', 'tap0', '--workers', workers, '--design', design)
        expect_all(ledger, frames)
        assert {lib.row_key(row, '5tuple') for row in rows} == {lib.udp_key(i) for i in range(50)}
        assert 'tap0 is received through packet sockets' in result.stderr, result.describe()
        spread = 'tap0: the kernel spreads packets' in result.stderr
        assert spread == (design == 'rss' and workers > 1), result.describe()
    return check


def cases(settings):
    return [(f'interface by name, {workers} {design}', interface_case(workers, design))
            for workers, design in ((1, 'rss'), (2, 'rss'), (2, 'async'))]


def jumbo_frames():
    return [lib.udp_frame(i % 20, size) for i, size in enumerate(
        size for size in (60, 1514, 1900, 1968, 1969, 2034, 2048, 2049, 4096, 6161, 9000, 9014)
        for _ in range(20))]


def test_jumbo_frames_of_an_interface(test):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0', mtu=9000)
    frames = jumbo_frames()
    _, rows, ledger = measure_sent(test, space, 'wire0', frames, '--port', 'tap0')
    expect_all(ledger, frames)
    assert len({lib.row_key(row, '5tuple') for row in rows}) == 20


def test_jumbo_frames_of_a_packet_socket(test):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0', mtu=9000)
    frames = jumbo_frames()
    _, _, ledger = measure_sent(
        test, space, 'wire0', frames, '--port', net.af_packet('tap0', frames=512))
    expect_all(ledger, frames)


def test_slots_shorter_than_frames(test):
    """A packet socket with slots shorter than a frame still counts all of its bytes."""
    space = net.Namespace(test)
    for i in range(2):
        space.veth(f'tap{i}', f'wire{i}', mtu=9000)
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--port', 'net_af_packet0,iface=tap0,framesz=2048', '--port', net.af_packet('tap1', frames=512),
                         '--filter', 'greater 1', '--interval', '100ms', '--no-huge', '--workers', '1',
                         '--output', output, '--stats', stats, inside=space)
    net.wait_until_ready(test, process, stats)
    for i in range(2):
        test.wait(space.send(f'wire{i}', capture_of(test, [lib.udp_frame(0, 1982), lib.udp_frame(0, 4000)]),
                             RATE)).expect(0)
    test.until(lambda: lib.total(lib.read_stats(stats), 'received') >= 4, 'all')
    result = finish(test, process)
    assert lib.total(lib.read_stats(stats), 'bytes') == 2 * (1982 + 4000), result.describe()


def test_jumbo_frames_of_a_tap(test):
    """Chained mbufs, because DPDK was not configured with the MTU of the interface."""
    space = net.Namespace(test)
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--port', 'net_tap0,iface=probe0', '--interval', '100ms', '--no-huge',
                         '--output', output, '--stats', stats, inside=space)
    net.wait_until_ready(test, process, stats)
    space.set('probe0', 'mtu', 9000, 'arp', 'off', 'multicast', 'off', 'up')
    frames = jumbo_frames()
    before = lib.total(lib.read_stats(stats), 'received')
    test.wait(space.send('probe0', capture_of(test, frames), RATE)).expect(0)
    test.until(lambda: lib.total(lib.read_stats(stats), 'received') >= before + len(frames), 'all')
    finish(test, process)
    sent = {lib.udp_key(i) for i in range(20)}
    rows = [row for row in lib.read_output(output) if lib.row_key(row, '5tuple') in sent]
    assert lib.total(rows, 'packets') == len(frames), rows
    assert lib.total(rows, 'bytes') == sum(map(len, frames)), rows


def test_jumbo_frames_over_memif(test):
    """Frames of nine kilobytes in chains of two: every byte counts, for any receiver."""
    for design in ('rss', 'async'):
        socket = test.path('socket ' + design).replace(' ', '_')
        output, stats = test.path(design + '.csv'), test.path(design + '_stats.csv')
        device = f'socket={socket},socket-abstract=no,rsize=11'
        receiver = test.start('--port', f'net_memif0,role=server,{device}', '--interval', '100ms',
                              '--design', design, '--workers', '1', '--no-huge', '--mtu', '9000',
                              '--output', output, '--stats', stats)
        net.wait_until_ready(test, receiver, stats)
        test.run('generate', '--synthetic', 'packets=3000,flows=10,size=9000', '--no-huge',
                 '--pace', '5kpps', '--port', f'net_memif0,role=client,{device}').expect(0)
        test.until(lambda path=stats: lib.total(lib.read_stats(path), 'measured') > 0, 'a packet')
        finish(test, receiver)
        ledger = lib.read_stats(stats)
        measured = lib.total(ledger, 'measured')
        assert measured > 0 and lib.total(ledger, 'bytes') == 9000 * measured, ledger
        assert lib.total(ledger, 'malformed') == 0, ledger
        assert {row['dst_port'] for row in lib.read_output(output)} - {'0'}, 'no ports'


def test_two_interfaces(test):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    space.veth('tap1', 'wire1')
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--port', 'tap0', '--port', 'tap1', '--interval', '100ms', '--no-huge',
                         '--output', output, '--stats', stats, inside=space)
    net.wait_until_ready(test, process, stats)
    capture = capture_of(test, [lib.udp_frame(i % 10) for i in range(500)])
    senders = [space.send(wire, capture, RATE) for wire in ('wire0', 'wire1')]
    for sender in senders:
        test.wait(sender).expect(0)
    test.until(lambda: lib.total(lib.read_stats(stats), 'received') >= 1000, 'all')
    finish(test, process)
    assert lib.total(lib.read_stats(stats), 'measured') == 1000


def test_names_that_are_not_to_be_had(test):
    space = net.Namespace(test)
    space.veth('net_null7', 'wire0')
    for arguments, status, mentions in (
            (('net_null7',), MACHINE, ('vdev:net_null7', 'net_af_packet0,iface=net_null7')),
            (('eth77',), MACHINE, ('eth77', 'ip link')),
            (('net_af_packet0,iface=eth77',), MACHINE, ('eth77', 'ip link')),
            (('pci:wire0',), TEXT, ('wire0', 'PCI address')),
            (('wire0', 'wire0'), TEXT, ('twice',)),
            (('wire0', 'net_af_packet0,iface=wire0'), TEXT, ('twice',)),
            (('net_af_packet0,iface=wire0', 'net_af_packet1,iface=wire0'), TEXT, ('twice',)),
            (('3b:00.0', '0000:3b:00.0'), TEXT, ('twice',)),
            (('vdev:net_null0', 'net_null0'), TEXT, ('twice',))):
        ports = [word for port in arguments for word in ('--port', port)]
        output = test.path('output.csv')
        result = test.run(*ports, '--no-huge', '--output', output, inside=space).expect(status)
        result.expect_one_line('--port', *mentions)
        assert not os.path.exists(output)
    test.run('--port', 'vdev:net_null7', '--no-huge', '--packets', '1', '--output',
             test.path('null.csv'), inside=space).expect(0)


def test_an_interface_by_two_of_its_names(test):
    """Two names of one interface are refused: each packet would count twice."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    space.ip('link', 'property', 'add', 'dev', 'tap0', 'altname', 'uplink')
    for one, other in (('tap0', 'uplink'), ('net_af_packet0,iface=uplink', 'tap0')):
        output = test.path('output.csv')
        result = test.run('--port', one, '--port', other, '--no-huge', '--output', output, inside=space)
        result.expect(MACHINE).expect_one_line(other.split(',')[0], 'same device')
        assert not os.path.exists(output)
    _, _, ledger = measure_sent(test, space, 'wire0', [lib.udp_frame(i) for i in range(9)],
                                '--port', 'uplink')
    assert lib.total(ledger, 'measured') == 9


def test_a_key_that_nobody_uses(test):
    """A warning, for any number of queues: af_packet does not hash, and one queue needs no
    distribution."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    for number, workers in enumerate((1, 2)):
        result = test.run('--port', 'tap0', '--no-huge', '--rss-key', 'a5a5', '--workers', workers,
                          '--duration', '10ms', '--output', test.path(f'{number}.csv'),
                          inside=space).expect(0)
        assert 'rss-key' in result.stderr and 'the key has no effect' in result.stderr, (
            result.describe())


def test_options_that_a_port_refuses(test):
    for words, status, mention in (
            (('--rss-key', 'a5a5', '--workers', '2'), MACHINE, 'rss-key'),
            (('--rss-key', 'a5a'), TEXT, '3 hexadecimal digits'),
            (('--rss-key', 'purple'), TEXT, 'symmetric'),
            (('--rss-key', 'a5' * 65), TEXT, '64 bytes'),
            (('--rss-fields', 'colours'), TEXT, '5tuple, addresses, src, dst'),
            (('--mtu', '10'), TEXT, '68 to 65535'),
            (('--mtu', 'huge'), TEXT, '--mtu'),
            (('--mbuf-cache', '513'), TEXT, '1 to 512, or 0')):
        test.run('--port', 'net_null0', '--no-huge', *words, '--output', test.path('none.csv')) \
            .expect(status).expect_one_line(mention)
    test.run('--port', 'net_tap0,iface=probe0', '--mtu', '99999', '--no-huge').expect(TEXT)


def test_every_choice_of_rss(test):
    """net_null accepts fields, key and table like NICs; each choice runs."""
    for number, words in enumerate((
            (), ('--rss-fields', 'addresses'), ('--rss-fields', 'src'), ('--rss-key', 'default'),
            ('--mbuf-cache', '0'), ('--mbuf-cache', '512'), ('--mtu', 'max'), ('--mtu', '9000'),
            ('--design', 'async', '--dispatch', 'flow'), ('--descriptors', '4096'),
            ('--descriptors', '8192', '--mtu', '9000'))):
        stats = test.path(f'stats{number}.csv')
        result = test.run('--port', 'net_null0', '--no-huge', '--workers', '2', '--packets', '10K',
                          *words, '--stats', stats, '--output', test.path(f'{number}.csv')).expect(0)
        ledger = lib.read_stats(stats)
        assert lib.total(ledger, 'received') >= 10000, ledger
        # Its default symmetric key covers addresses and ports: no warning.
        assert ('net_null0:' in result.stderr.replace('net_null0: MTU', '')) == (
            '--rss-fields' in words and 'src' in words), result.describe()


def workers_of(test, frames, *options):
    """Returns how many workers receive frames of a port without a flow hash."""
    capture = lib.write_pcap(test.path('frames.pcap'), list(enumerate(frames)))
    queues = test.path('queues.csv')
    test.run('--port', f'net_pcap0,rx_pcap={capture}', '--no-huge', '--design', 'async', '--workers', '2',
             '--packets', str(len(frames)), '--queues', queues, '--force', '--output',
             test.path('output.csv'), *options).expect(0)
    with open(queues, encoding='ascii') as stream:
        rows = list(csv.DictReader(stream))
    assert sum(int(row['received']) for row in rows) == len(frames)
    return len({row['worker'] for row in rows if int(row['received']) > 0})


def test_fields_that_the_receiver_hashes(test):
    frames = []
    for flow in range(64):
        frame = bytearray(lib.udp_frame())
        frame[33] = flow  # part of the destination: all frames have one source
        frames.append(bytes(frame))
    assert workers_of(test, frames) == 2
    assert workers_of(test, frames, '--rss-fields', 'dst') == 2
    assert workers_of(test, frames, '--rss-fields', 'src') == 1


def test_a_link_that_is_awaited(test):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    space.set('wire0', 'down')
    output = test.path('output.csv')
    words = ('--port', 'tap0', '--no-huge', '--duration', '50ms', '--force', '--output', output)
    result = test.run(*words, inside=space).expect(0)
    assert 'tap0: its link is down' in result.stderr, result.describe()
    os.remove(output)
    result = test.run(*words, '--wait-link', '100ms', inside=space).expect(MACHINE)
    assert '--wait-link: the link of tap0 did not come up' in result.stderr, result.describe()
    assert not os.path.exists(output), 'an output was opened before the link was up'
    for number, then in enumerate((lambda process: space.set('wire0', 'up'),
                                   lambda process: process.signal(signal.SIGTERM))):
        space.set('wire0', 'down')
        process = test.start(*words, '--wait-link', '60s', inside=space)
        test.until_said(process, 'tap0: waiting for its link')
        then(process)
        test.wait(process).expect(0)
        assert os.path.exists(output) == (number == 0)
        if number == 0:
            os.remove(output)


def test_a_driver_says_why_it_refuses(test):
    """net_pcap needs an mbuf for each packet of a repeated file; the error has its reason and their
    number."""
    path = lib.write_pcap(test.path('many.pcap'), [(i, lib.udp_frame(i)) for i in range(20000)])
    result = test.run('--port', f'net_pcap0,rx_pcap={path},infinite_rx=1', '--workers', '1',
                      '--output', '/dev/null').expect(1)
    result.expect_one_line('--port net_pcap0', '1 receive queue', 'Not enough mbufs', '20000')

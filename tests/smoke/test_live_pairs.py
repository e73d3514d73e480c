# SPDX-License-Identifier: BSD-3-Clause
"""Ports between two processes, and the null port, without the kernel.

The sender waits for free slots in the shared rings, so that every packet arrives. A replay of the
same SPEC gives the truth.
"""

import os

import lib
import net

PACKETS = 30000
SPEC = f'packets={PACKETS},flows=2K,zipf=1.05,size=60-1514,ipv6=0.2,vlan=0.1,seed=7'
RING = 32768  # size of worker rings; more than the packets sent

# design, sharing, workers
DESIGNS = (('rss', 'separate', 1), ('async', 'shared', 2), ('sync', 'separate', 2))


def memif(test):
    """Returns (receiver's port, sender's port, socket between them)."""
    path = test.path('memif')
    device = f'socket={path},socket-abstract=no,rsize=10,bsize=2048'
    return f'net_memif0,role=server,{device}', f'net_memif0,role=client,{device}', path


def vhost(test):
    path = test.path('vhost')
    return f'net_vhost0,iface={path},queues=1', f'net_virtio_user0,path={path},queues=1', path


def start(test, port, *options):
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--port', port, '--top', '50', '--seed', '1', '--output', output,
                         '--stats', stats, *options)
    net.wait_until_ready(test, process, stats)
    return process, output, stats


def truth_of(test, spec):
    """Returns {key: (packets, bytes)} from an exact replay without loss."""
    rows, ledger, _ = test.measure('--synthetic', spec, '--interval', '0', '--top', '2000',
                                   '--sketch', 'simple-hash', '--seed', '2',
                                   '--workers', '1')
    lib.expect_lossless(ledger)
    for row in rows:
        assert row['packets_low'] == row['packets_high'], f'not exact: {row}'
    return {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in rows}


def lossless(ports):
    def check(test, design, sharing, workers):
        receiving, sending, socket = ports(test)
        process, output, stats = start(
            test, receiving, '--packets', PACKETS, '--interval', '0', '--design', design,
            '--sharing', sharing, '--workers', workers,
            *(('--ring-size', RING) if design == 'async' else ()))
        test.until(lambda: os.path.exists(socket), 'the socket is there')
        sender = test.run('generate', '--synthetic', SPEC, '--port', sending).expect(0)
        assert f'sent {PACKETS} packets' in sender.stderr, sender.stderr
        test.wait(process).expect(0)
        ledger, = lib.read_stats(stats)
        assert int(ledger['offered']) == int(ledger['measured']) == PACKETS, ledger
        lib.expect_lossless([ledger])
        lib.check_top(lib.read_output(output), truth_of(test, SPEC), 50)
    return check


def null(test, design, sharing, workers):
    """Endless equal packets that are not IP; losses, if any, have a reason."""
    process, output, stats = start(
        test, 'net_null0', '--interval', '100ms', '--design', design, '--sharing', sharing,
        '--workers', workers, '--duration', '400ms')
    test.wait(process).expect(0)
    ledger = lib.read_stats(stats)
    lost = lib.total(ledger, 'ring_full')
    assert lib.total(ledger, 'received') > 0
    assert lib.total(ledger, 'non_ip') + lost == lib.total(ledger, 'offered'), ledger
    assert lost == 0 or design == 'async', ledger
    assert lib.read_output(output) == []


KINDS = (('memif', lossless(memif)), ('vhost and virtio-user', lossless(vhost)), ('null', null))


def case(check, how):
    return lambda test: check(test, *how)


def cases(settings):
    """With sanitizers, only one design per kind, in turn."""
    return [(f'{kind}, {how[0]} {how[1]}, {how[2]} workers', case(check, how))
            for number, (kind, check) in enumerate(KINDS)
            for place, how in enumerate(DESIGNS)
            if not settings.slow or place == number % len(DESIGNS)]


def test_a_port_that_does_not_tell(test):
    """A port without a peer reports no losses: a warning is logged, and the ledger of the other
    port balances."""
    receiving, _, _ = memif(test)
    _, ledger, result = test.measure(
        '--port', receiving, '--port', 'net_null0', '--eal', '--no-pci', '--workers', '1',
        '--interval', '100ms', '--packets', '100000', '--verbose')
    assert 'net_memif0: the device has no complete count' in result.stderr, result.describe()
    assert lib.total(ledger, 'received') >= 100000 and lib.total(ledger, 'unaccounted') == 0


def test_overload(test):
    """A receiver faster than its worker: packets that exceed the ring are counted, and are within
    the bounds."""
    receiving, sending, _ = memif(test)
    process, output, stats = start(
        test, receiving, '--packets', PACKETS, '--interval', '0', '--design', 'async',
        '--workers', '1', '--ring-size', '64', '--sketch', 'reversible')
    test.run('generate', '--synthetic', SPEC, '--port', sending).expect(0)
    test.wait(process).expect(0)
    ledger, = lib.read_stats(stats)
    lost = int(ledger['ring_full'])
    assert int(ledger['offered']) == PACKETS == int(ledger['measured']) + lost, ledger
    truth = truth_of(test, SPEC)
    for row in lib.read_output(output):
        packets = truth[lib.row_key(row)][0]
        assert int(row['packets_low']) <= packets <= int(row['packets_high']), row
        assert int(row['packets_high']) >= int(row['packets']) + lost, row

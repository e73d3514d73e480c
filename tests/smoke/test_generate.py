# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap generate: each SPEC gives one capture, and the same measurement as --synthetic."""

import hashlib
import os
import re
import struct
import time

import lib
import net

SPECS = {
    'zipf': 'flows=5K,zipf=1.05,size=64,packets=100K,rate=1M,seed=11',
    'imix with IPv6 and VLAN':
        'flows=2K,zipf=0.9,size=imix,packets=50K,rate=1M,ipv6=0.3,vlan=0.2,seed=3',
    'range': 'flows=1K,zipf=1.2,size=60-1514,packets=30K,rate=100K,seed=5',
    'a rate and an exponent that change':
        'flows=3K,zipf=1.5-0.8,rate=sine:2M:10ms,size=64,packets=50K,seed=4',
    'random headers': 'zipf=random,size=64,packets=30K,rate=1M,seed=2',
}


def generate(test, spec, name):
    path = test.path(name)
    test.run('generate', '--synthetic', spec, '--output', path).expect(0)
    return path


def digest(path):
    with open(path, 'rb') as stream:
        return hashlib.sha256(stream.read()).hexdigest()


def case(spec):
    def check(test):
        capture = generate(test, spec, 'one.pcap')
        assert digest(capture) == digest(generate(test, spec, 'two.pcap')), 'two captures'
        options = ('--seed', '1', '--interval', '10ms', '--workers', '2')
        replayed, replayed_stats, _ = test.measure('--pcap', capture, *options)
        direct, direct_stats, _ = test.measure('--synthetic', spec, *options)
        assert replayed == direct, 'heavy hitters of the capture and of the generator differ'
        for a, b in zip(replayed_stats, direct_stats):
            for column in lib.STATS_COLUMNS:
                if not column.endswith('_ns'):
                    assert a[column] == b[column], f'{column}: {a[column]} and {b[column]}'
        assert len(replayed_stats) == len(direct_stats)
        packets = int(spec.split('packets=')[1].split('K')[0]) * 1000
        assert lib.total(direct_stats, 'measured') == packets, direct_stats
    return check


def cases(settings):
    return [(name, case(spec)) for name, spec in SPECS.items()]


def test_another_seed_other_packets(test):
    spec = 'flows=1K,packets=10K,size=64,rate=1M,seed='
    assert digest(generate(test, spec + '1', 'a')) != digest(generate(test, spec + '2', 'b'))


def test_standard_output(test):
    spec = 'flows=1K,packets=10K,size=64,rate=1M,seed=1'
    path = test.path('piped.pcap')
    with open(path, 'wb') as stream:
        test.wait(test.start('generate', '--synthetic', spec, '--output', '-', stdout=stream)
                  ).expect(0)
    assert digest(path) == digest(generate(test, spec, 'file.pcap'))


def test_existing_capture_is_kept(test):
    path = lib.write_pcap(test.path('mine.pcap'), [(0, lib.udp_frame())])
    before = digest(path)
    test.run('generate', '--synthetic', 'flows=10,packets=10', '--output', path
             ).expect(2).expect_one_line(path)
    assert digest(path) == before


def test_shape_of_the_traffic(test):
    """Sizes, count and times of the capture match the SPEC."""
    path = generate(test, 'flows=100,zipf=1.0,size=100-200,packets=20K,rate=10K,seed=1', 'c.pcap')
    with open(path, 'rb') as stream:
        data = stream.read()
    magic = struct.unpack_from('<I', data)[0]
    unit = {0xa1b2c3d4: 1000, 0xa1b23c4d: 1}[magic]
    sizes, times, offset = [], [], 24
    while offset < len(data):
        seconds, part, captured, wire = struct.unpack_from('<IIII', data, offset)
        times.append(seconds * 10**9 + part * unit)
        sizes.append(wire)
        offset += 16 + captured
    assert len(sizes) == 20000, len(sizes)
    assert min(sizes) == 100 and max(sizes) == 200, (min(sizes), max(sizes))
    assert abs(sum(sizes) / len(sizes) - 150) < 2, sum(sizes) / len(sizes)
    assert times == sorted(times)
    assert abs((times[-1] - times[0]) - 2 * 10**9) < 10**7, times[-1] - times[0]


def test_disk_full_says_so(test):
    if not os.path.exists('/dev/full'):
        test.skip('no /dev/full')
    result = test.run('generate', '--synthetic', 'flows=10,packets=100K', '--output', '/dev/full',
                      '--force').expect(1)
    result.expect_one_line('/dev/full')


def test_duration(test):
    """Duration counts timestamps in a file, and clock time on a port."""
    capture = test.path('short.pcap')
    test.run('generate', '--synthetic', 'flows=10,packets=0,rate=1K,seed=1', '--duration', '1.5s',
             '--output', capture).expect(0)
    _, ledger, _ = test.measure('--pcap', capture, '--interval', '0')
    assert lib.total(ledger, 'received') == 1500, ledger
    result = test.run('generate', '--synthetic', 'flows=10,packets=0,seed=1', '--duration', '200ms',
                      '--port', 'net_null0', '--eal', '--no-pci').expect(0)
    assert int(re.search(r'sent (\d+) packets', result.stderr)[1]) > 0, result.describe()
    result = test.run('generate', '--synthetic', 'packets=0,rate=1pps', '--pace', 'recorded', '--duration', '200ms',
                      '--port', 'net_null0', '--eal', '--no-pci').expect(0)
    assert 'sent 1 packets' in result.stderr, f'the run waited for a later packet: {result.describe()}'


def test_sent_is_what_left(test):
    """A kernel interface slower than the generator: every packet reported as sent leaves in the
    end."""
    space = net.Namespace(test)
    space.veth('near', 'far')
    try:
        space.call('tc', 'qdisc', 'replace', 'dev', 'near', 'root', 'tbf', 'rate', '20mbit',
                   'burst', '4kb', 'limit', '40kb')
    except (AssertionError, OSError) as reason:
        test.skip(f'no interface can be slowed down: {reason}')
    before = space.sent('near')
    result = test.run('generate', '--synthetic', 'packets=5K,flows=100,size=100', '--no-huge',
                      '--port', 'near,qdisc_bypass=0', inside=space).expect(0)
    assert 'sent 5000 packets, 500000 bytes' in result.stderr, result.describe()
    assert space.sent('near') - before == 5000, space.sent('near') - before
    assert space.received('far') >= 5000


def test_af_xdp_sends(test):
    """af_xdp accepts no mbuf larger than a page."""
    space = net.Namespace(test)
    space.veth('near', 'far')
    result = test.run('generate', '--synthetic', 'packets=500,flows=100,size=60-1500', '--no-huge', '--pace', '5kpps',
                      '--port', 'net_af_xdp0,iface=near,busy_budget=0', inside=space).expect(0)
    assert 'sent 500 packets' in result.stderr, result.describe()
    assert space.received('far') == 500, space.received('far')
    test.run('generate', '--synthetic', 'packets=5,size=4000', '--no-huge', '--port', 'net_af_xdp0,iface=near',
             inside=space).expect(1).expect_one_line('net_af_xdp0', 'supports mbufs of up to 3840 bytes', 'SPEC', 'size=')


def test_what_did_not_leave_is_said(test):
    """The kernel silently drops frames longer than the MTU; generate reports them."""
    space = net.Namespace(test)
    space.veth('near', 'far')
    before = space.sent('near')
    result = test.run('generate', '--synthetic', 'packets=1000,flows=100,size=1000-1600,seed=1',
                      '--no-huge', '--port', 'near', inside=space).expect(1)
    left = space.sent('near') - before
    assert 0 < left < 1000, left
    assert f'at least {1000 - left} of 1000 packets did not leave' in result.stderr, result.describe()
    assert f'sent {left} packets' in result.stderr, result.describe()


def test_interface_is_deleted(test):
    """A deleted interface ends the run, without a claim about the number of sent packets."""
    space = net.Namespace(test)
    space.veth('near', 'far')
    process = test.start('generate', '--synthetic', 'packets=100G,flows=10,seed=1', '--no-huge',
                         '--port', 'near', inside=space)
    test.until(lambda: space.sent('near') > 1000, 'packets leave')
    space.ip('link', 'del', 'near')
    result = test.wait(process).expect(1)
    assert 'near: device removed' in result.stderr, result.describe()
    assert 'sent ' not in result.stderr and 'did not leave' not in result.stderr, result.describe()


LIVE_US = 200000  # interval in microseconds
PACES = {
    'a rate': ('flows=100,size=64', ('--pace', '2kpps'), 1300000, 2000),
    'its own stamps': ('flows=100,size=64,rate=2K', ('--pace', 'recorded'), 1300000, 2000),
    'few packets': ('flows=100,size=64', ('--pace', '3pps'), 2000000, 3),
}


def check_clock(rows, began, ended, duration, rate):
    """Checks consecutive intervals of the clock, with no more packets than due, on a machine of any
    speed."""
    first, last = lib.timestamp(rows[0]['start']), lib.timestamp(rows[-1]['end'])
    assert began <= first and last <= ended, (began, first, last, ended)
    for row in rows:
        start, end = lib.timestamp(row['start']), lib.timestamp(row['end'])
        assert int(row['epoch']) == start // LIVE_US - first // LIVE_US, row
        assert start == first or start % LIVE_US == 0, row
        assert end == first + duration or end == (start // LIVE_US + 1) * LIVE_US, row
        assert end <= first + duration, row
    # Late packets are sent at once, but none before its time (the TSC is known to within 1 %).
    for i, row in enumerate(rows):
        due = (lib.timestamp(row['end']) - first) / 1e6 * rate * 1.01 + 1
        assert sum(int(earlier['offered']) for earlier in rows[:i + 1]) <= due, (row, due)


def test_what_is_paced_has_the_clocks_time(test):
    for name, (spec, pace, duration, rate) in PACES.items():
        began = time.time_ns() // 1000
        _, stats, result = test.measure('--synthetic', spec, *pace, '--interval', f'{LIVE_US}us', '--duration',
                                        f'{duration}us', '--workers', '1')
        check_clock(stats, began, time.time_ns() // 1000 + 1, duration, rate)
        assert 'generated' not in result.stderr, (name, result.describe())


def test_one_interval_that_is_paced(test):
    began = time.time_ns() // 1000
    _, stats, _ = test.measure('--synthetic', 'flows=10,packets=20', '--pace', '100pps', '--interval', '0', '--workers', '1')
    start, end = lib.timestamp(stats[0]['start']), lib.timestamp(stats[0]['end'])
    assert len(stats) == 1 and stats[0]['offered'] == '20'
    assert began <= start and start + 180000 <= end <= time.time_ns() // 1000 + 1


def test_generated_stamps_are_said_to_be(test):
    """Unpaced runs report no rate from generated timestamps; files contain them, equal in each
    run."""
    spec = ('--synthetic', 'flows=100,packets=20K,rate=1M', '--workers', '1', '--seed', '1')
    one = test.measure(*spec)
    two = test.measure(*spec)
    assert one[0] == two[0] and all(row['start'].startswith('2000-01-01T') for row in one[1])
    assert one[1][0]['pps'] == two[1][0]['pps'] == '20000'
    for _, _, result in (one, two):
        said = re.search(r'; processed ([\d.]+) Mpps in ([\d.]+) s, [\d.]+ s of CPU \(generated timestamps\)$',
                         result.stderr.rstrip())
        assert said, result.describe()
        assert abs(float(said[1]) * float(said[2]) - 0.02) <= 0.0005 * (float(said[1]) + float(said[2])) + 1e-6, said[0]
    table = test.run(*spec, '--format', 'table').expect(0).stdout
    assert re.search(r'\(1\.000 s of generated time\)\n', table) and '\nrate ' not in table, table
    assert re.search(r'\nprocessed +[\d.]+ Mpps, [\d.]+ Gbps, in [\d.]+ s\n', table), table
    capture = generate(test, 'flows=100,packets=20K,rate=1M', 'stamps.pcap')
    result = test.run('--pcap', capture, '--format', 'table').expect(0)
    assert 'generated' not in result.stdout + result.stderr and '\nrate ' in result.stdout, result.describe()

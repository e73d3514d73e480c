# SPDX-License-Identifier: BSD-3-Clause
"""generate --rx-port: every effect of a device under test on packets is reported exactly."""

import csv
import os
import re
import signal
import time

import lib
import net

LONG = ('search_finds_the_rate_of_a_device', 'search_where_everything_is_lost')

FORWARDER = os.path.join(os.path.dirname(__file__), 'forwarder.py')
LOOP = ('--port', 'net_ring0', '--return', 'net_ring0')
COUNTS = ('returned', 'lost', 'out of order', 'twice', 'changed', 'routed', 'late', 'foreign')
TIMES = ('min', 'p50', 'p90', 'p99', 'p99.9', 'max')
SHORT = 'packets=2000,flows=100,size=64,ipv6=0.2,seed=1'


def account(result):
    """Parses the report: {'sent': n, 'bytes': n, 'rate': n, 'returned': n, ..., 'min': us, ...}."""
    sent = re.search(r'sent (\d+) packets, (\d+) bytes, at (\d+) packets/s', result.stderr)
    assert sent, result.describe()
    told = dict(zip(('sent', 'bytes', 'rate'), map(int, sent.groups())))
    line = re.search(r'^.*returned \d+, .*$', result.stderr, re.M)
    assert line, result.describe()
    for name in COUNTS:
        told[name] = int(re.search(rf'\b{name} (\d+)', line[0])[1])
    times = re.search(r'latency in us: (.*)$', result.stderr, re.M)
    assert (times is not None) == (told['returned'] > 0), result.describe()
    for name in TIMES if times else ():
        told[name] = float(re.search(rf'(?:^|, ){re.escape(name)} ([0-9.]+)', times[1])[1])
    if times:
        in_order = [told[name] for name in TIMES]
        assert in_order == sorted(in_order), in_order
    assert told['sent'] == told['returned'] + told['lost'], told
    return told


def expect(result, **counts):
    """Checks these counts, and that all others are 0."""
    told = account(result)
    for name in COUNTS[1:]:
        wanted = counts.get(name.replace(' ', '_'), 0)
        assert told[name] == wanted, f'{name} is {told[name]} instead of {wanted}\n{result.describe()}'
    return told


def histogram(path):
    """Returns [(from, to, packets)]; checks that the ranges are in order and disjoint."""
    rows = [tuple(map(int, (row['from_ns'], row['to_ns'], row['packets'])))
            for row in lib.read_csv(path, ['from_ns', 'to_ns', 'packets'])]
    assert all(low <= high for low, high, _ in rows), rows
    assert all(a[1] < b[0] for a, b in zip(rows, rows[1:])), rows
    return rows


class Device:
    """Two cables: `out` to the device under test, `back` from it."""

    def __init__(self, test, loop=False):
        self.test = test
        self.loop = loop
        self.space = net.Namespace(test)
        self.space.veth('out', 'dutin')
        if not loop:
            self.space.veth('dutout', 'back')

    def start(self, *words):
        process = self.test.start('dutin', 'dutin' if self.loop else 'dutout', *words,
                                  program=['python3', FORWARDER], inside=self.space)
        said = os.path.join(process.directory, 'stdout')
        self.test.until(lambda: os.path.getsize(said) > 0 or not process.running(), 'the device is ready')
        return process

    def stop(self, process):
        """Returns (forwarded, dropped)."""
        process.signal(signal.SIGTERM)
        result = self.test.wait(process).expect(0)
        return tuple(map(int, re.search(r'forwarded (\d+) dropped (\d+)', result.stdout).groups()))

    def generate(self, *options, spec=SHORT, pace='5kpps', begin=False):
        back = 'out' if self.loop else 'back'
        arguments = ('generate', '--synthetic', spec, '--no-huge', '--port', 'out', '--return', back,
                     *(('--pace', pace) if pace else ()), *options)
        if begin:
            return self.test.start(*arguments, inside=self.space)
        return self.test.run(*arguments, inside=self.space)


def case(words, counts, options=(), loop=False, spec=SHORT):
    def check(test):
        device = Device(test, loop)
        forwarder = device.start(*words)
        told = expect(device.generate(*options, spec=spec).expect(0), **counts)
        assert told['sent'] == 2000, told
        device.stop(forwarder)
    return check


DEVICES = {
    'all is well': ((), {}),
    'a loop on one port': ((), {}, (), True),
    'every seventh is dropped': (('drop=7',), {'lost': 2000 // 7}, ('--linger', '500ms')),
    'every fifth comes twice': (('twice=5',), {'twice': 400}),
    'every tenth is overtaken': (('swap=10',), {'out_of_order': 199, 'lost': 1}, ('--linger', '500ms')),
    'a header is changed': (('change=9,at=30',), {'changed': 2000 // 9}),
    'a byte before the stamp is changed': (('change=9,at=-17',), {'changed': 2000 // 9}),
    'a stamp is damaged': (('change=9,at=-3',), {'lost': 2000 // 9, 'foreign': 2000 // 9}, ('--linger', '500ms')),
    'a router': (('route=1',), {'routed': 2000}),
    'packets of others': (('noise=4',), {'foreign': 500}),
    'everything at once': (
        ('drop=7', 'twice=5', 'noise=4'),
        {'lost': 285, 'twice': 400 - 2000 // 35, 'foreign': 500}, ('--linger', '500ms')),
    'large frames': (('change=9,at=700',), {'changed': 2000 // 9}, (), False,
                     'packets=2000,flows=100,size=800-1514,seed=2'),
}


def cases(settings):
    return [(name, case(*what)) for name, what in DEVICES.items()]


def test_delay_of_a_device(test):
    """Five milliseconds of delay are never reported as less, nor as another kind of time."""
    device = Device(test)
    forwarder = device.start('hold=5')
    path = test.path('latency.csv')
    told = expect(device.generate('--output', path).expect(0))
    device.stop(forwarder)
    assert 5000 <= told['min'] < 50000, told
    rows = histogram(path)
    assert sum(packets for _, _, packets in rows) == told['returned'] == 2000, rows
    assert rows[0][0] <= told['min'] * 1000 <= rows[0][1], (rows[0], told)
    assert rows[-1][0] <= told['max'] * 1000 <= rows[-1][1], (rows[-1], told)
    seen = 0
    for low, high, packets in rows:
        seen += packets
        if seen >= 1000:  # the median
            assert low <= told['p50'] * 1000 <= high, ((low, high), told)
            break


def test_frames_that_are_too_short_become_longer(test):
    """TCP over IPv4 has 54 bytes of headers, the stamp 16: the stamp overwrites no header."""
    path = test.path('sent.pcap')
    result = test.run('generate', '--synthetic', 'packets=1000,flows=50,size=60,ipv6=0.3,vlan=0.3,seed=4', '--no-huge',
                      '--port', f'net_pcap0,tx_pcap={path}', '--return', 'net_ring0', '--linger', '100ms').expect(0)
    told = expect(result, lost=1000)
    capture = test.path('unstamped.pcap')
    test.run('generate', '--synthetic', 'packets=1000,flows=50,size=60,ipv6=0.3,vlan=0.3,seed=4', '--output',
             capture).expect(0)
    stamped, plain = read_frames(path), read_frames(capture)
    assert len(stamped) == len(plain) == told['sent']
    assert sum(map(len, stamped)) == told['bytes']
    keys, _, _ = test.measure('--pcap', path, '--interval', '0', '--sketch', 'simple-hash')
    truth, _, _ = test.measure('--pcap', capture, '--interval', '0', '--sketch', 'simple-hash')
    assert {lib.row_key(row): row['packets'] for row in keys} == {lib.row_key(row): row['packets'] for row in truth}
    assert len({frame[-16:] for frame in stamped}) == 1000, 'two stamps are alike'
    for frame, before in zip(stamped, plain):
        assert len(frame) in (len(before), header_length(before) + 16), (len(frame), len(before))
        check_checksums(frame)


def read_frames(path):
    with open(path, 'rb') as stream:
        data = stream.read()
    frames, offset = [], 24
    while offset < len(data):
        size = int.from_bytes(data[offset + 8:offset + 12], 'little')
        frames.append(data[offset + 16:offset + 16 + size])
        offset += 16 + size
    return frames


def parts(frame):
    """Returns (offset of IP, offset of its payload, protocol, true for IPv6)."""
    at = 18 if frame[12:14] == b'\x81\0' else 14
    if frame[at - 2:at] == b'\x86\xdd':
        return at, at + 40, frame[at + 6], True
    return at, at + 20, frame[at + 9], False


def header_length(frame):
    _, behind, protocol, _ = parts(frame)
    return behind + (20 if protocol == 6 else 8)


def ones_sum(data):
    data += b'\0' * (len(data) % 2)
    total = sum(int.from_bytes(data[i:i + 2], 'big') for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def check_checksums(frame):
    at, behind, protocol, six = parts(frame)
    addresses = frame[at + 8:at + 40] if six else frame[at + 12:at + 20]
    if not six:
        assert ones_sum(frame[at:behind]) == 0xffff, frame.hex()
    pseudo = b'' if protocol == 1 else addresses + (len(frame) - behind).to_bytes(2, 'big') + bytes((0, protocol))
    assert ones_sum(pseudo + frame[behind:]) == 0xffff, frame.hex()


def test_loop_in_memory(test):
    """A million packets over a ring at full speed: none is lost or misidentified."""
    packets = 20000 if test.slow else 1000000
    told = expect(test.run('generate', '--synthetic', f'packets={packets},flows=1000,size=imix,ipv6=0.3,vlan=0.2',
                           '--no-huge', *LOOP).expect(0))
    assert told['sent'] == told['returned'] == packets, told
    assert 0 <= told['min'], told


def test_stamps_of_another_run_are_foreign(test):
    """Packets of an earlier run count as foreign."""
    path = test.path('earlier.pcap')
    test.run('generate', '--synthetic', 'packets=500', '--no-huge', '--port', f'net_pcap0,tx_pcap={path}', '--return',
             'net_ring0', '--linger', '100ms').expect(0)
    result = test.run('generate', '--synthetic', 'packets=500', '--no-huge', '--port', 'net_null0', '--return',
                      f'net_pcap0,rx_pcap={path}', '--linger', '500ms').expect(0)
    expect(result, lost=500, foreign=500)


def test_search_finds_the_rate_of_a_device(test):
    """A token bucket. A delayed sender does not fill it at once: it catches up by at most 128
    packets."""
    rate, depth, seconds = 4000, 200, 1
    device = Device(test)
    forwarder = device.start(f'rate={rate},depth={depth}')
    path = test.path('latency.csv')
    result = device.generate('--find-rate', '1%', '--duration', f'{seconds}s', '--linger', '300ms', '--output', path,
                             pace='20kpps').expect(0)
    device.stop(forwarder)
    trials = re.findall(r'trial (\d+): (\d+) packets at (\d+) packets/s, (\d+) lost \(.* %\): (passed|failed)',
                        result.stderr)
    assert [int(trial[0]) for trial in trials] == list(range(1, len(trials) + 1)), result.describe()
    for _, sent, _, lost, verdict in trials:
        assert (int(lost) <= 0.01 * int(sent)) == (verdict == 'passed'), result.describe()
    found = int(re.search(r'highest rate with at most 1 % of packets lost: (\d+) packets/s', result.stderr)[1])
    # No more packets pass than the bucket permits; a busy machine sends fewer.
    most = (rate + depth / seconds) / 0.99
    assert rate * 0.5 <= found <= most * 1.02, f'{found} of {rate}\n{result.describe()}'
    told = account(result)
    assert told['rate'] == found and told['lost'] <= 0.01 * told['sent'], told
    assert sum(packets for _, _, packets in histogram(path)) == told['returned']


def test_rate_of_a_sender_that_was_held_up(test):
    """The sender does not catch up after a pause, and reports the actual rate."""
    device = Device(test)
    forwarder = device.start()
    process = device.generate('--duration', '3s', pace='1kpps', begin=True)
    test.until(lambda: device.space.received('dutin') > 100, 'packets')
    process.signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.signal(signal.SIGCONT)
    told = expect(test.wait(process).expect(0))
    device.stop(forwarder)
    # At most half of the three seconds were used for sending, plus a catch-up.
    assert 0 < told['sent'] <= 1500 + 200 and 0 < told['rate'] <= (1500 + 200) / 3 * 1.01, told


def test_rate_of_a_device_that_takes_less(test):
    """Packets wait for a slow device: the rate covers the whole time of sending."""
    device = Device(test, loop=True)
    try:
        device.space.call('tc', 'qdisc', 'replace', 'dev', 'out', 'root', 'tbf', 'rate', '20mbit',
                          'burst', '4kb', 'limit', '40kb')
    except (AssertionError, OSError) as reason:
        test.skip(f'no interface can be slowed down: {reason}')
    result = test.run('generate', '--synthetic', 'packets=0,flows=100,size=1000', '--no-huge', '--duration', '1s',
                      '--port', 'out,qdisc_bypass=0,framecnt=128', '--return', 'dutin',
                      inside=device.space).expect(0)
    told = account(result)
    assert 0 < told['rate'] < told['sent'], told


def test_search_without_a_limit(test):
    """Without loss the first trial is the answer, reported as a lower bound."""
    for options in ((), ('--pace', '10kpps')):
        result = test.run('generate', '--synthetic', 'flows=100,packets=500', '--no-huge', *LOOP, '--find-rate', '0',
                          '--duration', '300ms', *options).expect(0)
        told = expect(result)
        assert result.stderr.count('trial ') == 1 and 'the highest rate sent' in result.stderr, result.describe()
        assert told['sent'] > 500, 'the SPEC is not sent again and again'


def test_search_where_everything_is_lost(test):
    result = test.run('generate', '--synthetic', 'flows=100', '--no-huge', '--port', 'net_null0', '--return',
                      'net_ring0', '--find-rate', '0', '--duration', '20ms', '--linger', '10ms').expect(0)
    assert 'no rate found' in result.stderr, result.describe()
    assert result.stderr.count('trial ') <= 20, result.describe()


def test_signal_ends_a_search(test):
    """The result so far is reported, with the remark that the search ended early."""
    device = Device(test)
    forwarder = device.start('rate=2000,depth=50')
    process = device.generate('--find-rate', '1%', '--duration', '300ms', '--linger', '100ms', begin=True)
    test.until_said(process, 'trial 2: ')
    process.signal(signal.SIGINT)
    result = test.wait(process).expect(0)
    device.stop(forwarder)
    assert 'the search was interrupted' in result.stderr, result.describe()
    passed = 'passed' in result.stderr
    assert passed == ('highest rate' in result.stderr) != ('no rate found' in result.stderr), result.describe()


def test_signal_ends_it_with_an_account(test):
    device = Device(test)
    forwarder = device.start('drop=4')
    process = device.generate('--linger', '1s', spec='packets=0,flows=10', begin=True)
    test.until(lambda: device.space.received('back') > 1000, 'packets come back')
    process.signal(signal.SIGINT)
    result = test.wait(process).expect(0)
    forwarded, dropped = device.stop(forwarder)
    told = expect(result, lost=dropped)
    assert told['returned'] == forwarded, (told, forwarded)


def test_returning_interface_is_deleted(test):
    device = Device(test)
    device.start()
    process = device.generate(spec='packets=0,flows=10', begin=True)
    test.until(lambda: device.space.received('back') > 500, 'packets come back')
    device.space.ip('link', 'del', 'back')
    result = test.wait(process).expect(1)
    assert '--rx-port back: device removed' in result.stderr, result.describe()


def test_histogram_replaces_nothing_unasked(test):
    path = test.path('mine.csv')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write('mine\n')
    arguments = ('generate', '--synthetic', 'packets=100', '--no-huge', *LOOP, '--output', path)
    test.run(*arguments).expect(2).expect_one_line(path, '--force')
    assert lib.read_text(path) == 'mine\n'
    test.run(*arguments, '--force').expect(0)
    assert sum(packets for _, _, packets in histogram(path)) == 100
    result = test.run(*arguments[:-1], '-').expect(0)
    rows = list(csv.reader(result.stdout.splitlines()))
    assert rows[0] == ['from_ns', 'to_ns', 'packets'] and sum(int(row[2]) for row in rows[1:]) == 100, rows
    if os.path.exists('/dev/full'):
        result = test.run(*arguments[:-1], '/dev/full', '--force').expect(1)
        assert '/dev/full: cannot write: ' in result.stderr, result.describe()

# SPDX-License-Identifier: BSD-3-Clause
"""Sources of captures: several merged by time, compressed, piped; limits and pace."""

import gzip
import json
import os
import shutil
import struct
import subprocess

import frames
import lib

SECOND = 1000000
START = 1700000000 * SECOND


def test_standard_input(test):
    file = 'uplink'
    truth = lib.load_truth(test.traces, file)
    with open(lib.unpack(test, file), 'rb') as stream:
        rows, stats, _ = test.measure('--pcap', '-', '--interval', '0', '--seed', '1', stdin=stream)
    lib.check_top(rows, truth, 100)
    assert stats[0]['offered'] == lib.entry_of(test.traces, file)['packets'], stats


def test_pipe_of_xz(test):
    if shutil.which('xz') is None:
        test.skip('xz is not installed')
    file = 'mix'
    unpacker = subprocess.Popen(['xz', '-dc', os.path.join(test.traces, lib.file_of(test.traces, file))],
                                stdout=subprocess.PIPE)
    with unpacker:
        rows, stats, _ = test.measure('--pcap', '-', '--interval', '0', '--seed', '1',
                                      stdin=unpacker.stdout)
    assert stats[0]['offered'] == lib.entry_of(test.traces, file)['packets'], stats
    lib.check_top(rows, lib.load_truth(test.traces, file), 100)


def test_gzip(test):
    plain = lib.write_pcap(test.path('plain.pcap'),
                           [(START + i, lib.udp_frame(i % 50)) for i in range(5000)])
    packed = test.path('packed.pcap.gz')
    with open(plain, 'rb') as stream, gzip.open(packed, 'wb') as into:
        into.write(stream.read())
    expected = test.measure('--pcap', plain, '--seed', '1')
    found = test.measure('--pcap', packed, '--seed', '1')
    assert found[0] == expected[0] and found[1][0]['offered'] == '5000', found


def test_cut_gzip(test):
    """Packets before the damage count, and the damage is reported."""
    plain = lib.write_pcap(test.path('plain.pcap'),
                           [(START + i, os.urandom(60)) for i in range(5000)])
    packed = test.path('cut.pcap.gz')
    with open(plain, 'rb') as stream:
        data = gzip.compress(stream.read())
    with open(packed, 'wb') as stream:
        stream.write(data[:len(data) // 2])
    _, stats, result = test.measure('--pcap', packed, status=1)
    result.expect_one_line('cut.pcap.gz')
    assert 1000 < lib.total(stats, 'offered') < 4000, stats


def test_cut_capture(test):
    path = lib.write_pcap(test.path('cut.pcap'),
                          [(START + i, lib.udp_frame(i % 3)) for i in range(100)])
    with open(path, 'r+b') as stream:
        stream.truncate(os.path.getsize(path) - 7)
    for workers in (1, 4):
        rows, stats, result = test.measure('--pcap', path, '--workers', workers, status=1)
        result.expect_one_line('cut.pcap')
        assert stats[0]['offered'] == '99' and len(rows) == 3, stats


def test_several_files_merge_by_time(test):
    everything = [(START + i * 1000, lib.udp_frame(i % 97, 60 + i % 40)) for i in range(9000)]
    parts = [lib.write_pcap(test.path(f'part{part}.pcap'), everything[part::3])
             for part in range(3)]
    whole = lib.write_pcap(test.path('whole.pcap'), everything)
    options = ('--interval', '1s', '--seed', '1', '--workers', '2')
    expected = test.measure('--pcap', whole, *options)
    found = test.measure('--pcap', parts[2], '--pcap', parts[0], '--pcap', parts[1], *options)
    assert found[0] == expected[0], 'heavy hitters of the parts and of the whole differ'
    assert [row['offered'] for row in found[1]] == [row['offered'] for row in expected[1]]
    assert [row['offered'] for row in found[1]] == ['1000'] * 9, found[1]


def test_files_of_different_link_types(test):
    ethernet = lib.write_pcap(test.path('ethernet.pcap'), [(START, lib.udp_frame(1))])
    raw = test.path('raw.pcap')
    frame = lib.udp_frame(1)[14:]
    with open(raw, 'wb') as stream:
        stream.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
        stream.write(struct.pack('<IIII', START // SECOND, 0, len(frame), len(frame)) + frame)
    rows, stats, _ = test.measure('--pcap', ethernet, '--pcap', raw)
    assert stats[0]['measured'] == '2' and len(rows) == 1 and rows[0]['packets'] == '2', rows


def test_unlike_interfaces(test):
    """One pcapng file with two interfaces, as written by dumpcap: as a file, in pipes, compressed,
    and merged."""
    frames = [lib.udp_frame(i % 7, 60 + i % 20) for i in range(200)]
    interfaces = ((1, 65535, 1), (101, 96, 1000))
    packets = [(START * 1000 + i * 10**7, i % 2, frame[14 * (i % 2):]) for i, frame in enumerate(frames)]
    whole = lib.write_pcapng(test.path('whole.pcapng'), interfaces, packets)
    classic = lib.write_pcap(test.path('first.pcap'), [(START + i * 10**4, frame)
                                                       for i, frame in enumerate(frames[:50])])
    rest = lib.write_pcapng(test.path('rest.pcapng'), interfaces, packets[50:], '>')
    options = ('--interval', '100ms', '--workers', '2', '--seed', '1')
    expected = test.measure('--pcap', whole, *options)
    assert [row['measured'] for row in expected[1]] == ['10'] * 20, expected[1]
    assert lib.total(expected[1], 'bytes') == sum(len(data) for _, _, data in packets)
    with open(whole, 'rb') as stream:
        packed = gzip.compress(stream.read())
    with open(test.path('whole.gz'), 'wb') as stream:
        stream.write(packed)
    assert test.measure('--pcap', test.path('whole.gz'), *options)[0] == expected[0]
    for path in (whole, test.path('whole.gz')):
        with subprocess.Popen(['cat', path], stdout=subprocess.PIPE) as cat:
            assert test.measure('--pcap', '-', *options, stdin=cat.stdout)[0] == expected[0]
    _, stats, _ = test.measure('--pcap', rest, '--pcap', classic, *options)
    assert [row['measured'] for row in stats] == ['10'] * 20, stats


def check_left_out(test, captures, measured, left_out, *warnings):
    """Measures captures with unknown link types; checks counts and warnings."""
    _, stats, result = test.measure(*(word for path in captures for word in ('--pcap', path)), '--interval', '0')
    assert (stats[0]['measured'], stats[0]['non_ip']) == (str(measured), str(left_out)), stats
    assert int(stats[0]['offered']) == measured + left_out, stats
    assert stats[0]['bytes'] == str(measured * len(lib.udp_frame())), stats
    lines = [line for line in result.stderr.splitlines() if 'link type' in line]
    assert len(lines) == len(warnings), result.describe()
    for line, parts in zip(lines, warnings):
        assert all(part in line for part in ('warning', 'not supported', *parts)), line


def test_an_interface_of_an_unknown_link_type(test):
    """Packets of that interface are ignored with a warning; the others are measured, in any
    order."""
    frame = lib.udp_frame()
    usb, monitor = (189, 65535, 1000), (127, 65535, 1000)
    for order in ((0, 1, 0, 1, 1), (1, 0), (1, 1, 1, 0, 0), (0, 0, 0, 1)):
        # Interfaces are described just before their first packets.
        interfaces = [(1, 65535, 1000), usb]
        packets = [(i, n, frame) for i, n in enumerate(order)]
        if order[0] == 1:
            interfaces.reverse()
            packets = [(time, 1 - n, data) for time, n, data in packets]
        path = lib.write_pcapng(test.path('usb.pcapng'), interfaces, packets)
        n = order.count(1)
        warning = ('usb.pcapng', 'link type 189 (USB_LINUX)', f'interface {interfaces.index(usb)}', f': {n} packet')
        check_left_out(test, [path], len(order) - n, n, warning)
        with open(path, 'rb') as stream:
            packed = gzip.compress(stream.read())
        with open(test.path('usb.pcapng.gz'), 'wb') as stream:
            stream.write(packed)
        check_left_out(test, [test.path('usb.pcapng.gz')], len(order) - n, n, (f': {n} packet',))
    three = lib.write_pcapng(test.path('three.pcapng'), [usb, monitor, (1, 65535, 1000)],
                             [(1, 0, frame), (2, 1, frame), (3, 2, frame), (4, 1, frame)])
    check_left_out(test, [three], 1, 3, ('189', ': 1 packet '), ('127', ': 2 packets '))


def test_a_capture_of_an_unknown_link_type_among_others(test):
    frame = lib.udp_frame()
    usb = lib.write_pcapng(test.path('usb.pcapng'), [(189, 65535, 1000)], [(0, 0, frame), (10**9, 0, frame)])
    radio = test.path('radio.pcap')
    with open(radio, 'wb') as stream:
        stream.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, 127))
        stream.write(struct.pack('<IIII', 1, 0, len(frame), len(frame)) + frame)
    good = lib.write_pcap(test.path('good.pcap'), [(START, frame), (START + 1, frame)])
    check_left_out(test, [usb, good], 2, 2, ('usb.pcapng', ': 2 packets'))
    check_left_out(test, [good, radio], 2, 1, ('radio.pcap', ': 1 packet '))
    check_left_out(test, [radio, good, usb, usb], 2, 5, ('127', ': 1 packet '), ('189', 'usb.pcapng', ': 4 packets'))
    for captures in ([usb], [radio], [usb, radio]):
        output = test.path('untouched.csv')
        result = test.run(*(word for path in captures for word in ('--pcap', path)), '--output', output).expect(1)
        result.expect_one_line(os.path.basename(captures[0]), 'link type', 'not supported')
        assert not os.path.exists(output)


def test_a_limit_counts_what_was_left_out(test):
    """--packets and --duration end among packets of an unknown link type: warning and ledger have
    the same number."""
    frame = lib.udp_frame()
    path = lib.write_pcapng(test.path('usb.pcapng'), [(1, 65535, 1000), (189, 65535, 1000)],
                            [(i * 10**9, min(i, 1), frame) for i in range(9)])
    for limit in (('--packets', '5'), ('--duration', '5s')):
        _, stats, result = test.measure('--pcap', path, '--interval', '0', *limit)
        assert stats[0]['non_ip'] == '4', stats
        result.expect_one_warning('link type 189', ': 4 packets not measured')


def test_interfaces_without_end(test):
    path = lib.write_pcapng(test.path('many.pcapng'), [(1, 0, 1000)] * 65537,
                            [(0, 0, lib.udp_frame()), (1, 65536, lib.udp_frame())])
    _, stats, result = test.measure('--pcap', path, '--interval', '0', status=1)
    result.expect_one_line('many.pcapng', 'after 1 packets', 'more than 65536 interfaces')
    assert stats[0]['measured'] == '1', stats


def test_one_bad_file_among_several(test):
    good = lib.write_pcap(test.path('good.pcap'), [(START, lib.udp_frame(1))])
    output = test.path('output.csv')
    test.run('--pcap', good, '--pcap', test.path('absent.pcap'), '--output', output
             ).expect(1).expect_one_line('absent.pcap')
    assert not os.path.exists(output)


def test_snapped_lengths(test):
    """Bytes are those on the wire, independent of the snap length."""
    path = test.path('snapped.pcap')
    with open(path, 'wb') as stream:
        stream.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 64, 1))
        for i in range(10):
            stream.write(struct.pack('<IIII', START // SECOND, i, 60, 1514) + lib.udp_frame(0, 60))
    rows, stats, _ = test.measure('--pcap', path)
    assert rows[0]['bytes'] == stats[0]['bytes'] == '15140', rows


def joined(total, flow=0):
    """Returns the headers of segments joined to a packet of `total` bytes; 0: an unknown length."""
    packet = frames.ipv4(frames.TCP, frames.tcp(1000 + flow, 443), '10.0.0.1', '10.0.0.2')[:40]
    header = packet[:2] + struct.pack('>H', total) + packet[4:10] + b'\0\0' + packet[12:20]
    return header[:10] + struct.pack('>H', frames.checksum(header)) + header[12:] + packet[20:]


def test_joined_packets_that_were_cut(test):
    """Truncated joined packets without another length: bounds hold the bytes of IP headers, or are
    open if these are 0. Only intervals with such packets are affected."""
    plain = [(START + second * SECOND + i, lib.udp_frame(i % 5, 60)) for second in range(4) for i in range(20)]
    cut = [(START + SECOND + 100 + i, frames.ethernet(frames.IPV4, joined(65226))) for i in range(10)]
    lost = [(START + 2 * SECOND + 100 + i, frames.ethernet(frames.IPV4, joined(0))) for i in range(10)]
    path = lib.write_pcap(test.path('cut.pcap'), sorted(plain + cut + lost), snaplen=60)
    for sketch in ('count-min', 'flow-table', 'simple-hash', 'iblt'):
        for count in ('packets', 'bytes'):
            rows, stats, result = test.measure('--pcap', path, '--interval', '1s', '--sketch', sketch, '--count',
                                               count, '--workers', '2', '--seed', '1')
            assert [stats[i]['bytes'] for i in range(4)] == ['1200', '', '1740', '1200'], stats
            assert [row['bps'] != '' for row in stats] == [True, False, True, True], stats
            assert 'up to 651860 bytes' in result.stderr, result.stderr
            for row in rows:
                number, key = int(row['epoch']), row['src_port']
                more = 10 * (65240 - 54) if number == 1 else 0
                truth = 10 * 65240 if key == '1000' and number == 1 else int(row['bytes_low'])
                assert int(row['bytes_low']) <= truth <= int(row['bytes_high']), row
                assert int(row['bytes_high']) == int(row['bytes']) + more, row
                assert row['packets_low'] == row['packets'] == row['packets_high'], row


def test_joined_packets_without_length(test):
    """Bytes are unknown for packets at the snap length; otherwise the length of the record is
    right."""
    frame = frames.ethernet(frames.IPV4, joined(0))
    packets = [(START + i, frame) for i in range(10)] + [(START + SECOND + i, frame + bytes(6)) for i in range(10)]
    path = lib.write_pcap(test.path('cut.pcap'), packets, snaplen=54)
    rows, stats, result = test.measure('--pcap', path, '--interval', '1s')
    assert [row['bytes'] for row in stats] == ['', '600'], stats
    assert [(row['bytes_low'], row['bytes_high']) for row in rows] == [('540', ''), ('600', '600')], rows
    assert 'an unknown number of bytes' in result.stderr, result.stderr
    output = test.path('rows.jsonl')
    test.measure('--pcap', path, '--interval', '1s', '--stats', 'json:' + output)
    with open(output, encoding='ascii') as stream:
        assert [json.loads(line)['bytes'] for line in stream] == [None, 600]


def test_forged_length(test):
    """An untruncated frame counts its real bytes, whatever its IP header claims."""
    frame = frames.ethernet(frames.IPV4, joined(65535)) + bytes(6)
    path = lib.write_pcap(test.path('forged.pcap'), [(START + i, frame) for i in range(10)])
    rows, stats, _ = test.measure('--pcap', path)
    assert stats[0]['bytes'] == rows[0]['bytes_low'] == rows[0]['bytes_high'] == '600', rows


def test_headers_longer_than_a_segment(test):
    """Any number of captured tags and labels is skipped; truncated ones are malformed."""
    ip = lib.udp_frame()[14:]
    tags = b'\x81\0' + (b'\0\1\x81\0' * 65529)[:-2]
    label = b'\0\0\0\x40'
    frames = [
        (b'\2' * 12 + tags[:4 * 17500] + b'\x08\0' + ip, 1),
        (b'\2' * 12 + tags[:262144 - 14 - len(ip)] + b'\x08\0' + ip, 1),
        (b'\2' * 12 + tags, 0),
        (b'\2' * 12 + b'\x88\x47' + label * 60000 + b'\0\0\1\x40' + ip, 1),
        (b'\2' * 12 + b'\x88\x47' + label * 60000, 0),
        (lib.udp_frame(), 1),
    ]
    frames = [(frame, measured) for frame, measured in frames for _ in range(20)]
    path = lib.write_pcap(test.path('long.pcap'), list(enumerate(f for f, _ in frames)))
    for design in ('rss', 'async', 'sync'):
        rows, stats, _ = test.measure('--pcap', path, '--interval', '0', '--design', design,
                                      '--workers', '2', '--filter', 'greater 60')
        assert len(rows) == 1, rows
        assert int(rows[0]['packets']) == sum(measured for _, measured in frames), rows
        assert int(rows[0]['bytes']) == sum(len(f) for f, measured in frames if measured), rows
        assert int(stats[0]['malformed']) == sum(not measured for _, measured in frames), stats


def test_packet_limit(test):
    rows, stats, _ = test.measure('--synthetic', 'flows=1K,packets=1M,seed=1', '--packets', '12345',
                                  '--workers', '2')
    assert lib.total(stats, 'offered') == lib.total(stats, 'measured') == 12345, stats


def test_duration_limit(test):
    """In a replay, the duration is packet time."""
    path = lib.write_pcap(test.path('long.pcap'),
                          [(START + i * SECOND, lib.udp_frame(i)) for i in range(100)])
    _, stats, _ = test.measure('--pcap', path, '--duration', '10s')
    assert lib.total(stats, 'offered') in (10, 11), stats


def test_paced_replay_balances(test):
    """In a paced replay, a full ring loses packets like a NIC: every loss is in the ledger."""
    for pace in ('200kpps', 'recorded'):
        _, stats, _ = test.measure(
            '--synthetic', 'flows=1K,packets=100K,rate=200K,seed=1', '--pace', pace,
            '--interval', '100ms', '--workers', '2')
        assert lib.total(stats, 'offered') == 100000, lib.total(stats, 'offered')


def test_changing_rate(test):
    """Intervals match the integral of the ramp. If paced, they follow the clock."""
    words = ('--synthetic', 'flows=1K,rate=0-200K,zipf=1.5-1.0,packets=100K,seed=1', '--interval', '100ms',
             '--workers', '2')
    _, stats, _ = test.measure(*words)
    offered = [int(row['offered']) for row in stats]
    assert len(offered) == 10, offered
    for k, packets in enumerate(offered):
        assert abs(packets - 1000 * (2 * k + 1)) <= 1, offered
    _, stats, _ = test.measure(*words, '--pace', 'recorded')
    assert lib.total(stats, 'offered') == 100000, stats


def test_overload_is_counted(test):
    """Far more packets than capacity: lost packets count as missed, and widen the bounds."""
    rows, stats, _ = test.measure('--synthetic', 'flows=1K,zipf=1.2,packets=3M,size=64,seed=1',
                                  '--pace', '1000Mpps', '--interval', '0', '--workers', '2')
    assert lib.total(stats, 'offered') == 3000000, stats
    lost = lib.total(stats, 'nic_missed')
    assert lib.total(stats, 'measured') == 3000000 - lost
    for row in rows:
        assert int(row['packets_high']) - int(row['packets']) >= lost, row


def test_net_null_port(test):
    """A live software port of DPDK, ended by --duration."""
    _, stats, _ = test.measure('--port', 'net_null0', '--eal', '--no-pci', '--duration', '1s',
                               '--interval', '200ms', '--workers', '1')
    assert stats and lib.total(stats, 'received') > 0, stats


def test_long_words_of_a_device(test):
    """DPDK 24.11 limits the length of device arguments, which a path may exceed."""
    folder = test.path('f' * 200)
    os.mkdir(folder)
    capture = lib.write_pcap(os.path.join(folder, 'frames.pcap'), list(enumerate([lib.udp_frame()] * 100)))
    _, stats, _ = test.measure('--port', f'net_pcap0,rx_pcap={capture}', '--no-huge', '--eal', '--no-pci', '--packets',
                               '100', '--workers', '1')
    assert lib.total(stats, 'measured') == 100, stats

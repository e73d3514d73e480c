# SPDX-License-Identifier: BSD-3-Clause
"""The flow table: every key of every capture with its packets, bytes, times and TCP flags. It
reports packets that do not fit, and refuses invalid options."""

import lib

TABLE = ('--sketch', 'flow-table', '--interval', '0', '--seed', '5')
ALL = ('--top', '1000000')
SHARED = ('--sharing', 'shared')
ZOO_PACKETS_MAX = 3000  # per capture, for checks packet by packet


def everything(test, path, truth, *options, rule='5tuple'):
    """Checks that a table with as many buckets as keys reports all keys exactly; returns the
    rows."""
    size = () if '--buckets' in options else ('--buckets', max(16, len(truth)))
    rows, stats, _ = test.measure('--pcap', path, *TABLE, *ALL, *size, *options)
    lib.expect_lossless(stats)
    assert {lib.row_key(row, rule) for row in rows} == set(truth), 'other keys than the true ones'
    assert len(rows) == len(truth), 'a key is reported twice'
    lib.check_exact(rows, truth, rule)
    if stats:
        assert int(stats[0]['distinct_keys']) == len(truth), stats
    return rows


def captures(test, small):
    """Returns [(number, entry)] of small captures for checks packet by packet, or of the others."""
    entries = [entry for entry in lib.index(test.traces) if entry['expected'] == 'measured']
    return enumerate(entry for entry in entries if small == (
        entry['file'].startswith('zoo/') and int(entry['packets']) <= ZOO_PACKETS_MAX))


def ways(number):
    """Options that alternate between shared and separate, and 1 to 4 workers."""
    return ('--workers', 1 + number % 4, *(SHARED, (), ())[number % 3])


def test_large_captures(test):
    for number, entry in test.few(captures(test, small=False)):
        everything(test, lib.unpack(test, entry['file']),
                   lib.load_truth(test.traces, entry['file']), *ways(number))


def test_every_size(test):
    """Any number of buckets, including heavily loaded tables."""
    file = 'uplink'
    path, truth = lib.unpack(test, file), lib.load_truth(test.traces, file)
    for buckets in (2580, 4096, 3001):
        for sharing in ((), SHARED):
            everything(test, path, truth, '--workers', 2, '--buckets', buckets, *sharing)


def test_other_keys(test):
    file = 'uplink'
    path, truth = lib.unpack(test, file), lib.load_truth(test.traces, file)
    for rule in ('src', 'dst', 'src-dst'):
        everything(test, path, lib.sum_by(truth, rule), '--key', rule, '--workers', 2, rule=rule)


def flags_of(oracle, record, key):
    """Returns the TCP flags of a packet, using only the oracle: the shortest prefix with the whole
    key ends with the ports. None if both ports are 0, which hides the end."""
    link, time, data, length = record
    if key[4] != '6':
        return 0
    if key[2] == key[3] == '0':
        return None

    def whole(size):
        return key in oracle.count([(link, time, data[:size], length)])[1]
    low, high = 0, len(data)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if whole(middle) else (middle + 1, high)
    return data[low + 9] if len(data) > low + 9 else 0


def records_of(oracle, path):
    """Returns {key: [packets, bytes, first in us, last in us, flags or None]}, and the same with
    flags in keys."""
    flows, tuples = {}, {}
    for record in oracle.records(path):
        for key, (_, size) in oracle.count([record])[1].items():
            flags, time = flags_of(oracle, record, key), record[1] // 1000
            flow = flows.setdefault(key, [0, 0, time, time, 0])
            flow[0] += 1
            flow[1] += size
            flow[2:4] = min(flow[2], time), max(flow[3], time)
            flow[4] = None if flags is None or flow[4] is None else flow[4] | flags
            packets, total = tuples.get(key + (str(flags),), (0, 0))
            tuples[key + (str(flags),)] = packets + 1, total + size
    return flows, tuples


def test_times_and_flags(test):
    oracle, seen = lib.Oracle(), 0
    for number, entry in test.some(captures(test, small=True)):
        path, truth = lib.unpack(test, entry['file']), lib.load_truth(test.traces, entry['file'])
        flows, tuples = records_of(oracle, path)
        for row in everything(test, path, truth, *ways(number)):
            _, _, first, last, flags = flows[lib.row_key(row)]
            assert lib.timestamp(row['first']) == first, f'{entry["file"]}, first {first}: {row}'
            assert lib.timestamp(row['last']) == last, f'{entry["file"]}, last {last}: {row}'
            assert flags is None or int(row['tcp_flags']) == flags, f'{entry["file"]}, {flags}: {row}'
            seen |= flags or 0
        if number % 3 == 0 and all(key[5] != 'None' for key in tuples):
            everything(test, path, tuples, '--key', '6tuple', rule='6tuple')
    assert test.slow or seen & 0x1f == 0x1f, f'only flags {seen} were seen'


def test_sixth_field_in_other_sketches(test):
    """Count-Min of 6-tuples separates packets of one connection; its times stay empty."""
    frame = bytearray(lib.udp_frame(1, 60))
    frame[23] = 6
    packets = []
    for number in range(10):
        frame[47] = 0x02 if number < 3 else 0x10
        packets.append((number, bytes(frame)))
    path = lib.write_pcap(test.path('flags.pcap'), packets)
    rows, _, _ = test.measure('--pcap', path, '--key', '6tuple', '--interval', '0')
    assert [(row['tcp_flags'], row['packets'], row['first'], row['last']) for row in rows] == [
        ('16', '7', '', ''), ('2', '3', '', '')], rows


def test_only_flow_records_have_more_columns(test):
    path = lib.write_pcap(test.path('one.pcap'), [(0, lib.udp_frame())])
    for sketch in ('count-min', 'reversible', 'simple-hash'):
        rows, _, _ = test.measure('--pcap', path, '--sketch', sketch)
        assert list(rows[0]) == lib.OUTPUT_COLUMNS, rows


def test_full(test):
    """Three times as many keys as entries: early keys stay exact; packets of the others are shed
    and reported."""
    packets = [(time, lib.udp_frame(flow)) for time, flow in
               enumerate([*range(96)] * 3)]
    path = lib.write_pcap(test.path('full.pcap'), packets)
    for options in ((), SHARED):
        rows, stats, result = test.measure(
            '--pcap', path, *TABLE, *ALL, '--buckets', '16', *options)
        shed = int(stats[0]['shed'])
        assert 16 <= len(rows) <= 32 and shed == 3 * (96 - len(rows)), (len(rows), stats)
        assert int(stats[0]['measured']) == 288 - shed, stats
        assert int(stats[0]['bytes']) == 60 * (288 - shed), stats
        lib.check_exact(rows, {lib.udp_key(flow): (3, 180) for flow in range(96)})
        assert f'no room for {shed} packets of new keys' in result.stderr, result.stderr
    # Round-robin: each worker sheds keys that another one has. Bounds include the packets shed.
    rows, stats, _ = test.measure('--pcap', path, *TABLE, *ALL, '--buckets', '16', '--design',
                                  'async', '--dispatch', 'round-robin', '--workers', '3')
    assert int(stats[0]['shed']) > 0, stats
    assert all(int(row['packets_low']) == int(row['packets']) <= 3 <= int(row['packets_high'])
               and int(row['bytes_low']) <= 180 <= int(row['bytes_high']) for row in rows), rows


def test_refusals(test):
    path = lib.write_pcap(test.path('one.pcap'), [(0, lib.udp_frame())])
    for options, mentions in (
            (('--buckets', '15'), ('--buckets', '16')),
            (('--buckets', '1000', '--width', '1024'), ('--width', 'contradicts')),
            (('--depth', '2'), ('depth is 1',)),
            (('--buckets', '100', '--sketch', 'count-min'), ('--buckets', 'flow-table')),
            (('--key', '6tuple', '--sketch', 'reversible'), ('--key', '5tuple')),
            (('--memory', '1KB'), ('--memory', 'flow-table'))):
        test.run('--pcap', path, '--sketch', 'flow-table', *options).expect(2).expect_one_line(
            *mentions)

# SPDX-License-Identifier: BSD-3-Clause
"""The compact table: every key of captures, exactly, with times and flags; sizes that follow the
flows; full tables; the parts of its memory; refused options."""

import re

import lib

LONG = ('captures', 'intervals', 'size_follows_the_flows')

ALL = ('--top', '1000000')
FITTED = ('--sketch', 'compact-table', '--compact-load', '0.9')


def test_captures(test):
    entries = [entry for entry in lib.index(test.traces) if entry['expected'] == 'measured']
    for number, entry in enumerate(test.few(entries)):
        truth = lib.load_truth(test.traces, entry['file'])
        rows, stats, _ = test.measure(
            '--pcap', lib.unpack(test, entry['file']), '--sketch', 'compact-table', '--interval', '0',
            '--workers', 1 + number % 3, *ALL)
        lib.expect_lossless(stats)
        lib.check_exact(rows, truth)
        assert len(rows) == len(truth), 'keys are missing, or reported twice'


def test_intervals(test):
    """Equal to the flow table in each interval and column."""
    path = lib.unpack(test, 'mix')

    def figures(*more):
        result = test.run('--pcap', path, '--interval', '1s', '--seed', '5', *ALL, *more).expect(0)
        assert result.account()['epochs'] > 4, result.describe()
        return sorted(result.stdout.splitlines())
    for key in ('5tuple', '6tuple', 'src'):
        assert figures('--sketch', 'compact-table', '--key', key) == figures('--sketch', 'flow-table', '--key', key)


def test_size_follows_the_flows(test):
    """60 000 flows are too many for the first size, 1000 need less: exact from the third interval on."""
    flows = [(second, flow) for second in range(4) for flow in range(60000)]
    flows += [(second, flow) for second in range(4, 8) for flow in range(1000)]
    path = lib.write_pcap(test.path('flows.pcap'), (
        (second * 1000000 + flow, lib.udp_frame(flow)) for second, flow in flows))
    rows, stats, result = test.measure(
        '--pcap', path, *FITTED, '--workers', '1', '--interval', '1s', '--log-level', 'info', *ALL)
    widths = [int(width) for width in re.findall(r'now have (\d+) cells', result.stderr)]
    # Both generations grow by 4 after 16384 keys, fit 60 000 flows, and later 1000.
    assert widths[:2] == [65536, 65536] and widths[-2:] == [1120, 1120], widths
    assert 60000 / 0.9 <= max(widths[2:]) <= 60000 / 0.9 * 33 / 32, widths
    for row in stats:
        flows = 60000 if int(row['epoch']) < 4 else 1000
        full = int(row['epoch']) < 2
        assert int(row['shed']) == (flows - 16384 if full else 0), row
        assert len(lib.in_epoch(rows, row['epoch'])) == flows - int(row['shed']), row
    assert all(row['packets'] == row['packets_low'] == row['packets_high'] == '1' for row in rows)


def test_full(test):
    """Listed keys are exact, and the bounds of all keys hold."""
    path, truth = lib.unpack(test, 'mix'), lib.load_truth(test.traces, 'mix')
    rows, stats, result = test.measure(
        '--pcap', path, '--sketch', 'compact-table', '--width', '1000', '--interval', '0', *ALL)
    lib.check_exact(rows, truth)
    shed = sum(packets for packets, _ in truth.values()) - sum(int(row['packets']) for row in rows)
    assert 500 <= len(rows) <= 1000 and lib.total(stats, 'shed') == shed > 0, stats
    assert f'no room for {shed} packets of new keys' in result.stderr, result.stderr


def bytes_of(text):
    number, unit = text.split()
    return float(number) * {'KB': 1 << 10, 'MB': 1 << 20}[unit]


def test_plan_names_each_part(test):
    """The parts of an instance sum up to its size, for each sketch that has parts."""
    for options in (FITTED, ('--sketch', 'compact-table', '--width', '2800'), ('--sketch', 'iblt'),
                    ('--sketch', 'flow-table', '--flow-detail', 'rate', '--idle-timeout', '1s')):
        text = test.run('plan', '--no-huge', '--synthetic', 'flows=1K', *options).expect(0).stdout
        size, parts = re.search(r'one instance ([\d.]+ .B) \((.*?)\)', text).groups()
        sizes = [bytes_of(' '.join(part.split()[-2:])) for part in parts.split(', ')]
        assert len(sizes) > 2 and abs(sum(sizes) - bytes_of(size)) <= 0.06 * len(sizes) * (1 << 20), text
        if options[-1] == '2800':
            assert 2500 * 60 <= 1.02 * bytes_of(size) <= 149.58 * 1024 * 1.02, text


def test_refusals(test):
    path = lib.write_pcap(test.path('one.pcap'), [(0, lib.udp_frame())])
    for options, mentions in (
            (('--depth', '2'), ('depth is 1',)),
            (('--width', '8'), ('16 to 1073741824',)),
            (('--memory', '500'), ('--memory', 'compact-table')),
            (('--compact-load', '1.5'), ('--compact-load',)),
            (('--compact-load', '0.001'), ('--compact-load', '0.01')),
            (('--compact-load', '0.5', '--interval', '0'), ('compact-load', '--interval 0')),
            (('--idle-timeout', '1s'), ('--idle-timeout', 'flow-table')),
            (('--flow-detail', 'rate'), ('--flow-detail', 'flow-table')),
            (('--sharing', 'shared', '--workers', '2'), ('compact-table', '--sharing separate')),
            (('--compact-load', '0.5', '--sketch', 'count-min'), ('--compact-load', 'compact-table'))):
        test.run('--pcap', path, '--sketch', 'compact-table', *options).expect(2).expect_one_line(*mentions)

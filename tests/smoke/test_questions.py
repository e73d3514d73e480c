# SPDX-License-Identifier: BSD-3-Clause
"""Measurements: other keys, bytes, a threshold, two at once."""

import lib

UPLINK = 'uplink'


def measure(test, *options):
    return test.measure('--pcap', lib.unpack(test, UPLINK), '--interval', '0', '--seed', '1',
                        *options)


def test_keys(test):
    truth = lib.load_truth(test.traces, UPLINK)
    for rule in ('src', 'dst', 'src-dst'):
        rows, stats, _ = measure(test, '--key', rule, '--top', '50')
        summed = lib.sum_by(truth, rule)
        lib.check_top(rows, summed, 50, rule)
        assert abs(int(stats[0]['distinct_keys']) - len(summed)) <= max(
            2, len(summed) * lib.DISTINCT_TOLERANCE), stats


def test_bytes(test):
    truth = lib.load_truth(test.traces, UPLINK)
    for rule in ('5tuple', 'src'):
        rows, _, _ = measure(test, '--count', 'bytes', '--key', rule, '--top', '50')
        lib.check_top(rows, lib.sum_by(truth, rule), 50, rule, 'bytes')
        error = lib.mean_relative_error(rows, lib.sum_by(truth, rule), rule, 'bytes')
        assert error < 0.001, error


def test_threshold(test):
    truth = lib.load_truth(test.traces, UPLINK)
    for metric, place in (('packets', 0), ('bytes', 1)):
        whole = sum(figures[place] for figures in truth.values())
        rows, _, _ = measure(test, '--threshold', '0.01', '--count', metric)
        heavy = {key for key, figures in truth.items() if figures[place] >= 0.01 * whole}
        assert heavy, 'the capture has no heavy key'
        assert {lib.row_key(row) for row in rows} == heavy, f'{len(rows)} rows of {len(heavy)}'
        lib.check_bounds(rows, truth, metric=metric)
        assert all(float(row['share']) >= 0.01 for row in rows), rows


def test_share_of_reversible_bytes(test):
    """Counts only bytes, and still reports the share of bytes of a key."""
    truth = lib.load_truth(test.traces, UPLINK)
    rows, _, _ = measure(test, '--sketch', 'reversible', '--count', 'bytes', '--top', '20')
    whole = sum(size for _, size in truth.values())
    for row in rows:
        assert abs(float(row['share']) - int(row['bytes']) / whole) <= 1e-6, row


def test_top_and_threshold(test):
    rows, _, _ = measure(test, '--threshold', '0.001', '--top', '3')
    lib.check_top(rows, lib.load_truth(test.traces, UPLINK), 3)


def test_memory(test):
    """--memory selects the largest sketch that fits."""
    truth = lib.load_truth(test.traces, UPLINK)
    for size in ('1MB', '4MB', '5MB'):
        rows, _, _ = measure(test, '--memory', size)
        lib.check_bounds(rows, truth)
        assert len(rows) == 100, len(rows)


def test_two_measurements(test):
    config = test.path('two.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('interval = 0\n'
                     'seed = 1\n'
                     '\n'
                     '[measurement flows]\n'
                     'key = 5tuple\n'
                     'count = packets\n'
                     'top = 40\n'
                     '\n'
                     '[measurement sources]\n'
                     'key = src\n'
                     'count = bytes\n'
                     'top = 30\n')
    truth = lib.load_truth(test.traces, UPLINK)
    for workers in (1, 2):
        rows, stats, _ = test.measure('--config', config, '--pcap', lib.unpack(test, UPLINK),
                                      '--workers', workers)
        assert [row['measurement'] for row in stats] == ['flows', 'sources'], stats
        for row, rule in zip(stats, ('5tuple', 'src')):
            assert row['measured'] == lib.entry_of(test.traces, UPLINK)['measured'], row
            keys = len(lib.sum_by(truth, rule))
            assert abs(int(row['distinct_keys']) - keys) <= max(
                2, keys * lib.DISTINCT_TOLERANCE), row
        lib.check_top(lib.in_epoch(rows, '0', 'flows'), truth, 40)
        lib.check_top(lib.in_epoch(rows, '0', 'sources'), lib.sum_by(truth, 'src'), 30, 'src',
                      'bytes')
        assert len(rows) == 70, len(rows)


def test_command_line_over_config(test):
    config = test.path('top.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('interval = 0\ntop = 40\n')
    path = lib.unpack(test, UPLINK)
    for options, expected in (((), 40), (('--top', '7'), 7)):
        rows, _, _ = test.measure('--config', config, '--pcap', path, *options)
        assert len(rows) == expected, len(rows)

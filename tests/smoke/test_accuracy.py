# SPDX-License-Identifier: BSD-3-Clause
"""The default sketch against exact truth: top 100, bounds, error, and identical bytes in every
run."""

import lib

LONG = ('mix_top_100', 'top_100_with_four_workers', 'same_seed_same_bytes')

LARGE = ('uplink', 'mix')
MEAN_ERROR = 0.001


def check_large(test, file, *options):
    path, truth = lib.unpack(test, file), lib.load_truth(test.traces, file)
    rows, stats, _ = test.measure('--pcap', path, '--interval', '0', '--top', '100', *options)
    lib.check_top(rows, truth, 100)
    error = lib.mean_relative_error(rows, truth)
    assert error < MEAN_ERROR, f'mean relative error {error:.5f}'
    assert {row['confidence'] for row in rows} <= {'0.999', '0.999000'}, rows[0]['confidence']
    lib.expect_lossless(stats)


def test_auckland2_top_100(test):
    for seed in (1, 2, 3, 4):
        check_large(test, LARGE[0], '--seed', seed)


def test_mix_top_100(test):
    for seed in (1, 2, 3, 4):
        check_large(test, LARGE[1], '--seed', seed)


def test_top_100_with_four_workers(test):
    for file in LARGE:
        check_large(test, file, '--seed', '5', '--workers', '4')


def test_bounds_of_a_small_sketch(test):
    """4 x 1024 counters are far too few for this traffic: wide errors, but correct bounds."""
    path, truth = lib.unpack(test, LARGE[1]), lib.load_truth(test.traces, LARGE[1])
    rows, _, _ = test.measure('--pcap', path, '--interval', '0', '--seed', '1', '--depth', '4',
                              '--width', '1024')
    assert rows, 'nothing reported'
    lib.check_bounds(rows, truth)


def test_same_seed_same_bytes(test):
    for file, interval in test.some(((LARGE[0], '1s'), (LARGE[1], '1s'), (LARGE[1], '0'))):
        path = lib.unpack(test, file)
        texts = []
        for workers in (1, 1, 2, 2):
            output = test.path('same.csv')
            test.run('--pcap', path, '--interval', interval, '--seed', '7', '--workers', workers,
                     '--output', output, '--force').expect(0)
            with open(output, 'rb') as stream:
                texts.append(stream.read())
        assert texts[0] == texts[1], f'{file}: one worker, twice, two results'
        assert texts[2] == texts[3], f'{file}: two workers, twice, two results'


def test_another_seed_still_right(test):
    path, truth = lib.unpack(test, LARGE[0]), lib.load_truth(test.traces, LARGE[0])
    rows, _, _ = test.measure('--pcap', path, '--interval', '0')  # random seed
    # Checks keys, not bounds: bounds may fail once in a thousand seeds.
    place = {key: figures[0] for key, figures in truth.items()}
    border = sorted(place.values(), reverse=True)[99]
    wrong = [row for row in rows if place[lib.row_key(row)] < border * 0.99]
    assert len(rows) == 100 and not wrong, wrong

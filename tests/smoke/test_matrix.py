# SPDX-License-Identifier: BSD-3-Clause
"""Designs x sharings x sketches on real captures: exact ledger, correct bounds, the true top 100,
and no false heavy hitter on floods and scans. One capture with every combination, the other
captures spread over them. With --full every capture with every combination and 1 to 4 workers, and
one capture with the other ways of sharing."""

import itertools
import os

import lib

DESIGNS = (('rss',), ('async', '--dispatch', 'flow'), ('async', '--dispatch', 'round-robin'),
           ('sync',))
SHARINGS = (('separate',), ('shared', '--atomic', 'cas'), ('shared', '--atomic', 'add'))
EXACT = ('flow-table', 'compact-table', 'iblt')  # sketches that must be exact

LARGE = ('mix', 'uplink', 'mix-x4')
THRESHOLD = 0.01


def options(combination):
    design, sharing, sketch, workers = combination
    return ('--idle', 'auto', '--design', *design, '--sharing', *sharing, '--sketch', *sketch,
            '--workers', workers, '--interval', '0', '--seed', '7')


def measure(test, file, combination, *more):
    path = lib.unpack(test, file)
    rows, stats, _ = test.measure('--pcap', path, *options(combination), *more)
    lib.expect_lossless(stats)
    entry = lib.entry_of(test.traces, file)
    for column, expected in (('offered', 'packets'), ('measured', 'measured'),
                             ('non_ip', 'non_ip'), ('malformed', 'malformed')):
        assert lib.total(stats, column) == int(entry[expected]), f'{column}: {stats}'
    truth = lib.load_truth(test.traces, file)
    if combination[2][0] in EXACT:
        lib.check_exact(rows, truth)
        assert all(int(row['distinct_keys']) == len(truth) for row in stats), stats
    for row in stats:
        assert row['design'] == combination[0][0] and row['sharing'] == combination[1][0], row
    return rows, truth


def top_case(file, combination):
    def check(test):
        rows, truth = measure(test, file, combination, '--top', '100')
        lib.check_top(rows, truth, 100)
    return check


def threshold_case(file, combination):
    def check(test):
        rows, truth = measure(test, file, combination, '--top', '0', '--threshold', THRESHOLD)
        lib.check_bounds(rows, truth)
        border = THRESHOLD * sum(packets for packets, _ in truth.values())
        heavy = {key for key, (packets, _) in truth.items() if packets >= border}
        found = {lib.row_key(row) for row in rows}
        assert found == heavy, f'false: {found - heavy}, missing: {heavy - found}'
    return check


def name(file, combination):
    design, sharing, sketch, workers = combination
    return (f'{os.path.basename(file).split("__")[0].split(".")[0]} {" ".join(design)} '
            f'{" ".join(sharing)} {" ".join(sketch)} {workers}').replace('--dispatch ', '').replace(
                '--atomic ', '')


def combinations(settings, attacks):
    """Returns [(file, combination)]."""
    sketches = [(name,) for name in lib.sketches(settings.binary)]
    possible = [way for way in itertools.product(DESIGNS, SHARINGS, sketches)
                if way[1][0] == 'separate' or lib.shares(way[2][0])]
    every = [(*way, number) for way in possible for number in (1, 2, 3, 4)]
    if settings.full:
        return [(file, combination) for file in LARGE + attacks for combination in every
                if file == LARGE[0] or combination[1][-1] in ('separate', 'cas')]
    chosen = []
    files = itertools.cycle(LARGE[1:] + attacks)
    workers = itertools.cycle((2, 1, 4, 3, 3))
    for design, sharing, sketch in possible:
        if sharing[-1] in ('separate', 'cas'):
            chosen.append((LARGE[0], (design, sharing, sketch, next(workers))))
        chosen.append((next(files), (design, sharing, sketch, next(workers))))
    return chosen


def cases(settings):
    attacks = tuple(entry['file'] for entry in lib.index(settings.traces)
                    if entry['file'].startswith('attack/'))
    chosen = list(combinations(settings, attacks))
    return [(name(file, combination),
             (threshold_case if file in attacks else top_case)(file, combination))
            for file, combination in lib.some(settings, chosen)]

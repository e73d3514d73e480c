# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect on random networks: are the rows of an interval within their bounds as often as they claim?"""

import functools
import os

import lib
import networks

WORLDS = 2  # of each kind; --full: ten times as many
INTERVALS = 36
BOUND = 0.9  # share of rows that have an upper bound in a steady network


def group_of(name):
    sampled = networks.KINDS[name]['sampled']
    event = 'steady' if networks.KINDS[name]['event'] is None else 'changing'
    return f'{ {"no": "unsampled", "one": "unsampled"}.get(sampled, sampled)}, {event}'


def collect(test, name, seed):
    """Yields (method, key, Verdict) of one world."""
    world = networks.World(name, seed, INTERVALS).run()
    truth = world.truth()
    folder = test.path(f'{len(test.processes)}')
    os.mkdir(folder)
    started = []
    for method in world.kind['methods']:
        output = os.path.join(folder, f'{method}.csv')
        started.append((method, output, test.start(*networks.arguments(world, method, folder), '--output', output)))
    for method, output, process in started:
        test.wait(process).expect(0)
        for rule, verdict in networks.judge_all(world, truth, lib.read_output(output)).items():
            yield method, rule, verdict


def beyond(name):
    """The share of intervals that may be wrong beside chance."""
    return networks.KINDS.get(name, {}).get('beyond', 0)


def check_bounds(test, names):
    sums, kinds = {}, {}
    worlds = 1 if test.slow else WORLDS * 10 if test.settings.full else WORLDS
    for name in names:
        for seed in range(worlds):
            for method, rule, verdict in collect(test, name, seed):
                if 'beyond' not in networks.KINDS[name]:
                    sums.setdefault((method, rule), networks.Verdict()).add(verdict)
                kinds.setdefault((name, method, rule), networks.Verdict()).add(verdict)
    wrong = [', '.join(place) + f': {verdict.bad} of {verdict.intervals} intervals, as {verdict.examples[0]}'
             for place, verdict in [*sums.items(), *kinds.items()]
             if networks.is_unlikely(verdict.bad - int(beyond(place[0]) * verdict.intervals), verdict.intervals)]
    columns = 'world, key, interval, packets and bytes, low, packets, high, low, high'
    assert not wrong, f'outside the bounds ({columns}):\n' + (
        '\n'.join(wrong) + '\ntests/smoke/networks.py BINARY --intervals N --flow PORT WORLD has the records')
    check_width(kinds)


def check_width(kinds):
    """In a steady network, once it is known, rows have an upper bound; with times of unsampled exporters no doubt."""
    for (name, method, rule), verdict in kinds.items():
        kind = networks.KINDS[name]
        if kind['event'] is not None:
            continue
        rows = verdict.late_rows
        assert rows and verdict.late_open <= (1 - BOUND) * rows, (
            f'{name}, {method}, {rule}: {verdict.late_open} of {rows} rows without upper bound')
        if kind['sampled'] == 'no' and kind.get('times') is not False and not kind.get('spray'):
            assert verdict.late_equal >= BOUND * rows, (
                f'{name}, {method}, {rule}: {verdict.late_equal} of {rows} rows are exact')


def cases(_):
    groups = {}
    for name in networks.KINDS:
        groups.setdefault(group_of(name), []).append(name)
    return [(f'bounds hold: {group}', functools.partial(check_bounds, names=names)) for group, names in groups.items()]

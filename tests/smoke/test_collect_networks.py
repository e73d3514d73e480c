# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect on random networks: rows of an interval are within their bounds as often as
claimed."""

import functools
import os

import lib
import networks
from collected import LINK_COLUMNS

WORLDS = 2  # per kind; ten times as many with --full
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
    """Returns the fraction of intervals that may be wrong in addition to chance."""
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
    """In a steady network, once it is learned, rows have an upper bound. With times of unsampled
    exporters, they are exact."""
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


def collect_again(test, world, name, *arguments):
    """The rows of a run over the world's capture, and its rows of links."""
    folder = test.path('world')
    output, links = test.path(f'{name}.csv'), test.path(f'{name}-links.csv')
    os.makedirs(folder, exist_ok=True)
    test.run(*networks.arguments(world, 'best', folder), '--output', output, '--export', f'links={links}',
             *arguments).expect(0)
    return lib.read_output(output), lib.read_csv(links, LINK_COLUMNS)


def check_roles(world, rows):
    """Roles and feeding exporters of the last interval agree with the cables."""
    last = max(int(row['epoch']) for row in rows)
    known = 0
    inputs = [row for row in rows if int(row['epoch']) == last and row['direction'] == 'in' and row['interface']]
    for row in inputs:
        node, port = int(row['exporter'].rsplit('.', 1)[1]) - 1, int(row['interface'])
        neighbour = world.ports[node].get(port, (None,))[0]
        assert row['role'] in ('', 'fed' if neighbour in world.exporters else 'edge'), row
        if row['role'] == 'fed':
            assert row['fed_by'] == world.exporters[neighbour].address, row
        known += row['role'] != ''
    assert inputs and known >= BOUND * len(inputs), f'{known} of {len(inputs)} roles are known'
    assert not any(row['role'] + row['fed_by'] for row in rows if row['direction'] != 'in')


def width(rows, intervals):
    return sum(int(row['packets_high']) - int(row['packets_low']) if row['packets_high'] else int(row['packets'])
               for row in rows if int(row['epoch']) < intervals)


def keep_roles(test, workers):
    """Learned roles are rows, and survive a restart: the first intervals are narrower, and hold the truth."""
    world = networks.World('sflow: elephants', 2, 24).run()
    truth = world.truth()
    templates, options = test.path('templates'), ('--workers', workers)
    fresh, links = collect_again(test, world, 'fresh', *options)
    check_roles(world, links)
    collect_again(test, world, 'first', *options, '--templates', templates)
    kept, links = collect_again(test, world, 'kept', *options, '--templates', templates)
    check_roles(world, links)
    wide, wider = width(kept, INTERVALS // 3), width(fresh, INTERVALS // 3)
    assert wide < 0.7 * wider, f'{wide} packets wide, {wider} without roles'
    for rule, verdict in networks.judge_all(world, truth, kept).items():
        assert not networks.is_unlikely(verdict.bad, verdict.intervals), (rule, verdict.examples)


def cases(_):
    groups = {}
    for name in networks.KINDS:
        groups.setdefault(group_of(name), []).append(name)
    return [(f'bounds hold: {group}', functools.partial(check_bounds, names=names)) for group, names in groups.items()] + [
                (f'roles survive a restart, {workers}', functools.partial(keep_roles, workers=workers[0]))
                for workers in ('1 worker', '2 workers')]

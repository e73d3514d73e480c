# SPDX-License-Identifier: BSD-3-Clause
"""Judges the targets of bench/edge from its rows, and writes figures for bench/targets."""

import csv
import os
from statistics import median

from edge_rows import FACTS, read

PART_COLUMNS = ('bench', 'part', 'round', 'value', 'unit', 'note', 'machine', 'kernel', 'dpdk', 'compiler', 'date', 'command')
# Figures of listeners: (name, column, unit)
PARTS = (('idle', 'idle', '%'), ('100 kpps', 'agent_ns', 'ns'), ('highest rate', 'pps', 'pps'))
TARGET_COLUMNS = ('bench', 'target', 'relation', 'limit', 'unit', 'value', 'min', 'max', 'rounds', 'met', 'note', *FACTS)
BASE, AGAIN = 'ovs', 'ovs again'
FLOOR = 'sketchtap --forward, measuring nothing'


def by_round(rows, what, contestant, column):
    return {(row['flows'], row['asked_pps'], row['round']): float(row[column]) for row in rows
            if (row['what'], row['contestant']) == (what, contestant) and row[column] != ''}


def pairs(one, other, function):
    """Applies a function to the values of two contestants in the same round and with the same traffic."""
    return [function(value, other[key]) for key, value in one.items() if key in other]


def ratio(what, column, one, other):
    def of(rows):
        values = pairs(by_round(rows, what, one, column), by_round(rows, what, other, column), lambda a, b: a / b if b else 0)
        return values
    return of


def above(what, column, one, other):
    def of(rows):
        return pairs(by_round(rows, what, one, column), by_round(rows, what, other, column), lambda a, b: a - b)
    return of


def sender_pays(rows):
    """Returns the ratio of the cost of sending with --kernel to that with a packet socket, if the latter is above 0."""
    base, kernel, port = (by_round(rows, 'sender', name, 'sender_ns') for name in (
        'cable', 'cable, sketchtap --kernel --design async', 'cable, sketchtap --port'))
    return [(kernel[key] - base[key]) / (port[key] - base[key]) for key in kernel
            if key in port and key in base and port[key] > base[key]]


def exact_of_ours(rows):
    """Returns the exact fractions of all contestants in which sketchtap sees the packets, from points without loss."""
    return [float(row['exact']) for row in rows
            if row['what'] == 'cost' and 'sketchtap' in row['contestant'] and row['exact'] != ''
            and not row['note'] and row['uncounted'] == '0']


def noise_of(what, column, base, again):
    """Returns the largest relative difference of two equal points of a round."""
    def of(rows):
        return max(map(abs, (value - 1 for value in ratio(what, column, again, base)(rows))), default=None)
    return of


CABLE_NOISE = noise_of('highest', 'pps', BASE, AGAIN)
SENDER_NOISE = noise_of('sender', 'sender_ns', 'cable', 'cable again')
DEVICE_NOISE = noise_of('device', 'mover_ns', 'testpmd io', 'testpmd io again')

# (target, values per round, relation, limit, unit, noise of a ratio or None)
TARGETS = (
    ('--forward that measures nothing, of testpmd io: CPU time', ratio('device', 'mover_ns', FLOOR, 'testpmd io'), '<=', 1 / 0.95,
     '', DEVICE_NOISE),
    ('on-path count-min, above that', above('device', 'mover_ns', 'sketchtap --forward, count-min', FLOOR), '<=', 16, 'ns', None),
    ('on-path flow-table, above that', above('device', 'mover_ns', 'sketchtap --forward, flow-table', FLOOR), '<=', 16, 'ns', None),
    ('on-path iblt, above that', above('device', 'mover_ns', 'sketchtap --forward, iblt', FLOOR), '<=', 22, 'ns', None),
    ('OVS with --kernel on its port, of OVS: highest rate', ratio('highest', 'pps', 'ovs, sketchtap --kernel', BASE), '>=', 0.95,
     '', CABLE_NOISE),
    ('OVS with --kernel on its port, of UMON\'s rules: highest rate',
     ratio('highest', 'pps', 'ovs, sketchtap --kernel', 'ovs, umon'), '>=', 1.5, '', CABLE_NOISE),
    ('what a sender pays: --kernel --design async, of --port', sender_pays, '<=', 1 / 8, '', SENDER_NOISE),
    ('flows exact, wherever sketchtap sees packets', exact_of_ours, '>=', 1, '', None),
)


def reaches(value, relation, limit):
    return value >= limit if relation == '>=' else value <= limit


def verdict(values, relation, limit, noise):
    """Returns undecided if there are few rounds, if they disagree, or if noise could change the result."""
    met = [reaches(value, relation, limit) for value in values]
    if len(met) < 3 or len(set(met)) > 1 or noise is not None and abs(median(values) / limit - 1) < noise:
        return 'undecided'
    return 'met' if met[0] else 'not met'


def spread(values):
    return {'value': median(values), 'min': min(values), 'max': max(values), 'rounds': len(values)}


def targets(rows):
    for target, values_of, relation, limit, unit, noise_at in TARGETS:
        row = {'target': target, 'relation': relation, 'limit': limit, 'unit': unit}
        values = values_of(rows)
        if not values:
            yield {**row, 'met': 'not measured', 'note': 'a contestant was missing'}
            continue
        noise = noise_at(rows) if noise_at else None
        yield {**row, **spread(values), 'met': verdict(values, relation, limit, noise),
               'note': f'noise up to {100 * noise:.0f} %' if noise is not None else ''}


def parts(rows):
    """Returns the figures of --what interface in the form that bench/targets reads."""
    return [{'part': f'{row["contestant"]}: {name}', 'round': row['round'], 'value': row[column], 'unit': unit,
             'note': row['note'] if column == 'pps' or not row[column] else ''}
            for row in rows if row['what'] == 'interface' for name, column, unit in PARTS]


def short(value):
    return f'{value:.0f}' if abs(value) >= 1000 else f'{value:.4g}'


def write_csv(path, columns, rows, same):
    with open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, columns, restval='', lineterminator='\n')
        writer.writeheader()
        for row in rows:
            writer.writerow({**same, **{name: short(value) if isinstance(value, float) else value
                                        for name, value in row.items()}})


def write(directory):
    """Writes edge-targets.csv and interface.csv from edge.csv. Returns the targets."""
    rows = read(os.path.join(directory, 'edge.csv'))
    if not rows:
        return []
    same = {'bench': 'edge', **{fact: rows[0][fact] for fact in FACTS}}
    judged = list(targets(rows))
    write_csv(os.path.join(directory, 'edge-targets.csv'), TARGET_COLUMNS, judged, same)
    if any(row['what'] == 'interface' for row in rows):
        software, card = same['software'].split('; ')
        write_csv(os.path.join(directory, 'interface.csv'), PART_COLUMNS, parts(rows), {
            **{name: value for name, value in same.items() if name in PART_COLUMNS}, 'bench': 'interface', 'dpdk': software, 'compiler': card})
    return judged

# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap-bench adaptive: losses without adaptation match integrals, losses with it are lower,
and the paper's figures are listed. Times are not judged."""

import math
import os
import subprocess

from test_bench import read_rows

LONG = ('host', 'plot', 'paper')

BENCH = os.path.join(os.path.dirname(__file__), '..', '..', 'bench')
WAYS = ('without', 'greedy', 'lsf', 'queries', 'best', 'best_valve')
CONFIG = '[measurement flows]\nsketch = flow-table\nwidth = 4K\n[measurement senders]\nkey = src\nwidth = 1K\n'
STEPS = 200000  # integration steps


def lost_by_integral(rate, seconds, capacity, entries):
    """Returns the fraction lost by a queue that is emptied at `capacity`."""
    step, backlog, arrived, lost = seconds / STEPS, 0, 0, 0
    for i in range(STEPS):
        come = rate((i + 0.5) * step) * step
        arrived += come
        backlog = max(backlog + come - capacity(i * step) * step, 0)
        if backlog > entries:
            lost += backlog - entries
            backlog = entries
    return lost / arrived


def check_losses(rows, peak):
    """The paper's ramp and sines reach 1 / 0.8 of the capacity; with co-runners the capacity is 0.6
    of that."""
    sine = {name: (lambda t, period=period: peak / 2 * (1 + math.sin(2 * math.pi * t / period)))
            for name, period in (('250 ms', 0.25), ('100 ms', 0.1))}
    for row in rows:
        entries = int(row['entries'])
        shares = [float(row[way]) for way in WAYS]
        assert all(0 <= share <= shares[0] + 1e-9 for share in shares) and shares[-1] < 0.001, row
        if row['figure'] in ('5a', '5b', '5c'):
            rate = sine.get(row['setting'], lambda t: peak * t)
            want = lost_by_integral(rate, 1, lambda t: 0.8 * peak, entries)
            assert abs(shares[0] - want) < 0.003 * want + 1e-4, (row, want)


def check_adaptations(rows):
    """In the ramp, the window from 0.80 to 0.81 s is the first with more packets than the capacity."""
    for entries in ('4096', '16384'):
        reductions = [row for row in rows if row['quantity'] == 'adaptations' and row['entries'] == entries]
        times = {way: [float(row[way]) for row in reductions if row[way]] for way in WAYS}
        assert not times['without'] and all(some == sorted(some) for some in times.values()), times
        assert times['greedy'][0] == times['lsf'][0] == times['queries'][0] == 0.81, times
        assert len(times['queries']) == 2 and 0.6 < times['best'][0] < 0.8 < times['best'][-1] < 1, times


def check_windows(rows):
    """The packets that windows lose add up to the share that is lost; the ramp brings 7.4 M packets."""
    for figure, setting, number, offered in (('5a', 'one core', 100, 7.4e6), ('5c', '100 ms', 100, 7.4e6), ('5d', '3', 33, None)):
        some = [row for row in rows if row['quantity'] == 'lost in window' and (row['figure'], row['setting']) == (figure, setting)]
        assert [round(100 * float(row['from_s'])) for row in some] == list(range(number)), some
        total, = (row for row in rows if row['quantity'] == 'lost' and row['entries'] == '4096'
                  and (row['figure'], row['setting']) == (figure, setting))
        for way in WAYS if offered else ():
            lost = sum(float(row[way]) for row in some)
            assert abs(lost / offered - float(total[way])) < 1e-4 + 0.002 * float(total[way]), (figure, way, lost, total)


def check_estimate(rows):
    """Both ways of the paper, that of a worker, and that with its lookups. Only ratios above 10 are certain."""
    value = {row['setting']: float(row['value']) for row in rows if row['figure'] == 'VI-B'}
    assert set(value) == {'CDF', 'CDF tabulated', 'threshold', 'with lookups'}, value
    assert 0 < value['threshold'] < value['CDF'] and value['threshold'] < value['with lookups'], value


def check_decisions(rows):
    """A fall by 25 % takes both ways less time than the slowest case."""
    found = {(row['setting'], row['quantity']): row for row in rows if row['figure'] == '6'}
    for states in (16, 32, 64):
        for way in ('Greedy', 'LSF'):
            less = float(found[f'{states} states, -25 %', way]['value'])
            assert 0 < less and (states < 64 or less < float(found['64 states', 'time'][way.lower()])), found
    for number in (256, 1024, 4096):  # queries are turned off by rank, measurements one by one
        by_rank, one_by_one = found[f'{number} queries', 'time'], found[f'{number} measurements', 'time']
        assert all(float(by_rank[way]) > 0 for way in ('greedy', 'lsf', 'queries', 'best')), by_rank
        assert not one_by_one['greedy'] and float(one_by_one['queries']) > 0, one_by_one
    assert float(by_rank['queries']) < float(one_by_one['queries']), (by_rank, one_by_one)


def check_counting(rows):
    """Counting by states, by queries that match, and by queries that do not."""
    found = {row['setting']: row for row in rows if row['figure'] == 'III'}
    assert sorted(found) == sorted([f'{n} states' for n in (16, 32, 64)] + [
        f'{n} {kind}' for n in (256, 1024, 4096) for kind in ('queries', 'queries, none matches')]), found
    for setting, row in found.items():
        assert ('a table without queries' in row['note']) == ('queries' in setting), row
        assert math.isfinite(float(row['value'])) and ('queries' in setting or float(row['value']) > 0), row


def run(test, *options):
    result = test.bench('adaptive', '--no-huge', '--seed', '1', '--quick', *options, '--output', '-').expect(0)
    return read_rows(result.stdout)


def test_paper(test):
    rows = run(test)
    assert {row['source'] for row in rows} == {'measured', 'model of paper'}, rows
    check_losses([row for row in rows if row['quantity'] == 'lost'], 14.8e6)
    for figure in ('5a', '5b', '5c', '5d', '5e'):
        assert {row['entries'] for row in rows if row['figure'] == figure} == {'4096', '16384'}, figure
    check_adaptations(rows)
    check_estimate(rows)
    check_decisions(rows)
    check_counting(rows)
    predictions = [row for row in rows if row['experiment'] == 'prediction']
    assert len({row['setting'] for row in predictions}) == 5 and len(predictions) == 5 * 5, predictions
    assert all(0 <= float(row['value']) < 100 for row in predictions), predictions
    errors = {row['setting']: row for row in rows if row['figure'] == '3'}
    error, few = errors['1000 samples'], errors['100 samples']
    assert float(error['best']) < float(error['value']) < 0.01 < float(error['without']) < 0.05, error
    assert float(error['best']) < float(few['best']), few
    check_windows(rows)


def test_host(test):
    """Uses a profile of the host; a profile that lacks a part is refused."""
    config, path = test.path('two.conf'), test.path('host.profile')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write(CONFIG)
    profile = test.bench('profile', '--config', config, '--no-huge', '--duration', '1ms', '--seed', '1').expect(0).stdout
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(profile)
    rows = [row for row in run(test, '--profile', path) if row['source'] == 'model of host']
    plan = test.run('plan', '--config', config, '--pcap', '/dev/null', '--workers', '1', '--profile', path).expect(0)
    full, = (line.split() for line in plan.stdout.splitlines() if line.startswith('full '))
    lossless, = (row for row in rows if row['quantity'] == 'lossless' and row['entries'] == '4096')
    assert abs(0.8 * float(lossless['best_valve']) * float(full[1]) - 1000) < 10, (lossless, full)
    check_losses([row for row in rows if row['quantity'] == 'lost' and row['figure'] in ('5a', '5b', '5c')],
                 1e9 / 0.8 / float(full[1]))
    lines = [line for line in profile.splitlines(True) if not line.startswith('free,')]
    count = sum(not line.startswith('#') for line in lines) - 6
    with open(path, 'w', encoding='utf-8') as stream:
        stream.writelines(f'rows: {count}\n' if line.startswith('rows: ') else line for line in lines)
    test.bench('adaptive', '--no-huge', '--quick', '--profile', path).expect(1).expect_one_line('a part or a sketch is missing')


def test_plot(test):
    """The chart has a panel per queue."""
    path, picture = test.path('figures.csv'), test.path('figures.svg')
    test.bench('adaptive', '--no-huge', '--quick', '--output', path).expect(0)
    done = subprocess.run([os.path.join(BENCH, 'plot'), path, picture], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == '', done.stderr
    with open(picture, encoding='utf-8') as stream:
        assert 'queue of 4096' in stream.read()

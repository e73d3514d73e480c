# SPDX-License-Identifier: BSD-3-Clause
"""Epochs follow packet time: equal for any number of workers."""

import lib

LONG = ('auckland2_by_the_second', 'mix_by_five_seconds')

SAME = ('epoch', 'measurement', 'start', 'end', 'offered', 'received', 'measured', 'filtered',
        'non_ip', 'malformed', 'bytes', 'distinct_keys')


def epochs_by_workers(test, file, interval):
    """Measures with 1, 2 and 4 workers; returns (heavy hitters, ledger) of one of them."""
    path = lib.unpack(test, file)
    first = None
    for workers in (1, 2, 4):
        rows, stats, _ = test.measure('--pcap', path, '--interval', interval, '--seed', '3',
                                      '--workers', workers, '--top', '20')
        lib.expect_lossless(stats)
        account = [[row[column] for column in SAME] for row in stats]
        if first is None:
            first = rows, stats, account
            continue
        for expected, found in zip(first[2], account):
            assert expected == found, (
                f'{workers} workers: ' + ', '.join(
                    f'{column} {b} instead of {a}' for column, a, b in zip(SAME, expected, found)
                    if a != b) + f' in epoch {expected[0]}')
        assert len(account) == len(first[2]), f'{workers} workers: {len(account)} epochs'
        assert {row['epoch'] for row in rows} == {row['epoch'] for row in first[0]}
    return first[0], first[1]


def check_against_oracle(test, file, interval_text, interval):
    rows, stats = epochs_by_workers(test, file, interval_text)
    oracle = lib.Oracle()
    split = oracle.epochs(lib.unpack(test, file), interval)
    assert [row['epoch'] for row in stats] == [str(number) for number in sorted(split)]
    for row in stats:
        ledger, truth = oracle.count(split[int(row['epoch'])])
        for column in ('measured', 'non_ip', 'malformed'):
            assert int(row[column]) == ledger[column], f'{column}: {row}'
        assert int(row['bytes']) == sum(size for _, size in truth.values()), row
        assert abs(int(row['distinct_keys']) - len(truth)) <= max(
            3, len(truth) * lib.DISTINCT_TOLERANCE), f'{len(truth)} keys: {row}'
        lib.check_top(lib.in_epoch(rows, row['epoch']), truth, 20)


def test_auckland2_by_the_second(test):
    check_against_oracle(test, 'uplink', '1s', 10**9)


def test_mix_by_five_seconds(test):
    check_against_oracle(test, 'mix', '5s', 5 * 10**9)


def test_mix_by_the_second(test):
    _, stats = epochs_by_workers(test, 'mix', '1s')
    assert lib.total(stats, 'measured') == int(lib.entry_of(test.traces, 'mix')['measured'])


def test_real_time_priority(test):
    """Under SCHED_FIFO, threads that share a CPU still get CPU time."""
    spec = 'flows=100,packets=10000,seed=1'
    chrt = ['chrt', '--fifo', '10', test.binary]
    if test.run('--help', program=chrt).status != 0:
        test.skip('no permission for real-time priorities')
    for design in ('rss', 'async'):
        result = test.run('--synthetic', spec, '--design', design, '--format', 'csv',
                          '--top', '1', '--interval', '0', program=chrt)
        result.expect(0)
        assert len(result.stdout.splitlines()) == 2, result.describe()

# SPDX-License-Identifier: BSD-3-Clause
"""--queues: the counts of workers add up to the ledger, for any design; an overloaded worker is
named."""

import lib

COLUMNS = ('epoch,start,end,worker,lcore,cpu,ports,queue,received,measured,ring_full,bytes,share,busy,'
           'imbalance').split(',')
WORKERS = 3


def check(rows, stats):
    """Checks that every epoch of the ledger has a row per worker, and that they add up."""
    by_epoch = {}
    for row in rows:
        by_epoch.setdefault(row['epoch'], []).append(row)
    assert list(by_epoch) == [row['epoch'] for row in stats]
    for ledger in stats:
        of_epoch = by_epoch[ledger['epoch']]
        assert [int(row['worker']) for row in of_epoch] == list(range(WORKERS))
        for column in ('received', 'measured', 'ring_full', 'bytes'):
            assert lib.total(of_epoch, column) == int(ledger[column]), (column, ledger)
        received = [int(row['received']) for row in of_epoch]
        if sum(received) == 0:
            assert {row['imbalance'] for row in of_epoch} == {''}
            continue
        for row, own in zip(of_epoch, received):
            assert (row['start'], row['end']) == (ledger['start'], ledger['end'])
            assert abs(float(row['share']) - own / sum(received)) < 1e-6
            assert abs(float(row['imbalance']) - max(received) * WORKERS / sum(received)) < 2e-6
            assert row['busy'] == '' and row['ports'] == ''


def measure(test, flows, *options):
    queues = test.path('queues.csv')
    _, stats, result = test.measure('--synthetic', f'packets=200K,zipf=1.05,rate=1Mpps,flows={flows}',
                                    '--interval', '50ms', '--workers', str(WORKERS), '--queues', queues,
                                    '--seed', '1', *options)
    rows = lib.read_csv(queues, COLUMNS)
    check(rows, stats)
    return rows, stats, result


def check_design(test, design):
    rows, _, _ = measure(test, '1K', '--design', design)
    for row in rows:
        assert row['queue'] == (row['worker'] if design == 'rss' else ''), row


def test_rss(test):
    check_design(test, 'rss')


def test_async(test):
    check_design(test, 'async')


def test_sync(test):
    check_design(test, 'sync')


def test_one_queue_drowns(test):
    """One flow: all packets go to one worker, and its ring overflows. Logged once, not in every
    epoch."""
    rows, stats, result = measure(
        test, '1', '--design', 'async', '--ring-size', '64', '--pace', '100Mpps',
        '--sketch', 'reversible')
    assert lib.total(stats, 'ring_full') > 0
    assert {row['imbalance'] for row in rows} - {''} == {f'{WORKERS:.6f}'}
    said = [line for line in result.stderr.splitlines() if 'is overloaded' in line]
    assert len(said) == 1 and f'{WORKERS:.2f} times the mean' in said[0], result.describe()


def test_same_file(test):
    for first, second in (('--stats', '--queues'), ('--output', '--queues')):
        name = test.path('same.csv')
        test.run('--synthetic', 'packets=10', first, name, second, name).expect(2).expect_one_line(
            second, f'{first} writes to it')

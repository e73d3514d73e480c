# SPDX-License-Identifier: BSD-3-Clause
"""Every capture of the index gives exactly the indexed figures, with 1, 2 and 4 workers; with
sanitizers, one of these."""

import os

import lib

TOP = 100
WORKERS = (1, 2, 4)


def check_ledger(entry, stats):
    assert len(stats) <= 1, f'{len(stats)} epochs with --interval 0'
    for column, expected in (('offered', 'packets'), ('received', 'packets'),
                             ('measured', 'measured'), ('non_ip', 'non_ip'),
                             ('malformed', 'malformed')):
        assert lib.total(stats, column) == int(entry[expected]), (
            f'{column} is {lib.total(stats, column)} instead of {entry[expected]}')
    lib.expect_lossless(stats)


def truth_of(test, entry):
    if entry['file'] in lib.UNLIKE_INTERFACES:
        oracle = lib.Oracle()
        return oracle.count(oracle.records(os.path.join(test.traces, entry['file'])))[1]
    return lib.load_truth(test.traces, entry['file'])


def check_measured(test, entry, path, workers, damaged):
    rows, stats, result = test.measure(
        '--pcap', path, '--workers', workers, '--interval', '0', '--seed', '1',
        status=1 if damaged else 0)
    if damaged:
        result.expect_one_line(os.path.basename(path))
    check_ledger(entry, stats)
    truth = truth_of(test, entry)
    if stats:
        assert stats[0]['workers'] == str(workers), stats[0]
        assert int(stats[0]['bytes']) == sum(size for _, size in truth.values()), stats[0]
        keys = int(entry['keys'])
        distinct = int(stats[0]['distinct_keys'])
        assert abs(distinct - keys) <= max(2, keys * lib.DISTINCT_TOLERANCE), (
            f'{distinct} distinct keys instead of {keys}')
    if entry['file'].startswith('attack/'):
        check_flood(rows, truth)
    else:
        lib.check_top(rows, truth, TOP)


def check_flood(rows, truth):
    """Thousands of flows of one or two packets have no clear top. Bounds hold, and every flow with
    more than four times the packets of the smallest reported one is reported."""
    lib.check_bounds(rows, truth)
    assert len(rows) == min(TOP, len(truth))
    least = min((truth[lib.row_key(row)][0] for row in rows), default=0)
    found = {lib.row_key(row) for row in rows}
    missing = [key for key, (packets, _) in truth.items()
               if packets > 4 * least and key not in found]
    assert not missing, f'{len(missing)} are missing, such as {missing[0]}'


def check_refused(test, entry, path, workers):
    output, stats = test.path('kept.csv'), test.path('stats.csv')
    with open(output, 'w', encoding='utf-8') as stream:
        stream.write('before\n')
    result = test.run('--pcap', path, '--workers', workers, '--output', output, '--stats', stats,
                      '--force').expect(1).expect_one_line(os.path.basename(path))
    assert result.stdout == '', result.describe()
    with open(output, encoding='utf-8') as stream:
        assert stream.read() == 'before\n', 'a refused capture changed the output'
    assert not os.path.exists(stats), 'a refused capture left a file'


def case(entry, workers):
    def check(test):
        path = os.path.join(test.traces, entry['file'])
        if path.endswith('.xz'):
            path = lib.unpack(test, entry['file'])
        for count in workers:
            if entry['expected'] == 'refused':
                check_refused(test, entry, path, count)
            else:
                check_measured(test, entry, path, count, entry['expected'] != 'measured')
    return check


def corrected(entry):
    if entry['file'] not in lib.UNLIKE_INTERFACES:
        return entry
    packets, keys = lib.UNLIKE_INTERFACES[entry['file']]
    return dict(entry, expected='measured', packets=packets, measured=packets, non_ip=0, malformed=0,
                keys=keys)


def cases(settings):
    return [(entry['file'], case(corrected(entry), WORKERS[number % 3:][:1] if settings.slow else WORKERS))
            for number, entry in enumerate(lib.index(settings.traces))]

# SPDX-License-Identifier: BSD-3-Clause
"""Upper bound of unlisted keys in --stats to network destinations: no unlisted key exceeds it."""

import itertools
import json
import socket

import lib
from test_overload import mixed, write_flows, write_states
from test_sockets import Reader

LONG = ('every_sketch', 'exact')

COLUMNS = ('unlisted_packets_high', 'unlisted_bytes_high')
WAYS = (('rss', 'separate'), ('async', 'shared'), ('sync', 'separate'), ('rss', 'shared'))
LIMITS = (('--top', '10'), ('--top', '0', '--threshold', '0.002'), ('--top', '50'))
SMALL = {'count-min': ('--width', '1024', '--depth', '2'), 'simple-hash': ('--width', '1024'),
         'reversible': ('--width', '1024'), 'flow-table': ('--buckets', '512'),
         'compact-table': ('--width', '1000'), 'iblt': ('--width', '256')}


def told(test, *arguments):
    """Runs sketchtap; returns (rows of --output, {(epoch, measurement): row of --stats})."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        reader = Reader(server)
        rows, _, _ = test.measure(*arguments, '--stats', f'json:tcp://127.0.0.1:{server.getsockname()[1]}')
        reader.join(20)
    stats = [json.loads(line) for line in reader.bytes.decode().splitlines()]
    return rows, {(str(row['epoch']), row['measurement']): row for row in stats}


def check_missing(rows, stats, truth, rule='5tuple'):
    """Checks the bounds of unlisted keys; returns them."""
    shown = {lib.row_key(row, rule) for row in rows}
    missing = [figures for key, figures in truth.items() if key not in shown]
    for place, column in enumerate(COLUMNS):
        most = max((figures[place] for figures in missing), default=0)
        assert most <= stats[column], f'a key has {most}, {column} is {stats[column]}'
    return tuple(stats[column] for column in COLUMNS)


def test_every_sketch(test):
    """With and without enough entries, by packets and bytes, sampled or not, with a threshold."""
    path, truth, _ = write_flows(test)
    ways, limits, odd = itertools.cycle(WAYS), itertools.cycle(LIMITS), itertools.cycle((0, 0, 1, 1, 1))
    for sketch, metric, size in itertools.product(lib.sketches(test.binary), ('packets', 'bytes'), (None, SMALL)):
        design, sharing = next(ways)
        sharing = sharing if lib.shares(sketch) else 'separate'
        asked = ('--pcap', path, '--sketch', sketch, '--count', metric, '--design', design, '--sharing', sharing,
                 '--workers', '2', '--interval', '0', '--seed', '7', *(size or {}).get(sketch, ()))
        states = ('--states-from', write_states(test, mixed(2, 50000, f'{sketch} {metric}')))
        for more in ((), states) if test.settings.full else (states if next(odd) else (),):
            rows, stats = told(test, *asked, *more, *next(limits))
            check_missing(rows, stats['0', 'main'], truth)
            assert stats['0', 'main']['confidence'] == 0.999, stats


def test_exact(test):
    """In a table with all keys, the bound is the largest unlisted key; if all are listed, 0."""
    path, truth, _ = write_flows(test)
    asked = ('--pcap', path, '--sketch', 'flow-table', '--interval', '0')
    for limit in (('--top', '1'), ('--top', '100'), ('--top', '0', '--threshold', '0.00001')):
        rows, stats = told(test, *asked, *limit)
        shown = {lib.row_key(row) for row in rows}
        missing = [figures for key, figures in truth.items() if key not in shown]
        most = [max((figures[place] for figures in missing), default=0) for place in (0, 1)]
        assert [stats['0', 'main'][column] for column in COLUMNS] == most, stats


def test_lost_packets(test):
    """All lost packets may belong to a single unknown key."""
    rows, stats = told(test, '--synthetic', 'flows=50,packets=2M', '--pace', '1000Mpps', '--sketch', 'flow-table',
                       '--top', '100', '--interval', '0')
    row = stats['0', 'main']
    lost = row['nic_missed'] + row['nic_errors'] + row['no_mbuf'] + row['ring_full'] + row['shed']
    assert row['unlisted_packets_high'] == lost, row
    assert all(int(hitter['packets_high']) - int(hitter['packets']) == lost for hitter in rows), row


def test_other_networks(test):
    """A drill-down measurement has no bound, because it does not count other keys."""
    config = test.path('closer.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('[measurement nets]\nkey = src/24\n[measurement inside]\nwithin = nets:5%\nsketch = flow-table\n')
    _, stats = told(test, '--synthetic', 'flows=1000,packets=100K,rate=50K', '--config', config, '--interval', '1s')
    assert all(column in row for (_, name), row in stats.items() for column in COLUMNS if name == 'nets'), stats
    assert not any(column in row for (_, name), row in stats.items() for column in COLUMNS if name == 'inside'), stats


def check_capture(test, file, *options):
    path, truth = lib.unpack(test, file), lib.load_truth(test.traces, file)
    rows, stats = told(test, '--pcap', path, '--interval', '0', '--top', '100', *options)
    return rows, check_missing(rows, stats['0', 'main'], truth)


def test_captures(test):
    """Default sizes: the bound of unlisted keys is at most about the last row, in the ranked
    unit."""
    for seed, sketch in test.few(tuple(itertools.product((1, 2, 3), ('count-min', 'simple-hash', 'reversible')))):
        rows, (packets, _) = check_capture(test, 'uplink', '--sketch', sketch, '--seed', str(seed))
        assert packets <= int(rows[-1]['packets']), (seed, sketch, packets)


def test_mix(test):
    """A larger capture, with few counters and many; only with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    for seed, metric, size in itertools.product((1, 2, 3), ('packets', 'bytes'), ((), ('--width', '1024'))):
        check_capture(test, 'mix', '--workers', '2', '--count', metric, '--seed', str(seed), *size)

# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap follow: every interval equals the files or is reported as missing; exit status."""

import json
import os
import re
import signal
import time

import lib

LONG = ('who_was_away_is_told',)

QUIET = ('--output', '/dev/null')
PACED = ('--synthetic', 'flows=200,zipf=1.1,ipv6=0.3,packets=100G,rate=20K,seed=1', '--pace', 'recorded')
LIVE = ('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1')
RUN_KEEPS = 300
FIGURES = ('packets', 'packets_low', 'packets_high', 'bytes', 'bytes_low', 'bytes_high')


def follow(test, run, *words, stdout=None):
    """Starts follow when the run replies."""
    test.until(lambda: os.path.exists(run.control_socket()) or not run.running(), 'the socket is there')
    return test.start('follow', *words, stdout=stdout,
                      program=['env', f'RUNTIME_DIRECTORY={run.directory}', test.binary])


def output_of(process):
    return lib.read_text(os.path.join(process.directory, 'stdout') if process.result is None else '\n' + process.result.stdout)


def lines_of(process):
    """Returns the complete lines so far."""
    return output_of(process).split('\n')[:-1]


def objects(process):
    return [json.loads(line) for line in lines_of(process) if line]


def until_lines(test, process, count):
    test.until(lambda: len(lines_of(process)) >= count or not process.running(), f'{count} lines')
    assert process.running(), process.result.describe()


def end(test, run):
    run.signal(signal.SIGTERM)
    return test.wait(run).expect(0)


def check_epoch(told, ledger, rows):
    for measurement in told['measurements']:
        row, = lib.in_epoch(ledger, str(told['epoch']), measurement['measurement'])
        assert (told['start'], told['end'], str(measurement['distinct_keys'])) == (
            row['start'], row['end'], row['distinct_keys'])
        for column, value in measurement['ledger'].items():
            assert str(value) == row[column], (column, value, row)
        expected = lib.in_epoch(rows, str(told['epoch']), measurement['measurement'])[:10]
        assert len(expected) == len(measurement['rows']), told
        for row, expected_row in zip(measurement['rows'], expected):
            assert set(row) >= {'rank', 'share', *FIGURES}, row
            for column, value in row.items():
                text = f'{value:.6f}' if column == 'share' else '' if value is None else str(value)
                assert text == expected_row[column], (column, row, expected_row)


def test_json_is_the_files(test):
    """JSON from the first printed epoch to the last one of the run."""
    config, output, stats = test.path('some.conf'), test.path('output.csv'), test.path('stats.csv')
    with open(config, 'w', encoding='utf-8') as stream:
        for name, key in (('flows', '5tuple'), ('senders', 'src/24'), ('ports', 'dst_port'), ('pairs', 'src-dst'),
                          ('bytes', 'dst')):
            stream.write(f'[measurement {name}]\nkey = {key}\n' + 'count = bytes\n' * (name == 'bytes'))
    run = test.start('--config', config, *PACED, '--interval', '100ms', '--output', output, '--stats', stats)
    follower = follow(test, run, '--json')
    until_lines(test, follower, 8)
    end(test, run)
    result = test.wait(follower).expect(0)
    assert result.stderr == '', result.describe()
    *epochs, last = objects(follower)
    assert last == {'ended': True}, last
    rows, ledger = lib.read_output(output), lib.read_stats(stats)
    for before, after in zip(epochs, epochs[1:]):
        assert after['closed'] == before['closed'] + 1 and after['missed'] == 0, after
    for told in epochs:
        check_epoch(told, ledger, rows)
    assert [len(told['measurements']) for told in epochs] == [5] * len(epochs)
    assert str(epochs[-1]['epoch']) == ledger[-1]['epoch'], 'the last is not the last'


def test_lines_for_a_person(test):
    """One line per interval, including silent ones; the end is reported on standard error."""
    run = test.start(*LIVE, '--name', 'tap-1.x', '--interval', '100ms', '--filter', 'host 1.2.3.4', *QUIET)
    test.until(lambda: os.path.exists(run.control_socket('tap-1.x')), 'the socket is there')
    follower = test.start('follow', 'tap-1.x', program=['env', f'RUNTIME_DIRECTORY={run.directory}', test.binary])
    until_lines(test, follower, 4)
    end(test, run)
    result = test.wait(follower).expect(0)
    assert result.stderr == 'sketchtap: the run ended\n', result.describe()
    numbers = [int(line.split()[0]) for line in lines_of(follower) if line]
    assert numbers == sorted(set(numbers)), numbers
    assert all('lost' in line or 'losses unknown' in line for line in lines_of(follower) if line)


def test_who_was_away_is_told(test):
    """A client stopped for longer than the history of a run: missing intervals are reported, and
    the numbers add up."""
    run = test.start(*LIVE, '--interval', '2ms', '--filter', 'host 1.2.3.4', *QUIET)
    for words in (('--json',), ()):
        follower = follow(test, run, *words)
        until_lines(test, follower, 3)
        follower.signal(signal.SIGSTOP)
        with_client = lib.ControlClient(run.control_socket())
        closed = with_client.ask('follow')['closed']
        test.until(lambda: with_client.ask('follow')['closed'] > closed + RUN_KEEPS + 100, 'many epochs passed')
        with_client.close()
        follower.signal(signal.SIGCONT)
        count = len(lines_of(follower))
        until_lines(test, follower, count + 50)
        if words:
            told = objects(follower)
            missing = [epoch for epoch in told if epoch['missed'] > 0]
            assert missing and missing[0]['missed'] > 50, 'nothing is missing'
            for before, after in zip(told, told[1:]):
                assert after['closed'] - before['closed'] == after['missed'] + 1, after
                if after['missed']:
                    assert (after['missed_first'], after['missed_last']) == (
                        before['epoch'] + 1, after['epoch'] - 1), after
        else:
            test.until(lambda: 'are missing: a run keeps' in follower.stderr(), 'it is printed')
        follower.kill()
    end(test, run)


def test_how_it_ends(test):
    """Exit status 1 if the run is killed or the device is full; 0 if the reader closes. A stopped
    client delays the run's end only briefly."""
    run = test.start(*LIVE, '--interval', '100ms', *QUIET)
    reading, writing = os.pipe()
    left = follow(test, run, stdout=writing)
    os.close(writing)
    assert os.read(reading, 1), 'nothing is printed'
    os.close(reading)
    assert test.wait(left).expect(0).stderr == '', left.result.describe()
    with open('/dev/full', 'wb') as full:
        test.wait(follow(test, run, stdout=full)).expect(1).expect_one_line('standard output', 'no space')
    follower = follow(test, run, '--json')
    until_lines(test, follower, 2)
    run.kill()
    result = test.wait(follower).expect(1)
    result.expect_one_line('the connection broke')
    assert 'ended' not in objects(follower)[-1]

    stats = test.path('stats.csv')
    run = test.start(*LIVE, '--interval', '100ms', '--stats', stats, *QUIET)
    follower = follow(test, run)
    until_lines(test, follower, 2)
    follower.signal(signal.SIGSTOP)
    began = time.monotonic()
    end(test, run)
    assert time.monotonic() - began < 30
    lib.read_stats(stats)
    follower.signal(signal.SIGCONT)
    assert test.wait(follower).status in (0, 1)


def test_nobody_and_noise(test):
    nobody = ['env', f'RUNTIME_DIRECTORY={test.directory}', test.binary]
    test.run('follow', program=nobody).expect(1).expect_one_line('no sketchtap answers')
    test.run('follow', 'name', program=nobody).expect(1).expect_one_line('no sketchtap --name name answers')
    for words in (('a', 'b'), ('--jsn',), ('',), ('../x',), ('--json=1',), ('a b',), ('x' * 200,), ('-',), ('\n',)):
        result = test.run('follow', *words, program=nobody).expect(2)
        result.expect_one_line('follow')
    assert 'Usage: sketchtap follow' in test.run('follow', '--help', program=nobody).expect(0).stdout
    assert re.search(r'^  follow  ', test.run('--help').expect(0).stdout, re.M)

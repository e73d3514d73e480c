# SPDX-License-Identifier: BSD-3-Clause
"""Measurements that change while packets flow. Up to the interval that the reply names, every
interval equals that of a run with the old measurements; from then on, that of a run with the new
ones, byte for byte."""

import collections
import contextlib
import glob
import json
import os
import random
import re
import signal
import socket
import stat
import subprocess
import threading
import time

import lib
from test_collect_live import free_port

LONG = ('ctl_does_not_wait_for_ever', 'a_configuration_that_is_no_file_any_more', 'many_names_that_shed', 'since_when', 'by_words',
        'what_is_refused_changes_nothing', 'which_one', 'epoch_that_is_far')

START = 1700000000 * 1000000  # us
EPOCH = 100000  # us
FLOWS = 600
FAST = 600  # epochs that are fed without pauses
CHANGES, CHANGES_SLOW, CHANGES_FULL = 120, 30, 1000
TIMES = {'rx_ns', 'ppt_ns', 'free_ns', 'delay_ns'}
# Sets of measurements, in the words of a section: every sketch, other keys, widths and numbers of
# measurements.
SETS = (
    {'main': 'key=src-dst sketch=count-min width=4096 top=20'},
    {'main': 'key=5tuple sketch=flow-table width=1024 top=30'},
    {'main': 'key=src/24 sketch=simple-hash width=65536 top=10', 'b.2': 'key=dst_port,src sketch=iblt width=4096'},
    {'other': 'key=src sketch=reversible width=4096 top=5'},
    {'main': 'key=src-dst sketch=count-min width=1024 top=20', 'more': 'key=proto,src/28 count=bytes'},
)


def write_config(path, measurements, head=''):
    with open(path + '.new', 'w', encoding='utf-8') as stream:
        stream.write(head)
        for name, words in measurements.items():
            stream.write(f'[measurement {name}]\n' + ''.join(
                word.replace('=', ' = ', 1) + '\n' for word in words.split()))
    os.rename(path + '.new', path)
    return path


class Feed:
    """Writes a capture into a pipe until stopped, and also into a file. One epoch per `pause`
    seconds, except the first `fast` epochs."""

    def __init__(self, path, seed, fast=FAST, pause=0.02):
        self.path, self.fast, self.pause = path, fast, pause
        self.read_end, self.write_end = os.pipe()
        self.random = random.Random(seed)
        self.frames = [lib.udp_frame(flow) for flow in range(FLOWS)]
        self.enough = threading.Event()
        # A daemon: after the run has stopped reading, the thread blocks until the run is killed.
        self.thread = threading.Thread(target=self.feed, daemon=True)

    def epoch(self, number):
        packets = []
        for i in range(self.random.randrange(100, 400)):
            frame = self.frames[int(FLOWS * self.random.random() ** 3)]
            packets.append(lib.pcap_record(START + number * EPOCH + i, frame))
        return b''.join(packets)

    def feed(self):
        number = 0
        with open(self.path, 'wb') as file, open(self.write_end, 'wb', buffering=0) as pipe:
            data = lib.PCAP_HEADER
            while not self.enough.is_set() or number % 8 != 0:
                if number >= self.fast:  # without a pause it might never end on a busy machine
                    time.sleep(self.pause)
                data += self.epoch(number)
                number += 1
                file.write(data)
                while data:  # a pipe may accept only a part
                    data = data[pipe.write(data):]

    @contextlib.contextmanager
    def into(self, test, *arguments):
        """Starts a run that reads the pipe and replies; its input ends with the block."""
        with open(self.read_end, 'rb') as stdin:
            process = test.start('--pcap', '-', *arguments, stdin=stdin)
        self.thread.start()
        wait_for_socket(test, process)
        yield process
        self.enough.set()
        self.thread.join()


def ask(test, process, *words):
    """Runs ctl; does not check the exit status."""
    return test.run('ctl', *words, program=['env', f'RUNTIME_DIRECTORY={process.directory}', test.binary])


def ctl(test, process, *words, status=0):
    return ask(test, process, *words).expect(status)


def wait_for_socket(test, process):
    def there():
        assert process.running(), process.result.describe()
        return glob.glob(process.control_socket('*')) and ask(test, process, 'stats').status == 0

    test.until(there, 'the control socket answers')


def answered_epoch(result):
    """Returns the epoch that a reply names, or None if nothing changed."""
    answer = json.loads(result.stdout)
    inner = next(iter(answer.values()))
    assert 'epoch' in inner or inner in ({}, {'outputs': inner.get('outputs')}), answer
    return inner.get('epoch')


def stats_rows(path):
    """Returns the rows by epoch, without cost columns."""
    epochs = {}
    for row in lib.read_stats(path):
        epochs.setdefault(int(row['epoch']), []).append(
            tuple(value for name, value in row.items() if name not in TIMES))
    return epochs


def json_rows(path):
    epochs = {}
    with open(path, encoding='utf-8') as stream:
        for line in stream:
            epochs.setdefault(int(re.match(r'{"epoch":(\d+),', line)[1]), []).append(line)
    return epochs


def measure_all(test, capture, measurements, arguments, name):
    """Runs the same measurements from start to end."""
    stats, out = test.path(f'{name}-stats.csv'), test.path(f'{name}-out.json')
    config = write_config(test.path(f'{name}.conf'), measurements)
    test.run('--config', config, '--pcap', capture, '--stats', stats, '--output', f'json:{out}', *arguments).expect(0)
    return stats_rows(stats), json_rows(out)


def expect_exact(test, capture, found, held, arguments):
    """held: (epoch, measurements) in order. Returns the number of different ones compared."""
    truth = {}
    for epoch in sorted(found[0]):
        measurements = [what for since, what in held if since <= epoch][-1]
        key = json.dumps(measurements)
        if key not in truth:
            truth[key] = measure_all(test, capture, measurements, arguments, f'truth{len(truth)}')
        for kind in range(2):
            expected, got = truth[key][kind].get(epoch), found[kind].get(epoch)
            assert got == expected, (
                f'epoch {epoch}, held {[since for since, _ in held]}:\n{got and got[:3]}\ninstead of\n'
                f'{expected and expected[:3]}')
    assert found[0].keys() == truth[key][0].keys(), 'epochs are missing'
    return len(truth)


def change_by(test, process, config, before, after, how, head=''):
    """Changes the set of measurements. Returns the epoch that the reply names."""
    write_config(config, after, head)
    if how == 'reload':
        return answered_epoch(ctl(test, process, '--format', 'json', 'reload'))
    epoch = None
    for name in [name for name in after if before.get(name) != after[name]]:
        verb = 'change' if name in before else 'add'
        # Settings that are no longer wanted are reset.
        taken = [word.split('=')[0] for word in before.get(name, '').split()]
        said = [word.split('=')[0] for word in after[name].split()]
        words = after[name].split() + [f'{word}=' for word in taken if word not in said]
        epoch = answered_epoch(ctl(test, process, '--format', 'json', 'measure', verb, name, *words)) or epoch
    return epoch


def check_changes(test, design, sharing, seed):
    chance = random.Random(seed)
    arguments = ('--design', design, '--sharing', sharing, '--workers', '2', '--interval', '100ms', '--seed', '1')
    config = write_config(test.path('run.conf'), SETS[0])
    feed = Feed(test.path('fed.pcap'), seed)
    stats, out = test.path('stats.csv'), test.path('out.json')
    with feed.into(test, '--config', config, '--stats', stats, '--output', f'json:{out}', *arguments) as process:
        held, order = [(0, SETS[0])], list(SETS[1:])
        chance.shuffle(order)
        for measurements in order + [SETS[0], SETS[2]]:
            time.sleep(chance.random() * 0.05)
            epoch = change_by(test, process, config, held[-1][1], measurements, 'reload')
            assert epoch is not None and epoch > held[-1][0], (epoch, held)
            held.append((epoch, measurements))
    test.wait(process).expect(0)
    found = stats_rows(stats), json_rows(out)
    assert max(found[0]) > held[-1][0], 'the last change held'
    assert expect_exact(test, feed.path, found, held, arguments) == len(SETS)


LIVE = ('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1', '--interval', '50ms')


def start_live(test, *arguments):
    process = test.start(*LIVE, *arguments)
    wait_for_socket(test, process)
    return process


def stop(test, process, number=signal.SIGTERM):
    process.signal(number)
    return test.wait(process).expect(0)


def listed(test, process):
    """Returns the active measurements: {name: row}."""
    answer = json.loads(ctl(test, process, '--format', 'json', 'plan').stdout)
    rows = answer['/sketchtap/plan']['measurements'].values()
    text = ctl(test, process, 'measure', 'list').stdout
    assert all(row['name'] in text and row['key'] in text for row in rows), text
    return {row['name']: row for row in rows}


def test_by_words(test):
    """ctl measure has the effect of a changed file; --flows has records of the tables that each
    epoch had."""
    arguments = ('--workers', '1', '--interval', '100ms', '--seed', '1')
    sets = ({'a': 'key=src sketch=flow-table width=2048'}, {'a': 'key=dst_port sketch=flow-table width=4096'},
            {'a': 'key=dst_port sketch=flow-table width=4096', 'b': 'key=src/28 sketch=flow-table top=7 width=2048'},
            {'a': 'key=5tuple sketch=flow-table memory=1MB', 'b': 'key=src/28 sketch=flow-table top=7 width=2048'})
    config = write_config(test.path('run.conf'), sets[0])
    feed = Feed(test.path('fed.pcap'), 5)
    stats, out, flows = test.path('stats.csv'), test.path('out.json'), test.path('flows.csv')
    with feed.into(test, '--config', config, '--stats', stats, '--output', f'json:{out}', '--flows', flows,
                   *arguments) as process:
        held = [(0, sets[0])]
        for measurements in sets[1:]:
            held.append((change_by(test, process, config, held[-1][1], measurements, 'words'), measurements))
        # Measurements that are not in the file end with the next reload.
        write_config(config, sets[0])
        held.append((answered_epoch(ctl(test, process, '--format', 'json', 'reload')), sets[0]))
    test.wait(process).expect(0)
    expect_exact(test, feed.path, (stats_rows(stats), json_rows(out)), held, arguments)
    keys = {}
    with open(flows, encoding='utf-8') as stream:
        for line in list(stream)[1:]:
            row = line.split(',')
            keys.setdefault((int(row[0]), row[1]), set()).add(row[3] != '')
    for (epoch, name), has_source in keys.items():
        measurements = [what for since, what in held if since <= epoch][-1]
        assert has_source == {not measurements[name].startswith('key=dst_port')}, (epoch, name, held)


def settled_resident(process, before):
    """Returns resident bytes once the previous set, some 20 MB, is freed, or after two seconds."""
    for _ in range(40):
        resident = lib.resident(process.popen.pid)
        if not before or resident < min(before) + (4 << 20):
            break
        time.sleep(0.05)
    return resident


@lib.alone
def test_many_changes(test):
    """Repeated changes under load: ledgers balance, no epoch is missing, and memory does not
    grow."""
    wanted = CHANGES_FULL if test.settings.full else CHANGES_SLOW if test.slow else CHANGES
    config, stats = test.path('run.conf'), test.path('stats.csv')
    write_config(config, SETS[0])
    # Polling lcores can starve kernel workers during the whole run, and so block a rename of a
    # file. Feed at a limited rate instead.
    feed = Feed(os.devnull, 7, fast=0, pause=0.001)
    last, resident = 0, []
    with feed.into(test, '--config', config, '--interval', '100ms', '--workers', '1', '--stats', stats,
                   '--output', '/dev/null', '--no-huge') as process:
        for number in range(wanted):
            write_config(config, SETS[number % len(SETS)])
            epoch = answered_epoch(ctl(test, process, '--format', 'json', 'reload'))
            assert number == 0 or epoch > last, (epoch, last)
            last = epoch or 0
            if number % len(SETS) == 0 and number >= wanted // 4 and not test.slow:
                resident.append(settled_resident(process, resident))
    test.wait(process).expect(0)
    # The heap takes a while to settle. Sanitizers delay frees, and report leaks themselves.
    assert test.slow or (
        len(resident) >= 10 and min(resident[-5:]) < min(resident[:5]) + (4 << 20)), resident
    epochs = stats_rows(stats)
    assert sorted(epochs) == list(range(len(epochs))), 'an epoch is missing'
    names = {tuple(row[1] for row in rows) for rows in epochs.values()}
    assert names == {tuple(measurements) for measurements in SETS}, names


test_many_changes.timeout = 3600


def test_what_is_refused_changes_nothing(test):
    config = write_config(test.path('run.conf'), {'a': 'key=src'}, 'top = 7\n')
    process = start_live(test, '--config', config, '--output', test.path('out.csv'), '--stats', test.path('stats.csv'))
    before = listed(test, process)

    def refused(status, mentions, *words):
        result = ctl(test, process, *words, status=status)
        assert mentions in result.stderr and result.stderr.count('\n') == 1, result.describe()
        assert listed(test, process) == before, words

    for words, mentions in (
            (('change', 'a', 'width=2047'), "width: 2047: not a power of two; the next is 2048"),
            (('change', 'a', 'widt=2048'), 'widt: unknown key; did you mean width?'),
            (('change', 'a', 'sketch=none'), 'allowed: count-min'),
            (('change', 'a', 'interval=2s'), 'interval: applies to the whole run'),
            (('change', 'a', 'width'), 'not KEY=VALUE'),
            (('change', 'a', 'width=1024', 'memory=4MB'), 'memory: contradicts width;'),
            (('change', 'a', 'width=1024', 'width=2048'), 'width: given twice'),
            (('change', 'a', 'buckets=100'), 'has no effect without --sketch flow-table'),
            (('change', 'a', 'key=é'), "key: '??': not allowed"), (('change', 'a', 'kéy=src'), 'k??y: unknown key'),
            (('add', '\u0394'), "'??': not a name of a measurement"), (('change', 'a', 'key=\x01\x7f'), "key: '??': not"),
            (('change', 'b', 'width=1024'), "'b': no such measurement"),
            (('add', 'a', 'key=dst'), 'measurement a: exists already'),
            (('add', 'x/y', 'key=dst'), 'not a name of a measurement'),
            (('remove', 'a'), 'measurement a: the last one'),
            (('remove', 'a', 'b'), 'unexpected'), (('remove',), 'NAME'), (('rename', 'a', 'b'), 'unknown command')):
        refused(2, mentions, 'measure', *words)
    refused(1, 'MB of memory are needed', 'measure', 'change', 'a', 'width=4G')
    refused(1, 'its header has no column vlan', 'measure', 'add', 'b', 'key=src,vlan')
    refused(1, 'its header has no column first', 'measure', 'add', 'b', 'sketch=flow-table')
    refused(2, 'longer than', 'measure', 'add', 'b', 'key=' + ','.join(['src'] * 300))
    refused(1, 'no measurement has this name; ctl measure list shows all', 'top', 'nobody')
    for words in (('a', '0'), ('a', '41'), ('a', 'x'), ('a,b,c',)):
        refused(2, 'use ctl top MEASUREMENT N, with N from 1 to 40', 'top', *words)
    for status, text, mentions in (
            (2, '[measurement a]\nkey = src\nfoo = 3\n', 'run.conf:3: foo: unknown key'),
            (2, 'top = 7\ninterval = 3s\n[measurement a]\nkey = src\n', 'interval: cannot change during a run'),
            (2, 'top = 7\nname = other\n[measurement a]\nkey = src\n', 'name: cannot change during a run'),
            (2, 'top = 7\nworkers = 1\n[measurement a]\nkey = dst\n', 'workers: cannot change'),
            (1, '[measurement a]\nkey = src\nwidth = 4G\n', 'MB of memory are needed')):
        with open(config, 'w', encoding='utf-8') as stream:
            stream.write(text)
        result = ctl(test, process, 'reload', status=status)
        assert mentions in result.stderr and 'outputs' in result.stdout, result.describe()
        assert listed(test, process) == before, text
    os.unlink(config)
    refused(1, 'run.conf: No such file or directory', 'reload')
    process.signal(signal.SIGHUP)
    test.until_said(process, 'run.conf: No such file or directory; give a readable file to --config; the '
                             'measurements stay unchanged')
    assert listed(test, process) == before
    stop(test, process)


def test_a_configuration_that_is_no_file_any_more(test):
    """A configuration read from a pipe, or replaced by one, cannot be read again: nothing changes,
    and the run ends normally."""
    fifo, config = test.path('fifo'), write_config(test.path('run.conf'), {'a': 'key=src', 'b': 'key=dst'})
    os.mkfifo(fifo)
    copy = test.start('-c', f'cat {config} >{fifo}', program=['sh'])
    piped = start_live(test, '--config', fifo, '--output', '/dev/null')
    test.wait(copy).expect(0)
    process = start_live(test, '--config', config, '--output', '/dev/null')
    os.unlink(config)
    os.mkfifo(config)
    for run in (piped, process):
        before = listed(test, run)
        assert sorted(before) == ['a', 'b'], before
        result = ctl(test, run, 'reload', status=1)
        assert 'not a regular file: cannot be read again' in result.stderr, result.describe()
        assert listed(test, run) == before
        ctl(test, run, 'measure', 'add', 'c', 'key=dst_port')
        assert sorted(listed(test, run)) == ['a', 'b', 'c']
        stop(test, run)


def test_changes_while_nobody_reads(test):
    """The rows of a replay wait in a full pipe. Clients still get replies, and changes take effect
    when the pipe is read."""
    reading, writing = os.pipe()
    process = test.start('--synthetic', 'packets=100G,flows=1K,rate=1Mpps', '--interval', '10ms', '--workers', '1',
                         '--output', '-', stdout=writing)
    os.close(writing)
    wait_for_socket(test, process)
    seen = []

    def stands_still():
        time.sleep(0.2)
        seen.append(ctl(test, process, '--format', 'json', 'stats').stdout)
        return len(seen) > 5 and len(set(seen[-5:])) == 1

    test.until(stands_still, 'its outputs hold it up')
    for name in ('b', 'c'):
        answer = json.loads(ctl(test, process, '--format', 'json', 'measure', 'add', name, 'key=src').stdout)
        assert {'epoch', 'epoch_at_least'} & set(next(iter(answer.values()))), answer
    reader = threading.Thread(target=lambda: collections.deque(iter(lambda: os.read(reading, 1 << 20), b''), 0))
    reader.start()
    for name in ('b', 'c'):
        test.until_said(process, f'measure add {name} key=src')
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    reader.join()
    os.close(reading)


def test_many_names_that_shed(test):
    """The last line has sixteen measurements by name, and the sum of the others."""
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i)) for i in range(500)])
    stats = test.path('stats.csv')
    process = test.start('--port', f'net_pcap0,rx_pcap={capture},infinite_rx=1', '--eal', '--no-pci', '--workers', '1',
                         '--interval', '20ms', '--output', '/dev/null', '--stats', stats, '--key', 'proto')
    wait_for_socket(test, process)
    names = [f't{i}' for i in range(18)]
    for name in names:
        ctl(test, process, 'measure', 'add', name, 'sketch=flow-table', 'width=16', 'key=5tuple')
        test.until(lambda wanted=name: any(
            row['measurement'] == wanted and int(row['shed']) > 0 for row in lib.read_stats(stats)), 'it sheds')
        ctl(test, process, 'measure', 'remove', name)
    result = stop(test, process)
    told = dict(re.findall(r'; (\w+): (\d+) shed', result.stderr.splitlines()[-1]))
    shed = collections.Counter()
    for row in lib.read_stats(stats):
        shed[row['measurement']] += int(row['shed'])
    expected = {name: shed[name] for name in names[:16]} | {'others': shed['t16'] + shed['t17']}
    assert {name: int(count) for name, count in told.items()} == expected, (told, expected)


def test_changes_on_a_port(test):
    """Changes by SIGHUP as well. In a file with all columns, rows without some of them leave those
    empty."""
    config = write_config(test.path('run.conf'), {'a': 'key=src,vlan', 'b': 'sketch=flow-table'})
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i % 7)) for i in range(500)])
    out = test.path('out.csv')
    process = test.start('--config', config, '--port', f'net_pcap0,rx_pcap={capture},infinite_rx=1', '--eal',
                         '--no-pci', '--workers', '1', '--interval', '50ms', '--output', out)
    wait_for_socket(test, process)
    write_config(config, {'a': 'key=dst_port'})
    process.signal(signal.SIGHUP)
    test.until_said(process, 'configuration reloaded: measurements 1, from interval')
    text = process.stderr()
    first = int(text[text.rindex('from interval') + len('from interval '):].split()[0])
    test.until(lambda: json.loads(ctl(test, process, '--format', 'json', 'stats').stdout)['/sketchtap/stats']['epoch'] >
               first + 1, 'some epochs are reported')
    stop(test, process)
    rows = lib.read_output(out)
    seen = set()
    for row in rows:
        late = int(row['epoch']) >= first
        seen.add(late)
        assert (row['dst_port'] == '53' and row['src_ip'] == row['vlan'] == row['first'] == '') if late else (
            row['src_ip'] != '' and (row['measurement'] == 'b' or row['vlan'] == '0')), row
    assert seen == {False, True}, first


def test_json_goes_on(test):
    """Rows of JSON have the columns of their own measurements, and --append continues after any of
    them."""
    out = test.path('out.json')
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i % 7)) for i in range(500)])
    arguments = ('--port', f'net_pcap0,rx_pcap={capture},infinite_rx=1', '--eal', '--no-pci', '--workers', '1',
                 '--interval', '50ms', '--output', f'json:{out}')
    process = test.start(*arguments)
    wait_for_socket(test, process)
    epoch = answered_epoch(ctl(test, process, '--format', 'json', 'measure', 'change', 'main', 'key=src,vlan',
                               'sketch=flow-table'))
    test.until(lambda: lib.read_text(out).count('"vlan"') > 20, 'rows have the column')
    stop(test, process)
    for number, lines in json_rows(out).items():
        rows = [json.loads(line) for line in lines]
        assert all(('vlan' in row) == ('first' in row) == (number >= epoch) for row in rows), (number, epoch)
    whole = lib.read_text(out)
    os.rename(out, out + '.1')
    with open(out, 'w', encoding='utf-8') as stream:  # like the beginning of a rotated file
        stream.write(''.join(line + '\n' for line in whole.splitlines() if '"vlan"' in line))
    test.run(*arguments, '--append', '--duration', '200ms').expect(0)
    assert '"vlan"' not in lib.read_text(out).splitlines()[-1]


def test_epoch_that_is_far(test):
    """The reply does not wait for a distant interval. With --interval 0 there is no later one."""
    empty = ('--port', 'net_ring0', '--idle', 'sleep', '--workers', '1', '--output', '/dev/null', '--interval')
    process = test.start(*empty, '1h')
    test.until(lambda: ask(test, process, 'plan').status == 0, 'it answers')
    result = ctl(test, process, 'measure', 'change', 'main', 'width=1024')
    assert 'measurements: 1, from interval 2 on or later' in result.stdout, result.describe()
    row = listed(test, process)['main']
    assert (row['width'], row.get('from_epoch'), row['from_epoch_at_least']) == (1024, None, 2), row
    ctl(test, process, 'measure', 'change', 'main', 'width=2048')
    ctl(test, process, 'measure', 'add', 'b', 'key=dst')
    rows = listed(test, process)
    assert rows['main']['width'] == 2048, rows
    assert all(row['from_epoch_at_least'] == 2 and 'from_epoch' not in row for row in rows.values()), rows
    assert 'from_epoch_at_least' in ctl(test, process, 'measure', 'list').stdout
    stop(test, process)
    process = test.start(*empty, '0')
    test.until(lambda: ask(test, process, 'plan').status == 0, 'it answers')
    result = ctl(test, process, 'measure', 'change', 'main', 'width=1024', status=1)
    assert '--interval 0' in result.stderr, result.describe()
    stop(test, process)


def test_since_when(test):
    """Each measurement is listed with the epoch of its change; unchanged ones keep theirs."""
    stats = test.path('stats.csv')
    process = start_live(test, '--output', '/dev/null', '--stats', stats)
    assert listed(test, process)['main']['from_epoch'] == 0

    def change(*words):
        """Returns the epoch of the reply; if it is not known yet, waits for the listed one."""
        answer, = json.loads(ctl(test, process, '--format', 'json', *words).stdout).values()
        if 'epoch' not in answer:
            test.until(lambda: all('from_epoch' in row for row in listed(test, process).values()), 'the change holds')
            return max(row['from_epoch'] for row in listed(test, process).values())
        return answer['epoch']

    held = {'main': 0, 'b': change('measure', 'add', 'b', 'key=dst')}
    for words in (('add', 'c', 'key=src'), ('change', 'main', 'width=1024'), ('remove', 'main'),
                  ('change', 'b', 'top=3'), ('add', 'main', 'key=proto')):
        epoch = change('measure', *words)
        if words[0] == 'remove':
            held.pop(words[1])
        else:
            held[words[1]] = epoch
        assert {name: row.get('from_epoch') for name, row in listed(test, process).items()} == held, words
    # A reload reverts changes by ctl: one measurement, as at the start.
    epoch = change('reload')
    assert {name: row.get('from_epoch') for name, row in listed(test, process).items()} == {'main': epoch}
    stop(test, process)
    # --append continues the numbering, and the first measurements start with the first new number.
    process = start_live(test, '--output', '/dev/null', '--stats', stats, '--append')
    first = listed(test, process)['main']['from_epoch']
    stop(test, process)
    with open(stats, encoding='utf-8') as stream:
        epochs = {int(line.split(',')[0]) for line in list(stream)[1:]}
    assert first in epochs and first > epoch, (first, epoch)


def test_who_may(test):
    """Only the owner may use the socket; --control read rejects all changes."""
    process = start_live(test, '--output', '/dev/null', '--control', 'read', '--name', 'reader')
    status = os.stat(process.control_socket('reader'))
    assert stat.S_IMODE(status.st_mode) == 0o600 and status.st_uid == os.geteuid(), oct(status.st_mode)
    for words in (('reload',), ('measure', 'change', 'main', 'width=1024')):
        result = ctl(test, process, *words, status=1)
        assert '--control read' in result.stderr, result.describe()
    ctl(test, process, 'measure', 'list')
    stop(test, process)


def test_too_many_ask(test):
    """DPDK's telemetry serves ten clients and disconnects the next; ctl reports the reason."""
    process = start_live(test, '--output', '/dev/null')
    clients = []

    def fill():
        # a closed connection may still occupy a slot
        with contextlib.suppress(json.JSONDecodeError):
            clients.append(lib.ControlClient(process.control_socket()))
        return len(clients) == 10

    test.until(fill, 'ten are connected')
    refused = ctl(test, process, 'stats', status=1)
    assert 'ten others are connected' in refused.stderr, refused.describe()
    for client in clients:
        client.close()
    wait_for_socket(test, process)
    stop(test, process)


def test_which_one(test):
    """A single run needs no --name; if there are several, they are listed."""
    home = test.path('shared')
    os.mkdir(home)
    program = ['env', f'RUNTIME_DIRECTORY={home}', test.binary]
    nobody = test.run('ctl', 'stats', program=program).expect(1)
    assert 'no sketchtap answers' in nobody.stderr, nobody.describe()
    runs = [test.start(*LIVE, '--name', name, '--output', '/dev/null', program=program) for name in ('one', 'two')]
    for name in ('one', 'two'):
        test.until(lambda: test.run('ctl', '--name', name, 'stats', program=program).status == 0, f'{name} answers')
    result = test.run('ctl', 'stats', program=program).expect(1)
    assert '2 instances are running: ' in result.stderr and 'one' in result.stderr and 'two' in result.stderr, result.describe()
    test.run('ctl', '--name=three', 'stats', program=program).expect(1)
    stop(test, runs[0])
    assert 'offered' in test.run('ctl', 'stats', program=program).expect(0).stdout
    # A generator has such a socket but is not a run. A pattern is not a name. ctl does not wait for
    # a stopped run.
    sender = test.start('generate', '--synthetic', 'packets=1G', '--port', 'net_null0', '--name', 'sender',
                        '--eal', '--no-pci', '--no-huge', program=program)
    test.until(lambda: os.path.exists(lib.control_socket(home, 'sender')), 'the generator runs')
    assert 'offered' in test.run('ctl', 'stats', program=program).expect(0).stdout
    test.run('ctl', '--name', 'sender', 'stats', program=program).expect(1)
    stop(test, sender)
    test.run('ctl', '--name', 't*', 'measure', 'list', program=program).expect(2).expect_one_line('t*')
    runs[1].signal(signal.SIGSTOP)
    stopped = [test.run('ctl', 'stats', program=program).expect(1)]
    # It also does not wait if the accept queue is full. Closed connections stay in the queue.
    with contextlib.suppress(BlockingIOError):
        while True:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as waiting:
                waiting.connect(lib.control_socket(home, 'two'))
    stopped.append(test.run('ctl', 'stats', program=program).expect(1))
    runs[1].signal(signal.SIGCONT)
    for result in stopped:
        assert 'does not answer' in result.stderr, result.describe()
    stop(test, runs[1])
    for words in ((), ('stat',), ('--name',), ('--format', 'xml', 'stats'), ('top', 'a', '1', 'x'),
                  ('measure', 'list', 'x'), ('measure', 'add', 'a', 'two words')):
        test.run('ctl', *words, program=program).expect(2).expect_one_line()


def test_a_command_that_is_cut(test):
    """The library reads only 1023 characters, and the truncated command may mean something else."""
    process = start_live(test, '--output', '/dev/null')
    before = listed(test, process)
    with contextlib.closing(lib.ControlClient(process.control_socket())) as client:
        for rest in ('', '0', '0' * 900):
            words = 'measure,change main'.ljust(1023 - len('/sketchtap/top=5')) + 'top=5'
            answer = client.ask(words + rest)
            assert answer.get('mistake') == 1 and 'longer' in answer['error'], (rest, answer)
    assert listed(test, process) == before
    ctl(test, process, 'measure', 'change', 'main', 'top=5')


def test_routers_of_a_collector(test):
    """A collector that does not track routers from its start cannot report them later, and refuses
    such keys."""
    def start(config):
        process = test.start('collect', '--listen', f'127.0.0.1:{free_port()}', '--config', config, '--interval', '50ms',
                             '--output', f'json:{test.path("rows")}', '--force')
        wait_for_socket(test, process)
        return process

    config = write_config(test.path('run.conf'), {'pairs': 'key=src-dst'})
    process = start(config)
    for key in ('routers', 'src,egress'):
        refused = ctl(test, process, 'measure', 'add', 'matrix', f'key={key}', status=1)
        assert 'ingress and egress' in refused.stderr, refused.describe()
    ctl(test, process, 'measure', 'add', 'senders', 'key=src')
    write_config(config, {'pairs': 'key=src-dst', 'matrix': 'key=routers'})
    assert 'ingress and egress' in ctl(test, process, 'reload', status=1).stderr
    stop(test, process)
    process = start(config)
    ctl(test, process, 'measure', 'add', 'entries', 'key=ingress')
    stop(test, process)


STORM_ROUNDS = 8  # per client program
GARBAGE = ('', '[', '[measurement main]\nkey = nonsense\n', '[measurement main]\nkey', '\x01\x02\x03\n',
           '[measurement main]\nwidth = 0\n', 'interval = 7s\n')


def ask_in_a_storm(test, process, lines, statuses):
    """Every command returns, done or refused; a command that hangs ends the test."""
    environment = dict(os.environ, RUNTIME_DIRECTORY=process.directory)
    for _ in range(STORM_ROUNDS):
        for words in lines:
            asked = subprocess.run([test.binary, 'ctl', *words], env=environment, capture_output=True, text=True,
                                   timeout=120, check=False)
            statuses.append((words, asked.returncode, asked.stderr))


def test_storm_of_requests(test):
    """SIGHUP, ctl and a garbage file at once: every request gets a reply, no packet is lost, and
    the last change is in effect."""
    over = threading.Event()

    def every(pause, action):
        def loop():
            while not over.is_set():
                action()
                time.sleep(pause)
        return loop

    config = write_config(test.path('run.conf'), SETS[0])
    chance = random.Random(7)

    def spoil():
        if chance.random() < 0.5:
            write_config(config, SETS[chance.choice((0, 2, 3, 4))])
        else:
            with open(config + '.new', 'w', encoding='utf-8') as stream:
                stream.write(chance.choice(GARBAGE))
            os.rename(config + '.new', config)

    feed = Feed(test.path('fed.pcap'), 11)
    stats, statuses = test.path('stats.csv'), []
    with feed.into(test, '--config', config, '--stats', stats, '--output', f'json:{test.path("out.json")}',
                   '--interval', '100ms', '--workers', '2') as process:
        pid = process.popen.pid
        beside = [threading.Thread(target=every(0.01, lambda: os.kill(pid, signal.SIGHUP))),
                  threading.Thread(target=every(0.02, spoil))]
        askers = [threading.Thread(target=ask_in_a_storm, args=(test, process, lines, statuses)) for lines in (
            [('measure', 'add', 'x', 'key=dst_port', 'width=4096'), ('measure', 'remove', 'x')],
            [('reload',), ('measure', 'list')])]
        for thread in beside + askers:
            thread.start()
        for thread in askers:
            thread.join()
        over.set()
        for thread in beside:
            thread.join()
        assert len(statuses) == 4 * STORM_ROUNDS and process.running(), process.result.describe()
        for words, status, stderr in statuses:
            assert status in (0, 1, 2) and (status == 0) == (stderr == ''), (words, status, stderr)
        write_config(config, SETS[1])
        ctl(test, process, 'reload')
        said = process.stderr().count('configuration reloaded')
        write_config(config, SETS[2])
        process.signal(signal.SIGHUP)
        test.until(lambda: process.stderr().count('configuration reloaded') > said, 'SIGHUP still reloads')
        assert list(listed(test, process)) == list(SETS[2])
    test.wait(process).expect(0)
    rows = {row['epoch']: row for row in lib.read_stats(stats)}.values()
    fed = (os.path.getsize(feed.path) - len(lib.PCAP_HEADER)) // len(lib.pcap_record(0, feed.frames[0]))
    assert sum(int(row['offered']) for row in rows) == sum(int(row['received']) for row in rows) == fed
    for row in rows:
        assert all(int(row[column]) == 0 for column in (*lib.LOSSES, 'unaccounted')), row


def serve_no_answer(path, over):
    """A run that is stopped after it has read the request."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    client = listener.accept()[0]
    client.send(b'{"version":"DPDK","pid":1,"max_output_len":16384}')
    assert client.recv(1024) == b'/'
    client.send(b'{"/":["/sketchtap/plan"]}')
    client.recv(1024)
    over.wait()
    client.close()
    listener.close()


def test_ctl_does_not_wait_for_ever(test):
    over = threading.Event()
    home = test.path('silent')
    path = lib.control_socket(home, 'silent')
    os.makedirs(os.path.dirname(path))
    server = threading.Thread(target=serve_no_answer, args=(path, over))
    server.start()
    test.until(lambda: os.path.exists(path), 'it listens')
    result = test.run('ctl', 'measure', 'add', 'x', program=['env', f'RUNTIME_DIRECTORY={home}', test.binary])
    over.set()
    server.join()
    result.expect(1)
    assert 'does not answer within' in result.stderr, result.describe()


def test_commands_are_one_table(test):
    """The socket, ctl and its help have the same commands."""
    process = start_live(test, '--output', '/dev/null')
    with contextlib.closing(lib.ControlClient(process.control_socket())) as client:
        client.socket.send(b'/')
        offered = {path.split('/')[2] for path in json.loads(client.socket.recv(1 << 17))['/'] if
                   path.startswith('/sketchtap/')}
    help_lines = ctl(test, process, '--help').stdout.splitlines()
    assert {line.split()[0] for line in help_lines if re.match(r'  \w.* {2,}\w', line)} == offered, help_lines
    refused = ctl(test, process, 'none', status=2)
    assert set(re.search('allowed: ([^;]*);', refused.stderr)[1].split(', ')) == offered, refused.describe()
    # These need arguments, or a run with load shedding.
    for name in offered - {'measure', 'states', 'within'}:
        test.until(lambda: ask(test, process, name).status == 0, name)
    stop(test, process)


def cases(settings):
    ways = [(design, sharing) for design in ('rss', 'async', 'sync') for sharing in ('separate', 'shared')]
    return [(f'exact with {design}, {sharing}',
             lambda test, design=design, sharing=sharing: check_changes(test, design, sharing, design + sharing))
            for design, sharing in (ways[3:4] if settings.slow else ways)]

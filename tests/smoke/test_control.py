# SPDX-License-Identifier: BSD-3-Clause
"""The control socket of a running measurement, with the protocol of dpdk-telemetry.py."""

import json
import os
import re
import signal
import socket
import threading
import time

import datagrams
import lib
import test_collect_live

LONG = ('follow_waits_and_forgets',)

LIVE = ('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1')
QUIET = ('--output', '/dev/null')


def connect(test, process, name=None):
    path = process.control_socket(name)

    def there():
        assert process.running(), process.result.describe()
        try:
            client.append(lib.ControlClient(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    client = []
    test.until(there, f'{path} answers')
    test.until(lambda: 'error' not in client[0].ask('stats'), 'an epoch was closed')
    return client[0]


def wait_for_rows(test, client, command, count):
    """On a busy machine, a paced epoch may lose all of its packets."""
    def there():
        answer.update(client.ask(command))
        return len(answer.get('rows', ())) == count

    answer = {}
    test.until(there, f'{command} has {count} rows')
    return answer


def stop(test, process, client):
    client.close()
    process.signal(signal.SIGTERM)
    return test.wait(process).expect(0)


def test_answers_are_the_files(test):
    """A live port that receives N packets and then no more: replies cover all measured packets."""
    packets = [(i, lib.udp_frame(i % 7)) for i in range(500)]
    capture = lib.write_pcap(test.path('some.pcap'), packets)
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--port', f'net_pcap0,rx_pcap={capture}', '--eal', '--no-pci', '--workers',
                         '1', '--interval', '100ms', '--output', output, '--stats', stats)
    client = connect(test, process)
    assert client.info['pid'] == process.popen.pid, client.info
    test.until(lambda: client.ask('stats')['total']['measured'] == 500, 'all packets are measured')
    answer = client.ask('stats')
    top = client.ask('top')
    stop(test, process, client)

    ledger, rows = lib.read_stats(stats), lib.read_output(output)
    for column in lib.STATS_COLUMNS[4:17]:
        assert answer['total'][column] == lib.total(ledger, column), column
    assert answer['total']['losses_known'] in (0, 1), answer
    assert answer['total']['start'] == ledger[0]['start']
    assert answer['epoch'] >= int(ledger[-1]['epoch'])

    rows = lib.in_epoch(rows, str(top['epoch']))
    assert (top['start'], top['end'], top['measurement']) == (
        rows[0]['start'], rows[0]['end'], 'main')
    assert list(top['rows']) == [row['rank'] for row in rows]
    for row in rows:
        answer = top['rows'][row['rank']]
        for column, value in answer.items():
            assert str(value) == row[column], f'{column}: {answer} and {row}'
        assert set(answer) == set(lib.OUTPUT_COLUMNS[5:16]) | {'share'}, answer


def test_expired_records(test):
    """The reply has --idle-timeout and the number of records that it ended; these are in
    --flows."""
    flows = test.path('flows.csv')
    process = test.start('--synthetic', 'flows=1K,packets=100G,rate=100K,seed=1', '--pace', 'recorded',
                         '--workers', '1', '--interval', '200ms', '--sketch', 'flow-table',
                         '--buckets', '128', '--idle-timeout', '1ms', '--flows', flows, *QUIET)
    client = connect(test, process)
    assert client.ask('plan')['measurements']['0']['idle_timeout_ns'] == 1000000
    test.until(lambda: client.ask('stats')['total']['expired_records'] > 100, 'records end')
    expired = client.ask('stats')['total']['expired_records']
    stop(test, process, client)
    with open(flows, encoding='utf-8') as stream:
        assert sum(row.endswith(',idle\n') for row in stream) >= expired


def test_measurements_and_limits(test):
    config = test.path('two.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('[measurement flows]\nkey = 5tuple\n[measurement send-ers.1]\nkey = src\n')
    process = test.start('--config', config, '--synthetic', 'flows=1K,packets=100G,rate=100K,seed=1',
                         '--pace', 'recorded', '--interval', '100ms', *QUIET)
    client = connect(test, process)
    wait_for_rows(test, client, 'top,send-ers.1,40', 40)
    assert client.ask('top')['measurement'] == 'flows'
    wait_for_rows(test, client, 'top', 10)
    assert client.ask('top,,2')['measurement'] == 'flows'
    answer = wait_for_rows(test, client, 'top,send-ers.1,40', 40)
    assert answer['measurement'] == 'send-ers.1', answer
    assert set(answer['rows']['1']) & set(lib.KEY_COLUMNS) == {'src_ip'}, answer['rows']['1']
    assert list(client.ask('top,nobody')) == ['error']
    for wrong in ('top,flows,0', 'top,flows,41', 'top,flows,x', 'top,flows,-1', 'top,flows,1,1',
                  'top,' + 'x' * 200, 'top,flows,99999999999999999999'):
        assert list(client.ask(wrong)) == ['error', 'mistake'], wrong
    plan = client.ask('plan')
    assert [plan['measurements'][m]['name'] for m in '01'] == ['flows', 'send-ers.1'], plan
    assert plan['host'] == socket.gethostname() and re.fullmatch('[0-9a-f]{16}', plan['run']), plan
    roles = [lcore['role'] for lcore in plan['lcores'].values()]
    assert roles.count('worker') == plan['workers'] and 'reporter' in roles, plan
    stop(test, process, client)


def test_the_largest_answer_fits(test):
    """40 rows of IPv6 flows."""
    process = test.start('--synthetic', 'flows=1K,ipv6=1.0,packets=100G,rate=100K,seed=1', '--pace',
                         'recorded', '--interval', '100ms', *QUIET)
    client = connect(test, process)
    answer = wait_for_rows(test, client, 'top,,40', 40)
    assert list(answer['rows']) == [str(rank) for rank in range(1, 41)], len(answer['rows'])
    assert all('share' in row for row in answer['rows'].values()), answer
    stop(test, process, client)


def test_rows_without_room_are_said(test):
    """The longest addresses and names, and counts of twelve digits: fewer rows than requested, none
    truncated."""
    port, name = test_collect_live.free_port(), 'router-' + 'x' * 40
    process = test.start('collect', '--listen', f'127.0.0.1:{port}', '--exporter', f'127.0.0.1={name}', '--key',
                         'src,dst,src_port,proto,ingress,egress', '--interval', '100ms', *QUIET)
    client = connect(test, process)
    fields = [(datagrams.SRC6, 16), (datagrams.DST6, 16), (datagrams.PACKETS, 8), (datagrams.BYTES, 8)]
    flows = [{datagrams.SRC6: datagrams.packed(f'2001:1db8:1111:2222:3333:4444:5555:{0x1000 + n:x}'),
              datagrams.DST6: datagrams.packed('2001:1db8:1111:2222:3333:4444:5555:6666'),
              datagrams.PACKETS: 100000000000 + n, datagrams.BYTES: 1500000000000000 + n} for n in range(50)]
    router, out = datagrams.Router('ipfix', '127.0.0.1'), datagrams.sender('127.0.0.1', port)
    out.send(router.ipfix(0, datagrams.IPFIX.template(fields=fields)))

    def in_one_epoch():
        for half in flows[:25], flows[25:]:
            out.send(router.ipfix(0, datagrams.IPFIX.data(half, fields=fields), count=25))
        answers.append(client.ask('top,,40'))
        # Without upper bounds, as after a lost datagram, the rows are shorter, and all have room.
        return answers[-1].get('distinct_keys') == 50 and 'left_off' in answers[-1]

    answers = []
    test.until(in_one_epoch, 'all in one epoch')
    out.close()
    answer = answers[-1]
    ranks = list(answer['rows'])
    assert ranks == [str(rank + 1) for rank in range(len(ranks))] and len(ranks) + answer['left_off'] == 40, answer
    assert 30 < len(ranks) < 40 and all(row['ingress'] == name and 'share' in row for row in answer['rows'].values()), ranks
    assert 'left_off' not in client.ask('top,,30')
    stop(test, process, client)


def test_reload_reopens(test):
    stats = test.path('stats.csv')
    process = test.start(*LIVE, '--interval', '50ms', '--stats', stats, *QUIET)
    client = connect(test, process)
    for i in range(5):
        os.rename(stats, f'{stats}.{i}')
        assert client.ask('reload') == {'outputs': 1}
        assert os.path.exists(stats), 'not done, although the reply reports it'
    stop(test, process, client)
    for i in range(5):
        lib.read_stats(f'{stats}.{i}')


def pop_text(answer, name):
    """Returns a text that may be split: NAME, NAME_2, ..."""
    pieces = [answer.pop(name)]
    while f'{name}_{len(pieces) + 1}' in answer:
        pieces.append(answer.pop(f'{name}_{len(pieces) + 1}'))
    return ''.join(pieces)


def test_reload_says_what_was_refused(test):
    """The reply has the number of active outputs and prefixes, and for a rejected file the name,
    the line and the reason."""
    folder = test.path('f' * 120)
    os.mkdir(folder)
    rules, stats = os.path.join(folder, 'rules'), test.path('stats.csv')

    def write(text):
        with open(rules, 'w', encoding='utf-8') as stream:
            stream.write(text)

    write('198.18.0.0/16 a\n')
    process = test.start(*LIVE, '--interval', '50ms', '--stats', stats, '--monitor', rules, *QUIET)
    client = connect(test, process)
    write('198.18.0.0/16 a\n198.19.0.0/16 b\n')
    assert client.ask('reload') == {'outputs': 1, 'rules': 2}
    write('198.18.0.0/16 a\n\n198.19.0.0/8 b\n')
    answer = client.ask('reload')
    refused = pop_text(answer, 'rules_error')
    assert 'rules, line 3: 198.19.0.0/8 has host bits set' in refused, refused
    assert answer == {'outputs': 1, 'rules': 2}, answer
    os.unlink(rules)
    answer = client.ask('reload')
    assert 'cannot open' in pop_text(answer, 'rules_error') and answer['rules'] == 2, answer
    write('198.18.0.0/16 a\n')
    os.rename(stats, stats + '.1')
    os.mkdir(stats)
    answer = client.ask('reload')
    assert 'cannot open it again' in pop_text(answer, 'outputs_error')
    assert answer == {'outputs': 0, 'rules': 1}, answer
    os.rmdir(stats)
    assert client.ask('reload') == {'outputs': 1, 'rules': 1}
    stop(test, process, client)


def test_many_clients(test):
    """Replies are complete while 100 epochs per second close."""
    process = test.start('--synthetic', 'flows=1K,packets=100G,rate=100K,seed=1', '--pace',
                         'recorded', '--interval', '10ms', *QUIET)
    first = connect(test, process)
    failures = []

    def hammer(client, command):
        try:
            for _ in range(200):
                answer = client.ask(command)
                if 'error' in answer:
                    failures.append(answer)
        except (OSError, ValueError) as problem:
            failures.append(problem)
        client.close()

    threads = [threading.Thread(target=hammer, args=(lib.ControlClient(process.control_socket()), command))
               for command in ('top', 'top,main,40', 'stats', 'plan', 'stats', 'top')]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]
    stop(test, process, first)


def test_clients_that_leave_before_their_answers(test):
    """Nothing is logged: the run has no problem."""
    process = test.start('--port', 'net_ring0', '--idle', 'sleep', '--workers', '1', '--interval', '100ms', *QUIET)
    first = connect(test, process)
    for _ in range(5):
        client = lib.ControlClient(process.control_socket())
        for _ in range(20):
            client.socket.send(b'/sketchtap/stats')
        client.close()
    stop(test, process, first)
    assert process.result.said() == [], process.result.describe()


def test_ends_while_clients_ask(test):
    process = test.start(*LIVE, '--interval', '10ms', *QUIET)
    first = connect(test, process)
    done = threading.Event()

    def hammer(client):
        try:
            while not done.is_set():
                client.ask('top')
        except (OSError, ValueError):
            pass  # the socket is gone
        client.close()

    threads = [threading.Thread(target=hammer, args=(lib.ControlClient(process.control_socket()),))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        stop(test, process, first)
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_name(test):
    """One run at a time may use a name; it is free again after a kill. The run logs the path of its
    socket."""
    home = test.path('shared')
    os.mkdir(home)
    program = ['env', f'RUNTIME_DIRECTORY={home}', test.binary]
    path = lib.control_socket(home, 'tap_1.a')
    for number in (signal.SIGKILL, signal.SIGTERM):
        process = test.start(*LIVE, '--interval', '50ms', '--name', 'tap_1.a', *QUIET,
                             program=program)
        test.until(lambda: os.path.exists(path) and process.running(), 'the socket is there')
        test.until(lambda: answers(path), 'it answers')
        second = test.run(*LIVE, '--name', 'tap_1.a', program=program).expect(1)
        second.expect_one_line('sketchtap-tap_1.a', '--name')
        other = test.run('--synthetic', 'flows=10,packets=100', '--name', 'other', *QUIET,
                         program=program).expect(0)
        assert 'sketchtap-other' in other.stderr, other.describe()
        process.signal(number)
        result = test.wait(process)
        assert path in result.stderr, result.describe()
    assert os.listdir(os.path.join(home, 'dpdk')) == [], 'left behind'


def test_what_killed_runs_left(test):
    """The next start removes them, but no running, named or foreign directory."""
    home = test.path('shared')
    os.makedirs(os.path.join(home, 'dpdk', 'sketchtap-999999999x'))
    program = ['env', f'RUNTIME_DIRECTORY={home}', test.binary]
    runs = [test.start(*LIVE, *QUIET, *name, program=program)
            for name in ((), ('--name', 'named'), ())]
    names = [runs[0].popen.pid, 'named', runs[2].popen.pid]
    paths = [lib.control_socket(home, name) for name in names]
    test.until(lambda: all(map(os.path.exists, paths)), 'all run')
    for process in runs[:2]:
        process.kill()
    test.run('--synthetic', 'flows=10,packets=100', *QUIET, program=program).expect(0)
    left = sorted(os.listdir(os.path.join(home, 'dpdk')))
    assert left == sorted(f'sketchtap-{name}' for name in (*names[1:], '999999999x')), left
    assert answers(paths[2])
    stop(test, runs[2], lib.ControlClient(paths[2]))


def answers(path):
    try:
        client = lib.ControlClient(path)
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    client.close()
    return True


def test_below_what_is_everybodys(test):
    """The first user's directory does not block the next user."""
    source = ('--synthetic', 'packets=10')
    for number, mode in enumerate((0o1777, 0o755)):
        home = test.path(f'everybodys{number}')
        os.mkdir(home)
        os.chmod(home, mode)
        test.run(*source, program=['env', f'RUNTIME_DIRECTORY={home}', test.binary]).expect(0)
        made = os.stat(os.path.join(home, 'dpdk')).st_mode & 0o7777
        assert made == (0o1777 if mode == 0o1777 else 0o700), oct(made)


def test_directory_of_somebody_else(test):
    """A directory that another user made or can write to is not used, and nothing is created in
    it."""
    for number, (part, mode, user, mentions) in enumerate((
            ('dpdk', 0o777, None, 'other users'),
            ('dpdk', 0o770, None, 'other users'),
            ('dpdk', 0o755, 65534, 'another user'),
            ('dpdk', 0o1777, 65534, 'another user'),
            ('dpdk/sketchtap-tap', 0o777, None, 'other users'),
            ('dpdk/sketchtap-tap', 0o1777, None, 'other users'),
            ('dpdk/sketchtap-tap', 0o700, 65534, 'another user'),
            ('dpdk/sketchtap-tap', None, None, 'not a directory'))):
        if user is not None and os.getuid() != 0:
            continue
        home = test.path(f'shared{number}')
        folder = os.path.join(home, part)
        os.makedirs(os.path.dirname(folder), 0o700)
        if mode is None:
            os.mkdir(test.path('elsewhere'))
            os.symlink(test.path('elsewhere'), folder)
        else:
            os.mkdir(folder)
            os.chmod(folder, mode)
        if user is not None:
            os.chown(folder, user, user)
        result = test.run('--synthetic', 'packets=10', '--name', 'tap',
                          program=['env', f'RUNTIME_DIRECTORY={home}', test.binary]).expect(1)
        result.expect_one_line(folder, mentions, 'RUNTIME_DIRECTORY')
        assert os.listdir(folder) == [], folder
    # the owner of a directory can remove anything in it, even with the sticky bit
    if os.getuid() == 0:
        home = test.path('everybodys')
        for folder in home, os.path.join(home, 'dpdk'):
            os.mkdir(folder)
            os.chmod(folder, 0o1777)
        os.chown(folder, 65534, 65534)
        result = test.run('--synthetic', 'packets=10',
                          program=['env', f'RUNTIME_DIRECTORY={home}', test.binary]).expect(1)
        result.expect_one_line(folder, 'another user', 'RUNTIME_DIRECTORY')
    # Accepted: permissions that EAL sets, and a sticky world-writable directory.
    for number, (above, mode) in enumerate(((0o700, 0o700), (0o755, 0o755), (0o1777, 0o1777))):
        home = test.path(f'fine{number}')
        for folder, its in ((home, above), (os.path.join(home, 'dpdk'), mode)):
            os.mkdir(folder)
            os.chmod(folder, its)
        test.run('--synthetic', 'packets=10',
                 program=['env', f'RUNTIME_DIRECTORY={home}', test.binary]).expect(0)


def test_names_that_are_none(test):
    for name in ('', 'a/b', '..\\', 'ä', 'a b', 'x' * 41):
        test.run('--synthetic', 'packets=1', '--name', name).expect(2).expect_one_line('--name')


def test_without_a_socket(test):
    """A path that is too long for a socket, or telemetry disabled by an EAL option: the run still
    measures."""
    source = ('--synthetic', 'flows=1K,packets=1K,seed=1', *QUIET)
    long = test.path('x' * 100)
    os.mkdir(long)
    result = test.run(*source, program=['env', f'RUNTIME_DIRECTORY={long}', test.binary]).expect(0)
    assert 'no control socket' in result.stderr, result.describe()
    result = test.run(*source, '--eal', '--no-telemetry').expect(0)
    assert result.said() == [], result.describe()
    result = test.run(*source, program=['env', 'RUNTIME_DIRECTORY=/proc', test.binary]).expect(1)
    result.expect_one_line('/proc/dpdk', 'RUNTIME_DIRECTORY')


def follow_whole(client, epoch=None):
    """Returns all parts of an epoch: (reply, number of requests)."""
    answer = client.ask('follow' if epoch is None else f'follow,{epoch}')
    questions, left = 1, answer.get('left_off', 0)
    while left > 0:
        more = client.ask(f'follow,{answer["epoch"]},{answer["parts"] - left}')
        if more['epoch'] != answer['epoch']:
            return follow_whole(client, more['epoch'])
        for kind in ('measurements', 'ports', 'workers'):
            answer.setdefault(kind, {}).update(more.get(kind, {}))
        assert more['left_off'] < left, (left, more)
        questions, left = questions + 1, more['left_off']
    return answer, questions


def test_follow_says_what_the_files_say(test):
    """For each epoch: ledger, and up to ten rows of each measurement, in several parts if
    needed."""
    config, output, stats = test.path('many.conf'), test.path('output.csv'), test.path('stats.csv')
    names = [f'measurement-{n}-of-a-name-that-is-not-short' for n in range(8)]
    with open(config, 'w', encoding='utf-8') as stream:
        for name in names:
            stream.write(f'[measurement {name}]\nkey = 5tuple\nwidth = 1024\n')
    process = test.start('--config', config, '--synthetic', 'flows=1K,ipv6=0.5,packets=100G,rate=20K,seed=1',
                         '--pace', 'recorded', '--interval', '100ms', '--output', output, '--stats', stats)
    client = connect(test, process)
    seen, epoch = [], 0
    while len(seen) < 5:
        answer = client.ask(f'follow,{epoch}')
        if 'waiting' in answer:
            continue
        whole, questions = follow_whole(client, answer['epoch'])
        assert questions > 1, 'it fits into one'
        seen.append(whole)
        epoch = whole['epoch'] + 1
    assert [one['closed'] for one in seen] == list(range(seen[0]['closed'], seen[0]['closed'] + 5))
    stop(test, process, client)
    ledger, rows = lib.read_stats(stats), lib.read_output(output)
    for one in seen:
        told = {part['name']: part for part in one['measurements'].values()}
        assert list(told) == names and len(one['workers']) >= 1, one
        for row in [row for name in names for row in lib.in_epoch(ledger, str(one['epoch']), name)]:
            for column in lib.STATS_COLUMNS[4:18]:
                assert str(told[row['measurement']][column]) == row[column], (column, row, one)
            assert (one['start'], one['end']) == (row['start'], row['end'])
        for name in names:
            expected = lib.in_epoch(rows, str(one['epoch']), name)[:10]
            assert list(told[name]['rows']) == [row['rank'] for row in expected]
            for row in expected:
                for column, value in told[name]['rows'][row['rank']].items():
                    assert str(value) == row[column], (column, row)


def test_follow_waits_and_forgets(test):
    """follow waits for future epochs, reports expired ones as missing, and rejects invalid
    numbers."""
    process = test.start('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1', '--interval', '2ms',
                         *QUIET)
    client = connect(test, process)
    last = client.ask('follow')
    assert client.ask(f'follow,{last["epoch"] + 100}')['epoch'] >= last['epoch'] + 100, 'it was waited for'
    began = time.monotonic()
    assert client.ask(f'follow,{last["epoch"] + 10 ** 9}') == {'waiting': 1}
    assert 0.9 < time.monotonic() - began < 20
    test.until(lambda: client.ask('stats')['total']['epochs'] > 400, 'the first is forgotten')
    oldest = client.ask('follow,0')
    assert oldest['closed'] > 50 and oldest['epoch'] > 0, oldest
    for noise in ('x', '-1', '1.5', '1,', '1,x', '1,2,3', ' 1', '1 ', '0x1', '18446744073709551616', ',', '1,-1',
                  f'{2 ** 64 - 1},{2 ** 64}', 'ä', '%s%n', '9' * 900, '\n', '1\n'):
        answer = client.ask(f'follow,{noise}')
        assert list(answer) == ['error', 'mistake'] and 'ctl follow EPOCH' in answer['error'], (noise, answer)
    answer = client.ask(f'follow,{client.ask("follow")["epoch"]},9999')
    assert list(answer) == ['error', 'mistake'], answer
    assert client.ask(f'follow,{2 ** 64 - 1}') == {'waiting': 1}
    # A waiting client delays neither other clients nor the end of the run for long.
    hangs = lib.ControlClient(process.control_socket())
    hangs.socket.send(b'/sketchtap/follow,99999999999')
    assert 'epoch' in client.ask('follow')
    client.close()
    process.signal(signal.SIGTERM)
    assert json.loads(hangs.socket.recv(1 << 16))['/sketchtap/follow'] == {'ended': 1}
    began = time.monotonic()
    test.wait(process).expect(0)
    assert time.monotonic() - began < 20
    hangs.close()

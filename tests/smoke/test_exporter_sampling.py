# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect adapts the sampling of exporters to --sampling-budget and --sampling-error:
recommendations for captures, a simulated agent whose sampling a program changes, and Open
vSwitch."""

import contextlib
import datetime
import math
import os
import random
import signal
import socket
import stat
import threading
import time

import exports
import lib
import open_vswitch
import peers
import test_signals
from collected import collect
from datagrams import Capture, Flow, Router
from test_collect_live import Listening
from test_sampled import Agent, World, sampled, to

COLUMNS = 'epoch,time,exporter,protocol,name,from,to,reason,action,records,error,message'.split(',')
TABLE = ('--sketch', 'flow-table', '--memory', '8MB', '--observed-flows', '16K', '--key', 'src')


def recommended(test, capture, *options):
    """Returns (rows of --export sampling, Result)."""
    path = test.path(f'sampling{len(test.processes)}.csv')
    _, _, _, result = collect(test, '--pcap', capture.write(test.path('exports.pcap')), '--interval', '1s', *TABLE,
                              '--export', f'sampling={path}', *options)
    return lib.read_csv(path, COLUMNS), result


def steady(rate, intervals=8, packets=10000, address='192.0.2.1', seed=1):
    """The samples of equal traffic in each interval. Returns (capture, number of samples of the first
    interval)."""
    capture, agent, first = Capture(), Agent(address, rate, seed), None
    for epoch in range(intervals):
        n = agent.see(*((Flow(f), packets // 4, 500) for f in range(1, 5)))
        first = first or n
        agent.send(capture, epoch + 0.5)
    return capture, first


def test_budget(test):
    """Too many records: at once, the interval that sends 80 % of the budget."""
    capture, first = steady(10)
    rows, result = recommended(test, capture, '--sampling-budget', '100')
    assert len(rows) == 1, rows
    wanted = math.ceil(10 * first / 80)
    assert [rows[0][name] for name in ('epoch', 'exporter', 'protocol', 'from', 'to', 'reason', 'action')] == [
        '0', '192.0.2.1', 'sflow', '10', str(wanted), 'budget', 'recommended'], (wanted, rows)
    assert float(rows[0]['records']) == first, rows
    assert 'sampling' not in result.stderr, result.describe()


def test_filtered_budget(test):
    """Records that --filter excludes count: the exporter sent them."""
    capture, first = steady(10)
    rows, _ = recommended(test, capture, '--sampling-budget', '100', '--filter', 'src host 10.0.0.1')
    assert float(rows[0]['records']) == first, (first, rows)


def test_room(test):
    """A budget with room: finer sampling after three intervals."""
    capture, _ = steady(400, packets=100000)
    rows, _ = recommended(test, capture, '--sampling-budget', '1000')
    assert len(rows) == 1 and rows[0]['reason'] == 'room' and rows[0]['epoch'] == '2', rows
    assert 100 < int(rows[0]['to']) < 170, rows


def test_quiet(test):
    """A quiet network: N becomes at most four times finer at once."""
    capture, agent = Capture(), Agent('192.0.2.1', 1000, 1)
    for epoch in range(8):
        agent.see((Flow(1), 6000, 500))
        agent.send(capture, epoch + 0.5)
    rows, _ = recommended(test, capture, '--sampling-budget', '1000')
    assert [(row['from'], row['to'], row['reason']) for row in rows] == [('1000', '250', 'room')], rows


def test_error(test):
    """Wide bounds: finer sampling, with which a run has the wanted bounds."""
    capture, _ = steady(25, packets=40000)
    rows, _ = recommended(test, capture, '--sampling-error', '0.2')
    assert len(rows) == 1 and rows[0]['reason'] == 'error' and float(rows[0]['error']) > 0.2, rows
    capture, _ = steady(int(rows[0]['to']), packets=40000)
    again, _ = recommended(test, capture, '--sampling-error', '0.2')
    assert not again, again
    path = test.path('exports.pcap')
    measured, _, _, _ = collect(test, '--pcap', path, '--interval', '1s', *TABLE)
    worst = max(max(int(row['packets_high']) / int(row['packets']) - 1, 1 - int(row['packets_low']) / int(row['packets']))
                for row in measured)
    assert 0.12 < worst < 0.2, worst


def test_calm(test):
    """Bounds that are narrower than needed: coarser sampling."""
    capture, _ = steady(2, packets=40000)
    rows, _ = recommended(test, capture, '--sampling-error', '0.2', '--sampling-budget', '1M')
    assert len(rows) == 1 and rows[0]['reason'] == 'calm' and rows[0]['epoch'] == '2', rows
    assert int(rows[0]['to']) > 4, rows


def test_two_exporters(test):
    """The coarsest sampling determines the bounds: the coarse exporter becomes finer, and the fine one coarser."""
    capture, agents = Capture(), [Agent('192.0.2.1', 4, 5), Agent('192.0.2.2', 100, 6)]
    for epoch in range(8):
        for number, agent in enumerate(agents):
            agent.see(*((to(Flow(10 * number + f), f'203.0.113.{number}'), 20000, 500) for f in range(1, 4)))
            agent.send(capture, epoch + 0.3 + 0.1 * number)
    rows, _ = recommended(test, capture, '--sampling-error', '0.2')
    assert {(row['exporter'], row['reason']) for row in rows} == {('192.0.2.1', 'calm'), ('192.0.2.2', 'error')}, rows
    fine, coarse = (int(next(row['to'] for row in rows if row['exporter'] == name)) for name in ('192.0.2.1', '192.0.2.2'))
    assert 8 <= fine < 40 and 8 <= coarse < 40, rows


def test_impossible(test):
    """A budget that no sampling meets, and a budget that does not allow the bounds: one line and one row."""
    capture, agent = Capture(), Agent('192.0.2.1', 100, 2)
    agent.said = 1 << 20
    for epoch in range(6):
        agent.see((Flow(1), 5000, 500))
        agent.send(capture, epoch + 0.5)
    rows, result = recommended(test, capture, '--sampling-budget', '10')
    assert [(row['reason'], row['action'], row['message']) for row in rows] == [
        ('budget', 'unmet', 'no sampling meets --sampling-budget')], rows
    assert result.stderr.count('no sampling meets --sampling-budget') == 1, result.describe()

    capture, _ = steady(100)
    rows, result = recommended(test, capture, '--sampling-budget', '110', '--sampling-error', '0.01')
    assert [(row['reason'], row['action']) for row in rows] == [('error', 'unmet')], rows
    assert result.stderr.count('--sampling-budget does not allow --sampling-error: ') == 1, result.describe()


def test_options(test):
    capture, _ = steady(10, intervals=1)
    path = capture.write(test.path('exports.pcap'))
    for options, message in (
            (('--export', 'sampling=-'), 'without --sampling-budget or --sampling-error'),
            (('--sampling-command', 'true', '--sampling-budget', '1'), 'has no effect'),
            (('--exporter', '192.0.2.0/24,ovsdb=unix:/x'), 'ovsdb= needs a single address'),
            (('--exporter', '192.0.2.1,ovsdb=ptcp:6640'), 'ovsdb= needs unix:FILE'),
            (('--sampling-budget', '0'), 'sampling-budget')):
        result = test.run('collect', '--pcap', path, '--output', test.path('output.csv'), '--force', *options).expect(2)
        assert message in result.stderr, (message, result.describe())


class LiveAgent:
    """Sends samples of a steady traffic in bursts, at the sampling interval in a file."""

    FLOWS, PACKETS, EACH = 10, 400, 0.05  # packets of a flow and seconds per burst

    def __init__(self, test, port, rate):
        self.test, self.port, self.router, self.chance = test, port, Router('sflow', '127.0.0.1'), random.Random(3)
        self.file = test.path('rate')
        self.write(rate)
        self.bursts = []  # (time, sampling interval)
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def write(self, rate):
        with open(self.file, 'w', encoding='ascii') as file:
            file.write(str(rate))

    def rate(self):
        with open(self.file, encoding='ascii') as file:
            return int(file.read())

    def work(self):
        begin = time.time()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.connect(('127.0.0.1', self.port))
            while not self.ending.is_set():
                rate, samples = self.rate(), []
                for n in range(1, self.FLOWS + 1):
                    for _ in range(self.PACKETS if rate == 1 else sampled(self.chance, self.PACKETS, rate)):
                        samples.append(self.router.sample(Flow(n), rate, step=rate, size=500))
                self.bursts.append((time.time(), rate))
                for i in range(0, len(samples), 8):
                    out.send(self.router.sflow(time.time() - begin, samples[i:i + 8]))
                self.ending.wait(self.EACH)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def program(test, text, name='command'):
    """Returns a shell script, such as for --sampling-command."""
    path = test.path(name)
    with open(path, 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\n' + text)
    os.chmod(path, stat.S_IRWXU)
    return path


def listening(test, *options):
    path = test.path('sampling.csv')
    collector = Listening(test, '--interval', '500ms', *TABLE, '--export', f'sampling={path}', *options)
    return collector, path


def done(path, action='set'):
    if not os.path.exists(path):
        return []
    with open(path, encoding='ascii') as file:
        lines = file.read().splitlines()
    return [line for line in lines[1:] if line.count(',') == 11 and f',{action},' in line]


def test_command(test):
    """A program changes the sampling of an agent, which then meets the budget. Every interval has the truth
    within its bounds, also those with a change."""
    agent_file = test.path('rate')
    command = program(test, f'echo "$1 $2 $3" >> {test.path("calls")}\n'
                                f'echo "$3" > {agent_file}.new && mv {agent_file}.new {agent_file}\n')
    collector, path = listening(test, '--sampling-budget', '1000', '--confidence', '0.999', '--sampling-command', command)
    with LiveAgent(test, collector.port, 2) as agent:
        test.until(lambda: done(path), 'a change')
        first = len(agent.bursts)
        test.until(lambda: len(agent.bursts) > first + 40, 'more intervals')
        agent.write(1000)  # by somebody else
        test.until(lambda: len(done(path)) > 1, 'the budget has room')
        first = len(agent.bursts)
        test.until(lambda: len(agent.bursts) > first + 40, 'more intervals')
    collector.read_all()
    rows, _, exporters, result = collector.finish()
    changes = lib.read_csv(path, COLUMNS)
    assert [row['action'] for row in changes if row['action'] not in ('set', 'failed')] == [], changes
    assert changes[0]['reason'] == 'budget' and changes[0]['from'] == '2' and int(changes[0]['to']) > 10, changes
    with open(test.path('calls'), encoding='ascii') as file:
        calls = file.read().splitlines()
    told = [f'127.0.0.1 sflow {row["to"]}' for row in changes if row['action'] == 'set']
    assert calls[:len(told)] == told and len(calls) - len(told) <= 1, (calls, changes)
    after = [int(row['records']) for row in exporters if int(row['epoch']) > int(changes[0]['epoch']) + 1]
    assert max(after[:-1]) < 2 * 1000, after
    assert result.stderr.count(': set sampling 1:') == len(told), result.describe()
    check_bounds(rows, agent, exporters)


def test_command_for_error(test):
    """A program makes the sampling of an agent finer, until the bounds are close enough."""
    agent_file = test.path('rate')
    # Some packets of an interval have the former sampling.
    command = program(test, f'sleep 0.2\necho "$3" > {agent_file}.new && mv {agent_file}.new {agent_file}\n')
    collector, path = listening(test, '--sampling-error', '0.5', '--confidence', '0.999', '--sampling-command', command)
    with LiveAgent(test, collector.port, 500) as agent:
        test.until(lambda: agent.rate() < 100, 'changes, each at most fourfold')
        first = len(agent.bursts)
        test.until(lambda: len(agent.bursts) > first + 40, 'more intervals')
    collector.read_all()
    rows, _, exporters, _ = collector.finish()
    changes = [row for row in lib.read_csv(path, COLUMNS) if row['action'] == 'set']
    assert changes[0]['reason'] == 'error' and changes[0]['from'] == '500' and int(changes[0]['to']) >= 125, changes
    check_bounds(rows, agent, exporters)
    widths = {}
    for row in rows:
        width = int(row['packets_high']) / int(row['packets']) - 1
        widths[int(row['epoch'])] = max(width, widths.get(int(row['epoch']), 0))
    after = sorted(width for epoch, width in widths.items() if epoch > int(changes[0]['epoch']) + 1)
    assert after[len(after) // 2] < float(changes[0]['error']) / 2, (changes, widths)


def seconds(text):
    """Returns the seconds since 1970 of a time in a row."""
    return datetime.datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp()


def check_bounds(rows, agent, exporters):
    """A burst near the border of an interval may count in either."""
    intervals = sorted({(row['start'], row['end']) for row in rows})
    checked = mixed = 0
    for start, end in intervals[:-1]:
        begin, close = seconds(start), seconds(end)
        inside = [rate for when, rate in agent.bursts if begin <= when < close]
        near = sum(abs(when - border) < 0.04 for when, _ in agent.bursts for border in (begin, close))
        own = [row for row in rows if row['start'] == start]
        low, high = (len(inside) - near) * agent.PACKETS, (len(inside) + near) * agent.PACKETS
        mixed += len(set(inside)) > 1
        for row in own:
            if row['packets_high']:
                checked += 1
                assert int(row['packets_low']) <= high and low <= int(row['packets_high']), (low, high, row, inside)
    assert checked > 40 and mixed > 0, (checked, mixed)


def test_failing_command(test):
    """A program that fails: one line and a row, and everything is counted."""
    command = program(test, 'echo "no such switch: $1" >&2\nexit 3\n')
    collector, path = listening(test, '--sampling-budget', '1000', '--sampling-command', command)
    with LiveAgent(test, collector.port, 2) as agent:
        test.until(lambda: len(done(path, 'failed')) > 1, 'two failures')
    collector.read_all()
    rows, ledger, exporters, result = collector.finish()
    for row in lib.read_csv(path, COLUMNS):
        assert row['action'] == 'failed' and row['message'] == 'sampling-command: no such switch: 127.0.0.1', row
    assert result.stderr.count('cannot set sampling 1:') == 1, result.describe()
    assert agent.rate() == 2 and lib.total(ledger, 'measured') > 0 and rows, ledger
    assert sum(int(row['lost_network']) + int(row['malformed']) for row in exporters) == 0, exporters


def test_strange_message(test):
    """The message of a failure is ASCII, although the program writes other bytes."""
    command = program(test, "printf 'n\\303\\266 \\377\\033[2J\\200' >&2\nexit 3\n")
    collector, path = listening(test, '--sampling-budget', '1000', '--sampling-command', command)
    with LiveAgent(test, collector.port, 2):
        test.until(lambda: done(path, 'failed'), 'a failure')
    collector.read_all()
    _, _, _, result = collector.finish()
    assert lib.read_csv(path, COLUMNS)[0]['message'] == 'sampling-command: n?? ??[2J?', path
    assert ': sampling-command: n?? ??[2J?' in result.stderr, result.describe()


@contextlib.contextmanager
def ovs_vsctl(test, text):
    """Runs a shell script instead of ovs-vsctl."""
    folder, before = test.path('bin'), os.environ['PATH']
    os.mkdir(folder)
    program(test, text, 'bin/ovs-vsctl')
    os.environ['PATH'] = f'{folder}:{before}'
    try:
        yield
    finally:
        os.environ['PATH'] = before


def test_strange_uuid(test):
    """A UUID that is not one is not passed to ovs-vsctl."""
    calls = test.path('calls')
    with ovs_vsctl(test, f'echo "$*" >> {calls}\necho "--db=tcp:203.0.113.1:1 xxxxxxxxxxxxx,2"\n'):
        collector, path = listening(test, '--sampling-budget', '1000', '--exporter', '127.0.0.1,ovsdb=unix:/x')
        with LiveAgent(test, collector.port, 2):
            test.until(lambda: done(path, 'failed'), 'a failure')
        collector.finish()
    assert lib.read_csv(path, COLUMNS)[0]['message'] == 'ovs-vsctl: output not understood', path
    with open(calls, encoding='ascii') as file:
        assert ' set ' not in file.read()


def test_ignoring_command(test):
    """A program that does nothing: the records show it, and the log has it once. Then the program works."""
    agent_file, works = test.path('rate'), test.path('works')
    command = program(test, f'test -e {works} || exit 0\n'
                                f'echo "$3" > {agent_file}.new && mv {agent_file}.new {agent_file}\n')
    collector, path = listening(test, '--sampling-budget', '1000', '--sampling-command', command)
    with LiveAgent(test, collector.port, 2):
        test.until(lambda: len(done(path, 'failed')) > 1, 'the difference is noticed twice')
        with open(works, 'w', encoding='ascii'):
            pass
        test.until(lambda: ' after failures' in collector.process.stderr(), 'the records state it')
    collector.read_all()
    _, _, _, result = collector.finish()
    failed = [row for row in lib.read_csv(path, COLUMNS) if row['action'] == 'failed']
    assert failed[0]['message'] == 'its records state another sampling' and failed[0]['to'] == '2', failed
    assert result.stderr.count('was set, but its records state 1:2') == 1, result.describe()
    assert result.stderr.count(' instead of 1:2 (') == result.stderr.count(' after failures') == 1, result.describe()


def silent_sampling(own, message):
    """An exporter that does not state its sampling cannot be configured: one line, and a recommendation."""
    def check(test):
        if own:
            peers.needs(test, 'ovs-vsctl')
        options = own if own else ('--sampling-command', program(test, f'touch {test.path("began")}\n'))
        collector, path = listening(test, '--sampling-budget', '100', *options)
        router, begin = Router('v5', '127.0.0.1'), time.time()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.connect(('127.0.0.1', collector.port))

            def recommends():
                out.send(router.v5(time.time() - begin, [Flow(n, 10) for n in range(30)]))
                return done(path, 'recommended')

            test.until(recommends, 'a recommendation')
        collector.read_all()
        _, _, _, result = collector.finish()
        row = lib.read_csv(path, COLUMNS)[0]
        assert row['message'] == message and row['from'] == '1' and row['reason'] == 'budget', row
        assert result.stderr.count('cannot set sampling 1:') == 1, result.describe()
        assert not os.path.exists(test.path('began')), 'the program ran'
    return check


def test_endless_command(test):
    """The end of the run does not wait for a program that hangs."""
    collector, path = listening(test, '--sampling-budget', '1000', '--sampling-command',
                                program(test, f'touch {test.path("began")}\nsleep 1000\n'))
    with LiveAgent(test, collector.port, 2):
        test.until(lambda: os.path.exists(test.path('began')), 'the program runs')
    collector.finish()


class Switch:
    """An Open vSwitch bridge that exports to a collector in its namespace, which sets its sampling."""

    def __init__(self, test, protocol, rate, budget):
        self.test, self.table, self.path = test, protocol, test.path('sampling.csv')
        self.switches = open_vswitch.Switches(test, 1)
        peers.needs(test, 'tcpreplay')
        port = exports.PORTS[protocol]
        self.output, self.exporters = test.path('output.csv'), test.path('exporters.csv')
        settings = {'sflow': ('agent=lo', 'header=128', 'polling=0'), 'ipfix': ('cache_active_timeout=1', 'cache_max_flows=1000')}
        self.switches.export(protocol, protocol, f'targets="127.0.0.1:{port}"', f'sampling={rate}', *settings[protocol])
        self.collector = test.start(
            'collect', '--listen', f'127.0.0.1:{port}', '--exporter', f'127.0.0.1=switch,ovsdb={self.switches.socket}',
            '--sampling-budget', str(budget), '--export', f'sampling={self.path}', '--output', self.output,
            '--exporters', self.exporters, '--interval', '1s', '--active-timeout', '3s', '--confidence', '0.9999', *TABLE,
            inside=self.switches.namespace)
        test_signals.wait_for_lines(test, self.collector, self.exporters, 1)
        self.traffic = test.path('traffic.pcap')
        test.run('generate', '--synthetic', f'flows=200,zipf=1.0,size=100-1400,packets={15 * 1500},rate=2K,seed=7',
                 '--output', self.traffic).expect(0)

    def send(self):
        self.test.wait(self.switches.namespace.send('near', self.traffic, 1500)).expect(0)
        time.sleep(2.5)  # cached flows are sent
        interval = self.switches.set('--bare', '--columns=sampling', 'list', self.table).strip()
        self.collector.signal(signal.SIGTERM)
        result = self.test.wait(self.collector).expect(0)
        self.switches.end()
        return int(interval), lib.read_output(self.output), lib.read_csv(self.path, COLUMNS), result

    def check_sums(self, rows):
        """The bounds of a source, summed over its intervals, hold its packets."""
        truth, low, high, seen, unbounded = {}, {}, {}, {}, set()
        for key, (packets, _) in exports.traffic(self.traffic).items():
            truth[key[0]] = truth.get(key[0], 0) + packets
        for row in rows:
            source = row['src_ip']
            low[source] = low.get(source, 0) + int(row['packets_low'])
            high[source] = high.get(source, 0) + int(row['packets_high'] or 0)
            seen[source] = seen.get(source, 0) + 1
            if row['packets_high'] == '':
                unbounded.add(source)
        for source in seen:
            assert low[source] <= truth[source], (source, low[source], truth[source])
        often = [source for source in seen if seen[source] >= 14 and source not in unbounded]
        assert often, (seen, unbounded)
        for source in often:
            assert truth[source] <= high[source], (source, high[source], truth[source])
        return [int(row['packets_high']) > int(row['packets']) for row in rows if row['packets_high']]


def test_open_vswitch_sflow(test):
    switch = Switch(test, 'sflow', 2, 50)
    interval, rows, changes, result = switch.send()
    assert changes[0]['action'] == 'set' and changes[0]['from'] == '2' and changes[0]['name'] == 'switch', changes
    assert interval == int([row for row in changes if row['action'] == 'set'][-1]['to']), (interval, changes)
    assert 15 < interval < 120, (interval, changes)  # 1500 / 50 is 30
    assert any(switch.check_sums(rows)), rows


def test_open_vswitch_ipfix(test):
    """IPFIX of Open vSwitch counts packets times its sampling and does not state it."""
    switch = Switch(test, 'ipfix', 5, 100)
    interval, rows, changes, result = switch.send()
    assert changes[0]['action'] == 'set' and changes[0]['from'] == '5' and changes[0]['protocol'] == 'ipfix', changes
    assert interval == int([row for row in changes if row['action'] == 'set'][-1]['to']) > 5, (interval, changes)
    wide = switch.check_sums(rows)
    assert sum(wide) > len(wide) / 2, rows


def test_open_vswitch_unreachable(test):
    """A database that does not exist: a line and a row."""
    peers.needs(test, 'ovs-vsctl')
    collector, path = listening(test, '--sampling-budget', '1000', '--exporter',
                                f'127.0.0.1,ovsdb=unix:{test.path("none")}')
    with LiveAgent(test, collector.port, 2):
        test.until(lambda: done(path, 'failed'), 'the failure')
    collector.read_all()
    _, _, _, result = collector.finish()
    assert lib.read_csv(path, COLUMNS)[0]['message'].startswith('ovs-vsctl: '), path
    assert result.stderr.count('cannot set sampling 1:') == 1, result.describe()


def test_hanging_switches(test):
    """Switches that do not answer delay neither the start nor the end of the run."""
    calls, switches = test.path('calls'), 20
    with ovs_vsctl(test, f'echo "$*" >> {calls}\nexec sleep 1000\n'):
        collector, _ = listening(test, '--sampling-budget', '1000', *(word for n in range(switches)
                                         for word in ('--exporter', f'192.0.2.{n},ovsdb=unix:/{n}')))
        test.until(lambda: os.path.exists(calls), 'ovs-vsctl runs')
        collector.finish()
    with open(calls, encoding='ascii') as file:
        assert len(file.readlines()) < switches


def test_unread_sampling(test):
    """IPFIX of Open vSwitch does not state N: N stays, and upper bounds are empty, until N is read."""
    calls, reachable = test.path('calls'), test.path('reachable')
    script = (f'case "$*" in *" list "*) ;; *) echo "$*" >> {calls}; exit;; esac\n'
              f'test -e {reachable} || {{ echo "no connection" >&2; exit 1; }}\n'
              'echo "01234567-89ab-cdef-0123-456789abcdef,400"\n')
    router, begin = Router('ipfix', '127.0.0.1'), time.time()
    with ovs_vsctl(test, script), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        collector, path = listening(test, '--sampling-budget', '10', '--exporter', '127.0.0.1=s1,ovsdb=unix:/x')
        out.connect(('127.0.0.1', collector.port))

        def sends(condition):
            out.send(router.message(time.time() - begin, [Flow(n, 4000) for n in range(20)], True))
            return condition()

        test.until(lambda: sends(lambda: done(path, 'failed') or
                                 len({row['epoch'] for row in lib.read_output(collector.output)}) > 3), 'intervals')
        with open(reachable, 'w', encoding='ascii'):
            pass
        test.until(lambda: sends(lambda: done(path)), 'a change')
        collector.read_all()
        rows, _, _, result = collector.finish()
    change = lib.read_csv(path, COLUMNS)[0]
    assert (change['action'], change['from'], change['name']) == ('set', '400', 's1') and int(change['to']) > 400, change
    assert all(row['packets_high'] == '' for row in rows if row['epoch'] == '1'), rows
    with open(calls, encoding='ascii') as file:
        assert file.read().strip().endswith(f' set ipfix 01234567-89ab-cdef-0123-456789abcdef sampling={change["to"]}')
    assert result.stderr.count('exporter s1: cannot read its sampling, so upper bounds are empty: '
                               'ovs-vsctl: no connection') == 1, result.describe()


def cases(_):
    return [(f'sampling that is not stated, {name}', silent_sampling(own, message)) for name, own, message in (
        ('by a command', (), 'its records do not state their sampling'),
        ('by ovsdb', ('--exporter', '127.0.0.1,ovsdb=unix:/nonexistent'),
         'Open vSwitch does not sample NetFlow; export sFlow or IPFIX'))]

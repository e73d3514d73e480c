# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the smoke tests: runs the binary, reads its CSV strictly, and computes exact truth."""

import contextlib
import csv
import datetime
import fcntl
import functools
import gzip
import json
import lzma
import operator
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'captures'))

import oracle  # noqa: E402

OUTPUT_COLUMNS = (
    'epoch,measurement,start,end,rank,src_ip,dst_ip,src_port,dst_port,proto,packets,bytes,'
    'packets_low,packets_high,bytes_low,bytes_high,confidence,share').split(',')
RECORD_COLUMNS = ['first', 'last', 'tcp_flags']  # trailing columns if flow records are kept
STATS_COLUMNS = (
    'epoch,measurement,start,end,offered,received,measured,filtered,non_ip,malformed,nic_missed,'
    'nic_errors,no_mbuf,ring_full,shed,unaccounted,bytes,distinct_keys,pps,bps,drop_rate,rx_ns,'
    'ppt_ns,free_ns,delay_ns,design,sharing,sketch,workers').split(',')
# Trailing columns with --flow-detail; the next two lists are those with --overload.
DEEP_COLUMNS = ['state', 'deep_packets', 'peak_bps', 'bursts', 'gap_min_ns', 'gap_mean_ns', 'retransmitted',
                'out_of_order', 'zero_windows']
KEPT_UP_OUTPUT_COLUMNS = ['looked_at', 'weight']
KEPT_UP_STATS_COLUMNS = ['skipped', 'skipped_bytes', 'distinct_of']
LEAKS_OF_OTHERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'leaks_of_others.txt')
LOSSES = ('nic_missed', 'nic_errors', 'no_mbuf', 'ring_full', 'shed')
KEY_COLUMNS = ('src_ip', 'dst_ip', 'src_port', 'dst_port', 'proto')
# --key words that differ from their column names.
KEY_WORDS = {
    '5tuple': KEY_COLUMNS,
    'src': ('src_ip',),
    'dst': ('dst_ip',),
    'src-dst': ('src_ip', 'dst_ip'),
    '6tuple': KEY_COLUMNS + ('tcp_flags',),
}
# Four standard errors of a HyperLogLog of 2^14 registers.
DISTINCT_TOLERANCE = 4 * 0.008125


class Skip(Exception):
    """A test that cannot run here; the text is the reason."""


def alone(test):
    """Decorator: no other test runs at the same time."""
    test.alone = True
    return test


class Patience:
    """Total time that a test may wait; consumed while it polls.

    If the whole machine is stalled, only one step of the time is consumed.
    """

    STEP = 0.5  # most seconds consumed between two polls

    def __init__(self, seconds):
        self.left = seconds
        self.last = time.monotonic()

    def spend(self):
        """Consumes the time since the last call; returns False if none is left."""
        now = time.monotonic()
        self.left -= min(now - self.last, self.STEP)
        self.last = now
        return self.left > 0


def resident_peak(pid):
    """Returns the peak memory in bytes. The value of wait4() would include the runner's memory
    before exec."""
    try:
        with open(f'/proc/{pid}/status', encoding='ascii') as status:
            for line in status:
                if line.startswith('VmHWM:'):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def resident(pid):
    """Returns the resident memory of a process in bytes."""
    with open(f'/proc/{pid}/statm', encoding='ascii') as statm:
        return int(statm.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


# The last line of a run on standard error: the sum of its ledger.
ACCOUNT = re.compile(r'^(?:sketchtap: (?:warning: )?|<\d>)(?P<offered>\d+) packets? offered in '
                     r'(?P<epochs>\d+) intervals?: (?P<measured>\d+) measured, '
                     r'(?:(?:at least )?(?P<lost>\d+) lost|losses unknown)(?P<rest>.*)$', re.M)


# Warnings about the test machine: few CPUs, or a small share of them.
HOST = re.compile(r'.*(?:the control group limits .* lcores that poll|lcores that poll.* share \d+ CPUs|'
                  r'on CPUs that are not isolated).*$', re.M)


class Result:
    def __init__(self, arguments, status, stdout, stderr, max_rss):
        self.arguments = arguments
        self.status = status  # negative: number of the signal that ended it
        self.stdout = stdout
        self.stderr = stderr
        self.max_rss = max_rss  # bytes

    def expect(self, status):
        assert self.status == status, (
            f'exit status {self.status} instead of {status}\n{self.describe()}')
        return self

    def said(self):
        """Lines of standard error, without the final ledger line and warnings about this
        machine."""
        return [line for line in self.stderr.splitlines() if not ACCOUNT.match(line) and not HOST.match(line)]

    def error_lines(self):
        """Lines of said() that are not warnings."""
        return [line for line in self.said() if 'warning' not in line.lower()]

    def account(self):
        """Parses the last line on standard error: {'offered': n, 'epochs': n, 'nic_missed': n,
        ...}."""
        lines = self.stderr.splitlines()
        match = ACCOUNT.match(lines[-1]) if lines else None
        assert match, f'no account of the packets at the end\n{self.describe()}'
        account = {name: int(value) for name, value in match.groupdict().items() if name != 'rest' and value}
        for value, name in re.findall(r'(\d+) ([a-z_]+)', match['rest'].split(';')[0]):
            account[name] = int(value)
        return account

    def expect_one_line(self, *mentions):
        """Expects exactly one error line, with all of these texts."""
        lines = self.error_lines()
        assert len(lines) == 1 and self.stderr.endswith('\n'), (
            f'{len(lines)} lines on standard error instead of one\n{self.describe()}')
        for mention in mentions:
            assert mention.lower() in lines[0].lower(), (
                f'{mention!r} is not in: {lines[0]}\n{self.describe()}')
        return self

    def expect_one_warning(self, *mentions):
        """Expects exactly one warning with all of these texts, and no error."""
        lines = self.said()
        assert len(lines) == 1 and 'warning: ' in lines[0], self.describe()
        for mention in mentions:
            assert mention in lines[0], f'{mention!r} is not in: {lines[0]}\n{self.describe()}'
        return self

    def describe(self):
        text = 'command: ' + ' '.join(self.arguments)
        for name, stream in (('stdout', self.stdout), ('stderr', self.stderr)):
            if stream:
                text += f'\n{name}:\n' + '\n'.join(stream.splitlines()[-15:])
        return text


class Process:
    """A running sketchtap (or any command) in its own process group. Not in a session: some kernels
    starve sessions."""

    def __init__(self, arguments, directory, environment, stdin=None, stdout=None):
        self.arguments = [str(argument) for argument in arguments]
        self.directory = directory
        self._out = open(os.path.join(directory, 'stdout'), 'wb') if stdout is None else None
        self._err = open(os.path.join(directory, 'stderr'), 'wb')
        self.popen = subprocess.Popen(
            self.arguments, stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=self._out if stdout is None else stdout, stderr=self._err, env=environment,
            process_group=0)
        self.result = None
        self.peak = 0  # resident bytes, from polling

    def signal(self, number):
        """Sends a signal even if the process may have ended. Popen.send_signal() would reap the
        status that _poll() needs."""
        if self.running():
            os.kill(self.popen.pid, number)

    def running(self):
        return self.result is None and self._poll() is None

    def _poll(self):
        """Returns the Result or None."""
        if self.result is not None:
            return self.result
        self.peak = max(self.peak, resident_peak(self.popen.pid))
        pid, status, _ = os.wait4(self.popen.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.popen.returncode = os.waitstatus_to_exitcode(status)
        self._close()
        self.result = Result(
            self.arguments, self.popen.returncode, self._text('stdout'), self.stderr(),
            self.peak)
        return self.result

    def _close(self):
        for stream in (self._out, self._err):
            if stream is not None:
                stream.close()

    def control_socket(self, name=None):
        return control_socket(self.directory, name or self.popen.pid)

    def stderr(self):
        """Returns standard error so far."""
        return self._text('stderr')

    def _text(self, name):
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            return ''
        with open(path, encoding='utf-8', errors='replace') as stream:
            return stream.read()

    def wait(self, patience):
        if self._poll() is not None:
            return self.result
        end = os.pidfd_open(self.popen.pid)
        try:
            while self._poll() is None:
                if not patience.spend():
                    self.kill()
                    raise AssertionError(f'still running when the test had no time left\n{self.result.describe()}')
                select.select([end], [], [], 0.05)
        finally:
            os.close(end)
        return self.result

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        while self._poll() is None:
            time.sleep(0.01)


def some(settings, items):
    """Returns all items; on slow builds every eleventh, which still covers each rotating
    parameter."""
    items = list(items)
    return items[::11] if settings.slow else items


class Cases:
    """The cases of a test module, in the order in which decorators add them."""

    def __init__(self):
        self.named = []

    def case(self, name, *arguments):
        """Adds the function as a case. `arguments` follow the test argument."""
        def add(function):
            self.named.append((name, lambda test: function(test, *arguments)))
            return function
        return add

    def each(self, name, *choices):
        """Adds a case per choice; the choice is appended to the case name."""
        def add(function):
            for choice in choices:
                self.case(f'{name}, {choice}', choice)(function)
            return function
        return add

    def some(self, settings):
        return some(settings, self.named)


def few(settings, items):
    """Returns all items with --full, else every fifth. For tests that take seconds and whose
    subject is covered elsewhere."""
    items = some(settings, items)
    return items if settings.full or settings.slow else items[::5]


def short(settings, entries):
    """Entries of an index without large captures, which take half a minute to check packet by
    packet; all with --full."""
    return [entry for entry in entries if settings.full or int(entry['packets'] or 0) < 500000]


def idle_of(arguments):
    """Options that keep an unpaced replay from polling, so that parallel tests get CPU time.

    The results do not change. Runs that depend on the clock, and test_matrix, keep the default.
    """
    given = set(arguments)
    replays = given & {'--pcap', '--synthetic'} and arguments[0].startswith('--')
    return ('--idle', 'sleep') if replays and not given & {'--idle', '--pace', '--port', '--keep-up', '--config'} else ()


class Test:
    """Environment of one test: its directory, child processes and timeout."""

    def __init__(self, settings, directory, timeout):
        self.settings = settings
        self.binary = settings.binary
        self.bench_binary = settings.bench_binary
        self.traces = settings.traces
        self.sanitized = settings.sanitized
        self.slow = settings.slow
        self.directory = directory
        self.patience = Patience(timeout)
        self.processes = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def skip(self, reason):
        raise Skip(reason)

    def some(self, items):
        return some(self.settings, items)

    def few(self, items):
        return few(self.settings, items)

    def start(self, *arguments, program=None, stdin=None, stdout=None, inside=None):
        """Starts sketchtap or another program and returns at once; `inside` is a net.Namespace."""
        home = self.path(f'run{len(self.processes)}')
        os.mkdir(home)
        environment = dict(os.environ)
        environment['RUNTIME_DIRECTORY'] = home  # EAL's runtime directory, instead of /var/run
        if self.sanitized:
            environment['LSAN_OPTIONS'] = f'suppressions={LEAKS_OF_OTHERS}:print_suppressions=0'
        if program is None:
            program = [self.binary, *idle_of(arguments)]
        if inside is not None:
            program = [*inside.enter, *program]
        process = Process([*program, *arguments], home, environment, stdin, stdout)
        self.processes.append(process)
        return process

    def wait(self, process):
        result = process.wait(self.patience)
        skip_crash_of_memif(result)
        assert 'Sanitizer' not in result.stderr and 'runtime error:' not in result.stderr, (
            f'sanitizer\n{result.describe()}')
        if result.status >= 0:
            expect_nothing_left(process)
        return result

    def run(self, *arguments, **options):
        """Runs sketchtap to its end; does not check the exit status."""
        return self.wait(self.start(*arguments, **options))

    def bench(self, *arguments, **options):
        """Runs sketchtap-bench to its end; does not check the exit status."""
        return self.run(*arguments, program=[self.bench_binary], **options)

    def measure(self, *arguments, status=0, stdin=None, inside=None):
        """Runs a measurement; returns (heavy hitters, ledger rows, Result)."""
        name = len(self.processes)
        output, stats = self.path(f'output{name}.csv'), self.path(f'stats{name}.csv')
        result = self.run(
            '--output', output, '--stats', stats, *arguments, stdin=stdin,
            inside=inside).expect(status)
        rows, ledger = read_output(output), read_stats(stats)
        check_account(result, ledger)
        return rows, ledger, result

    def until(self, condition, what):
        while not condition():
            if not self.patience.spend():
                for process in self.processes:
                    if not process.running():
                        skip_crash_of_memif(process.result)
                raise AssertionError(f'timed out waiting until {what}')
            time.sleep(0.02)

    def until_said(self, process, part):
        """Waits until a run has printed this text on standard error; fails if the run ends
        first."""
        def there():
            running = process.running()
            if part in process.stderr():
                return True
            if not running:
                skip_crash_of_memif(process.result)
            assert running, f'ended without {part!r}\n{process.result.describe()}'
            return False

        self.until(there, f'{part!r} is printed')

    def describe_first(self):
        """Describes the processes that were started first: they may be the cause of another's
        failure."""
        return ''.join(
            f'\n{"still running" if process.running() else f"ended with {process.result.status}"}: '
            f'{" ".join(process.arguments)}\n' + '\n'.join(process.stderr().splitlines()[-5:])
            for process in self.processes[:3])

    def close(self):
        for process in self.processes:
            process.kill()


def skip_crash_of_memif(result):
    """DPDK's net_memif unmaps its rings when the peer leaves, although a worker may be polling
    them."""
    server = any('net_memif' in word and 'role=server' in word for word in result.arguments)
    if server and (result.status == -signal.SIGSEGV or (
            'AddressSanitizer: SEGV' in result.stderr and 'librte_net_memif' in result.stderr)):
        raise Skip('net_memif unmapped its rings under a poll: a defect of the driver')


def expect_nothing_left(process):
    """Checks that EAL's runtime directory is empty after a run."""
    left = [os.path.join(folder, name)
            for folder, _, names in os.walk(process.directory) for name in names
            if folder != process.directory]
    assert not left, 'files left: ' + ', '.join(left)


# ---- the control socket


def control_socket(directory, name):
    """Returns the control socket of a run with this name (or number); * makes a glob pattern."""
    return os.path.join(directory, 'dpdk', f'sketchtap-{name}', 'dpdk_telemetry.v2')


class ControlClient:
    """A client of a control socket; waits up to 30 s for an answer."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(30)
        self.connect(path)
        self.info = json.loads(self.socket.recv(1 << 16))

    def connect(self, path):
        while True:
            try:
                return self.socket.connect(path)
            except BlockingIOError:  # the accept queue is full
                time.sleep(0.01)

    def ask(self, command):
        """Returns the answer to a command under /sketchtap/."""
        self.socket.send(f'/sketchtap/{command}'.encode())
        answer = json.loads(self.socket.recv(1 << 16))
        return answer[f'/sketchtap/{command.split(",")[0]}']

    def close(self):
        self.socket.close()


# ---- reading output


def read_text(path_or_text):
    if '\n' in path_or_text:
        return path_or_text
    with open(path_or_text, encoding='utf-8', newline='') as stream:
        return stream.read()


def read_csv(path_or_text, columns):
    """Returns every row as a dict. Fails on another header, a row of another width, or half a
    row."""
    text = read_text(path_or_text)
    assert text.endswith('\n'), f'half a row at the end: {text[-80:]!r}'
    assert '\r' not in text, 'carriage returns'
    reader = csv.reader(text.splitlines())
    header = next(reader)
    assert header == columns, f'header is {header}'
    rows = []
    for row in reader:
        assert len(row) == len(columns), f'{len(row)} columns: {row}'
        assert row != columns, 'a second header'
        rows.append(dict(zip(columns, row)))
    return rows


@functools.lru_cache(maxsize=256)
def asked_columns(columns):
    """Trailing columns of key fields that are not in every file."""
    return [column for column in columns
            if column not in (*OUTPUT_COLUMNS, *RECORD_COLUMNS, *KEPT_UP_OUTPUT_COLUMNS,
                              *DEEP_COLUMNS, 'ended')]  # 'ended' is in --flows


def check_interval(row, low, value, high):
    if low == value == high and value.isdecimal():
        return
    assert (low == '') == (value == ''), f'value without low: {row}'
    if value != '':
        assert int(low) <= int(value), row
    if value != '' and high != '':
        assert int(value) <= int(high), row


def read_output(path):
    text = read_text(path)
    header = text.split('\n')[0].split(',')
    records = RECORD_COLUMNS if set(RECORD_COLUMNS) & set(header) else []
    kept_up = KEPT_UP_OUTPUT_COLUMNS if set(KEPT_UP_OUTPUT_COLUMNS) & set(header) else []
    rows = read_csv(text, OUTPUT_COLUMNS + records + asked_columns(tuple(header)) + kept_up)
    share = re.compile(r'0\.\d{6}|1\.000000')
    for row in rows:
        check_interval(row, row['packets_low'], row['packets'], row['packets_high'])
        check_interval(row, row['bytes_low'], row['bytes'], row['bytes_high'])
        assert share.fullmatch(row['share']), f'share {row["share"]}'
    return rows


def read_stats(path):
    text = read_text(path)
    # Runs of collect count duplicate records.
    collected = ['duplicate'] if 'duplicate' in text.split('\n')[0].split(',') else []
    kept_up = KEPT_UP_STATS_COLUMNS if ',skipped' in text.split('\n')[0] else []
    rows = read_csv(text, STATS_COLUMNS + collected + kept_up)
    for row in rows:
        check_ledger(row)
    return rows


def check_ledger(row):
    n = {name: int(row[name] or 0) for name in STATS_COLUMNS[4:18]}
    n['duplicate'] = int(row.get('duplicate', 0))
    n['skipped'] = int(row.get('skipped', 0))
    assert n['offered'] == (
        n['received'] + n['nic_missed'] + n['nic_errors'] + n['no_mbuf']), f'offered: {row}'
    assert n['received'] == (n['measured'] + n['filtered'] + n['non_ip'] + n['malformed'] +
                             n['ring_full'] + n['shed'] + n['duplicate'] + n['skipped']), f'received: {row}'
    assert n['unaccounted'] == 0, f'unaccounted: {row}'
    lost = sum(n[name] for name in LOSSES)
    if n['offered']:
        assert abs(float(row['drop_rate']) - lost / n['offered']) < 1e-5, f'drop_rate: {row}'
    start, end = timestamp(row['start']), timestamp(row['end'])
    assert start <= end, row
    if start == end:
        assert row['pps'] == '' and row['bps'] == '', f'a rate over no time: {row}'
    else:
        seconds = (end - start) / 1e6
        for column, amount in (('pps', n['measured']), ('bps', n['bytes'] * 8)):
            if column == 'bps' and row['bytes'] == '':  # unknown
                assert row['bps'] == '', row
                continue
            expected = amount / seconds
            # end is rounded to microseconds
            slack = expected * 2e-6 / seconds + expected * 1e-6 + 1
            assert abs(float(row[column]) - expected) <= slack, f'{column}: {row}'


def check_account(result, ledger):
    """Checks that the last line of a run is the sum of its ledger."""
    several = len({row['measurement'] for row in ledger}) > 1
    shared = len({(row['epoch'], row.get('skipped')) for row in ledger}) == len({row['epoch'] for row in ledger})
    ledger = [row for row in ledger if row['measurement'] == ledger[0]['measurement']]
    truth = {column: total(ledger, column) for column in STATS_COLUMNS[4:15]}
    if ledger and 'duplicate' in ledger[0]:
        truth['duplicate'] = total(ledger, 'duplicate')
    if ledger and 'skipped' in ledger[0]:
        truth['skipped'] = total(ledger, 'skipped')
    if several:  # packets that one measurement shed were measured by others
        truth['measured'] += truth['shed']
        truth['shed'] = 0
    truth['epochs'] = len(ledger)
    truth['lost'] = sum(truth[column] for column in LOSSES)
    account = result.account()
    del truth['received']
    if not shared:  # packets that one measurement skipped were processed by others
        assert truth.pop('measured') + truth.pop('skipped') == account['measured'] + account.get('skipped', 0)
    for name, value in truth.items():
        assert account.get(name, 0) == value, f'{name} is {value}\n{result.describe()}'
    if truth['lost'] > 0:
        assert 'warning' in result.stderr.splitlines()[-1], result.describe()


def total(rows, column):
    return sum(int(row[column]) for row in rows)


def expect_lossless(rows):
    for column in LOSSES + ('filtered', 'unaccounted'):
        assert total(rows, column) == 0, f'{column} is {total(rows, column)}'


@functools.lru_cache(maxsize=1 << 16)
def whole_second(text):
    return int(datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc).timestamp())


TIME = re.compile(r'(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z')


def timestamp(text):
    """Converts RFC 3339 in UTC to microseconds since 1970."""
    match = TIME.fullmatch(text)
    assert match, f'not RFC 3339 in UTC with microseconds: {text!r}'
    return whole_second(match[1]) * 1000000 + int(match[2])


@functools.lru_cache(maxsize=256)
def key_columns(rule):
    """Returns the columns of a --key, in its order."""
    words = [word.split('/')[0] for word in rule.split(',')]
    return tuple(column for word in words for column in KEY_WORDS.get(word, (word,)))


@functools.lru_cache(maxsize=256)
def columns_of(header, rule):
    """Returns the columns of a --key, then all key columns of the header, split into filled and
    empty ones."""
    columns, every = key_columns(rule), (*KEY_COLUMNS, *asked_columns(header))
    return columns, [column for column in every if column in columns], [column for column in every if column not in columns]


def row_key(row, rule='5tuple'):
    """Returns the key of a heavy-hitter row; columns outside the rule must be empty."""
    columns, filled, empty = columns_of(tuple(row), rule)
    value = row.__getitem__
    assert all(map(value, filled)) and not any(map(value, empty)), f'{rule}: {row}'
    return tuple(map(value, columns))


def in_epoch(rows, epoch, measurement='main'):
    return [row for row in rows if row['epoch'] == epoch and row['measurement'] == measurement]


# ---- truth


# pcapng files of the index with different interface types: (packets, flows). libpcap does not read
# them, so that an index made with libpcap has `refused`.
UNLIKE_INTERFACES = {
    'zoo/filefmt-ngBE__libtrace__complex.pcapng': (5, 3),
    'zoo/filefmt-ngMixed__gopacket__test202.pcapng': (8, 3),
    'zoo/filefmt-ngMultiIf__gopacket__test006.pcapng': (5, 3),
    'zoo/interfaces__own__frames.pcapng': (6, 6),
}


@functools.lru_cache(maxsize=None)
def sketches(binary, sharing='separate'):
    """Returns the words of --sketch, from the help, that run with this --sharing."""
    text = subprocess.run([binary, '--help', 'all'], check=True, capture_output=True, text=True).stdout
    listed = re.search(r'--sketch SKETCH\s+Select the data structure that counts: (.*?)\. ', ' '.join(text.split()))[1]
    return tuple(name for name in re.findall(r'(\S+) \(', listed) if sharing == 'separate' or shares(name))


def shares(sketch):
    """Returns whether workers can share the sketch."""
    return sketch != 'compact-table'


def index(traces):
    """Returns the rows of the index of captures."""
    with open(os.path.join(traces, 'INDEX.csv'), encoding='utf-8') as stream:
        return list(csv.DictReader(stream))


# Captures by role, the preferred ones first; the project's own come last.
ROLES = {
    'uplink': ('large/auckland2.pcap.xz', 'large/uplink.pcap.xz'),  # TCP, UDP, ICMP of IPv4, no tags, no fragments
    # all traffic types, with floods from second 20 to 40
    'mix': ('large/mix.pcap.xz', 'large/crowd.pcap.xz'),
    'mix-x4': ('large/mix-x4-snap64.pcap.xz', 'large/crowd.pcap.xz'),
    'flood6': ('attack/ipv6flood__suricata-verify__denial6-6.pcap', 'attack/flood6__own__made-up.pcap'),
    'reflection': ('attack/reflection__stopddos__amp.UDP.isakmp.pcap', 'attack/reflection__own__made-up.pcap'),
    'many flows': ('zoo/mix__ndpi__gnutella.pcap', 'zoo/names__own__recorded.pcap'),
    'ipv6': ('zoo/ipv6__pcapplusplus__tls2.pcap', 'zoo/web__own__recorded.pcap'),
    # after a link header of 16 bytes
    'padded': ('zoo/link-sll__ndpi__rtsp.pcap', 'zoo/sll-names__own__recorded.pcap'),
}


def file_of(traces, name):
    """Returns the file of an indexed capture, from its role or name."""
    return next(file for file in ROLES.get(name, (name,)) if os.path.exists(os.path.join(traces, file)))


def entry_of(traces, name):
    """Returns a capture's row of the index."""
    file = file_of(traces, name)
    return next(entry for entry in index(traces) if entry['file'] == file)


@functools.lru_cache(maxsize=32)
def load_truth(traces, file):
    """Returns {5-tuple of strings: (packets, bytes)} of an indexed capture."""
    name = os.path.basename(file_of(traces, file)).removesuffix('.xz')
    path = os.path.join(traces, 'truth', name + '.csv.gz')
    truth = {}
    if not os.path.exists(path):  # the capture has no packet with a key
        return truth
    with gzip.open(path, 'rt') as stream:
        reader = csv.reader(stream)
        places = {column: place for place, column in enumerate(next(reader))}
        key_of = operator.itemgetter(*(places[column] for column in KEY_COLUMNS))
        packets, size = places['packets'], places['bytes']
        for row in reader:
            truth[key_of(row)] = (int(row[packets]), int(row[size]))
    return truth


def merged_truth(traces, files):
    """Sums the truth of several captures."""
    truth = {}
    for file in files:
        for key, (packets, size) in load_truth(traces, file).items():
            before = truth.get(key, (0, 0))
            truth[key] = (before[0] + packets, before[1] + size)
    return truth


def sum_by(truth, rule):
    """Sums the truth by another key."""
    places = [KEY_COLUMNS.index(column) for column in key_columns(rule)]
    summed = {}
    for key, (packets, size) in truth.items():
        part = tuple(key[place] for place in places)
        before = summed.get(part, (0, 0))
        summed[part] = (before[0] + packets, before[1] + size)
    return summed


def check_bounds(rows, truth, rule='5tuple', metric='packets'):
    """Checks that keys are unique and real, that every interval holds the truth, and that share is
    of the metric."""
    keys = [row_key(row, rule) for row in rows]
    assert len(set(keys)) == len(keys), 'a key is reported twice'
    place = ('packets', 'bytes').index(metric)
    measured = sum(figures[place] for figures in truth.values())
    for key, row in zip(keys, rows):
        assert key in truth, f'never seen: {row}'
        for figure, true in zip(('packets', 'bytes'), truth[key]):
            low, high = row[f'{figure}_low'], row[f'{figure}_high']
            if low != '':
                assert int(low) <= true, f'true {figure} are {true}: {row}'
            if high != '':
                assert true <= int(high), f'true {figure} are {true}: {row}'
        share = int(row[metric]) / measured
        assert abs(float(row['share']) - share) <= 1e-6, f'share of {measured}: {row}'


def check_exact(rows, truth, rule='5tuple'):
    """Checks that the rows are exact and marked as exact."""
    for row in rows:
        for figure, true in zip(('packets', 'bytes'), truth[row_key(row, rule)]):
            got = tuple(row[name] for name in (f'{figure}_low', figure, f'{figure}_high'))
            assert got == (str(true),) * 3, f'true {figure} are {true}: {row}'


def check_top(rows, truth, top, rule='5tuple', metric='packets'):
    """Checks that the rows are the true top, except ties at its end, in descending order, numbered
    from 1."""
    check_bounds(rows, truth, rule, metric)
    assert [int(row['rank']) for row in rows] == list(range(1, len(rows) + 1)), 'ranks'
    shown = [int(row[metric]) for row in rows]
    assert shown == sorted(shown, reverse=True), 'not in falling order'
    place = ('packets', 'bytes').index(metric)
    true = sorted((figures[place] for figures in truth.values()), reverse=True)
    assert len(rows) == min(top, len(true)), f'{len(rows)} rows of {min(top, len(true))}'
    if not rows:
        return
    border = true[len(rows) - 1]
    keys = {row_key(row, rule) for row in rows}
    missing = [key for key, figures in truth.items()
               if figures[place] > border and key not in keys]
    assert not missing, f'{len(missing)} of the top {len(rows)} are missing, such as {missing[0]}'
    for key in keys:
        assert truth[key][place] >= border, f'{key} has {truth[key]}, the border is {border}'


def mean_relative_error(rows, truth, rule='5tuple', metric='packets'):
    place = ('packets', 'bytes').index(metric)
    errors = [abs(int(row[metric]) - truth[row_key(row, rule)][place]) /
              truth[row_key(row, rule)][place] for row in rows]
    return sum(errors) / len(errors)


class Oracle:
    """Exact figures from the records of a capture."""

    def records(self, path):
        """Returns [(link type, time in ns, captured bytes, wire length)]."""
        return oracle.Capture(path).records

    def layer3(self, record):
        """Returns (offset, EtherType) of the payload after link header and VLAN tags. An offset of
        None: no payload."""
        try:
            return oracle.layer3(record[0], record[2])
        except oracle.Malformed:
            return None, None

    def count(self, records):
        """Returns (ledger, {key: (packets, bytes)}) of a list of records."""
        return oracle.count(records)

    def epochs(self, path, interval):
        """Returns {interval: records}. The first packet is in interval 0; late packets count in the
        open one."""
        split = {}
        first = opened = None
        for record in self.records(path):
            number = record[1] // interval
            first = number if first is None else first
            opened = number if opened is None else max(opened, number)
            split.setdefault(opened - first, []).append(record)
        return split


# ---- generated captures


def udp_frame(flow=0, size=60):
    """Returns an Ethernet frame of IPv4 and UDP; the flow number is in the addresses and ports."""
    address = struct.pack('>I', 0x0a000000 + flow)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, size - 14, 0, 0, 64, 17, 0, address,
                     b'\xc0\x00\x02\x01')
    udp = struct.pack('>HHHH', 1024 + flow % 1000, 53, size - 34, 0)
    return (b'\x02' * 12 + b'\x08\x00' + ip + udp).ljust(size, b'\0')


def udp_key(flow=0):
    address = 0x0a000000 + flow
    return ('.'.join(str(address >> shift & 255) for shift in (24, 16, 8, 0)), '192.0.2.1',
            str(1024 + flow % 1000), '53', '17')


PCAP_HEADER = struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1)


def pcap_record(time_us, frame):
    return struct.pack('<IIII', time_us // 1000000, time_us % 1000000, len(frame), len(frame)) + frame


def write_pcap(path, packets, snaplen=262144, link=1):
    """packets: (time in microseconds, frame)"""
    with open(path, 'wb') as stream:
        stream.write(PCAP_HEADER[:16] + struct.pack('<II', snaplen, link))
        for time_us, frame in packets:
            stream.write(pcap_record(time_us, frame))
    return path


def write_pcapng(path, interfaces, packets, order='<'):
    """interfaces: (link type, snap length, nanoseconds per unit of its times), each described just
    before its first packet; packets: (time in nanoseconds, interface number, captured bytes)."""
    def block(number, body):
        length = struct.pack(order + 'I', 12 + len(body))
        return struct.pack(order + 'I', number) + length + body + length

    described = 0
    with open(path, 'wb') as stream:
        stream.write(block(0x0a0d0d0a, struct.pack(order + 'IHHq', 0x1a2b3c4d, 1, 0, -1)))
        for time_ns, number, data in packets:
            while described <= number:
                link, snaplen, unit = interfaces[described]
                digits = 10 - len(str(unit))
                stream.write(block(1, struct.pack(order + 'HHIHHBxxxHH', link, 0, snaplen, 9, 1, digits,
                                                  0, 0)))
                described += 1
            stamp = time_ns // interfaces[number][2]
            stream.write(block(6, struct.pack(order + 'IIIII', number, stamp >> 32, stamp & 0xffffffff,
                                              len(data), len(data)) + data + b'\0' * (-len(data) % 4)))
    return path


def unpack(test, file):
    """Returns the path of an indexed capture; a compressed one is decompressed once for all
    tests."""
    path = os.path.join(test.traces, file_of(test.traces, file))
    for suffix, opener in (('.xz', lzma.open), ('.gz', gzip.open)):
        if path.endswith(suffix):
            plain = os.path.join(test.settings.cache, os.path.basename(path).removesuffix(suffix))
            with open(plain + '.lock', 'w', encoding='ascii') as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not os.path.exists(plain):
                    with opener(path, 'rb') as packed, open(plain, 'wb') as stream:
                        shutil.copyfileobj(packed, stream)
                    os.chmod(plain, 0o444)
            return plain
    return path

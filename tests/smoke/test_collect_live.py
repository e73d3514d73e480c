# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect --listen: every datagram received over UDP is in the ledger, during the run and
after."""

import contextlib
import os
import signal
import socket
import time

import exports
import lib
import test_overload
import test_shed_controller
import test_signals
from collected import generate, read_exporters, truth_of

ALL = ('--sketch', 'flow-table', '--memory', '4MB', '--top', '1M', '--observed-flows', '16K')
SPECS = ('flows=800,zipf=1.0,size=100-1400,packets=8K,rate=400,seed=9',
         'flows=800,zipf=1.0,size=100-1400,packets=8K,rate=400,seed=10')


def free_port(family=socket.AF_INET, address='127.0.0.1'):
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError as reason:
            raise lib.Skip(f'{address}: {reason}') from reason
        return probe.getsockname()[1]


class Listening:
    """A collector on sockets of this host."""

    def __init__(self, test, *options, listen=None):
        self.test = test
        self.port, name = free_port(), len(test.processes) or ''
        listen = listen or [f'127.0.0.1:{self.port}']
        self.output, self.stats, self.exporters = (
            test.path(f'{kind}{name}.csv') for kind in ('output', 'stats', 'exporters'))
        self.process = test.start('collect', *(word for address in listen for word in ('--listen', address)),
                                  '--output', self.output, '--stats', self.stats, '--exporters', self.exporters,
                                  *options)
        test_signals.wait_for_lines(test, self.process, self.exporters, 1)
        test_signals.wait_for_lines(test, self.process, self.stats, 1)

    def stand_still(self):
        """Stops the collector: later datagrams stay in the kernel, or are lost there."""
        self.process.signal(signal.SIGSTOP)

        def stopped():
            with open(f'/proc/{self.process.popen.pid}/stat', encoding='ascii') as stat:
                return stat.read().rpartition(')')[2].split()[0] == 'T'

        self.test.until(stopped, 'it is stopped')

    def go_on(self):
        self.process.signal(signal.SIGCONT)

    def read_all(self):
        """Waits until its sockets are empty."""
        def emptied():
            with open(f'/proc/{self.process.popen.pid}/net/udp', encoding='ascii') as sockets:
                return all(line.split()[4].endswith(':00000000') for line in sockets
                           if f':{self.port:04X} ' in line)

        self.test.until(emptied, 'all is read')

    def finish(self, number=signal.SIGTERM):
        """Returns (rows, ledger, exporters, Result)."""
        if number is not None:
            self.process.signal(number)
        result = self.test.wait(self.process).expect(0)
        ledger = lib.read_stats(self.stats)
        lib.check_account(result, ledger)
        return lib.read_output(self.output), ledger, read_exporters(self.exporters), result


def sender(family, address, target):
    out = socket.socket(family, socket.SOCK_DGRAM)
    out.bind((address, 0))
    out.connect(target)
    return out


def send_capture(path, socket_of):
    """Sends each datagram through its router's socket, slowly enough for the receiver. Returns
    their number."""
    count = 0
    for _, router, _, data in exports.datagrams(path):
        socket_of(router).send(data)
        count += 1
        if count % 16 == 0:
            time.sleep(0.002)
    return count


def sums_of(rows):
    sums = {}
    for row in rows:
        exports.add(sums, lib.row_key(row), int(row['packets']), int(row['bytes']))
    return sums


def exported(test, protocol='v5', spec=SPECS[0], routers=3):
    return generate(test, f'{protocol}.pcap', '--as', protocol, '--routers', routers, '--path', routers, spec=spec)


def several_sockets(workers, number):
    """IPv4 with an address per router, and IPv6: records of two networks are complete, and none is
    lost."""
    def check(test):
        port6 = free_port(socket.AF_INET6, '::1')
        captures = [exported(test, protocol, spec) for protocol, spec in zip(('v5', 'ipfix'), SPECS)]
        truth = truth_of(test, SPECS[0])
        for key, figures in truth_of(test, SPECS[1]).items():
            exports.add(truth, key, *figures)
        port4 = free_port()
        run = Listening(test, *ALL, '--interval', '300ms', '--workers', workers,
                        listen=[f'127.0.0.1:{port4}', f'[::1]:{port6}'])
        with contextlib.ExitStack() as stack:
            four = {f'192.0.2.{n}': stack.enter_context(
                sender(socket.AF_INET, f'127.0.0.{n + 1}', ('127.0.0.1', port4))) for n in (1, 2, 3)}
            six = stack.enter_context(sender(socket.AF_INET6, '::1', ('::1', port6)))
            sent = send_capture(captures[0], four.get) + send_capture(captures[1], lambda router: six)
        rows, ledger, exporters, _ = run.finish(number)
        assert lib.total(exporters, 'datagrams') == sent and lib.total(exporters, 'lost_socket') == 0, exporters
        assert sums_of(rows) == truth
        assert lib.total(ledger, 'measured') == 16000 and lib.total(ledger, 'duplicate') == 32000, ledger
        who = {(row['exporter'], row['protocol']) for row in exporters if int(row['datagrams'])}
        assert who == {('127.0.0.2', 'netflow5'), ('127.0.0.3', 'netflow5'), ('127.0.0.4', 'netflow5'),
                       ('::1', 'ipfix')}, who
        assert len({(row['domain']) for row in exporters if row['protocol'] == 'ipfix'}) == 3
    return check


def test_templates_before_the_epoch_ends(test):
    """Templates are saved during an interval, so that a kill loses few of them."""
    kept = test.path('templates')
    run = Listening(test, '--interval', '10m', '--templates', kept)
    with sender(socket.AF_INET, '127.0.0.1', ('127.0.0.1', run.port)) as out:
        send_capture(exported(test, 'v9'), lambda router: out)
    test.until(lambda: os.path.exists(kept), 'templates are saved')
    with open(kept, encoding='ascii') as stream:
        assert '127.0.0.1' in stream.read()
    run.finish()


def test_burst_and_a_small_buffer(test):
    """1500 datagrams arrive while the collector is stopped: those that exceed the buffer are in
    lost_socket, exactly."""
    capture = exported(test, 'v9')
    data = [data for *_, data in exports.datagrams(capture)]
    for size in ('64KB', '8KB'):
        run = Listening(test, '--interval', '0', '--receive-buffer', size)
        run.stand_still()
        with sender(socket.AF_INET, '127.0.0.1', ('127.0.0.1', run.port)) as out:
            for i in range(1500):
                out.send(data[i % len(data)])
        run.go_on()
        run.read_all()
        _, _, exporters, result = run.finish()
        came, lost = lib.total(exporters, 'datagrams'), lib.total(exporters, 'lost_socket')
        assert came + lost == 1500, f'{came} came, {lost} were lost'
        assert lost > 500 and came > 0, f'{came} came'
        assert 'losses unknown' in result.stderr.splitlines()[-1], result.describe()
        rows = lib.read_output(run.output)
        assert rows and {row['packets_high'] for row in rows} == {''}, 'an upper bound'


def test_burst_and_the_default_buffer(test):
    """1500 datagrams, about 2 MB, arrive while the collector is stopped: none is lost."""
    if os.geteuid() != 0:
        test.skip('only root can exceed net.core.rmem_max')
    datagrams = []
    for seed in range(30, 50):
        path = generate(test, f'burst{seed}.pcap', '--as', 'v5', '--routers', '3', '--path', '3',
                        spec=f'flows=800,zipf=1.0,size=100-1400,packets=8K,rate=400,seed={seed}')
        datagrams += [data for *_, data in exports.datagrams(path)]
        if len(datagrams) >= 1500:
            break
    run = Listening(test, '--interval', '0', *ALL)
    run.stand_still()
    with sender(socket.AF_INET, '127.0.0.1', ('127.0.0.1', run.port)) as out:
        for data in datagrams[:1500]:
            out.send(data)
    run.go_on()
    _, _, exporters, _ = run.finish()  # signal at once: waiting datagrams are read first
    assert lib.total(exporters, 'datagrams') == 1500, exporters
    assert lib.total(exporters, 'lost_socket') == 0, exporters


def test_overloaded(test):
    """Datagrams wait in the socket of a stopped collector. Then --overload skips records, all of which
    are in the ledger, and intervals contain the truth."""
    if os.geteuid() != 0:
        test.skip('only root can exceed net.core.rmem_max')
    spec = 'flows=20K,zipf=0.8,size=100-1400,packets=60K,rate=20K,seed=9'
    truth = truth_of(test, spec)
    data = [data for *_, data in exports.datagrams(exported(test, spec=spec, routers=1))]
    for mode, sketch in (('valve', 'flow-table'), ('best', 'count-min')):
        rows_of = test.path(f'{mode}.csv')
        run = Listening(test, '--interval', '0', '--workers', '1', '--sketch', sketch, '--top', '1000', '--overload', mode,
                        '--export', f'overload={rows_of}', '--receive-buffer', f'{len(data) * 5 // 4}KB')
        run.stand_still()
        with sender(socket.AF_INET, '127.0.0.1', ('127.0.0.1', run.port)) as out:
            for datagram in data:
                out.send(datagram)
        run.go_on()
        run.read_all()
        rows, ledger, exporters, result = run.finish()
        assert lib.total(exporters, 'datagrams') == len(data) and lib.total(exporters, 'lost_socket') == 0, exporters
        assert lib.total(ledger, 'measured') + lib.total(ledger, 'skipped') == 60000, ledger
        assert lib.total(ledger, 'skipped') > 0, (ledger, result.describe())
        test_overload.check_intervals(rows, truth)
        levels = {row['to'] for row in lib.read_csv(lib.read_text(rows_of), test_shed_controller.COLUMNS) if row['reason'] == 'queue'}
        assert levels & {'wait', '1/4', '1/8', 'count'}, levels


def test_nothing_comes(test):
    for number in (signal.SIGINT, signal.SIGTERM):
        run = Listening(test, '--interval', '100ms')
        rows, _, exporters, result = run.finish(number)
        assert rows == [] and exporters == [] and result.account()['offered'] == 0


def test_limits(test):
    """--duration follows the clock; --packets counts datagrams, and the last burst may exceed
    it."""
    begin = time.monotonic()
    run = Listening(test, '--duration', '700ms', '--interval', '0')
    run.finish(None)
    assert time.monotonic() - begin > 0.7
    run = Listening(test, '--packets', '20', '--interval', '0', *ALL)
    data = [data for *_, data in exports.datagrams(exported(test))]
    with sender(socket.AF_INET, '127.0.0.1', ('127.0.0.1', run.port)) as out:
        for part in data[:19]:
            out.send(part)
        run.read_all()
        time.sleep(0.2)
        assert run.process.running(), run.process.result.describe()
        out.send(data[19])
    _, _, exporters, _ = run.finish(None)
    assert lib.total(exporters, 'datagrams') == 20, exporters


def test_control(test):
    """stats, top, plan and other commands reply during collection, with the contents of the
    files."""
    capture = exported(test, 'v9')
    run = Listening(test, '--interval', '200ms', *ALL)
    client = lib.ControlClient(run.process.control_socket())
    with sender(socket.AF_INET, '127.0.0.1', ('127.0.0.1', run.port)) as out:
        sent = send_capture(capture, lambda router: out)
    test.until(lambda: client.ask('stats').get('total', {}).get('measured') == 8000, 'all is measured')
    total, plan, top = client.ask('stats')['total'], client.ask('plan'), client.ask('top')
    client.close()
    rows, ledger, exporters, _ = run.finish()
    for column in ('received', 'measured', 'bytes', 'offered'):
        assert total[column] == lib.total(ledger, column), (column, total)
    assert total['duplicate'] == lib.total(ledger, 'duplicate') == 16000, total
    assert lib.total(exporters, 'datagrams') == sent
    assert plan['workers'] == 1, plan
    assert isinstance(top['rows'], (dict, list)), top
    assert sums_of(rows) == truth_of(test, SPECS[0])


def test_sighup(test):
    """Renamed files are complete; new files continue, and each record is in exactly one."""
    capture = exported(test)
    run = Listening(test, '--interval', '100ms', *ALL)
    datagrams = list(exports.datagrams(capture))
    files = (run.output, run.stats, run.exporters)
    with sender(socket.AF_INET, '127.0.0.1', ('127.0.0.1', run.port)) as out:
        for part in range(2):
            half = datagrams[part * len(datagrams) // 2:(part + 1) * len(datagrams) // 2]
            for i, (*_, data) in enumerate(half):
                out.send(data)
                if i % 16 == 0:
                    time.sleep(0.005)
            if part == 0:
                test_signals.wait_for_lines(test, run.process, run.stats, 2)
                for file in files:
                    os.rename(file, f'{file}-old')
                run.process.signal(signal.SIGHUP)
                test.until(lambda: all(os.path.exists(file) for file in files), 'new files')
    run.process.signal(signal.SIGTERM)
    test.wait(run.process).expect(0)
    rows, ledger, exporters = ([row for name in (f'{file}-old', file) for row in read(name)]
                               for file, read in zip(files, (lib.read_output, lib.read_stats, read_exporters)))
    numbers = [int(row['epoch']) for row in ledger]
    assert numbers == sorted(set(numbers)), numbers
    assert sums_of(rows) == truth_of(test, SPECS[0])
    assert lib.total(exporters, 'datagrams') == len(datagrams)
    assert lib.total(ledger, 'received') == 24000, ledger


def cases(settings):
    return [(f'several sockets, {workers} workers, signal {number.name}', several_sockets(workers, number))
            for workers, number in ((1, signal.SIGTERM), (3, signal.SIGINT))]

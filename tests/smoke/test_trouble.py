# SPDX-License-Identifier: BSD-3-Clause
"""Faults during a live run: it continues, or ends with a reason, and the ledger always balances."""

import csv
import os
import random
import select
import shutil
import signal
import time

import lib
import net

PACKETS = 4000
RATE = 40000


def capture_of(test, packets=PACKETS):
    return lib.write_pcap(test.path('sent.pcap'), [(i, lib.udp_frame(i % 50)) for i in range(packets)])


class Run:
    """A live run with short epochs."""

    def __init__(self, test, space, port, *options, **how):
        name = len(test.processes)
        self.test = test
        self.output, self.stats = test.path(f'output{name}.csv'), test.path(f'stats{name}.csv')
        self.process = test.start(
            '--port', port, '--workers', '1', '--interval', '50ms', '--top', '3', '--output',
            self.output, '--stats', self.stats, *options, inside=space, **how)
        net.wait_until_ready(test, self.process, self.stats)

    def received(self):
        return lib.total(lib.read_stats(self.stats), 'received')

    def wait_for(self, packets):
        self.test.until(lambda: self.received() >= packets, f'{packets} packets')

    def end(self, status=0):
        """Returns (ledger, Result)."""
        self.process.signal(net.END)
        result = self.test.wait(self.process).expect(status)
        lib.read_output(self.output)
        return lib.read_stats(self.stats), result


def veth(test):
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    return space


def wait(test, seconds):
    begin = time.monotonic()
    test.until(lambda: time.monotonic() > begin + seconds, f'{seconds} s have passed')


def test_link_flaps(test):
    """Down and up again, three times: packets sent while it is up are measured."""
    space = veth(test)
    capture = capture_of(test)
    run = Run(test, space, net.af_packet('tap0'))
    for flap in range(1, 4):
        test.wait(space.send('wire0', capture, RATE)).expect(0)
        run.wait_for(flap * PACKETS)
        for state in ('down', 'up'):
            space.set('tap0', state)
            wait(test, 0.1)
    ledger, _ = run.end()
    assert lib.total(ledger, 'measured') == 3 * PACKETS
    lib.expect_lossless(ledger)


def test_sender_is_killed(test):
    space = veth(test)
    capture = capture_of(test)
    run = Run(test, space, net.af_packet('tap0'))
    sender = space.send('wire0', capture, 2000, 1000)
    run.wait_for(100)
    sender.kill()
    sent = space.received('tap0')
    run.wait_for(sent)
    wait(test, 0.1)
    ledger, _ = run.end()
    assert lib.total(ledger, 'measured') == sent
    lib.expect_lossless(ledger)


def test_receiver_stands_still(test):
    """A receiver stopped for two seconds: the sender waits for free slots, and loses nothing."""
    path = test.path('memif')
    device = f'socket={path},socket-abstract=no,rsize=8,bsize=2048'
    run = Run(test, None, f'net_memif0,role=server,{device}', '--packets', '20000')
    sender = test.start('generate', '--synthetic', 'packets=20K,rate=20K,size=64', '--pace',
                        'recorded', '--port', f'net_memif0,role=client,{device}')
    run.wait_for(1000)
    run.process.signal(signal.SIGSTOP)
    wait(test, 2)
    run.process.signal(signal.SIGCONT)
    test.wait(sender).expect(0)
    test.wait(run.process).expect(0)
    ledger = lib.read_stats(run.stats)
    assert lib.total(ledger, 'measured') == 20000
    lib.expect_lossless(ledger)
    for before, after in zip(ledger, ledger[1:]):
        assert lib.timestamp(before['end']) <= lib.timestamp(after['start']), f'{before} {after}'


def test_nobody_reads_the_output(test):
    """Rows wait, then are lost and counted; no packet is lost, and epochs continue."""
    space = veth(test)
    capture = capture_of(test)
    fifo = test.path('fifo')
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        process = test.start('--port', net.af_packet('tap0'), '--workers', '1', '--interval', '5ms',
                             '--output', fifo, '--verbose', inside=space)
        test.until(lambda: select.select([reader], [], [], 0)[0], 'the header')
        test.wait(space.send('wire0', capture, 2000)).expect(0)
        process.signal(net.END)
        text = read_to_the_end(test, reader, process)
        result = test.wait(process).expect(1)
    finally:
        os.close(reader)
    lib.read_csv(text, lib.OUTPUT_COLUMNS)
    assert result.account()['offered'] == PACKETS, result.describe()
    assert 'rows could not be written' in result.stderr, result.describe()


def fill(pipe):
    """Writes until the pipe is full."""
    while True:
        try:
            os.write(pipe, b'.' * 4096)
        except BlockingIOError:
            return


def test_nobody_reads_standard_error(test):
    """Lines are lost and counted; epochs continue, and the first signal ends the run."""
    fifo, stats = test.path('fifo'), test.path('stats.csv')
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        fill(reader)
        process = test.start(
            '--port', 'net_null0', '--eal', '--no-pci', '--workers', '1', '--interval', '10ms',
            '--stats', stats, '--output', '/dev/null', '--verbose',
            program=['sh', '-c', f'exec "$0" "$@" 2>{fifo}', test.binary])
        test.until(lambda: os.path.exists(stats) and lib.read_text(stats).count('\n') > 50, 'epochs')
        while select.select([reader], [], [], 0)[0]:
            os.read(reader, 65536)
        process.signal(signal.SIGTERM)
        test.wait(process).expect(0)
        assert b'missing here: standard error was not read' in os.read(reader, 65536)
    finally:
        os.close(reader)


def read_to_the_end(test, reader, process):
    parts = []

    def ended():
        try:
            part = os.read(reader, 65536)
        except BlockingIOError:
            return False
        parts.append(part)
        return not part and not process.running()

    test.until(ended, 'the end of the rows')
    return b''.join(parts).decode()


def test_disk_full_and_freed(test):
    """On a small disk: every packet is measured, and whole epochs are written again after space is
    freed."""
    space = veth(test)
    disk = test.path('disk')
    os.mkdir(disk)
    space.call('mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', disk)
    capture = capture_of(test)
    output, stats = os.path.join(disk, 'output.csv'), test.path('stats.csv')
    process = test.start('--port', net.af_packet('tap0'), '--workers', '1', '--interval', '20ms',
                         '--top', '5', '--output', output, '--stats', stats, inside=space)
    net.wait_until_ready(test, process, stats)
    space.call('sh', '-c', f'cat /dev/zero >{disk}/filler 2>/dev/null || true')
    sender = space.send('wire0', capture, 2000, 1000)
    test.until_said(process, 'No space left')
    space.call('rm', f'{disk}/filler')
    test.until_said(process, 'resumed')
    sender.kill()
    sent = space.received('tap0')
    test.until(lambda: lib.total(lib.read_stats(stats), 'received') >= sent, 'packets')
    process.signal(net.END)
    test.wait(process).expect(1)
    assert 'rows could not be written' in process.stderr()
    assert lib.total(lib.read_stats(stats), 'measured') == sent
    rows = lib.read_csv(space.call('cat', output), lib.OUTPUT_COLUMNS)
    keys = {row['epoch']: int(row['distinct_keys']) for row in lib.read_stats(stats)}
    for epoch in {row['epoch'] for row in rows}:
        ranks = [int(row['rank']) for row in lib.in_epoch(rows, epoch)]
        assert ranks == list(range(1, min(5, keys[epoch]) + 1)), f'epoch {epoch}: {ranks}'


def test_more_workers_than_queues(test):
    space = veth(test)
    result = test.run('--port', 'net_af_xdp0,iface=tap0,busy_budget=0', '--workers', '3',
                      inside=space)
    result.expect(1).expect_one_line('--workers', '3 workers', '1 receive queue')


def test_no_such_interface(test):
    space = net.Namespace(test)
    for port in ('nobody0', 'net_af_packet0,iface=nobody0'):
        test.run('--port', port, inside=space).expect(1).expect_one_line('nobody0')


def test_without_permission(test):
    """Missing privileges are named for each driver."""
    space = veth(test)
    binary = shutil.copy(test.binary, test.path('sketchtap'))
    os.chmod(test.directory, 0o755)
    nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups',
              'env', 'RUNTIME_DIRECTORY=' + test.path('nobody'), binary]
    os.mkdir(test.path('nobody'))
    os.chown(test.path('nobody'), 65534, 65534)
    for port, mentions in (
            ('tap0', ('CAP_NET_RAW',)),
            ('net_tap0,iface=probe0', ('CAP_NET_ADMIN',)),
            ('net_af_xdp0,iface=tap0', ('CAP_NET_RAW', 'CAP_NET_ADMIN', 'CAP_SYS_ADMIN')),
            ('net_memif0,role=server,socket-abstract=no,socket=/proc/x', ('/proc', 'cannot write')),
            ('net_vhost0', ('DEVARGS',))):
        result = test.run('--port', port, '--no-huge', '--workers', '1', '--output', '/dev/null',
                          program=nobody, inside=space).expect(1)
        result.expect_one_line('--port ' + port.split(',')[0], *mentions)
        assert 'Operation not permitted' not in result.stderr, result.describe()


def test_capabilities(test):
    """The documented capabilities of a driver suffice, each is needed, and doctor reports the
    same."""
    space = veth(test)
    net_raw, net_admin, sys_admin = 'CAP_NET_RAW', 'CAP_NET_ADMIN', 'CAP_SYS_ADMIN'
    for port, needs, limits in (
            (net.af_packet('tap0'), (net_raw,), ()),
            ('net_pcap0,rx_iface=tap0', (net_raw,), ()),
            ('net_tap0,iface=probe0', (net_admin,), ()),
            ('net_tun0,iface=probe0', (net_admin,), ()),
            ('net_af_xdp0,iface=tap0,busy_budget=0', (net_raw, net_admin, sys_admin), ('CAP_IPC_LOCK',))):
        for lacking in (None, *needs):
            kept = [name for name in needs + limits if name != lacking]
            program = ['setpriv', '--inh-caps=-all',
                       '--bounding-set=' + ','.join(['-all', *('+' + name[4:].lower() for name in kept)]),
                       test.binary]
            result = test.run('--port', port, '--no-huge', '--workers', '1', '--duration', '100ms',
                              '--output', '/dev/null', program=program, inside=space)
            doctor = test.run('doctor', '--port', port, '--format', 'csv', program=program, inside=space)
            privileges = next(row for row in csv.DictReader(doctor.stdout.splitlines())
                              if row['check'] == 'privileges')
            if lacking is None:
                result.expect(0)
                assert privileges['status'] == 'ok', privileges
            else:
                result.expect(1).expect_one_line('--port ' + port.split(',')[0], lacking)
                assert privileges['status'] == 'missing', privileges
                assert 'lacks ' + lacking.lower() in privileges['found'], privileges


def test_devargs_that_mean_nothing(test):
    """Drivers return -1, which does not mean "Operation not permitted"."""
    for port in ('net_memif0,role=conductor', 'net_pcap0,rx_pcap=/nonexistent', 'net_tap0,iface=a/b'):
        result = test.run('--port', port, '--no-huge', '--output', '/dev/null').expect(1)
        result.expect_one_line('--port ' + port.split(',')[0], '--log-level debug')
        assert 'not permitted' not in result.stderr, result.describe()


def promiscuity(space):
    return space.link('tap0')['promiscuity']


def test_promiscuous_only_while_it_runs(test):
    """The promiscuous flag is restored after any end, and kept if another run or user needs it."""
    space = veth(test)
    for device in (net.af_packet('tap0'), 'net_af_xdp0,iface=tap0,busy_budget=0'):
        for number in (net.END, signal.SIGKILL):
            assert promiscuity(space) == 0
            run = Run(test, space, device)
            assert promiscuity(space) == 1
            run.process.signal(number)
            test.wait(run.process)
            test.until(lambda: promiscuity(space) == 0, 'the interface is as it was')
    space.set('tap0', 'promisc', 'on')
    runs = [Run(test, space, net.af_packet('tap0')) for _ in range(2)]
    assert promiscuity(space) == 3
    runs[0].end()
    assert promiscuity(space) == 2
    runs[1].end()
    assert 'PROMISC' in space.link('tap0')['flags'] and promiscuity(space) == 1


def test_two_runs_on_one_interface(test):
    """Each run has its own sockets and receives every packet."""
    space = veth(test)
    capture = capture_of(test)
    runs = [Run(test, space, net.af_packet('tap0')) for _ in range(2)]
    test.wait(space.send('wire0', capture, RATE)).expect(0)
    for run in runs:
        run.wait_for(PACKETS)
    for run in runs:
        ledger, _ = run.end()
        assert lib.total(ledger, 'measured') == PACKETS
        lib.expect_lossless(ledger)


def taken(port, *mentions):
    """Returns a test of a device that only one process may use: the error names the other one."""
    def check(test):
        space = net.Namespace(test)
        device = port(test)
        run = Run(test, space, device)
        test.run('--port', device, '--workers', '1', inside=space).expect(1).expect_one_line(*mentions)
        run.end()
    return check


def left_behind(port):
    """Returns a test that the next run removes files of a killed one, and reports it."""
    def check(test):
        space = net.Namespace(test)
        device, path = port(test)
        run = Run(test, space, device)
        run.process.kill()
        assert os.path.exists(path)
        _, result = Run(test, space, device).end()
        assert 'removed ' + path in result.stderr, result.describe()
    return check


def memif(test):
    path = test.path('memif')
    return f'net_memif0,role=server,socket={path},socket-abstract=no', path


def vhost(test):
    return f'net_vhost0,iface={test.path("vhost")}', test.path('vhost')


def cases(settings):
    del settings
    return [
        ('a memif that is taken', taken(lambda test: memif(test)[0], 'another process', 'memif')),
        ('an abstract memif that is taken',
         taken(lambda test: f'net_memif0,role=server,socket={test.directory}', 'another process')),
        ('a vhost that is taken', taken(lambda test: vhost(test)[0], 'another process', 'vhost')),
        ('a tap that is taken', taken(lambda test: 'net_tap0,iface=tap0', 'tap0', 'another process')),
        ('a memif left by a killed run', left_behind(memif)),
        ('a vhost left by a killed run', left_behind(vhost)),
    ]


def test_two_runs_and_one_output(test):
    """The second run is refused with any of the file options."""
    space = veth(test)
    capture = capture_of(test)
    run = Run(test, space, net.af_packet('tap0'))
    for option, status in (((), 2), (('--append',), 1), (('--force',), 1)):
        second = test.run('--port', net.af_packet('tap0'), '--workers', '1', '--output', '/dev/null',
                          '--stats', run.stats, *option, inside=space)
        second.expect(status).expect_one_line(run.stats)
    test.wait(space.send('wire0', capture, RATE)).expect(0)
    run.wait_for(PACKETS)
    run.process.signal(signal.SIGHUP)  # reopens the file, and still locks it
    wait(test, 0.2)
    test.run('--port', net.af_packet('tap0'), '--workers', '1', '--output', '/dev/null', '--stats',
             run.stats, '--force', inside=space).expect(1).expect_one_line('another run')
    ledger, _ = run.end()
    assert lib.total(ledger, 'measured') == PACKETS


def test_sigterm_while_it_starts(test):
    """A signal at any moment: a normal end, or death by the signal while the program loads."""
    space = veth(test)
    choice = random.Random()
    for _ in range(8):
        process = test.start('--port', net.af_packet('tap0'), '--workers', '1', inside=space)
        time.sleep(choice.random() * 0.5)
        process.signal(signal.SIGTERM)
        result = test.wait(process)
        assert result.status in (0, -signal.SIGTERM), result.describe()
        assert promiscuity(space) == 0


def pretend_hugepages(space, free):
    """Pretends that pages of 2 MB are free on every node; most machines cannot provide them."""
    space.call('sh', '-c', f"""
        for folder in /sys/kernel/mm/hugepages /sys/devices/system/node/node*/hugepages; do
            mount -t tmpfs none $folder && mkdir $folder/hugepages-2048kB || exit 1
            for file in free_hugepages nr_hugepages resv_hugepages; do
                echo 0 >$folder/hugepages-2048kB/$file
            done
            echo {free} >$folder/hugepages-2048kB/free_hugepages
        done""")


def test_hugetlbfs_that_cannot_be_read(test):
    """An unreadable hugetlbfs is not used: an unprivileged run works."""
    space = net.Namespace(test)
    folder = '/dev/hugepages' if os.path.isdir('/dev/hugepages') else test.path('hugepages')
    os.makedirs(folder, exist_ok=True)
    space.call('mount', '-t', 'hugetlbfs', '-o', 'mode=000', 'none', folder)
    binary = shutil.copy(test.binary, test.path('sketchtap'))
    os.chmod(test.directory, 0o755)
    os.mkdir(test.path('nobody'))
    os.chown(test.path('nobody'), 65534, 65534)
    nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups',
              'env', 'RUNTIME_DIRECTORY=' + test.path('nobody'), binary]
    for options in ((), ('--no-huge',)):
        test.run('--port', 'net_null0', '--packets', '1000', '--output', '/dev/null', *options,
                 program=nobody, inside=space).expect(0)


def test_hugepages(test):
    """No pages, too few, and pages that are gone when they are allocated."""
    options = ('--port', 'net_null0', '--duration', '50ms', '--output', '/dev/null')
    for free in (0, 3):
        space = net.Namespace(test)
        pretend_hugepages(space, free)
        result = test.run(*options, '--verbose', inside=space).expect(0)
        assert 'ordinary memory' in result.stderr, result.describe()
    space = net.Namespace(test)
    pretend_hugepages(space, 4096)
    if 'HugePages_Free:        0' not in space.call('cat', '/proc/meminfo'):
        test.skip('this machine has free hugepages')
    test.run(*options, inside=space).expect(1).expect_one_line('Cannot allocate memory', '--no-huge')
    test.run(*options, '--no-huge', inside=space).expect(0)

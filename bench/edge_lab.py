# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory of bench/living-edge and bench/edge: hosts around one Open vSwitch, in namespaces without a name.

A process of its own is the first of a new process namespace, with a network and mounts of its own; all
that runs is below it. Networks and links go with the processes that hold them, and those go with the
first one, however it ends: nothing is left on the machine but a directory, which the caller removes.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time

NETWORKS = {'ip': 'iproute2', 'nsenter': 'util-linux', 'unshare': 'util-linux', 'ethtool': 'ethtool'}
SWITCH = {'ovs-vswitchd': 'openvswitch-switch', 'ovsdb-server': 'openvswitch-switch'}
TOOLS = {**NETWORKS, **SWITCH, 'tc': 'iproute2', 'ping': 'iputils-ping', 'iperf3': 'iperf3', 'softflowd': 'softflowd'}
CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG = 1
TICK = os.sysconf('SC_CLK_TCK')
SCHEMA = '/usr/share/openvswitch/vswitch.ovsschema'
HERE = os.path.dirname(os.path.abspath(__file__))
COLLECTOR = '127.0.0.1:9995'
# Sends, receives, and asks for echoes of the receiver: a host that does not stand in the sender's queue.
SENDER, RECEIVER, ASKER = 1, 2, 3
ADDRESS = '198.18.9.{}'


class Failure(Exception):
    """Something of the laboratory did not do what it should; the text says what."""


def interrupt(*_):
    raise KeyboardInterrupt


def apart(work, name):
    """Runs work() of the bench `name` in namespaces of its own and returns its status; what it started has then ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    own, here = [os.open(f'/proc/self/ns/{kind}', os.O_RDONLY) for kind in ('pid', 'net', 'mnt')], os.getcwd()
    if libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) != 0:
        raise Failure(f'no namespaces of its own: {os.strerror(ctypes.get_errno())}')
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os._exit(first(work, name, libc))

    def end(*_):
        os.kill(child, signal.SIGTERM)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    assert os.getpid() == parent
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for namespace in own:  # the new ones are dead: no process could be started
        libc.setns(namespace, 0)
        os.close(namespace)
    os.chdir(here)
    return status


def first(work, name, libc):
    """The first process of the namespaces."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        for command in (('mount', '--make-rprivate', '/'), ('mount', '-t', 'proc', 'proc', '/proc'),
                        ('mount', '-t', 'sysfs', 'sysfs', '/sys')):
            subprocess.run(command, check=True)
        with open('/proc/sys/net/ipv6/conf/default/disable_ipv6', 'w', encoding='ascii') as file:
            file.write('1')  # which would speak by itself as a link comes up
        return work()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (Failure, OSError, subprocess.SubprocessError) as reason:
        print(f'{name}: {reason}', file=sys.stderr)
        return 1
    finally:
        sys.stdout.flush()


class Counter:
    """An edge_counter.py that runs; see there."""

    def __init__(self, lab, name, *arguments, host=None):
        self.process = lab.start(name, sys.executable, os.path.join(HERE, 'edge_counter.py'), *arguments, host=host,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lab = lab
        if self.process.stdout.readline() != 'ready\n':
            raise Failure(f'{name}: {lab.said(name)}')

    def ask(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.lab.running.remove(self.process)


class Laboratory:
    """Hosts, perhaps an Open vSwitch with its database, and whatever is started beside them."""

    def __init__(self, directory):
        self.directory = directory
        self.running = []
        self.holders = {}
        self.switch = self.database = None
        os.environ.update(OVS_RUNDIR=directory, OVS_LOGDIR=directory, OVS_DBDIR=directory,
                          RUNTIME_DIRECTORY=directory, XDG_RUNTIME_DIR=directory)
        self.call('ip', 'link', 'set', 'lo', 'up')

    def path(self, name):
        return os.path.join(self.directory, name)

    def said(self, name):
        with open(self.path(name + '.log'), encoding='utf-8', errors='replace') as log:
            return ' '.join(log.read().split())[-400:]

    def inside(self, host):
        """What a command begins with that runs on a host."""
        return ('nsenter', '--target', str(self.holders[host].pid), '--net') if host else ()

    def start(self, name, *command, host=None, **how):
        with open(self.path(name + '.log'), 'wb') as log:
            how = {'stdin': subprocess.DEVNULL, 'stdout': log, 'stderr': log, **how}
            process = subprocess.Popen((*self.inside(host), *command), **how)
        self.running.append(process)
        return process

    def end(self, process, number=signal.SIGTERM):
        """Ends what start() started; returns its status."""
        if process.poll() is None:
            process.send_signal(number)
        try:
            status = process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        self.running.remove(process)
        return status

    def call(self, *command, host=None, timeout=30):
        done = subprocess.run((*self.inside(host), *command), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout, check=False)
        if done.returncode != 0:
            raise Failure(f'{" ".join(command)}: {(done.stderr or done.stdout).strip()}')
        return done.stdout

    def until(self, there, what, seconds=20):
        end = time.monotonic() + seconds
        while not there():
            if time.monotonic() > end:
                raise Failure(f'{what}: not within {seconds} s')
            time.sleep(0.05)

    def ovs(self, *words):
        """Through the database; comes back when the switch does what is asked."""
        return self.call('ovs-vsctl', f'--db=unix:{self.path("db.sock")}', '--timeout=20', *words)

    def start_switch(self, program='ovs-vswitchd', **other_config):
        """With a database of its own; in user space: no module of the kernel is needed."""
        database, server = self.path('conf.db'), self.path('db.sock')
        self.call('ovsdb-tool', 'create', database, SCHEMA)
        self.database = self.start('ovsdb-server', 'ovsdb-server', database, f'--remote=punix:{server}',
                                   f'--unixctl={self.path("db.ctl")}')
        self.until(lambda: listens(server), 'the database of the switch')
        self.ovs('--no-wait', 'init')
        for name, value in other_config.items():
            self.ovs('--no-wait', 'set', 'Open_vSwitch', '.', f'other_config:{name.replace("_", "-")}="{value}"')
        self.switch = self.start('ovs-vswitchd', program, f'unix:{server}', f'--unixctl={self.path("switch.ctl")}')
        self.ovs('add-br', 'br0', '--', 'set', 'bridge', 'br0', 'datapath_type=netdev')

    def stop_switch(self):
        """As much of it as there is; its database goes with it."""
        for process in (self.switch, self.database):
            if process in self.running:
                self.end(process)
        for path in (self.path('conf.db'), self.path('db.sock')):
            if os.path.exists(path):
                os.unlink(path)

    def ask_switch(self, *words):
        return self.call('ovs-appctl', '-t', self.path('switch.ctl'), *words)

    def set_rules(self, rules):
        """The OpenFlow rules of the bridge, in the words of ovs-ofctl."""
        path = self.path('rules.txt')
        with open(path, 'w', encoding='ascii') as file:
            file.write(''.join(rule + '\n' for rule in rules))
        self.call('ovs-ofctl', '--protocols=OpenFlow13', 'replace-flows', f'unix:{self.path("br0.mgmt")}', path)

    def host(self, number):
        """A host with one interface p<number>, whose other end v<number> stays here."""
        near, far = f'v{number}', f'p{number}'
        self.holders[number] = self.start(f'host{number}', 'unshare', '--net', 'sleep', 'infinity')
        here = os.readlink('/proc/self/ns/net')
        self.until(lambda: os.readlink(f'/proc/{self.holders[number].pid}/ns/net') != here, 'a network of a host')
        self.call('ip', 'link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', str(self.holders[number].pid))
        self.call('ip', 'link', 'set', near, 'up')
        # Nothing there speaks by itself, and frames come to the switch as from a wire: whole, with their checksums.
        self.call('sh', '-c', 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6', host=number)
        self.call('ethtool', '--offload', far, 'tx', 'off', host=number)
        return near, far

    def close(self):
        """Ends everything, what was started last first."""
        for process in reversed(self.running[:]):
            self.end(process)


class Lab(Laboratory):
    """Three hosts with addresses at one switch, and an iperf3 that listens."""

    def __init__(self, directory):
        super().__init__(directory)
        self.start_switch()
        for host in (SENDER, RECEIVER, ASKER):
            self.plug(host)
        self.start('iperf-server', 'iperf3', '--server', host=RECEIVER)
        self.until(lambda: self.reaches(ASKER) and self.reaches(SENDER), 'the hosts reach each other')

    def plug(self, host):
        """A host whose interface leads to a port of the switch."""
        near, far = self.host(host)
        self.call('ip', 'addr', 'add', ADDRESS.format(host) + '/24', 'dev', far, host=host)
        self.call('ip', 'link', 'set', far, 'up', host=host)
        self.ovs('add-port', 'br0', near)

    def reaches(self, host):
        return subprocess.run((*self.inside(host), 'ping', '-c', '1', '-W', '1', '-q', ADDRESS.format(RECEIVER)),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def shape(self, load):
        """'unbounded', or a rate in tc's words: what the sender's interface lets out."""
        interface = f'p{SENDER}'
        if 'tbf' in self.call('tc', 'qdisc', 'show', 'dev', interface, host=SENDER):
            self.call('tc', 'qdisc', 'del', 'dev', interface, 'root', host=SENDER)
        if load != 'unbounded':
            self.call('tc', 'qdisc', 'add', 'dev', interface, 'root', 'tbf', 'rate', load, 'burst', '32kb', 'latency',
                      '50ms', host=SENDER)


def threads_of(pid):
    """{thread: (its name, CPU nanoseconds)} of a process that runs."""
    found = {}
    for thread in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{thread}/schedstat', encoding='ascii') as schedstat, \
                    open(f'/proc/{pid}/task/{thread}/comm', encoding='utf-8') as comm:
                found[thread] = comm.read().strip(), int(schedstat.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # has ended
    return found


def memory_of(pid):
    """Proportional set size of a process, in kilobytes."""
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith('Pss:'))


def listens(path):
    """Whether somebody answers at a socket of this host."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def cpu_of(pid):
    """CPU seconds of a process and of those of its children that have ended."""
    with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
        return sum(map(int, stat.read().rsplit(') ', 1)[1].split()[11:15])) / TICK


def cpu_of_all():
    """CPU seconds of all that ever ran in the laboratory."""
    total = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            total += cpu_of(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass  # has ended, and its parent has its time
    return total


def cpu_of_machine():
    """(CPU seconds that anybody used, those that the hypervisor gave to others)."""
    with open('/proc/stat', encoding='ascii') as stat:
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq) / TICK, steal / TICK

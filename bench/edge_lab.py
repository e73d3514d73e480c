# SPDX-License-Identifier: BSD-3-Clause
"""Test network of bench/living-edge and bench/edge: hosts around one Open vSwitch, in anonymous namespaces.

A separate process is the first of a new PID namespace, with its own network and mounts; all other processes
are its descendants. If it ends for any reason, they end also, and their networks and links are removed. Only a
directory remains, which the caller removes.
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
PIDFD_GETFD = 438  # a system call
SOL_PACKET, PACKET_STATISTICS = 263, 6
TICK = os.sysconf('SC_CLK_TCK')
SCHEMA = '/usr/share/openvswitch/vswitch.ovsschema'
HERE = os.path.dirname(os.path.abspath(__file__))
COLLECTOR = '127.0.0.1:9995'
# ASKER pings the receiver, so that echo requests do not wait in the queue of the sender.
SENDER, RECEIVER, ASKER = 1, 2, 3
ADDRESS = '198.18.9.{}'


class Failure(Exception):
    """An error of the test network."""


def interrupt(*_):
    raise KeyboardInterrupt


def apart(work, name):
    """Runs work() of the bench `name` in new namespaces. Returns its status after all its processes have ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    own, here = [os.open(f'/proc/self/ns/{kind}', os.O_RDONLY) for kind in ('pid', 'net', 'mnt')], os.getcwd()
    if libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) != 0:
        raise Failure(f'cannot create namespaces: {os.strerror(ctypes.get_errno())}')
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
    for namespace in own:  # the new namespaces have ended: they accept no more processes
        libc.setns(namespace, 0)
        os.close(namespace)
    os.chdir(here)
    return status


def first(work, name, libc):
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        for command in (('mount', '--make-rprivate', '/'), ('mount', '-t', 'proc', 'proc', '/proc'),
                        ('mount', '-t', 'sysfs', 'sysfs', '/sys')):
            subprocess.run(command, check=True)
        with open('/proc/sys/net/ipv6/conf/default/disable_ipv6', 'w', encoding='ascii') as file:
            file.write('1')  # IPv6 sends packets when a link comes up
        return work()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (Failure, OSError, subprocess.SubprocessError) as reason:
        print(f'{name}: {reason}', file=sys.stderr)
        return 1
    finally:
        sys.stdout.flush()


class Counter:
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
    """Hosts, an optional Open vSwitch with its database, and other started processes."""

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
        return ('nsenter', '--target', str(self.holders[host].pid), '--net') if host else ()

    def start(self, name, *command, host=None, **how):
        with open(self.path(name + '.log'), 'wb') as log:
            how = {'stdin': subprocess.DEVNULL, 'stdout': log, 'stderr': log, **how}
            process = subprocess.Popen((*self.inside(host), *command), **how)
        self.running.append(process)
        return process

    def end(self, process, number=signal.SIGTERM):
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
                raise Failure(f'{what}: timed out after {seconds} s')
            time.sleep(0.05)

    def ovs(self, *words):
        """Changes the database. Returns after the switch has applied the change."""
        return self.call('ovs-vsctl', f'--db=unix:{self.path("db.sock")}', '--timeout=20', *words)

    def start_switch(self, program='ovs-vswitchd', **other_config):
        """Starts Open vSwitch in user space, with its own database. Needs no kernel module."""
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
        for process in (self.switch, self.database):
            if process in self.running:
                self.end(process)
        for path in (self.path('conf.db'), self.path('db.sock')):
            if os.path.exists(path):
                os.unlink(path)

    def ask_switch(self, *words):
        return self.call('ovs-appctl', '-t', self.path('switch.ctl'), *words)

    def set_rules(self, rules):
        """Replaces the OpenFlow rules of the bridge, in the syntax of ovs-ofctl."""
        path = self.path('rules.txt')
        with open(path, 'w', encoding='ascii') as file:
            file.write(''.join(rule + '\n' for rule in rules))
        self.call('ovs-ofctl', '--protocols=OpenFlow13', 'replace-flows', f'unix:{self.path("br0.mgmt")}', path)

    def host(self, number):
        """Creates a host with an interface p<number>, whose other end v<number> stays in this namespace."""
        near, far = f'v{number}', f'p{number}'
        self.holders[number] = self.start(f'host{number}', 'unshare', '--net', 'sleep', 'infinity')
        here = os.readlink('/proc/self/ns/net')
        self.until(lambda: os.readlink(f'/proc/{self.holders[number].pid}/ns/net') != here, 'a network of a host')
        self.call('ip', 'link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', str(self.holders[number].pid))
        self.call('ip', 'link', 'set', near, 'up')
        # The host must send no packets by itself, and frames must have checksums, as on a wire.
        self.call('sh', '-c', 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6', host=number)
        self.call('ethtool', '--offload', far, 'tx', 'off', host=number)
        return near, far

    def close(self):
        for process in reversed(self.running[:]):
            self.end(process)


class Lab(Laboratory):
    """Three hosts with addresses at one switch, and an iperf3 server."""

    def __init__(self, directory):
        super().__init__(directory)
        self.start_switch()
        for host in (SENDER, RECEIVER, ASKER):
            self.plug(host)
        self.start('iperf-server', 'iperf3', '--server', host=RECEIVER)
        self.until(lambda: self.reaches(ASKER) and self.reaches(SENDER), 'the hosts reach each other')

    def plug(self, host):
        near, far = self.host(host)
        self.call('ip', 'addr', 'add', ADDRESS.format(host) + '/24', 'dev', far, host=host)
        self.call('ip', 'link', 'set', far, 'up', host=host)
        self.ovs('add-port', 'br0', near)

    def reaches(self, host):
        return subprocess.run((*self.inside(host), 'ping', '-c', '1', '-W', '1', '-q', ADDRESS.format(RECEIVER)),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def shape(self, load):
        """Limits the rate of the sender: 'unbounded', or a rate in the syntax of tc."""
        interface = f'p{SENDER}'
        if 'tbf' in self.call('tc', 'qdisc', 'show', 'dev', interface, host=SENDER):
            self.call('tc', 'qdisc', 'del', 'dev', interface, 'root', host=SENDER)
        if load != 'unbounded':
            self.call('tc', 'qdisc', 'add', 'dev', interface, 'root', 'tbf', 'rate', load, 'burst', '32kb', 'latency',
                      '50ms', host=SENDER)


def threads_of(pid):
    """Returns {thread: (name, CPU nanoseconds)} of a running process."""
    found = {}
    for thread in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{thread}/schedstat', encoding='ascii') as schedstat, \
                    open(f'/proc/{pid}/task/{thread}/comm', encoding='utf-8') as comm:
                found[thread] = comm.read().strip(), int(schedstat.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # has ended
    return found


def packet_sockets(pid, interface):
    """Returns duplicates of the packet sockets that a process has on an interface."""
    libc, found = ctypes.CDLL(None), []
    process = os.pidfd_open(pid)
    for name in os.listdir(f'/proc/{pid}/fd'):
        copy = libc.syscall(PIDFD_GETFD, process, int(name), 0)
        if copy >= 0 and os.readlink(f'/proc/self/fd/{copy}').startswith('socket:'):
            one = socket.socket(fileno=copy)
            if one.family == socket.AF_PACKET and one.getsockname()[0] == interface:
                found.append(one)
        elif copy >= 0:
            os.close(copy)
    os.close(process)
    return found


def memory_of(pid):
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith('Pss:'))


def listens(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def cpu_of(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
        return sum(map(int, stat.read().rsplit(') ', 1)[1].split()[11:15])) / TICK


def cpu_of_all():
    """Returns the CPU seconds of all processes since the start of the test network."""
    total = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            total += cpu_of(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass  # has ended; its time is in its parent
    return total


def cpu_of_machine():
    """Returns (CPU seconds of all programs, CPU seconds stolen by the hypervisor)."""
    with open('/proc/stat', encoding='ascii') as stat:
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq) / TICK, steal / TICK

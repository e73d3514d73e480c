# SPDX-License-Identifier: BSD-3-Clause
"""Contestants of bench/edge: a program that forwards frames, and optionally programs that count them.

A contestant is a class and an entry of CABLES, SENDERS, DEVICES or LISTENERS."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
import types

import edge_lab as lab_of
import umon
from edge_lab import RECEIVER, SENDER, Failure
from edge_rows import read

HOSTS = '198.18.0.0/15'  # destinations of all packets of the generator
MIRROR = 3
COLLECTOR = '127.0.0.1:9995'
LOSSES = ('nic_missed', 'nic_errors', 'no_mbuf', 'ring_full', 'shed')
SETTLE = 0.3    # seconds for packets in flight
LINGER = 2.5    # seconds for exports after the traffic
TIMEOUT = 1     # seconds, active timeout of the switch
OVS_DPDK = '/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk'
MBUFS = 131072  # hold the repeated capture
DPDK = ('--no-huge', '-m', '768', '--no-pci')
EVERY_FLOW = ('--key', '5tuple', '--top', '1M', '--interval', '0', '--memory', '64MB',
              '--workers', '1', '--format', 'csv', '--force')


def program(name):
    found = shutil.which(name, path=os.environ['PATH'] + ':/usr/sbin:/sbin:' + os.path.dirname(OVS_DPDK))
    return found or name


class Contestant:
    """Forwards frames from v1 to v2."""

    programs = {}     # {program: Debian's package}
    options = ()      # strings required in the help of SKETCHTAP
    polling = 0       # number of polling threads
    sees_all = False  # sees all sent packets, also those that the switch loses
    measuring = None  # a Measuring

    def __init__(self, lab, settings):
        self.lab, self.settings = lab, settings
        self.mover = None     # the forwarding process
        self.agents = []      # counting processes, without the mover
        self.collector = None

    def start(self):
        raise NotImplementedError

    def flows(self):
        """Returns {5-tuple: packets} after all packets are sent, or None if nothing counts them."""
        return None

    def remark(self):
        return ''

    def stop(self):
        """Ends everything that start() started, also after an error."""

    def end(self, *processes):
        for process in processes:
            if process in self.lab.running:
                self.lab.end(process)


def counted(path):
    """Returns {5-tuple: packets} from a CSV of heavy hitters."""
    found = {}
    for row in read(path):
        key = tuple(row[column] for column in ('src_ip', 'dst_ip', 'src_port', 'dst_port', 'proto'))
        found[key] = found.get(key, 0) + int(row['packets'])
    return found


def lines(path):
    if not os.path.exists(path):
        return 0
    with open(path, encoding='ascii') as file:
        return file.read().count('\n')


class Measuring:
    """A sketchtap that keeps every flow, unless `counting` has other options."""

    def __init__(self, lab, settings, *words, counting=('--sketch', 'flow-table', *EVERY_FLOW)):
        self.lab = lab
        self.output, self.stats = (lab.path(f'sketchtap-{what}.csv') for what in ('output', 'stats'))
        for path in (self.output, self.stats):
            if os.path.exists(path):
                os.unlink(path)
        self.process = lab.start('sketchtap', settings.binary, *words, *counting, '--output', self.output, '--stats',
                                 self.stats, '--no-huge', '--eal', '--no-pci')
        self.await_rows()

    def await_rows(self):
        self.lab.until(lambda: self.process.poll() is not None
                       or os.path.exists(self.stats) and os.path.getsize(self.stats) > 0, 'sketchtap')
        if self.process.poll() is not None:
            raise Failure('sketchtap: ' + self.lab.said('sketchtap'))

    def measured(self):
        """Returns the packets of all intervals until now. Waits for the end of the current one, of at most a second."""
        time.sleep(1 + SETTLE)
        return sum(int(row['measured']) for row in read(self.stats))

    def flows(self):
        if self.lab.end(self.process) != 0:
            raise Failure('sketchtap: ' + self.lab.said('sketchtap'))
        return counted(self.output)

    def uncounted(self):
        """Returns the number of received packets that it reports as not counted."""
        return sum(int(row[column] or 0) for row in read(self.stats) for column in LOSSES)


class Switch(Contestant):
    """Open vSwitch in user space, without counting."""

    programs = lab_of.SWITCH

    def start(self):
        self.lab.start_switch()
        self.mover = self.lab.switch
        for host in (SENDER, RECEIVER):
            self.lab.ovs('add-port', 'br0', f'v{host}')
        self.lab.set_rules(self.rules())
        self.watch()

    def rules(self):
        return [f'priority=1,in_port=v{SENDER},actions=output:v{RECEIVER}']

    def watch(self):
        pass

    def stop(self):
        self.end(*self.agents, *([self.collector] if self.collector else []))
        self.lab.stop_switch()


class Umon(Switch):
    """Open vSwitch with the megaflows and the poller of UMON."""

    def rules(self):
        return umon.rules([HOSTS], f'output:v{RECEIVER}')

    def watch(self):
        poller = self.lab.start('umon', sys.executable, os.path.join(lab_of.HERE, 'umon.py'), self.lab.path('switch.ctl'),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if poller.stdout.readline() != 'ready\n':
            raise Failure('umon: ' + self.lab.said('umon'))
        self.agents = [poller]

    def flows(self):
        poller = self.agents[0]
        poller.stdin.close()
        told = poller.stdout.readline()
        poller.stdout.close()
        if poller.wait(20) != 0 or not told:
            raise Failure('umon: ' + self.lab.said('umon'))
        self.lab.end(poller)
        return {tuple(flow[:5]): flow[5] for flow in json.loads(told)['flows']}


class Learning(Switch):
    """The second variant of UMON: learn() creates a rule per flow, in a separate table."""

    def rules(self):
        return umon.learning_rules([HOSTS], f'output:v{RECEIVER}')

    def flows(self):
        time.sleep(2)  # the switch adds counts of megaflows to rules twice a second
        return umon.learnt(self.lab.call('ovs-ofctl', 'dump-flows', f'unix:{self.lab.path("br0.mgmt")}',
                                         f'table={umon.LEARNT}', timeout=120))


class Exporting(Switch):
    """An agent of the switch. The collector is sketchtap, which would be on another host in a real network."""

    def watch(self):
        self.measuring = Measuring(self.lab, self.settings, 'collect', '--listen', COLLECTOR, '--set', 'link-overhead=0')
        self.collector = self.measuring.process
        self.lab.ovs('--', '--id=@it', 'create', self.table, *self.columns, '--', 'set', 'bridge', 'br0', f'{self.table}=@it')

    def flows(self):
        time.sleep(LINGER)
        self.lab.ovs('clear', 'bridge', 'br0', self.table)  # flushes its cache
        time.sleep(SETTLE)
        return self.measuring.flows()


class NetFlow(Exporting):
    table, columns = 'netflow', (f'targets="{COLLECTOR}"', f'active-timeout={TIMEOUT}')


class Ipfix(Exporting):
    table = 'ipfix'
    columns = (f'targets="{COLLECTOR}"', 'sampling=1', 'obs_domain_id=1', f'cache_active_timeout={TIMEOUT}',
               'cache_max_flows=8192')


class SFlow(Exporting):
    table, columns = 'sflow', ('agent=lo', f'targets="{COLLECTOR}"', 'header=128', 'sampling=1', 'polling=20')


class Watched(Switch):
    """sketchtap at the port of the switch, next to the switch."""

    sees_all = True
    words = ('run', '--port', f'v{SENDER}', '--idle', 'sleep')

    def watch(self):
        self.measuring = Measuring(self.lab, self.settings, *self.words)
        self.agents = [self.measuring.process]

    def flows(self):
        return self.measuring.flows()


class Mirrored(Watched):
    """The switch mirrors packets to another port, at which sketchtap listens."""

    sees_all = False
    words = ('run', '--port', f'p{MIRROR}', '--idle', 'sleep')

    def watch(self):
        self.lab.call('ip', 'link', 'add', f'v{MIRROR}', 'type', 'veth', 'peer', 'name', f'p{MIRROR}')
        for end in ('v', 'p'):
            self.lab.call('ip', 'link', 'set', f'{end}{MIRROR}', 'arp', 'off', 'up')
        self.lab.ovs('add-port', 'br0', f'v{MIRROR}', '--', '--id=@in', 'get', 'port', f'v{SENDER}', '--', '--id=@to', 'get',
                     'port', f'v{MIRROR}', '--', '--id=@it', 'create', 'mirror', 'name=it', 'select_src_port=@in',
                     'output_port=@to', '--', 'set', 'bridge', 'br0', 'mirrors=@it')
        super().watch()

    def stop(self):
        super().stop()
        if os.path.exists(f'/sys/class/net/v{MIRROR}'):
            self.lab.call('ip', 'link', 'del', f'v{MIRROR}')


class InKernel(Watched):
    """An eBPF program at the port of the switch. The core that forwards a packet also counts it."""

    options = ('--kernel IFACE',)
    words = ('run', '--kernel', f'v{SENDER},direction=in')


class BehindKernel(InKernel):
    words = (*InKernel.words, '--design', 'async', '--idle', 'sleep')


class Forwarding(Contestant):
    """sketchtap instead of the switch."""

    options = ('--forward HOW',)
    sees_all = True
    words = ()
    sketch = 'flow-table'

    def start(self):
        self.measuring = Measuring(self.lab, self.settings, 'run', '--port', f'v{SENDER}', '--port', f'v{RECEIVER}',
                                   '--forward', 'pairs', '--idle', 'sleep', *self.words, counting=('--sketch', self.sketch, *EVERY_FLOW))
        self.mover = self.measuring.process

    def flows(self):
        return self.measuring.flows()

    def stop(self):
        if self.mover:
            self.end(self.mover)


class ForwardingBeside(Forwarding):
    words = ('--design', 'async')


class IbltForwarding(Forwarding):
    sketch = 'iblt'


class IbltBeside(ForwardingBeside):
    sketch = 'iblt'


class Testpmd(Contestant):
    programs = {'dpdk-testpmd': 'dpdk-dev'}
    polling = 1
    mode = 'io'

    def start(self):
        self.run('--vdev', f'net_af_packet0,iface=v{SENDER}', '--vdev', f'net_af_packet1,iface=v{RECEIVER}')

    def run(self, *devices, words=()):
        self.mover = self.lab.start(
            'testpmd', 'stdbuf', '-oL', program('dpdk-testpmd'), *DPDK, '--file-prefix', f'edge{os.getpid()}', '-l', f'0,{os.cpu_count() - 1}',
            *devices, '--', '-i', f'--forward-mode={self.mode}', '--auto-start', '--nb-cores=1', f'--total-num-mbufs={MBUFS}',
            *words, stdin=subprocess.PIPE)
        self.lab.until(lambda: self.mover.poll() is not None or 'testpmd>' in self.said(), 'testpmd')
        if self.mover.poll() is not None:
            raise Failure('testpmd: ' + self.lab.said('testpmd'))

    def said(self):
        with open(self.lab.path('testpmd.log'), encoding='utf-8', errors='replace') as log:
            return log.read()

    def stop(self):
        if self.mover:
            self.mover.stdin.close()
            self.end(self.mover)


class TestpmdMac(Testpmd):
    mode = 'mac'


# On cables of the kernel. {name: class}, in the order of the tables.
CABLES = {
    'ovs': Switch,
    'ovs again': Switch,  # control: the same contestant twice per round
    'ovs, umon': Umon,
    'ovs, umon learn()': Learning,
    'ovs, netflow': NetFlow,
    'ovs, ipfix': Ipfix,
    'ovs, sflow': SFlow,
    'ovs, mirror to sketchtap': Mirrored,
    'ovs, sketchtap --port at its port': Watched,
    'ovs, sketchtap --kernel': InKernel,
    'ovs, sketchtap --kernel --design async': BehindKernel,
    'sketchtap --forward': Forwarding,
    'sketchtap --forward --design async': ForwardingBeside,
    'sketchtap --forward --sketch iblt': IbltForwarding,
    'sketchtap --forward --design async --sketch iblt': IbltBeside,
    'testpmd io': Testpmd,
    'testpmd mac': TestpmdMac,
}


# Cost of sending over a cable, with and without sketchtap at its other end.

class OnCable(Contestant):
    words = ()

    def start(self):
        # A veth accepts XDP frames only with GRO.
        self.lab.call('ethtool', '--offload', f'v{SENDER}', 'gro', 'on')
        if self.words:
            self.measuring = Measuring(self.lab, self.settings, 'run', *self.words, '--lcores', str(os.cpu_count() - 1))
            self.agents = [self.measuring.process]

    def flows(self):
        return self.measuring.flows() if self.measuring else None

    def stop(self):
        self.end(*self.agents)
        self.lab.call('ethtool', '--offload', f'v{SENDER}', 'gro', 'off')


class PortOnCable(OnCable):
    polling = 1
    words = ('--port', f'v{SENDER}')


class KernelOnCable(OnCable):
    options = InKernel.options
    words = ('--kernel', f'v{SENDER},direction=in')


class BesideOnCable(KernelOnCable):
    words = (*KernelOnCable.words, '--design', 'async')


SENDERS = {
    'cable': OnCable,
    'cable again': OnCable,
    'cable, sketchtap --port': PortOnCable,
    'cable, sketchtap --kernel': KernelOnCable,
    'cable, sketchtap --kernel --design async': BesideOnCable,
}


# On virtual devices: an endless capture from memory, sent back to its device, with one core at full load.

class OnDevices:
    """Forwards packets of a virtual device. received() returns the packets received so far."""

    def device(self):
        return f'net_pcap0,rx_pcap={self.settings.capture},infinite_rx=1'

    def received(self):
        raise NotImplementedError


class TestpmdOnDevices(OnDevices, Testpmd):
    def start(self):
        self.run('--vdev', self.device(), words=('--port-topology=loop',))

    def received(self):
        before = self.said().count('RX-packets:')
        self.mover.stdin.write(b'show port stats 0\n')
        self.mover.stdin.flush()
        self.lab.until(lambda: self.said().count('RX-packets:') > before and 'Tx-pps' in self.said().rsplit('RX-packets:', 1)[1],
                       'the statistics of testpmd')
        return int(self.said().rsplit('RX-packets:', 1)[1].split()[0])


class TestpmdMacOnDevices(TestpmdOnDevices):
    mode = 'mac'


class ForwardingOnDevices(OnDevices, Forwarding):
    polling = 1
    counting = ('--sketch', 'flow-table', *EVERY_FLOW)

    def start(self):
        self.stats = self.lab.path('device-stats.csv')
        if os.path.exists(self.stats):
            os.unlink(self.stats)
        words = [word for word in self.counting if word != '--force']
        words[words.index('--interval') + 1] = '100ms'
        self.mover = self.lab.start('sketchtap', self.settings.binary, 'run', '--port', self.device(), '--forward', 'loop',
                                    *words, *self.words, '--output', '/dev/null', '--stats', self.stats, '--force', '--idle',
                                    'spin', '--lcores', f'0,{os.cpu_count() - 1}', '--mbufs', str(MBUFS), '--no-huge', '--eal',
                                    '--no-pci')
        self.lab.until(lambda: self.mover.poll() is not None or lines(self.stats) > 1, 'sketchtap')
        if self.mover.poll() is not None:
            raise Failure('sketchtap: ' + self.lab.said('sketchtap'))

    def received(self):
        """Returns the received packets at the end of the current interval."""
        before = lines(self.stats)
        self.lab.until(lambda: lines(self.stats) > before, 'an interval')
        return sum(int(row['received'] or 0) for row in read(self.stats) if row['received'])


class FloorOnDevices(ForwardingOnDevices):
    words = ('--filter', 'less 0')


class CountMinOnDevices(ForwardingOnDevices):
    counting = ('--sketch', 'count-min', '--top', '100', '--interval', '0', '--workers', '1', '--format', 'csv')


class IbltOnDevices(ForwardingOnDevices):
    counting = ('--sketch', 'iblt', '--top', '100', '--interval', '0', '--workers', '1', '--format', 'csv')


class SwitchOnDevices(OnDevices, Contestant):
    """Open vSwitch with DPDK and one polling thread."""

    programs = {**lab_of.SWITCH, 'ovs-vswitchd-dpdk': 'openvswitch-switch-dpdk'}
    polling = 1

    def start(self):
        # The switch adds --in-memory, which works with --no-huge only with --legacy-mem.
        self.lab.start_switch(program('ovs-vswitchd-dpdk'), dpdk_init='true', pmd_cpu_mask=hex(1 << os.cpu_count() - 1),
                              dpdk_extra='--no-huge --legacy-mem -m 1024 --no-pci --iova-mode=va')
        self.mover = self.lab.switch
        self.lab.set_rules(self.rules())
        self.watch()
        self.lab.ovs('add-port', 'br0', 'd0', '--', 'set', 'interface', 'd0', 'type=dpdk', 'ofport_request=1',
                     f'options:dpdk-devargs="{self.device()}"')

    def rules(self):
        return ['priority=1,actions=in_port']

    def watch(self):
        pass

    def received(self):
        said = self.lab.ask_switch('dpif-netdev/pmd-stats-show')
        return sum(map(int, re.findall(r'packets received: (\d+)', said)))

    def stop(self):
        self.end(*([self.collector] if self.collector else []))
        self.lab.stop_switch()


class UmonOnDevices(SwitchOnDevices):
    def rules(self):
        return umon.rules([HOSTS], 'in_port')


class LearningOnDevices(SwitchOnDevices):
    def rules(self):
        return umon.learning_rules([HOSTS], 'in_port')


class ExportingOnDevices(SwitchOnDevices):
    """Exports to a port without a listener, for the cost of exporting on the switch."""

    agent = NetFlow

    def watch(self):
        self.lab.ovs('--', '--id=@it', 'create', self.agent.table, *self.agent.columns, '--', 'set', 'bridge', 'br0',
                     f'{self.agent.table}=@it')


class IpfixOnDevices(ExportingOnDevices):
    agent = Ipfix


class SFlowOnDevices(ExportingOnDevices):
    agent = SFlow


class BesideOnDevices(SwitchOnDevices):
    """
    sketchtap polls vhost ports of the switch. On memif ports, the switch would send on a queue that a peer with one
    worker does not have.
    """

    polling = 2

    def attach(self, number):
        socket = self.lab.path(f'm{number}.sock')
        self.lab.ovs('add-port', 'br0', f'm{number}', '--', 'set', 'interface', f'm{number}', 'type=dpdkvhostuserclient',
                     f'ofport_request={number}', f'options:vhost-server-path={socket}')
        return f'net_virtio_user{number},path={socket},server=1'

    def measure(self, *words):
        self.measuring = Measuring(self.lab, self.settings, 'run', *words, '--lcores', '0', '--idle', 'spin')
        self.agents = [self.measuring.process]

    def statistics(self, port):
        return {name: int(value) for name, value
                in re.findall(r'(\w+)=(\d+)', self.lab.ovs('get', 'interface', port, 'statistics'))}

    def await_statistics(self, port, which):
        """Waits for statistics, which the switch updates every five seconds."""
        self.lab.until(lambda: self.statistics(port).get(which, 0), f'{which} of {port}')
        return self.statistics(port)

    def stop(self):
        self.end(*self.agents)
        super().stop()


class MirrorOnDevices(BesideOnDevices):
    """The switch mirrors all packets to a port."""

    def start(self):
        super().start()
        other_end = self.attach(2)
        self.lab.ovs('--', '--id=@in', 'get', 'port', 'd0', '--', '--id=@to', 'get', 'port', 'm2', '--', '--id=@it', 'create',
                     'mirror', 'name=it', 'select_src_port=@in', 'output_port=@to', '--', 'set', 'bridge', 'br0', 'mirrors=@it')
        self.measure('--port', other_end)

    def rules(self):
        return ['priority=1,in_port=1,actions=in_port']

    def remark(self):
        copies = self.await_statistics('m2', 'tx_packets')
        sent, full = copies['tx_packets'], copies['ovs_tx_failure_drops']
        return f'{100 * sent / max(1, sent + full):.0f} % of the copies were delivered'


class ForwardingAtSwitch(BesideOnDevices):
    """The switch sends all packets to one port, and sketchtap forwards them to another port of the switch."""

    options = Forwarding.options

    def start(self):
        super().start()
        self.measure('--port', self.attach(2), '--port', self.attach(3), '--forward', 'pairs')

    def rules(self):
        return ['priority=1,in_port=1,actions=output:2', 'priority=1,in_port=3,actions=output:1']

    def remark(self):
        back = self.await_statistics('m3', 'rx_packets')['rx_packets']
        return f'{100 * back / max(1, self.statistics("d0")["rx_packets"]):.0f} % came back'


DEVICES = {
    'testpmd io': TestpmdOnDevices,
    'testpmd io again': TestpmdOnDevices,
    'testpmd mac': TestpmdMacOnDevices,
    'sketchtap --forward, measuring nothing': FloorOnDevices,
    'sketchtap --forward, count-min': CountMinOnDevices,
    'sketchtap --forward, flow-table': ForwardingOnDevices,
    'sketchtap --forward, iblt': IbltOnDevices,
    'ovs-dpdk': SwitchOnDevices,
    'ovs-dpdk, umon': UmonOnDevices,
    'ovs-dpdk, umon learn()': LearningOnDevices,
    'ovs-dpdk, netflow': ExportingOnDevices,
    'ovs-dpdk, ipfix': IpfixOnDevices,
    'ovs-dpdk, sflow': SFlowOnDevices,
    'ovs-dpdk, mirror to sketchtap': MirrorOnDevices,
    'ovs-dpdk, sketchtap --forward at its ports': ForwardingAtSwitch,
}


# At the receiving end of a cable: programs that read all packets, on one CPU. Nothing forwards these.

class Listener(Contestant):
    """A program with a packet socket."""

    sockets = ()
    seen = 0

    def command(self):
        raise NotImplementedError

    def start(self):
        process = self.lab.start('listener', 'taskset', '--cpu-list', str(os.cpu_count() - 1), *self.command())
        self.agents = [process]
        self.lab.until(lambda: process.poll() is not None or self.finds_sockets(process.pid), 'listener')
        if process.poll() is not None:
            raise Failure('listener: ' + self.lab.said('listener'))
        time.sleep(SETTLE)  # plugins of pmacctd start
        with open(f'/proc/{process.pid}/task/{process.pid}/children', encoding='ascii') as children:
            self.agents += [types.SimpleNamespace(pid=int(pid)) for pid in children.read().split()]

    def finds_sockets(self, pid):
        self.sockets = lab_of.packet_sockets(pid, f'v{SENDER}')
        return self.sockets

    def arrived(self):
        """Returns the packets that the sockets have accepted."""
        for one in self.sockets:
            packets, drops = struct.unpack('II', one.getsockopt(lab_of.SOL_PACKET, lab_of.PACKET_STATISTICS, 8))
            self.seen += packets - drops  # the kernel clears counters that are read
        return self.seen

    def stop(self):
        self.end(*self.agents)
        for one in self.sockets:
            one.close()


class RingReader(Listener):
    def command(self):
        return os.path.join(os.path.dirname(self.settings.binary), '..', 'bench', 'ring-reader'), f'v{SENDER}'


class Tcpdump(Listener):
    programs = {'tcpdump': 'tcpdump'}

    def command(self):
        return program('tcpdump'), '-i', f'v{SENDER}', '-w', '/dev/null'


class Pmacctd(Listener):
    programs = {'pmacctd': 'pmacct'}

    def command(self):
        return (program('pmacctd'), '-i', f'v{SENDER}', '-P', 'memory', '-c', 'src_host,dst_host,src_port,dst_port,proto',
                '-p', self.lab.path('pmacctd.pipe'))


class Softflowd(Listener):
    programs = {'softflowd': 'softflowd'}

    def command(self):
        return (program('softflowd'), '-d', '-i', f'v{SENDER}', '-c', self.lab.path('softflowd.ctl'),
                '-p', self.lab.path('softflowd.pid'))


class ListeningPort(Contestant):
    """sketchtap with one worker and the default interval."""

    words = ('--port', f'v{SENDER}')

    def start(self):
        self.measuring = Measuring(self.lab, self.settings, 'run', *self.words, '--lcores', str(os.cpu_count() - 1),
                                   counting=('--sketch', 'flow-table', '--key', '5tuple', '--format', 'csv', '--force'))
        self.agents = [self.measuring.process]

    def arrived(self):
        return self.measuring.measured()

    def stop(self):
        self.end(*self.agents)


class ListeningXdp(ListeningPort):
    words = ('--port', f'net_af_xdp0,iface=v{SENDER},busy_budget=0', '--idle', 'sleep')


class ListeningKernel(ListeningPort):
    options = InKernel.options
    words = InKernel.words[1:]


class ListeningBesideKernel(ListeningKernel):
    words = (*ListeningKernel.words, '--design', 'async')


LISTENERS = {
    'TPACKET_V3 reader': RingReader,
    'tcpdump': Tcpdump,
    'pmacctd': Pmacctd,
    'softflowd': Softflowd,
    'sketchtap --port': ListeningPort,
    'sketchtap --port net_af_xdp': ListeningXdp,
    'sketchtap --kernel': ListeningKernel,
    'sketchtap --kernel --design async': ListeningBesideKernel,
}


def why_not(kind, settings):
    """Returns the reason why a contestant cannot run, or None."""
    absent = sorted({package for name, package in kind.programs.items() if shutil.which(program(name)) is None})
    if absent:
        return 'missing: apt-get install --no-install-recommends ' + ' '.join(absent)
    unknown = [option.split()[0] for option in kind.options if option not in settings.help]
    return f'missing: this sketchtap does not support {" ".join(unknown)}' if unknown else None

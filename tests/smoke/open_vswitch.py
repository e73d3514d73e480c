# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch in a namespace of the test, with a datapath in user space: a row of bridges between
two hosts."""

import os
import signal

import net
import peers

SCHEMA = '/usr/share/openvswitch/vswitch.ovsschema'


class Switches:
    """A chain of `count` bridges. near: interface of the sender. far: interface of the receiver."""

    def __init__(self, test, count):
        self.prepare(test, count)
        self.namespace.veth('near', '0in')
        for number in range(1, count):
            self.namespace.veth(f'{number - 1}out', f'{number}in')
        self.namespace.veth(f'{count - 1}out', 'far')
        for number in range(count):
            self.add_bridge(number)

    def prepare(self, test, count):
        """Starts Open vSwitch without bridges."""
        peers.needs(test, 'ovsdb-tool', 'ovsdb-server', 'ovs-vswitchd', 'ovs-vsctl')
        self.test = test
        self.namespace = net.Namespace(test)
        self.namespace.set('lo', 'up')
        self.count = count
        self.folder = test.path('ovs')
        os.mkdir(self.folder)
        self.socket = f'unix:{self.folder}/db.sock'
        self.environment = ['env', *(f'OVS_{name}DIR={self.folder}' for name in ('RUN', 'LOG', 'DB'))]
        self.start()

    def start(self):
        database = f'{self.folder}/conf.db'
        self.namespace.call(*self.environment, 'ovsdb-tool', 'create', database, SCHEMA)
        self.processes = [self.run('ovsdb-server', database, f'--remote=p{self.socket}')]
        self.test.until(lambda: os.path.exists(f'{self.folder}/db.sock'), 'the database answers')
        self.set('--no-wait', 'init')
        self.processes.append(self.run('ovs-vswitchd', self.socket))

    def run(self, program, *arguments):
        return self.test.start(*arguments, f'--pidfile={self.folder}/{program}.pid',
                               f'--unixctl={self.folder}/{program}.ctl', program=[*self.environment, peers.needs(self.test, program)], inside=self.namespace)

    def set(self, *arguments):
        return self.namespace.call(*self.environment, peers.needs(self.test, 'ovs-vsctl'), f'--db={self.socket}',
                                   '--timeout=20', *arguments)

    def add_bridge(self, number):
        """Adds a bridge that forwards its ingress port to its egress port, without learning."""
        name = f'br{number}'
        self.set('add-br', name, '--', 'set', 'bridge', name, 'datapath_type=netdev', 'fail_mode=secure')
        for place, end in enumerate(('in', 'out')):
            self.add_port(number, place + 1, f'{number}{end}')
        self.namespace.call(*self.environment, 'ovs-ofctl', 'add-flow', f'unix:{self.folder}/{name}.mgmt',
                            'in_port=1,actions=output:2')

    def add_port(self, number, place, port):
        self.set('add-port', f'br{number}', port, '--', 'set', 'interface', port, f'ofport_request={place}')

    def rules(self, number, rules):
        """Replaces the OpenFlow rules of a bridge."""
        path = f'{self.folder}/rules'
        with open(path, 'w', encoding='ascii') as file:
            file.write(''.join(rule + '\n' for rule in rules))
        self.namespace.call(*self.environment, 'ovs-ofctl', '--protocols=OpenFlow13', 'replace-flows',
                            f'unix:{self.folder}/br{number}.mgmt', path)

    def table(self, number, table):
        """Returns the rules of a table with their counters."""
        return self.namespace.call(*self.environment, 'ovs-ofctl', 'dump-flows', f'unix:{self.folder}/br{number}.mgmt',
                                   f'table={table}')

    def ask(self, *words):
        return self.namespace.call(*self.environment, 'ovs-appctl', '-t', f'{self.folder}/ovs-vswitchd.ctl', *words)

    def mirror(self, number):
        """Copies all ingress packets of a bridge also to the interface `mirrored`."""
        self.namespace.veth('copies', 'mirrored')
        self.set('add-port', f'br{number}', 'copies', '--', '--id=@in', 'get', 'port', f'{number}in', '--', '--id=@to', 'get',
                 'port', 'copies', '--', '--id=@it', 'create', 'mirror', 'name=it', 'select_src_port=@in', 'output_port=@to',
                 '--', 'set', 'bridge', f'br{number}', 'mirrors=@it')

    def export(self, table, column, *settings):
        """Starts exporting on every bridge; NUMBER in a setting becomes the bridge number."""
        for number in range(self.count):
            own = (setting.replace('NUMBER', str(number)) for setting in settings)
            self.set('--', '--id=@x', 'create', table, *own, '--', 'set', 'bridge', f'br{number}', f'{column}=@x')

    def silence(self, column):
        """Stops exports; cached flows are sent."""
        for number in range(self.count):
            self.set('clear', 'bridge', f'br{number}', column)

    def passed(self):
        """Returns the packets that left at the far end, from the kernel's counter."""
        return self.namespace.received('far')

    def end(self):
        for process in reversed(self.processes):
            process.signal(signal.SIGTERM)
            self.test.wait(process)


class LeafSpine(Switches):
    """Each leaf is connected to each spine. Leaves have the numbers 0 to leaves - 1, with hosts at ports 1 and 2, of
    the addresses 10.LEAF.PORT.0/24; `sender(leaf, port)` is the host's interface. A leaf selects the spine by a hash
    of the 5-tuple. ports: {(switch, port): (switch, port)} of the cables. names: {(switch, port): interface}."""

    HOSTS = (1, 2)

    def __init__(self, test, leaves, spines):
        self.prepare(test, leaves + spines)
        self.leaves, self.ports, self.names = leaves, {}, {}
        for number in range(self.count):
            self.set('add-br', f'br{number}', '--', 'set', 'bridge', f'br{number}', 'datapath_type=netdev',
                     'fail_mode=secure', 'protocols=OpenFlow10,OpenFlow13,OpenFlow15')
        for leaf in range(leaves):
            for port in self.HOSTS:
                self.namespace.veth(self.sender(leaf, port), f'l{leaf}p{port}')
                self.plug(leaf, port, f'l{leaf}p{port}')
            for spine in range(spines):
                up, down = (leaf, 3 + spine), (leaves + spine, 1 + leaf)
                self.namespace.veth(f'l{leaf}up{spine}', f's{spine}down{leaf}')
                self.plug(*up, f'l{leaf}up{spine}')
                self.plug(*down, f's{spine}down{leaf}')
                self.ports[up], self.ports[down] = down, up
        for leaf in range(leaves):
            self.spread(leaf, [3 + spine for spine in range(spines)])
            self.rules(leaf, ['priority=1,ip,actions=group:1'] + [
                f'priority=2,ip,nw_dst=10.{leaf}.{port}.0/24,actions=output:{port}' for port in self.HOSTS])
        for spine in range(spines):
            self.rules(leaves + spine, [f'ip,nw_dst=10.{leaf}.0.0/16,actions=output:{1 + leaf}'
                                        for leaf in range(leaves)])

    def sender(self, leaf, port):
        return f'host{leaf}{port}'

    def plug(self, number, port, name):
        self.add_port(number, port, name)
        self.names[number, port] = name

    def spread(self, leaf, ports):
        """ECMP: a group that selects one of the ports for each flow."""
        buckets = ','.join(f'bucket=output:{port}' for port in ports)
        self.namespace.call(
            *self.environment, 'ovs-ofctl', '--protocols=OpenFlow15', 'add-group', f'unix:{self.folder}/br{leaf}.mgmt',
            f'group_id=1,type=select,selection_method=hash,fields(ip_src,ip_dst,udp_src,udp_dst),{buckets}')

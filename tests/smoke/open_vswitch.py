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
        self.namespace.veth('near', '0in')
        for number in range(1, count):
            self.namespace.veth(f'{number - 1}out', f'{number}in')
        self.namespace.veth(f'{count - 1}out', 'far')
        for number in range(count):
            self.add_bridge(number)

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
            port = f'{number}{end}'
            self.set('add-port', name, port, '--', 'set', 'interface', port, f'ofport_request={place + 1}')
        self.namespace.call(*self.environment, 'ovs-ofctl', 'add-flow', f'unix:{self.folder}/{name}.mgmt',
                            'in_port=1,actions=output:2')

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

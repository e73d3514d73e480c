# SPDX-License-Identifier: BSD-3-Clause
"""Networks for one test: a namespace that lives as long as the test, links in it, and senders.

Nothing here has a name on the machine. One process holds a namespace and ends with it; its links
end with the namespace. Processes inside are killed if the runner dies for any reason.
"""

import json
import os
import shutil
import signal
import subprocess


TOOLS = ('ip', 'nsenter', 'setpriv', 'unshare')
END = signal.SIGINT
# Prefix of each child's command line, so that no child outlives the runner.
MORTAL = ('setpriv', '--pdeathsig', 'KILL')
# A /sys that shows the links of the namespace. IPv6 is off: it would send packets of its own when a
# link comes up.
PREPARE = ('mount -t sysfs sysfs /sys && '
           'if [ -e /proc/sys/net/ipv6 ]; then echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6; fi && '
           'echo ready && exec sleep infinity')


class Namespace:
    """A network and mount namespace without other traffic: all packets are sent by the test.

    test.start(..., inside=namespace) runs a program in it.
    """

    def __init__(self, test):
        for tool in TOOLS:
            if shutil.which(tool) is None:
                test.skip(f'{tool} is not installed')
        if os.geteuid() != 0:
            test.skip('only root can create network namespaces')
        self.test = test
        self.holder = test.start(program=[*MORTAL, 'unshare', '--net', '--mount', 'sh', '-c', PREPARE])
        said = os.path.join(self.holder.directory, 'stdout')
        test.until(lambda: os.path.getsize(said) > 0 or not self.holder.running(), 'a namespace')
        if not self.holder.running():
            test.skip('no network namespace: ' + self.holder.result.stderr.strip())
        self.enter = [*MORTAL, 'nsenter', '--target', str(self.holder.popen.pid), '--net', '--mount']

    def call(self, *command):
        """Runs a short command in the namespace, which must succeed; returns its output."""
        done = subprocess.run([*self.enter, *map(str, command)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f'{" ".join(map(str, command))}: {done.stderr.strip()}'
        return done.stdout

    def ip(self, *arguments):
        return self.call('ip', *arguments)

    def veth(self, near, far, queues=1, mtu=1500):
        """Creates a veth pair, both ends up: one end receives what the other sends."""
        count = ('numtxqueues', queues, 'numrxqueues', queues)
        try:
            self.ip('link', 'add', near, *count, 'type', 'veth', 'peer', 'name', far, *count)
        except AssertionError as reason:
            self.test.skip(f'no veth: {reason}')
        for end in (near, far):
            self.silence(end, 'mtu', mtu)

    def silence(self, interface, *settings):
        """Brings an interface up without any traffic of its own."""
        self.set(interface, 'arp', 'off', 'multicast', 'off', *settings, 'up')

    def set(self, interface, *what):
        """Like `ip link set`: up, down, mtu N, ..."""
        self.ip('link', 'set', interface, *what)

    def link(self, interface):
        """Returns the kernel's data of an interface: flags, mtu, operstate, promiscuity, stats64,
        ..."""
        return json.loads(self.ip('-json', '-details', '-statistics', 'link', 'show', interface))[0]

    def sent(self, interface):
        """Returns the packets that an interface has sent, from the kernel's counter."""
        return self.link(interface)['stats64']['tx']['packets']

    def received(self, interface):
        return self.link(interface)['stats64']['rx']['packets']

    def send(self, interface, capture, rate, repeat=1):
        """Starts a sender of a capture's frames, one by one, at `rate` packets per second; see
        send.py."""
        return self.test.start(interface, capture, rate, repeat, inside=self,
                               program=['python3', os.path.join(os.path.dirname(__file__), 'send.py')])

    def tcpreplay(self, interface, capture, rate):
        """Starts tcpreplay at `rate` packets per second."""
        if shutil.which('tcpreplay') is None:
            self.test.skip('tcpreplay is not installed')
        return self.test.start('--preload-pcap', '--pps', rate, '--intf1', interface, capture,
                               program=['tcpreplay'], inside=self)


def af_packet(interface, queues=1, frames=16384):
    """The port over a kernel interface; its ring holds the packets that arrive while the machine is
    busy."""
    return f'net_af_packet_{interface},iface={interface},qpairs={queues},framecnt={frames}'


def is_cut_tag(frame):
    """Returns true for a truncated VLAN tag: the kernel drops such frames before tc, when it
    removes tags."""
    return frame[12:14] in (b'\x81\x00', b'\x88\xa8') and len(frame) < 20


def wait_until_ready(test, process, stats):
    """Waits until the run measures: its outputs are open and its port receives."""
    def there():
        assert process.running(), process.result.describe()
        return os.path.exists(stats) and os.path.getsize(stats) > 0

    test.until(there, 'the run is ready')

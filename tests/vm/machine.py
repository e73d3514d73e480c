# SPDX-License-Identifier: BSD-3-Clause
"""A guest in QEMU: two NUMA nodes with two CPUs each, an IOMMU, and on each node a NIC of each
model. The other ends of the cables are here."""

import json
import os
import select
import shutil
import socket
import subprocess
import threading
import time

import trees

NODES = 2
NODE_BYTES = 1536 << 20
BOOT_SECONDS = 600
ANSWER_SECONDS = 300
# Messages of a boot that hangs: the kernel, if a CPU timer does not fire or a task waits for one;
# systemd, if /lab was mounted before its device appeared.
STALLS = ("timer wakeup didn't happen", 'blocked for more than', 'You are in emergency mode')
ISOLATED = 3
# PCI bus of each node; NICs are on its root ports.
BUSES = (0x40, 0x80)
MODELS = ('igb', 'e1000e', 'vmxnet3', 'virtio', 'virtio-tap', 'virtio-hub', 'virtio-user')
TAP_QUEUES = 4
# No check of timers, which may be late here; the TSC as clock, which needs no emulated device; no
# IPv6, which sends packets of its own. One CPU of node 1 is isolated.
KERNEL = ('root=/dev/vda rw console=ttyS0 quiet panic=-1 mitigations=off no_timer_check tsc=reliable '
          'intel_iommu=on iommu=pt ipv6.disable_ipv6=1 hugepagesz=2M hugepages=0:224,1:224 '
          f'isolcpus={ISOLATED}')


class Failed(Exception):
    """A request to the guest, or a command in it, failed."""


class Ended(Failed):
    """QEMU has ended."""


class Stalled(Failed):
    """The boot hangs, which happens occasionally with emulated CPUs."""


class Cable:
    """The other end of a NIC's cable: each datagram is a frame."""

    def __init__(self, directory, name):
        self.near, self.far = (os.path.join(directory, f'{name}.{end}') for end in ('here', 'card'))
        self.frames = []  # frames from the NIC; written by the listener thread
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.near)
        self.sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sender.settimeout(ANSWER_SECONDS)

    def netdev(self, name):
        return (f'dgram,id={name},local.type=unix,local.path={self.far},'
                f'remote.type=unix,remote.path={self.near}')

    def send(self, frame):
        """Blocks while the NIC has no buffers."""
        self.sender.sendto(frame, self.far)

    def lost(self):
        return 0


class Tap:
    """A tap interface on the host with several queues."""

    def __init__(self, name):
        self.name = name
        trees.call('ip', 'tuntap', 'add', name, 'mode', 'tap', 'multi_queue')
        silent = f'/proc/sys/net/ipv6/conf/{name}/disable_ipv6'
        if os.path.exists(silent):
            trees.write(silent, '1')
        trees.call('ip', 'link', 'set', name, 'arp', 'off', 'multicast', 'off', 'mtu', '9000', 'up')
        self.sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.sender.bind((name, 0))

    def netdev(self, name):
        return f'tap,id={name},ifname={self.name},script=no,downscript=no,vhost=off,queues={TAP_QUEUES}'

    def send(self, frame):
        self.sender.send(frame)

    def lost(self):
        """Returns the number of frames dropped for lack of space."""
        return json.loads(trees.call('ip', '-s', '-j', 'link', 'show', self.name))[0]['stats64']['tx']['dropped']


def device(model):
    if not model.startswith('virtio'):
        return model
    spread = f',mq=on,rss=on,vectors={2 * TAP_QUEUES + 2}' if model == 'virtio-tap' else ''
    return f'virtio-net-pci,iommu_platform=on{spread}'


class Lines:
    """Lines of JSON over a socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.waiting = b''

    def send(self, what):
        try:
            self.socket.sendall(json.dumps(what).encode() + b'\n')
        except OSError as reason:
            raise Ended('QEMU has ended') from reason

    def next(self, seconds):
        """Returns the next line, or None after the timeout."""
        end = time.monotonic() + seconds
        while b'\n' not in self.waiting:
            if not select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
                return None
            try:
                came = self.socket.recv(1 << 16)
            except ConnectionResetError:
                came = b''
            if not came:
                raise Ended('QEMU has ended')
            self.waiting += came
        line, self.waiting = self.waiting.split(b'\n', 1)
        return json.loads(line)


class Machine:
    """A running guest. Changes on its disk are discarded at the end."""

    def __init__(self, release, directory):
        self.directory, self.release = directory, release
        self.cables, self.places, self.asked = {}, {}, 0
        self.share = os.path.join(directory, 'share')  # /lab in the guest
        shutil.copytree(trees.packages(release), self.share)
        shutil.copy(os.path.join(trees.HERE, 'agent.py'), self.share)
        words = self.words()
        self.log = open(os.path.join(directory, 'qemu'), 'wb')
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env={
            'QEMU_MODULE_DIR': os.path.join(trees.qemu(), 'usr/lib/x86_64-linux-gnu/qemu'), 'TMPDIR': directory})
        self.listening = threading.Thread(target=self.listen, daemon=True)
        self.listening.start()
        try:
            self.agent, self.monitor = self.connect('agent'), self.connect('monitor')
            self.monitor.next(ANSWER_SECONDS)
            self.ask('qmp_capabilities')
            self.await_boot()
        except BaseException:
            self.end()
            raise

    def words(self):
        tree, guest = trees.qemu(), trees.guest(self.release)
        library = os.path.join(tree, 'usr/lib/x86_64-linux-gnu')
        words = ['setpriv', '--pdeathsig', 'KILL', 'nice', '-n', '5',
                 os.path.join(library, 'ld-linux-x86-64.so.2'), '--library-path', library,
                 os.path.join(tree, 'usr/bin/qemu-system-x86_64'), '-L', os.path.join(tree, 'usr/share/qemu'),
                 '-L', os.path.join(tree, 'usr/share/seabios'),
                 '-nodefaults', '-display', 'none', '-no-reboot',
                 # No device that needs an extra driver.
                 '-M', 'q35,kernel-irqchip=split,sata=off,smbus=off,i8042=off,usb=off', '-cpu', 'max,-svm',
                 '-global', 'virtio-pci.ioeventfd=off',
                 '-accel', 'tcg,thread=multi',
                 '-smp', f'{2 * NODES},sockets={NODES},cores=2,threads=1', '-m', f'{NODES * NODE_BYTES >> 20}M']
        for node in range(NODES):
            words += ['-object', f'memory-backend-memfd,id=memory{node},share=on,size={NODE_BYTES}',
                      '-numa', f'node,nodeid={node},cpus={2 * node}-{2 * node + 1},memdev=memory{node}',
                      '-device', f'pxb-pcie,id=bus{node},bus_nr={BUSES[node]},numa_node={node},bus=pcie.0']
        words += ['-numa', 'dist,src=0,dst=1,val=21', '-device', 'intel-iommu,intremap=on,caching-mode=on',
                  '-kernel', os.path.join(guest, 'kernel'), '-initrd', os.path.join(guest, 'initrd'),
                  '-append', KERNEL,
                  '-drive', f'file={guest}/disk,if=none,id=disk,format=raw,snapshot=on',
                  '-device', 'virtio-blk-pci,drive=disk,bus=pcie.0', '-device', 'virtio-rng-pci,bus=pcie.0',
                  '-fsdev', f'local,id=share,path={self.share},security_model=none,readonly=on',
                  '-device', 'virtio-9p-pci,fsdev=share,mount_tag=lab,bus=pcie.0',
                  '-device', 'virtio-serial-pci,bus=pcie.0', '-device', 'virtserialport,chardev=agent,name=lab',
                  '-chardev', f'socket,id=agent,path={self.directory}/agent,server=on,wait=off',
                  '-qmp', f'unix:{self.directory}/monitor,server=on,wait=off',
                  '-serial', f'file:{self.directory}/console']
        hub = Cable(self.directory, 'hub')
        words += ['-netdev', hub.netdev('hub'), '-netdev', 'hubport,id=hub-cable,hubid=0,netdev=hub']
        for slot, model in enumerate(MODELS, 1):
            for node in range(NODES):
                name = f'{model}{node}'
                self.places[name] = slot, node
                words += ['-device',
                          f'pcie-root-port,id=port-{name},bus=bus{node},addr={slot:x},chassis={NODES * slot + node}']
                if model == 'virtio-user':  # plugged later, when the other end is ready
                    continue
                if model == 'virtio-hub':
                    netdev = f'hubport,id=cable-{name},hubid=0'
                    self.cables[name] = hub
                else:
                    self.cables[name] = Tap(f'lab{node}') if model == 'virtio-tap' else Cable(self.directory, name)
                    netdev = self.cables[name].netdev(f'cable-{name}')
                words += ['-netdev', netdev, '-device', self.card(name)]
        return words

    def listen(self):
        ends = {cable.socket: cable for cable in self.cables.values() if isinstance(cable, Cable)}
        while self.process.poll() is None:
            for end in select.select(list(ends), [], [], 1)[0]:
                ends[end].frames.append(end.recv(1 << 17))

    def text(self, name):
        with open(os.path.join(self.directory, name), encoding='utf-8', errors='replace') as stream:
            return stream.read()

    def last_words(self):
        return f'QEMU ended with {self.process.wait(ANSWER_SECONDS)}: {self.text("qemu")[-2000:]}'

    def alive(self):
        if self.process.poll() is not None:
            raise Ended(self.last_words())

    def connect(self, name):
        end = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < end:
            self.alive()
            try:
                return Lines(os.path.join(self.directory, name))
            except OSError:
                time.sleep(0.1)
        raise Failed(f'QEMU makes no socket {name}')

    def await_boot(self):
        end, before = time.monotonic() + BOOT_SECONDS, len(self.text('console'))
        while time.monotonic() < end:
            self.alive()
            if self.agent.next(1) is not None:
                return
            if any(line in self.text('console')[before:] for line in STALLS):
                raise Stalled(f'stalled:\n{self.text("console")[-3000:]}')
        raise Failed('it does not boot:\n' + self.text('console')[-3000:])

    def cut_power(self):
        """Resets the guest; the disk keeps its contents."""
        self.ask('set-action', reboot='reset')
        self.ask('system_reset')
        self.await_boot()
        self.ask('set-action', reboot='shutdown')

    def ask(self, what, **arguments):
        """Sends a command to QEMU's monitor; returns the result."""
        self.monitor.send({'execute': what, 'arguments': arguments})
        while True:
            said = self.monitor.next(ANSWER_SECONDS)
            if said is None or 'error' in said:
                raise Failed(f'{what}: {said}')
            if 'return' in said:
                return said['return']

    def request(self, limit, **what):
        self.asked += 1
        self.agent.send({'id': self.asked, **what})
        end = time.monotonic() + limit
        while time.monotonic() < end:
            self.alive()
            said = self.agent.next(1)
            if said is not None and said['id'] == self.asked:
                return said
        raise Failed(f'no answer: {what}\n' + self.text('console')[-2000:])

    def run(self, command, status=0, seconds=ANSWER_SECONDS):
        """Runs a shell command in the guest; returns its output. status: the expected exit status,
        or None for any."""
        done = self.request(seconds + 60, run=command, seconds=seconds)
        if status is not None and done['status'] != status:
            raise Failed(f'{command}: status {done["status"]}\n{done["said"][-3000:]}')
        return done['said']

    def read(self, path):
        """Returns the text of a file in the guest, or '' if it is missing."""
        return self.request(ANSWER_SECONDS, read=path)['said']

    def card(self, name):
        """Returns the arguments of device_add for a NIC."""
        slot, node = self.places[name]
        return f'{device(name[:-1])},id={name},netdev=cable-{name},bus=port-{name},mac=52:54:00:00:0{slot}:0{node}'

    def plug(self, name):
        driver, *rest = self.card(name).split(',')
        words = (word.split('=') for word in rest)
        self.ask('device_add', driver=driver, **{key: value == 'on' or value for key, value in words})

    def plug_user(self, name, path):
        """Plugs a NIC whose other end is a program that has created this socket."""
        self.ask('chardev-add', id=f'user-{name}', backend={'type': 'socket', 'data': {
            'addr': {'type': 'unix', 'data': {'path': path}}, 'server': False, 'reconnect-ms': 500}})
        self.ask('netdev_add', type='vhost-user', id=f'cable-{name}', chardev=f'user-{name}')
        self.plug(name)

    def unplug(self, name):
        """Requests removal, like a hypervisor; the guest may refuse."""
        self.ask('device_del', id=name)

    def plugged(self, name):
        return any(child['name'] == name for child in self.ask('qom-list', path='/machine/peripheral'))

    def end(self):
        self.process.kill()
        self.process.wait()
        self.listening.join()
        self.log.close()
        for cable in self.cables.values():
            cable.sender.close()
            if isinstance(cable, Cable):
                cable.socket.close()
            else:
                subprocess.run(['ip', 'link', 'delete', cable.name], check=False)

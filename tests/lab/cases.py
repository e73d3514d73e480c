# SPDX-License-Identifier: BSD-3-Clause
"""The lab's cases: functions of a Lab, which fail by raising. They run in this order, on one machine."""

import re
import time

import lab
import machine
import trees
from lab import frames as captured
from lab import lib


# ---- cards that DPDK drives


def card(model, node, driver='vfio-pci'):
    """By a worker of its own node. Nothing is addressed to the card: all of it comes in promiscuous mode alone."""
    def case(where):
        name = f'{model}{node}'
        run = where.measure(where.bind(name, driver), '--workers 1')
        sent = captured()
        run.feed(where.cable(name), sent)
        run.expect(sent)
        cpus = set(run.queues('cpu').values())
        assert cpus <= {str(2 * node), str(2 * node + 1)}, f'a worker on CPU {cpus}, the card on node {node}'
    return case


def spread(model, workers):
    """Over queues, so that both directions of a connection meet on one worker."""
    def case(where):
        name = f'{model}0'
        run = where.measure(where.bind(name), f'--workers {workers}')
        said = run.said()
        assert not re.search(r'\b(TCP|UDP)\b[^:]* spread by', said) and 'are not spread' not in said, said
        # Connections of different sizes: those of a worker tell which they are.
        ends = [(f'10.1.{number}.1', f'10.2.0.{number}', 1024 + 37 * number, 443) for number in range(1, 65)]
        forth = [frame for number, end in enumerate(ends, 1) for frame in [lab.connection(*end)] * number]
        back = [frame for number, (source, target, sport, dport) in enumerate(ends, 1)
                for frame in [lab.connection(target, source, dport, sport)] * number]
        cable = where.cable(name)
        run.feed(cable, forth)
        there = run.received_by()
        run.feed(cable, back, before=len(forth))
        both = run.received_by()
        run.expect(forth + back)
        assert len(there) == workers and all(there.values()), f'packets of workers: {there}'
        assert both == {worker: 2 * packets for worker, packets in there.items()}, f'one way {there}, both {both}'
    return case


def jumbo(model):
    """Frames of up to 9014 bytes."""
    def case(where):
        name = f'{model}0'
        run = where.measure(where.bind(name), '--workers 1 --mtu 9000')
        sent = [frame.ljust(size, b'\0') for size, frame in zip(range(1500, 9015, 26), captured(290, 1000))]
        sent.append(sent[0].ljust(9014, b'\0'))
        run.feed(where.cable(name), sent, window=64)
        run.expect(sent)
    return case


def link(model):
    """Down and up: said, and what comes later counts."""
    def case(where):
        name = f'{model}0'
        run = where.measure(where.bind(name), '--workers 1')
        before, after = captured(500), captured(700)
        run.feed(where.cable(name), before)
        where.guest.ask('set_link', name=name, up=False)
        run.until_said('link down')
        where.guest.ask('set_link', name=name, up=True)
        run.until_said('link up')
        run.feed(where.cable(name), after, before=len(before))
        run.expect(before + after)
    return case


def overload(model):
    """Nobody polls while more comes than the ring holds: what is lost is counted, here or there."""
    def case(where):
        name = f'{model}0'
        address = where.bind(name)
        run = where.measure(address, '--workers 1')
        cable, sent = where.cable(name), captured(4000)
        run.feed(cable, sent[:100])
        dropped = cable.lost()
        where.guest.run('systemctl kill -s STOP run')
        for frame in sent[100:]:
            cable.send(frame)
        time.sleep(2)  # what the card has room for gets there
        where.guest.run('systemctl kill -s CONT run')
        dropped = cable.lost() - dropped
        run.until_counted(len(sent) - dropped)
        ledger = run.end()
        received, missed = (lib.total(ledger, column) for column in ('received', 'nic_missed'))
        assert received + missed + dropped == len(sent), f'{received} received, {missed} missed, {dropped} dropped here'
        assert missed + dropped > 1000, f'{missed} missed, {dropped} dropped here: no overload'
        if dropped == 0:
            assert lib.total(ledger, 'offered') == len(sent), 'the account lacks packets'
    return case


def unplug(model):
    """In order, while it is measured: the run ends, says so, and loses nothing that it had."""
    def case(where):
        name = f'{model}1'
        address = where.bind(name)
        run = where.measure(address, '--workers 1')
        sent = captured(500)
        run.feed(where.cable(name), sent)
        where.guest.unplug(name)
        where.until(lambda: where.guest.run('systemctl is-active run', status=None).strip() != 'active',
                    'the end of a run without its card')
        said = run.said()
        ledger = run.end(status=1)
        assert lib.total(ledger, 'measured') == lab.truth(sent)[0]['measured'], ledger
        assert address in said, said
        where.until(lambda: not where.guest.plugged(name), 'the guest to let go of the card')
        where.guest.plug(name)
        where.until(lambda: where.address(name) != '', 'the card to be back')
    return case


def functions(where):
    """A virtual function of an igb, whose host is the guest's kernel."""
    interface = where.interface('igb1')
    where.guest.run(f'echo 2 >/sys/class/net/{interface}/device/sriov_numvfs && '
                    f'ip link set {interface} vf 0 mac 52:54:00:00:00:aa')
    try:
        address = where.guest.run(f'basename "$(readlink /sys/class/net/{interface}/device/virtfn0)"').strip()
        where.give(f'/sys/bus/pci/devices/{address}', 'vfio-pci')
        run = where.measure(address, '--workers 1')
        # The physical function lets it have what is addressed to it, without a tag of 802.1Q.
        sent = [bytes.fromhex('5254000000aa') + frame[6:] for frame in captured(1000) if frame[12:14] != b'\x81\0']
        run.feed(where.cable('igb1'), sent)
        run.expect(sent)
        assert 'promiscuous' in run.said(), run.said()
    finally:
        where.guest.run(f'echo 0 >/sys/class/net/{interface}/device/sriov_numvfs', status=None)


# ---- interfaces of the kernel


def kernel(model, way):
    """The kernel drives the card; a packet socket or AF_XDP takes what comes."""
    def case(where):
        name = f'{model}0'
        interface = where.interface(name)
        port, workers = (interface, 2) if way == 'af_packet' else (f'net_af_xdp0,iface={interface}', 1)
        if way == 'af_xdp':  # gets what the card leaves it
            run = where.measure(port, f'--workers {workers} --no-huge')
            run.end()
            for setting in (f'ethtool -L {interface} combined {workers}', f'ethtool -K {interface} rxvlan off'):
                assert setting in run.said(), run.said()
                where.guest.run(setting)
        run = where.measure(port, f'--workers {workers} --no-huge')
        sent = captured(2000, whole=True)  # a packet socket of several queues puts fragments together
        run.feed(where.cable(name), sent, window=128)
        run.expect(sent)
    return case


# ---- two nodes


def placement(where):
    """Cards on both nodes: workers, packets and sketches of each where it is, as plan said before."""
    first, second = (where.bind(f'{model}{node}') for model, node in (('igb', 0), ('igb', 1)))
    options = f'--port {second} --workers 2'
    before = where.guest.run(f'sketchtap plan --port {first} {options}')
    run = where.measure(first, options)
    after = where.guest.run('sketchtap ctl --name lab plan')
    numa = where.guest.run('numastat -p "$(systemctl show -P MainPID run)"')
    for model in ('igb0', 'igb1'):
        run.feed(where.cable(model), captured(600), before=600 * (model == 'igb1'))
    run.expect(captured(600) * 2)
    huge = re.search(r'^Huge +([\d.]+) +([\d.]+)', numa, re.M)
    assert huge and float(huge[1]) > 4 and float(huge[2]) > 4, numa
    lcores = re.findall(r'^\d+ +(\d+) +(\d+) +(reporter|worker) ', before, re.M)
    planned = [(role, cpu, node) for cpu, node, role in lcores]
    assert planned == re.findall(r'^\d+ +(reporter|worker) +(\d+) +(\d+)', after, re.M), f'{before}\n{after}'
    assert [node for role, _, node in planned if role == 'worker'] == ['0', '1'], before


# ---- as a service


CONFIGURATION = '''workers = 1
interval = 1s
append = yes
sketch = flow-table
top = 1M
output = flows.csv
stats = stats.csv
'''


class Service:
    """The unit that the package brings, with a configuration; counts over all its lives."""

    def __init__(self, where, name, configuration):
        self.guest, self.name, self.unit = where.guest, name, f'sketchtap@{name}'
        self.where, self.sent = where, 0
        self.guest.run(f'cat >/etc/sketchtap/{name}.conf <<END\n{CONFIGURATION}{configuration}END')

    def show(self, what):
        return self.guest.run(f'systemctl show -P {what} {self.unit}').strip()

    def journal(self):
        return self.guest.run(f'journalctl -u {self.unit} -o cat --no-pager | tail -40', status=None)

    def start(self):
        try:
            self.guest.run(f'systemctl start {self.unit}')
        except machine.Failed:
            raise AssertionError(self.journal()) from None

    def counted(self):
        files = self.guest.run(f'cd /var/log/sketchtap/{self.name} && tail -q -n +2 stats*.csv', status=None)
        return sum(int(line.split(',')[4]) for line in files.splitlines() if line.count(',') > 20)

    def feed(self, cable, frames):
        """Each is in the files, within an interval."""
        for frame in frames:
            cable.send(frame)
        self.sent += len(frames)
        self.where.until(lambda: self.counted() >= self.sent, f'{self.sent} packets in the files', self.journal)
        assert self.counted() == self.sent, f'{self.counted()} packets in the files, {self.sent} were sent'

    def epochs(self):
        return [int(line) for line in self.guest.run(
            f'cd /var/log/sketchtap/{self.name} && tail -q -n +2 $(ls -tr stats*.csv) | cut -d, -f1').split()]

    def lives_again(self, pid):
        self.where.until(lambda: self.show('MainPID') not in ('0', pid) and self.show('ActiveState') == 'active',
                         'the service to be started again', self.journal)

    def stop(self):
        self.guest.run(f'systemctl stop {self.unit}')
        assert self.show('Result') == 'success', self.journal()
        epochs = self.epochs()
        assert epochs == sorted(set(epochs)), f'epochs of the files: {epochs}'


def on_kernel_driver(where):
    """As the package has it, on an interface: its user and capabilities, reload, rotation, a crash, a hang."""
    interface, cable = where.interface('igb0'), where.cable('igb0')
    service = Service(where, 'tap', f'port = {interface}\nno-huge = yes\nrotate = 1d\n')
    service.start()
    pid = service.show('MainPID')
    status = where.guest.read(f'/proc/{pid}/status')
    user = where.guest.run('id -u sketchtap').strip()
    assert re.search(rf'^Uid:\t{user}\t{user}\t', status, re.M), status
    assert re.search(r'^CapEff:\t0*3000$', status, re.M), status  # CAP_NET_ADMIN and CAP_NET_RAW
    service.feed(cable, captured(300, whole=True))
    where.guest.run(f'sed -i "s/^top = .*/top = 5/" /etc/sketchtap/tap.conf; systemctl reload {service.unit}')
    assert service.show('MainPID') == pid, service.journal()
    service.feed(cable, captured(200, whole=True))
    where.guest.run('kill -9 ' + pid)
    service.lives_again(pid)
    service.feed(cable, captured(100, whole=True))
    pid = service.show('MainPID')
    where.guest.run('kill -STOP ' + pid)  # the watchdog's half a minute
    service.lives_again(pid)
    service.feed(cable, captured(250, whole=True))
    service.stop()


def full_disk(where):
    """The measurement goes on; rows go on when there is room, and the service says what was lost."""
    interface, cable = where.interface('igb0'), where.cable('igb0')
    guest = where.guest
    guest.run('mkdir -p /var/log/sketchtap/full && mount -t tmpfs -o size=200k,mode=777 tmpfs /var/log/sketchtap/full')
    try:
        service = Service(where, 'full', f'port = {interface}\nno-huge = yes\n')
        service.start()
        service.feed(cable, captured(100, whole=True))
        guest.run('dd if=/dev/zero of=/var/log/sketchtap/full/filler bs=1k count=1000', status=None)
        for frame in captured(400, whole=True):
            cable.send(frame)
        where.until(lambda: 'No space left' in service.journal(), 'a full disk to be said', service.journal)
        guest.run('rm /var/log/sketchtap/full/filler')
        time.sleep(3)
        for frame in captured(100, whole=True):
            cable.send(frame)
        where.until(lambda: 'resumed' in service.journal(), 'the end of it to be said', service.journal)
        guest.run(f'systemctl stop {service.unit}', status=None)
        said = service.journal()
        assert service.show('ExecMainStatus') == '1' and 'rows could not be written' in said, said
        for file, columns in (('stats.csv', lib.STATS_COLUMNS), ('flows.csv', lib.OUTPUT_COLUMNS + lib.RECORD_COLUMNS)):
            lib.read_csv(guest.read(f'/var/log/sketchtap/full/{file}'), columns)
    finally:
        guest.run('systemctl reset-failed; umount /var/log/sketchtap/full', status=None)


def without_capabilities(where):
    """A card behind vfio-pci, by the documentation's drop-in and udev rule: the user, and nothing else."""
    address, cable, guest = where.bind('igb1'), where.cable('igb1'), where.machine()
    guest.run('''echo 'SUBSYSTEM=="vfio", OWNER="sketchtap"' >/etc/udev/rules.d/99-vfio.rules
mkdir -p /etc/systemd/system/sketchtap@card.service.d
printf '[Service]\\nAmbientCapabilities=\\nCapabilityBoundingSet=\\n' >/etc/systemd/system/sketchtap@card.service.d/card.conf
udevadm control --reload && udevadm trigger --subsystem-match=vfio --action=add && udevadm settle && systemctl daemon-reload''')
    service = Service(where, 'card', f'port = {address}\nwait-link = 1m\n')
    service.start()
    status = guest.read(f'/proc/{service.show("MainPID")}/status')
    assert re.search(r'^CapEff:\t0+$', status, re.M) and re.search(r'^CapBnd:\t0+$', status, re.M), status
    service.feed(cable, captured(384))
    service.stop()


def upgrade(where):
    """With a service that runs: its configuration stays, it is started anew, and its epochs go on."""
    interface, cable, guest = where.interface('igb0'), where.cable('igb0'), where.machine()
    service = Service(where, 'kept', f'port = {interface}\nno-huge = yes\n')
    service.start()
    service.feed(cable, captured(150, whole=True))
    pid, configuration = service.show('MainPID'), guest.read('/etc/sketchtap/kept.conf')
    # The same with a later version's number.
    guest.run('''rm -rf /tmp/later && mkdir /tmp/later && cd /tmp/later && for name in sketchtap sketchtap-bench; do
dpkg-deb -R /lab/${name}_*.deb tree &&
sed -i -E 's/^Version: .*/&+later/; s/(sketchtap \\(= [^)]*)/\\1+later/' tree/DEBIAN/control &&
dpkg-deb -Znone -b tree $name.deb && rm -rf tree || exit 1; done; dpkg -i *.deb''')
    assert guest.run("dpkg-query -W -f '${Version}' sketchtap").endswith('+later')
    service.lives_again(pid)
    assert guest.read('/etc/sketchtap/kept.conf') == configuration
    service.feed(cable, captured(250, whole=True))
    service.stop()


def installed(where):
    """What the package promises is there, and its parts start."""
    guest = where.machine()
    guest.run('id sketchtap && test -d /etc/sketchtap && systemctl cat sketchtap@.service >/dev/null && sketchtap --version && '
              'sketchtap-bench --help >/dev/null && test -s /usr/share/sketchtap/kernel-interface.conf && '
              'test -s /usr/share/bash-completion/completions/sketchtap')
    log = trees.call('cat', f'{trees.packages(where.release)}/log')
    assert 'lintian is not installed' not in log and not re.search(r'^[EW]: ', log, re.M), log[-3000:]


def purge(where):
    """Ends what runs; configurations and what was measured stay, nothing else does."""
    interface, guest = where.interface('igb0'), where.machine()
    service = Service(where, 'last', f'port = {interface}\nno-huge = yes\n')
    service.start()
    guest.run('dpkg --purge sketchtap-bench sketchtap')
    assert guest.run('systemctl is-active sketchtap@last', status=None).strip() != 'active'
    guest.run('test -s /etc/sketchtap/last.conf && test -s /var/log/sketchtap/last/stats.csv')
    left = guest.run('pgrep -a sketchtap; ls -d /usr/bin/sketchtap* /usr/lib/systemd/system/sketchtap* /usr/share/sketchtap* '
                     '/usr/share/doc/sketchtap* 2>/dev/null', status=None)
    assert left.strip() == '', left
    guest.run('dpkg -i /lab/*.deb')


def all_cases():
    """[(name, function)]"""
    nodes = range(machine.NODES)
    return [
        ('packages build, lintian is silent, all is there', installed),
        *((f'{model} on node {node}', card(model, node))
          for model in ('igb', 'e1000e', 'vmxnet3', 'virtio', 'virtio-tap') for node in nodes),
        *((f'{model} over {workers} queues', spread(model, workers)) for model in ('igb', 'virtio-tap') for workers in (2, 3, 4)),
        *((f'{model}, jumbo frames', jumbo(model)) for model in ('igb', 'e1000e', 'virtio')),
        *((f'{model}, link down and up', link(model)) for model in ('igb', 'e1000e', 'vmxnet3', 'virtio')),
        *((f'{model}, overload', overload(model)) for model in ('vmxnet3', 'virtio-tap')),
        ('igb, a virtual function', functions),
        ('e1000e by uio_pci_generic', card('e1000e', 0, 'uio_pci_generic')),
        *((f'{model} of the kernel by {way}', kernel(model, way))
          for model, way in (('igb', 'af_packet'), ('igb', 'af_xdp'), ('vmxnet3', 'af_packet'))),
        ('cards on both nodes, as planned', placement),
        ('a service on a kernel driver', on_kernel_driver),
        ('a service behind vfio without capabilities', without_capabilities),
        ('a service on a full disk', full_disk),
        ('upgrade under a service', upgrade),
        *((f'{model} unplugged', unplug(model)) for model in ('igb', 'e1000e')),
        ('purge', purge),
    ]

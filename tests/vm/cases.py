# SPDX-License-Identifier: BSD-3-Clause
"""The cases: functions that take a Lab and fail by raising. They run in this order on one
machine."""

import os
import re
import signal
import time

import lab
import machine
import trees
from lab import frames as captured
from lab import lib, oracle


# ---- NICs that DPDK drives


def card(model, node, driver='vfio-pci'):
    """A worker on the NIC's node measures it. No frame has the NIC's address: reception needs
    promiscuous mode."""
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
    """Several queues: both directions of a connection reach the same worker."""
    def case(where):
        name = f'{model}0'
        run = where.measure(where.bind(name), f'--workers {workers}')
        said = run.said()
        assert not re.search(r'\b(TCP|UDP)\b[^:]* spread by', said) and 'are not spread' not in said, said
        # Connections of different sizes, so that packet counts identify the connections of a
        # worker.
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


def hub(where):
    """Two NICs on a hub: each receives everything, including what the other sends."""
    first, second = where.bind('virtio-hub0'), where.bind('virtio-hub1')
    run = where.measure(first, f'--port {second} --workers 2')
    cable, sent = where.cable('virtio-hub0'), captured(900)
    run.feed(cable, sent, cards=2)
    each = run.received_by()
    run.expect(sent * 2)
    assert each == {'0': len(sent), '1': len(sent)}, each
    run = where.measure(first, '--workers 1')
    came = len(cable.frames)
    where.guest.run(f'sketchtap generate --synthetic flows=50,packets=2000 --pace 1kpps --port {second}')
    run.until_counted(2000)
    ledger = run.end()
    lib.expect_lossless(ledger)
    assert lib.total(ledger, 'measured') == 2000, ledger
    where.until(lambda: len(cable.frames) - came >= 2000, 'what was sent')
    assert len(cable.frames) - came == 2000, f'{len(cable.frames) - came} frames came out'


def other_end(where):
    """The other end is sketchtap over vhost-user: all packets arrive in both directions."""
    spec = '--synthetic flows=100,size=imix,ipv6=0.3,vlan=0.2,packets=3000'
    end = '--no-huge --port net_vhost0,iface=/mnt/socket,iommu-support=1'
    socket, pcap = os.path.join(where.outer, 'socket'), os.path.join(where.outer, 'sent.pcap')

    with where.outside(f'generate {spec} --output sent.pcap --force') as process:
        assert process.wait(60) == 0, where.outer_text('err')
    sent = [record.data for record in oracle.Capture(pcap).records]
    guest = where.machine()
    with where.outside(f'{end} --workers 1 --force {lab.EXACT}') as process:
        where.until(lambda: os.path.exists(socket), 'a socket', lambda: where.outer_text('err'))
        guest.plug_user('virtio-user0', socket)
        where.until(lambda: where.address('virtio-user0') != '', 'the card')
        address = where.bind('virtio-user0')
        guest.run(f'sketchtap generate {spec} --pace 1kpps --linger 5s --port {address}')
        where.until(lambda: lib.total(lab.rows(where.outer_text('stats.csv')), 'offered') >= len(sent),
                    'all that was sent', lambda: where.outer_text('err'))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, where.outer_text('err')
    lab.expect(sent, lib.read_stats(where.outer_text('stats.csv')), where.outer_text('output.csv'),
               lambda: where.outer_text('err'))

    # it is killed after all packets are counted
    with where.outside(f'generate {spec} --pace 1kpps --linger 1h {end}'):
        run = where.measure(address, '--workers 1')
        run.until_counted(len(sent))
        run.expect(sent)


def link(model):
    """Link down and up: logged, and later packets count."""
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
    """Far more packets than the ring holds arrive while the run is stopped: losses are counted, in
    the guest or here."""
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
        time.sleep(2)  # the NIC receives packets while it has buffers
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
    """Orderly removal during a run: it ends with an error that names the device, and loses no
    packet received before."""
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
    """A virtual function of an igb, whose physical function the guest's kernel drives."""
    interface = where.interface('igb1')
    where.guest.run(f'echo 2 >/sys/class/net/{interface}/device/sriov_numvfs && '
                    f'ip link set {interface} vf 0 mac 52:54:00:00:00:aa && udevadm settle')
    try:
        address = where.guest.run(f'basename "$(readlink /sys/class/net/{interface}/device/virtfn0)"').strip()
        where.give(f'/sys/bus/pci/devices/{address}', 'vfio-pci')
        run = where.measure(address, '--workers 1')
        # The physical function passes only frames to its address, without an 802.1Q tag.
        sent = [bytes.fromhex('5254000000aa') + frame[6:] for frame in captured(1000) if frame[12:14] != b'\x81\0']
        run.feed(where.cable('igb1'), sent)
        run.expect(sent)
        assert 'promiscuous' in run.said(), run.said()
    finally:
        where.guest.run(f'echo 0 >/sys/class/net/{interface}/device/sriov_numvfs', status=None)


# ---- kernel interfaces


def kernel(model, way):
    """The kernel drives the NIC; a packet socket or AF_XDP receives."""
    def case(where):
        name = f'{model}0'
        interface = where.interface(name)
        port, workers = (interface, 2) if way == 'af_packet' else (f'net_af_xdp0,iface={interface}', 1)
        if way == 'af_xdp':  # the first run names the settings that AF_XDP needs
            # the vmxnet3 driver supports XDP since Linux 6.6
            if (model, where.release) == ('vmxnet3', '12'):
                said = where.guest.run(f'cd /tmp && sketchtap --port {port} --workers 1 --no-huge', status=1)
                assert f'does not support XDP, use --port {interface}' in said, said
                return
            run = where.measure(port, f'--workers {workers} --no-huge')
            run.end()
            for setting in (f'ethtool -L {interface} combined {workers}', f'ethtool -K {interface} rxvlan off'):
                assert setting in run.said(), run.said()
                # vmxnet3 rejects -L, and here receives everything on its first queue
                where.guest.run(setting, status=None)
        run = where.measure(port, f'--workers {workers} --no-huge')
        # a packet socket with several queues reassembles fragments
        sent = captured(2000, whole=True)
        run.feed(where.cable(name), sent, window=128)
        run.expect(sent)
    return case


# ---- two nodes


def planned(where, port, options, by=''):
    """Starts a run and checks that its lcores are as planned. Returns the run, the plan's text, and
    [(role, CPU, node)]."""
    before = where.guest.run(f'{by} sketchtap plan --port {port} {options}')
    run = where.measure(port, options, by)
    after = where.guest.run('sketchtap ctl --name lab plan')
    lcores = [(role, int(cpu), int(node)) for cpu, node, role in
              re.findall(r'^\d+ +(\d+) +(\d+) +(reporter|worker) ', before, re.M)]
    assert lcores and lcores == [(role, int(cpu), int(node)) for role, cpu, node in
                                 re.findall(r'^\d+ +(reporter|worker) +(\d+) +(\d+)', after, re.M)], f'{before}\n{after}'
    pid = where.guest.run('systemctl show -P MainPID run').strip()
    allowed = where.guest.run(f"sed -n 's/^Cpus_allowed_list:.//p' /proc/{pid}/task/*/status").split()
    for cpu in (cpu for role, cpu, _ in lcores if role == 'worker'):
        assert allowed.count(str(cpu)) == 1, f'threads may run on {allowed}\n{before}'
    return run, before, lcores


def placement(where):
    """NICs on both nodes: workers, packets and sketches of each are on its node, as planned."""
    first, second = (where.bind(f'{model}{node}') for model, node in (('igb', 0), ('igb', 1)))
    run, before, lcores = planned(where, first, f'--port {second} --workers 2')
    huge = run.memory('Huge')
    for model in ('igb0', 'igb1'):
        run.feed(where.cable(model), captured(600), before=600 * (model == 'igb1'))
    run.expect(captured(600) * 2)
    assert min(huge) > 4, huge
    assert [node for role, _, node in lcores if role == 'worker'] == [0, 1], before


def isolated(where):
    """The isolated CPU of the NIC's node has the first worker, and no other thread."""
    run, before, lcores = planned(where, where.bind('igb1'), '--workers 2')
    sent = captured(700)
    run.feed(where.cable('igb1'), sent)
    run.expect(sent)
    assert [cpu for role, cpu, _ in lcores if role == 'worker'] == [machine.ISOLATED, machine.ISOLATED - 1], before
    assert 'worker 1: on CPUs that are not isolated' in before and before.splitlines()[-1] in run.said(), run.said()


def elsewhere(where):
    """No CPU is available on the NIC's node: packets are on its node, sketches on the worker's,
    with a warning."""
    # Sketches of 51 MB: pages of libraries are on either node, but are smaller.
    run, before, lcores = planned(where, where.bind('igb1'), '--workers 1 --width 1M', 'taskset -c 0,1')
    huge, private = run.memory('Huge'), run.memory('Private')
    sent = captured(800)
    run.feed(where.cable('igb1'), sent)
    run.expect(sent)
    assert [node for role, _, node in lcores if role == 'worker'] == [0], before
    assert huge[1] > 9 > huge[0] and private[0] > 50 > 40 > private[1], f'packets {huge}, sketches {private}\n{before}'
    warning = 'worker 0: not on NUMA node 1 of the port'
    assert warning in before and warning in run.said(), f'{before}\n{run.said()}'


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
    """The packaged unit with a configuration; sums are over all starts of the service."""

    def __init__(self, where, name, configuration):
        self.guest, self.name, self.unit = where.guest, name, f'sketchtap@{name}'
        self.where, self.sent = where, []
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

    def written(self, name):
        """Returns the rows of a file and its rotated versions, oldest first."""
        files = self.guest.run(f'cd /var/log/sketchtap/{self.name} && for file in $(ls -tr {name}*); do cat $file 2>/dev/null; echo; done',
                               status=None)
        return [row for text in files.split('\n\n') for row in lab.rows(text + '\n')]

    def counted(self):
        return lib.total(self.written('stats'), 'offered')

    def feed(self, cable, frames):
        """Sends frames, and waits until all are in the files."""
        for frame in frames:
            cable.send(frame)
        self.sent += frames
        wanted = len(self.sent)
        self.where.until(lambda: self.counted() >= wanted, f'{wanted} packets in the files', self.journal)
        assert self.counted() == wanted, f'{self.counted()} packets in the files, {wanted} were sent'

    def lives_again(self, pid):
        def lives():
            said = self.guest.run(f'systemctl show -p MainPID -p ActiveState {self.unit}').splitlines()
            return 'ActiveState=active' in said and not {'MainPID=0', f'MainPID={pid}'} & set(said)

        self.where.until(lives, 'the service to be started again', self.journal)

    def stop(self):
        self.guest.run(f'systemctl stop {self.unit}')
        assert self.show('Result') == 'success', self.journal()
        epochs = [int(row['epoch']) for row in self.written('stats')]
        assert epochs == sorted(set(epochs)), f'epochs of the files: {epochs}'


def on_kernel_driver(where):
    """The packaged service on an interface: its user and capabilities, reload, rotation, a crash, a
    hang."""
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
    where.guest.run('kill -STOP ' + pid)  # the watchdog expires after 30 s
    service.lives_again(pid)
    service.feed(cable, captured(250, whole=True))
    service.stop()


def rotation(where):
    """Rotation by sketchtap, and by logrotate with the packaged configuration: every row is in one
    file, and epochs continue."""
    interface, cable, guest = where.interface('igb0'), where.cable('igb0'), where.guest
    service = Service(where, 'rotated', f'port = {interface}\nno-huge = yes\nrotate = 1s\n')
    service.start()
    for count in (120, 130, 140):
        service.feed(cable, captured(count, whole=True))
    service.stop()
    lab.expect_flows(lab.truth(service.sent)[1], service.written('flows'))
    names = guest.run('cd /var/log/sketchtap/rotated && ls stats*').split()
    assert len(names) > 2 and all(re.fullmatch(r'stats(-\d{8}T\d{6}Z)?\.csv', name) for name in names), names

    guest.run('cp /usr/share/sketchtap/logrotate /etc/logrotate.d/sketchtap')
    mistaken = Service(where, 'mistaken', 'depth = none\n')
    guest.run(f'systemctl start {mistaken.unit}', status=None)
    service = Service(where, 'logrotated', f'port = {interface}\nno-huge = yes\n')
    service.start()
    pid = service.show('MainPID')
    service.feed(cable, captured(150, whole=True))
    said = guest.run('logrotate -f /etc/logrotate.d/sketchtap')
    service.feed(cable, captured(160, whole=True))
    assert service.show('MainPID') == pid and said == '', f'{said}\n{service.journal()}'
    service.stop()
    lab.expect_flows(lab.truth(service.sent)[1], service.written('flows'))
    names = guest.run('cd /var/log/sketchtap/logrotated && ls stats*').split()
    assert len(names) == 2 and re.fullmatch(r'stats\.csv-\d{8}', names[1]), names


def waits(where):
    """A service started before its NIC is available begins when it is, even after several starts
    and stops."""
    address, cable, guest = where.bind('e1000e1', 'e1000e'), where.cable('e1000e1'), where.machine()
    service = behind_vfio(where, 'late', address)
    guest.run('for time in 1 2 3 4 5 6; do '
              f'systemctl start --no-block {service.unit}; systemctl stop {service.unit}; done; '
              f'systemctl start {service.unit}', status=None)
    assert service.show('ActiveState') == 'activating', service.journal()
    where.bind('e1000e1')
    service.lives_again('0')
    service.feed(cable, captured(200))
    service.stop()


def power_cut(where):
    """Enabled services continue after a power failure, each when its NIC is available, with whole
    rows and increasing epoch numbers."""
    guest, interface = where.machine(), where.interface('igb0')
    tapped = Service(where, 'tapped', f'port = {interface}\nno-huge = yes\nwait-link = 1h\n')
    carded = behind_vfio(where, 'carded', where.bind('igb1'))
    # A udev rule binds the NIC when it appears.
    guest.run("""cat >/etc/udev/rules.d/50-card.rules <<'END'
ACTION=="add", SUBSYSTEM=="pci", KERNEL=="%s", ATTR{driver_override}="vfio-pci", RUN+="/bin/sh -c 'modprobe vfio-pci; \
echo $kernel >/sys/bus/pci/drivers_probe'"
END""" % where.address('igb1'))
    for service, name in ((tapped, 'igb0'), (carded, 'igb1')):
        service.start()
        service.feed(where.cable(name), captured(150, whole=True))
    guest.run(f'systemctl enable --no-reload {tapped.unit} {carded.unit}')
    guest.unplug('igb0')
    where.until(lambda: not guest.plugged('igb0'), 'the guest to let go of the card')
    guest.run('sync')
    kept = carded.sent + captured(160)
    for frame in kept[len(carded.sent):]:
        where.cable('igb1').send(frame)
    time.sleep(2)
    where.cut_power()
    carded.lives_again('0')
    counted = carded.counted()
    assert len(carded.sent) <= counted <= len(kept), f'{counted} packets in the files'
    carded.sent = kept[:counted]
    carded.feed(where.cable('igb1'), captured(170))
    assert tapped.show('ActiveState') == 'activating', tapped.journal()
    guest.plug('igb0')
    where.until(lambda: where.address('igb0') != '', 'the card')
    where.interface('igb0')
    tapped.lives_again('0')
    tapped.feed(where.cable('igb0'), captured(180, whole=True))
    guest.run(f'rm /etc/udev/rules.d/50-card.rules; systemctl disable --no-reload {tapped.unit} {carded.unit}')
    for service in (tapped, carded):
        service.stop()


def full_disk(where):
    """Measurement continues on a full disk; rows resume when there is space, and the log has the
    losses."""
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
        where.until(lambda: 'No space left' in service.journal(), 'a log line about the full disk', service.journal)
        guest.run('rm /var/log/sketchtap/full/filler')
        time.sleep(3)
        for frame in captured(100, whole=True):
            cable.send(frame)
        where.until(lambda: 'resumed' in service.journal(), 'a log line about its end', service.journal)
        guest.run(f'systemctl stop {service.unit}', status=None)
        said = service.journal()
        assert service.show('ExecMainStatus') == '1' and 'rows could not be written' in said, said
        for file, columns in (('stats.csv', lib.STATS_COLUMNS), ('flows.csv', lib.OUTPUT_COLUMNS + lib.RECORD_COLUMNS)):
            lib.read_csv(guest.read(f'/var/log/sketchtap/full/{file}'), columns)
    finally:
        guest.run('systemctl reset-failed; umount /var/log/sketchtap/full', status=None)


def behind_vfio(where, name, address):
    """Creates a service on a NIC bound to vfio-pci, with the documented drop-in and udev rule."""
    folder = f'/etc/systemd/system/sketchtap@{name}.service.d'
    where.machine().run(f'''echo 'SUBSYSTEM=="vfio", OWNER="sketchtap"' >/etc/udev/rules.d/99-vfio.rules && mkdir -p {folder}
printf '[Service]\\nAmbientCapabilities=\\nCapabilityBoundingSet=\\n' >{folder}/card.conf
udevadm control --reload && udevadm trigger --subsystem-match=vfio --action=add && udevadm settle && systemctl daemon-reload''')
    return Service(where, name, f'port = {address}\nwait-link = 1m\n')


def without_capabilities(where):
    """A NIC bound to vfio-pci needs the user, but no capability."""
    cable, guest, address = where.cable('igb1'), where.machine(), where.bind('igb1')
    said = guest.run(f'cd /tmp && setpriv --reuid nobody sketchtap --no-huge --port {address}', status=1)
    assert 'may not use /dev/vfio/' in said, said
    service = behind_vfio(where, 'card', address)
    service.start()
    status = guest.read(f'/proc/{service.show("MainPID")}/status')
    assert re.search(r'^CapEff:\t0+$', status, re.M) and re.search(r'^CapBnd:\t0+$', status, re.M), status
    service.feed(cable, captured(384))
    service.stop()


def upgrade(where):
    """Upgrade during a run: the configuration stays, the service restarts, and its epochs
    continue."""
    interface, cable, guest = where.interface('igb0'), where.cable('igb0'), where.machine()
    service = Service(where, 'kept', f'port = {interface}\nno-huge = yes\n')
    service.start()
    service.feed(cable, captured(150, whole=True))
    pid, configuration = service.show('MainPID'), guest.read('/etc/sketchtap/kept.conf')
    # The same packages with a later version number.
    trees.call('sh', '-euc', '''mkdir "$0/later" && cd "$0/later" && for name in sketchtap sketchtap-bench; do
dpkg-deb -R ../${name}_*.deb tree
sed -i -E 's/^Version: .*/&+later/; s/(sketchtap \\(= [^)]*)/\\1+later/' tree/DEBIAN/control
dpkg-deb --root-owner-group -Znone -b tree $name.deb && rm -rf tree; done''', guest.share)
    guest.run('dpkg -i /lab/later/*.deb')
    assert guest.run("dpkg-query -W -f '${Version}' sketchtap").endswith('+later')
    service.lives_again(pid)
    assert guest.read('/etc/sketchtap/kept.conf') == configuration
    service.feed(cable, captured(250, whole=True))
    service.stop()


def installed(where):
    """The package has all promised parts, and they start."""
    guest = where.machine()
    guest.run('id sketchtap && test -d /etc/sketchtap && systemctl cat sketchtap@.service >/dev/null && sketchtap --version && '
              'sketchtap-bench --help >/dev/null && test -s /usr/share/sketchtap/kernel-interface.conf && '
              'test -s /usr/share/bash-completion/completions/sketchtap')
    log = trees.call('cat', f'{trees.packages(where.release)}/log')
    assert 'lintian is not installed' not in log and not re.search(r'^[EW]: ', log, re.M), log[-3000:]


def purge(where):
    """Purge stops the service and removes everything except configurations and results."""
    interface, guest = where.interface('igb0'), where.machine()
    service = Service(where, 'last', f'port = {interface}\nno-huge = yes\n')
    service.start()
    guest.run('dpkg --purge sketchtap-bench sketchtap')
    assert guest.run('systemctl is-active sketchtap@last', status=None).strip() != 'active'
    guest.run('test -s /etc/sketchtap/last.conf && test -s /var/log/sketchtap/last/stats.csv')
    left = guest.run('pgrep -a sketchtap; ls -d /usr/bin/sketchtap* /usr/lib/systemd/system/sketchtap* /usr/share/sketchtap* '
                     '/usr/share/doc/sketchtap* 2>/dev/null', status=None)
    assert left.strip() == '', left


TOPIC_SECONDS = 1800  # time limit of a topic


def smoke(topic):
    """Runs a topic of the smoke tests in the guest."""
    def case(where):
        guest = where.machine()
        checkout, made = (os.path.join(guest.share, name) for name in ('checkout', 'build'))
        if not os.path.exists(checkout):
            os.makedirs(checkout)
            trees.call('sh', '-euc', 'git -C "$0" archive HEAD | tar -x -C "$1"', trees.ROOT, checkout)
            # Tests look for captures in the build folder of the program.
            os.makedirs(f'{made}/tests')
            trees.call(f'{trees.ROOT}/tests/captures/make', f'{made}/tests/captures')
            os.makedirs(f'{made}/src')
            for name in ('sketchtap', 'sketchtap-bench'):
                os.symlink(f'/usr/bin/{name}', f'{made}/src/{name}')
            guest.run('dpkg -i /lab/*.deb')  # in any earlier state
            # on lo, IPv6 sends no packets of its own
            guest.run('sysctl -q net.ipv6.conf.lo.disable_ipv6=0')
            guest.run('grep -sqw localhost /etc/hosts || echo 127.0.0.1 localhost >> /etc/hosts')
        said = guest.run(f'cd /tmp && timeout -k 10 {TOPIC_SECONDS} /lab/checkout/tests/smoke/run --slow --jobs 2 '
                         f'--binary /lab/build/src/sketchtap {topic}:', status=None, seconds=TOPIC_SECONDS + 60)
        print('\n'.join(f'# {line}' for line in said.splitlines()))
        done = re.search(r'^# (\d+) passed, 0 failed', said, re.M)
        assert done, f'{topic}: see above'
        if done[1] == '0':
            raise lab.lib.Skip(f'{topic}: for reasons above')
    return case


def smoke_cases():
    """Returns topics of the smoke tests. They take hours on emulated CPUs, so they run only if
    selected. Without benchmarks, which are meaningless there and exceed the time limit."""
    files = sorted(os.listdir(os.path.join(trees.ROOT, 'tests', 'smoke')))
    topics = [file[5:-3] for file in files if file.startswith('test_') and file.endswith('.py') and 'bench' not in file]
    return [(f'smoke: {topic}', smoke(topic)) for topic in topics]


def all_cases():
    """Returns [(name, function)]."""
    nodes = range(machine.NODES)
    return [
        ('packages build, lintian is silent, all is there', installed),
        *((f'{model} on node {node}', card(model, node))
          for model in ('igb', 'e1000e', 'vmxnet3', 'virtio', 'virtio-tap') for node in nodes),
        *((f'{model} over {workers} queues', spread(model, workers)) for model in ('igb', 'virtio-tap') for workers in (2, 3, 4)),
        *((f'{model}, jumbo frames', jumbo(model)) for model in ('igb', 'e1000e', 'virtio')),
        ('virtio on a hub', hub),
        ('virtio with sketchtap at its other end', other_end),
        *((f'{model}, link down and up', link(model)) for model in ('igb', 'e1000e', 'vmxnet3', 'virtio')),
        *((f'{model}, overload', overload(model)) for model in ('vmxnet3', 'virtio-tap')),
        ('igb, a virtual function', functions),
        ('e1000e by uio_pci_generic', card('e1000e', 0, 'uio_pci_generic')),
        *((f'{model} of the kernel by {way}', kernel(model, way))
          for model, way in (('igb', 'af_packet'), ('igb', 'af_xdp'), ('vmxnet3', 'af_packet'), ('vmxnet3', 'af_xdp'))),
        ('cards on both nodes, as planned', placement),
        ('a NIC next to an isolated CPU', isolated),
        ('a card whose node has no CPU for it', elsewhere),
        ('a service on a kernel driver', on_kernel_driver),
        ('a service with vfio-pci, without capabilities', without_capabilities),
        ('a service whose files rotate', rotation),
        ('a service before its card', waits),
        ('services after a power cut', power_cut),
        ('a service on a full disk', full_disk),
        ('upgrade under a service', upgrade),
        *((f'{model} unplugged', unplug(model)) for model in ('igb', 'e1000e')),
        ('purge', purge),
    ]

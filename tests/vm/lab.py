# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the cases: a machine with the packages installed, NICs bound to drivers, runs, and
frames to send."""

import contextlib
import csv
import functools
import glob
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import machine
import trees

sys.path[:0] = [os.path.join(trees.ROOT, 'tests', 'smoke'), os.path.join(trees.ROOT, 'tests', 'captures')]

import crowd  # noqa: E402
import frames as built  # noqa: E402
import lib  # noqa: E402
import oracle  # noqa: E402

WORK = '/work'  # working directory of a run in the guest
UNIT = f'''[Unit]
StartLimitIntervalSec=0
[Service]
Type=notify
WorkingDirectory={WORK}
ExecStart=/bin/sh {WORK}/command
StandardOutput=truncate:{WORK}/out
StandardError=truncate:{WORK}/err
KillSignal=SIGINT
TimeoutStartSec=300
TimeoutStopSec=200
LimitMEMLOCK=infinity
'''
EXACT = '--sketch flow-table --top 1M --interval 500ms --output output.csv --stats stats.csv --log-level info'
PATIENCE = 90  # seconds without a counted packet
ATTEMPTS = 3
WINDOW = 384  # frames in flight: fewer than the ring of a NIC
# A NIC pads a frame after it has removed its tag.
SHORTEST, LONGEST = 64, 1514


@functools.cache
def crowded():
    return [data.ljust(SHORTEST, b'\0') for _, data in crowd.crowd()]


def tagged(frame, at=14):
    return frame[at - 2:at] in (b'\x81\0', b'\x88\xa8')


def fragment(frame):
    """Returns true for an IPv4 fragment."""
    at = 14
    while tagged(frame, at):
        at += 4
    return frame[at - 2:at] == b'\x08\0' and int.from_bytes(frame[at + 6:at + 8], 'big') & 0x3fff != 0


def frames(count=3000, longest=LONGEST, whole=False):
    """A mix of both IP versions, tags, floods and a scan; without fragments if `whole`."""
    chosen = [frame for frame in crowded() if len(frame) <= longest and not (whole and fragment(frame))]
    return random.Random(count).sample(chosen, count)


def connection(source, target, sport, dport):
    """Returns a packet of a connection."""
    packet = built.ipv4(built.TCP, built.tcp(sport, dport), source, target)
    return built.ethernet(built.IPV4, packet).ljust(SHORTEST, b'\0')


def truth(sent):
    return oracle.count([oracle.Record(1, 0, data, len(data)) for data in sent])


def rows(text):
    """Returns the complete rows of a CSV file that is being written."""
    return list(csv.DictReader(io.StringIO(text[:text.rfind('\n') + 1])))


def expect(sent, ledger, output, said):
    """Checks that every frame is in the ledger, and every flow has its packets and bytes."""
    counted, flows = truth(sent)
    lib.expect_lossless(ledger)
    for column, number in {'offered': len(sent), **counted}.items():
        assert lib.total(ledger, column) == number, \
            f'{column}: {lib.total(ledger, column)} instead of {number}\n{said()}'
    expect_flows(flows, lib.read_output(output))


def expect_flows(flows, found):
    sums = {}
    for row in found:
        key = tuple(row[column] for column in oracle.KEY_COLUMNS)
        packets, size = sums.get(key, (0, 0))
        sums[key] = packets + int(row['packets']), size + int(row['bytes'])
    assert sums == flows, f'{len(sums)} flows, {len(flows)} were sent; ' \
        f'differ: {list(set(sums.items()) ^ set(flows.items()))[:4]}'


class Run:
    """sketchtap in the guest, as a service."""

    def __init__(self, guest, arguments, by=''):
        self.guest = guest
        self.arguments = arguments
        guest.run(f'rm -rf {WORK} && mkdir {WORK} && echo "exec {by} sketchtap {arguments}" >{WORK}/command')
        started = guest.request(machine.ANSWER_SECONDS + 60, run='systemctl start run', seconds=machine.ANSWER_SECONDS)
        if started['status'] != 0:
            raise machine.Failed(f'sketchtap {arguments}\n{self.said()}')

    def said(self):
        return self.guest.read(f'{WORK}/err')

    def ledger(self):
        return rows(self.guest.read(f'{WORK}/stats.csv'))

    def count(self, *columns):
        ledger = self.ledger()
        return sum(lib.total(ledger, column) for column in columns)

    def memory(self, kind):
        """Returns MB on each node, from numastat."""
        said = self.guest.run('numastat -p "$(systemctl show -P MainPID run)"')
        found = re.search(rf'^{kind} +([\d.]+) +([\d.]+)', said, re.M)
        assert found, said
        return [float(part) for part in found.groups()]

    def queues(self, column):
        """Returns {worker: last value of a column of --queues}."""
        return {row['worker']: row[column] for row in rows(self.guest.read(f'{WORK}/queues.csv'))}

    def received_by(self):
        """Returns {worker: received packets}."""
        sums = {}
        for row in rows(self.guest.read(f'{WORK}/queues.csv')):
            sums[row['worker']] = sums.get(row['worker'], 0) + int(row['received'])
        return sums

    def feed(self, cable, sent, before=0, window=WINDOW, cards=1):
        """Sends in windows: the next frames follow when all previous ones are counted, at any speed
        of emulation."""
        for begin in range(0, len(sent), window):
            part = sent[begin:begin + window]
            for frame in part:
                cable.send(frame)
            self.until_counted(before + cards * (begin + len(part)))

    def until_said(self, part):
        patience = lib.Patience(PATIENCE)
        while part not in self.said():
            assert patience.spend(), f'{part!r} was not printed:\n{self.said()}'
            time.sleep(0.2)

    def until_counted(self, wanted):
        patience, seen = lib.Patience(PATIENCE), 0
        while True:
            counted = self.count('offered')
            if counted >= wanted:
                return
            if counted > seen:
                patience, seen = lib.Patience(PATIENCE), counted
            assert patience.spend(), f'{wanted} sent, {counted} counted\n{self.said()}'
            time.sleep(0.1)

    def end(self, status=0):
        """Stops the service; checks its exit status. Returns the ledger."""
        self.guest.run('systemctl stop run')
        ended = self.guest.run('systemctl show -P ExecMainStatus run').strip()
        assert ended == str(status), f'ended with {ended}\n{self.said()}'
        return lib.read_stats(self.guest.read(f'{WORK}/stats.csv'))

    def expect(self, sent):
        """Stops the service; checks that all sent frames were measured."""
        ledger = self.end()
        expect(sent, ledger, self.guest.read(f'{WORK}/output.csv'), self.said)
        return ledger


class Lab:
    """A Debian release, with the machine that runs it."""

    def __init__(self, release, failed=None):
        self.release = release
        self.directory = tempfile.mkdtemp(prefix='sketchtap-lab-')
        self.outer = os.path.join(self.directory, 'outside')
        self.guest = None
        self.failed = failed  # reason why there is no machine

    def boot(self):
        for attempt in range(ATTEMPTS):
            try:
                return machine.Machine(self.release, tempfile.mkdtemp(dir=self.directory))
            except (machine.Stalled, machine.Ended) as reason:
                print(f'# boot {attempt + 1}: {str(reason).splitlines()[0]}', flush=True)
        raise machine.Failed(f'{ATTEMPTS} boots stalled')

    def machine(self):
        """Returns the running machine with the packages installed; boots it first if needed."""
        if self.failed:
            raise machine.Failed(f'no machine: {self.failed[-4000:]}')
        if self.guest is None:
            try:
                self.guest = self.boot()
                self.guest.run(f'cat >/etc/systemd/system/run.service <<END\n{UNIT}END')
                self.guest.run('systemctl is-system-running --wait', status=None)
                said = self.guest.run('dpkg -i /lab/*.deb')
                assert '\nSetting up sketchtap ' in said, said
            except machine.Failed as reason:
                self.failed = str(reason).splitlines()[0]
                raise
        return self.guest

    def cut_power(self):
        for attempt in range(ATTEMPTS):
            try:
                return self.machine().cut_power()
            except machine.Stalled as reason:
                print(f'# boot {attempt + 1}: {str(reason).splitlines()[0]}', flush=True)
        raise machine.Failed(f'{ATTEMPTS} boots stalled')

    def cable(self, name):
        return self.machine().cables[name]

    def place(self, name):
        """Returns the glob pattern of a NIC in the guest's /sys."""
        slot, node = self.machine().places[name]
        bus = f'{machine.BUSES[node]:02x}'
        return f'/sys/devices/pci0000:{bus}/0000:{bus}:{slot:02x}.0/0000:??:00.0'

    def address(self, name):
        """Returns the PCI address, or '' if the NIC is not plugged."""
        return self.guest.run(f'ls -d {self.place(name)} 2>/dev/null | sed s,.*/,,', status=None).strip()

    def give(self, device, driver):
        """Binds a device to a driver, and unbinds it from the present one."""
        self.guest.run(
            f'modprobe {driver}; cd {device} && echo {driver} >driver_override && '
            # it may be unbound meanwhile
            '{ [ ! -e driver ] || echo "${PWD##*/}" >driver/unbind || [ ! -e driver ]; } && '
            f'echo "${{PWD##*/}}" >/sys/bus/pci/drivers_probe && [ "$(basename "$(readlink driver)")" = {driver} ]')

    def bind(self, name, driver='vfio-pci'):
        """Binds a NIC to a driver; returns its PCI address."""
        self.give(self.place(name), driver)
        return self.address(name)

    def interface(self, name):
        """Binds a NIC to its kernel driver; returns the name of its interface, which is up."""
        self.bind(name, name[:-1])
        found = []
        self.until(lambda: found.extend(self.guest.run(f'udevadm settle; ls {self.place(name)}/net').split()) or found,
                   'an interface')
        self.guest.run(f'ip link set {found[-1]} arp off multicast off up')
        self.until(lambda: self.guest.read(f'/sys/class/net/{found[-1]}/carrier') == '1\n', 'a carrier')
        return found[-1]

    def until(self, condition, what, context=lambda: ''):
        patience = lib.Patience(PATIENCE)
        while not condition():
            assert patience.spend(), f'timed out waiting for {what}\n{context()}'
            time.sleep(0.3)

    def measure(self, address, options='', by=''):
        """Starts a run that counts each flow exactly. by: a prefix command."""
        return Run(self.machine(), f'--port {address} --wait-link 120s --queues queues.csv --name lab {EXACT} {options}', by)

    @contextlib.contextmanager
    def outside(self, arguments):
        """Runs sketchtap on the host, in the release's tree with self.outer at /mnt; yields the
        process."""
        if not os.path.exists(self.outer):
            package, = glob.glob(os.path.join(trees.packages(self.release), 'sketchtap_*.deb'))
            trees.call('dpkg-deb', '-x', package, self.outer)
        command = f'cd /mnt && exec usr/bin/sketchtap {arguments} 2>err'
        process = subprocess.Popen(trees.words_inside(f'{trees.guest(self.release)}/tree', command, self.outer),
                                   stdin=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def outer_text(self, name):
        with open(os.path.join(self.outer, name), encoding='utf-8') as stream:
            return stream.read()

    def settle(self):
        """Stops what a failed case has left running."""
        if self.guest is not None:
            with contextlib.suppress(machine.Failed):  # the next case will detect it
                self.guest.run("systemctl stop run 'sketchtap@*'; systemctl reset-failed; pkill -KILL sketchtap", status=None)

    def lose(self):
        """Forgets a machine that has ended; returns its last output."""
        said = self.guest.last_words()
        self.guest.end()
        self.guest = None
        return said

    def close(self):
        if self.guest is not None:
            with contextlib.suppress(OSError):
                self.guest.end()
        self.guest = None
        shutil.rmtree(self.directory, ignore_errors=True)

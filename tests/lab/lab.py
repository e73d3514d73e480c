# SPDX-License-Identifier: BSD-3-Clause
"""What the lab's cases share: a machine with the packages installed, cards bound to drivers, runs, and frames to send."""

import contextlib
import csv
import functools
import io
import os
import random
import shutil
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

WORK = '/work'  # of a run, in the guest
UNIT = f'''[Service]
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
PATIENCE = 90  # seconds without a packet that is counted
ATTEMPTS = 3
WINDOW = 384  # frames on their way at once: fewer than a card's ring has room for
# A card pads a frame whose tag it has taken off.
SHORTEST, LONGEST = 64, 1514


@functools.cache
def crowded():
    return [data.ljust(SHORTEST, b'\0') for _, data in crowd.crowd()]


def tagged(frame, at=14):
    return frame[at - 2:at] in (b'\x81\0', b'\x88\xa8')


def fragment(frame):
    """Of IPv4."""
    at = 14
    while tagged(frame, at):
        at += 4
    return frame[at - 2:at] == b'\x08\0' and int.from_bytes(frame[at + 6:at + 8], 'big') & 0x3fff != 0


def frames(count=3000, longest=LONGEST, whole=False):
    """Of everything, both families, tags, floods and a scan, as a cable has them; without fragments where whole."""
    chosen = [frame for frame in crowded() if len(frame) <= longest and not (whole and fragment(frame))]
    return random.Random(count).sample(chosen, count)


def connection(source, target, sport, dport):
    """A packet of one."""
    packet = built.ipv4(built.TCP, built.tcp(sport, dport), source, target)
    return built.ethernet(built.IPV4, packet).ljust(SHORTEST, b'\0')


def truth(sent):
    return oracle.count([oracle.Record(1, 0, data, len(data)) for data in sent])


def rows(text):
    """Of CSV that is being written: whole rows."""
    return list(csv.DictReader(io.StringIO(text[:text.rfind('\n') + 1])))


class Run:
    """sketchtap in the guest, as a service; its results once it has ended."""

    def __init__(self, guest, arguments):
        self.guest = guest
        self.arguments = arguments
        guest.run(f'rm -rf {WORK} && mkdir {WORK} && echo "exec sketchtap {arguments}" >{WORK}/command')
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

    def queues(self, column):
        """{worker: what --queues says last of it}"""
        return {row['worker']: row[column] for row in rows(self.guest.read(f'{WORK}/queues.csv'))}

    def received_by(self):
        """{worker: packets}"""
        sums = {}
        for row in rows(self.guest.read(f'{WORK}/queues.csv')):
            sums[row['worker']] = sums.get(row['worker'], 0) + int(row['received'])
        return sums

    def feed(self, cable, sent, before=0, window=WINDOW):
        """Sends, at the pace at which they are counted, whatever the emulation's is."""
        for begin in range(0, len(sent), window):
            part = sent[begin:begin + window]
            for frame in part:
                cable.send(frame)
            self.until_counted(before + begin + len(part))

    def until_said(self, part):
        patience = lib.Patience(PATIENCE)
        while part not in self.said():
            assert patience.spend(), f'{part!r} was not said:\n{self.said()}'
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
        """Ends it, unless it has; it must end so. Returns the ledger."""
        self.guest.run('systemctl stop run')
        ended = self.guest.run('systemctl show -P ExecMainStatus run').strip()
        assert ended == str(status), f'ended with {ended}\n{self.said()}'
        return lib.read_stats(self.guest.read(f'{WORK}/stats.csv'))

    def expect(self, sent, lossless=True):
        """Ends it: every frame that was sent is in the ledger, and every flow has its packets and bytes."""
        ledger = self.end()
        counted, flows = truth(sent)
        if lossless:
            lib.expect_lossless(ledger)
        for column, number in {'offered': len(sent), **counted}.items():
            assert lib.total(ledger, column) == number, \
                f'{column}: {lib.total(ledger, column)} instead of {number}\n{self.said()}'
        found = {}
        for row in lib.read_output(self.guest.read(f'{WORK}/output.csv')):
            key = tuple(row[column] for column in oracle.KEY_COLUMNS)
            packets, size = found.get(key, (0, 0))
            found[key] = packets + int(row['packets']), size + int(row['bytes'])
        assert found == flows, f'{len(found)} flows, {len(flows)} were sent; ' \
            f'differ: {list(set(found.items()) ^ set(flows.items()))[:4]}'
        return ledger


class Lab:
    """A release, with the machine that runs it."""

    def __init__(self, release, failed=None):
        self.release = release
        self.directory = tempfile.mkdtemp(prefix='sketchtap-lab-')
        self.guest = None
        self.failed = failed  # why there is none

    def boot(self):
        for attempt in range(ATTEMPTS):
            directory = os.path.join(self.directory, str(attempt))
            os.mkdir(directory)
            try:
                return machine.Machine(self.release, directory)
            except machine.Stalled as reason:
                print(f'# boot {attempt + 1} {str(reason).splitlines()[0]}', flush=True)
        raise machine.Failed(f'{ATTEMPTS} boots stalled')

    def machine(self):
        """One that runs, with the packages installed."""
        if self.failed:
            raise machine.Failed(f'no machine: {self.failed[-4000:]}')
        if self.guest is None:
            try:
                self.guest = self.boot()
                self.guest.run('systemctl is-system-running --wait', status=None)
                said = self.guest.run('dpkg -i /lab/*.deb')
                assert '\nSetting up sketchtap ' in said, said
                self.guest.run(f'cat >/run/systemd/system/run.service <<END\n{UNIT}END\nsystemctl daemon-reload')
            except machine.Failed as reason:
                self.failed = str(reason).splitlines()[0]
                raise
        return self.guest

    def cable(self, name):
        return self.machine().cables[name]

    def place(self, name):
        """Where a card is in the guest's /sys, with a pattern at its end."""
        slot, node = self.machine().places[name]
        bus = f'{machine.BUSES[node]:02x}'
        return f'/sys/devices/pci0000:{bus}/0000:{bus}:{slot:02x}.0/0000:??:00.0'

    def address(self, name):
        """Empty where it is not plugged."""
        return self.guest.run(f'ls -d {self.place(name)} 2>/dev/null | sed s,.*/,,', status=None).strip()

    def give(self, device, driver):
        """Whatever drives it now."""
        self.guest.run(
            f'modprobe {driver}; cd {device} && echo {driver} >driver_override && '
            '{ [ ! -e driver ] || echo "${PWD##*/}" >driver/unbind; } && '
            f'echo "${{PWD##*/}}" >/sys/bus/pci/drivers_probe && [ "$(basename "$(readlink driver)")" = {driver} ]')

    def bind(self, name, driver='vfio-pci'):
        """Gives a card to a driver; returns its PCI address."""
        self.give(self.place(name), driver)
        return self.address(name)

    def interface(self, name):
        """The kernel's of a card, up; its name."""
        self.bind(name, name[:-1])
        found = []
        self.until(lambda: found.extend(self.guest.run(f'ls {self.place(name)}/net', status=0).split()) or found,
                   'an interface')
        self.guest.run(f'ip link set {found[-1]} arp off multicast off up')
        self.until(lambda: self.guest.read(f'/sys/class/net/{found[-1]}/carrier') == '1\n', 'a carrier')
        return found[-1]

    def until(self, condition, what, context=lambda: ''):
        patience = lib.Patience(PATIENCE)
        while not condition():
            assert patience.spend(), f'waited in vain for {what}\n{context()}'
            time.sleep(0.3)

    def measure(self, address, options=''):
        """A run that counts each flow exactly."""
        return Run(self.machine(), f'--port {address} --wait-link 120s --sketch flow-table --top 1M --interval 500ms --name lab '
                   f'--output output.csv --stats stats.csv --queues queues.csv --log-level info {options}')

    def settle(self):
        """What a case that failed has left running."""
        if self.guest is not None:
            self.guest.run("systemctl stop run 'sketchtap@*'; systemctl reset-failed", status=None)

    def close(self):
        if self.guest is not None:
            with contextlib.suppress(OSError):
                self.guest.end()
        self.guest = None
        shutil.rmtree(self.directory, ignore_errors=True)

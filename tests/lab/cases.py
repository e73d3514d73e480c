# SPDX-License-Identifier: BSD-3-Clause
"""The lab's cases: functions of a Lab, which fail by raising. They run in this order, on one machine."""

import re

import lab
import machine
import trees
from lab import frames as captured


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
        assert not re.search(r'\b(TCP|UDP)\b[^:]* spread by', run.said()) and 'are not spread' not in run.said(), run.said()
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


# ---- packages


def installed(where):
    """What the package promises is there, and its parts start."""
    guest = where.machine()
    guest.run('id sketchtap && test -d /etc/sketchtap && systemctl cat sketchtap@.service >/dev/null && sketchtap --version && '
              'sketchtap-bench --help >/dev/null && test -s /usr/share/sketchtap/kernel-interface.conf && '
              'test -s /usr/share/bash-completion/completions/sketchtap')
    log = trees.call('cat', f'{trees.packages(where.release)}/log')
    assert 'lintian is not installed' not in log and not re.search(r'^[EW]: ', log, re.M), log[-3000:]


def all_cases():
    """[(name, function)]"""
    nodes = range(machine.NODES)
    return [
        ('packages build, lintian is silent, all is there', installed),
        *((f'{model} on node {node}', card(model, node))
          for model in ('igb', 'e1000e', 'vmxnet3', 'virtio', 'virtio-tap') for node in nodes),
        *((f'{model} over {workers} queues', spread(model, workers)) for model in ('igb', 'virtio-tap') for workers in (2, 3, 4)),
    ]

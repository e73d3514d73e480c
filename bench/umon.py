#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""umon.py CONTROL-SOCKET [--every SECONDS]

UMON with an unmodified Open vSwitch: rules that create one megaflow per 6-tuple of a monitored host, and a poller that
reads the packet counts of megaflows. The poller prints "ready", polls until its standard input ends, polls once more,
and prints a line of JSON: the number of polls, the largest number of megaflows, and the packets of each 5-tuple.

multipath() hashes addresses, protocol and ports, and move: reads the TCP flags. So the switch must match all of them in
its megaflows, although no decision depends on them. Flows do not need OpenFlow rules of their own.
"""

import argparse
import json
import re
import select
import subprocess
import sys
import time

HASH = 'multipath(symmetric_l3l4+udp,0,modulo_n,2,0,NXM_NX_REG0[])'
KEYS = ('eth_type=0x800', 'NXM_OF_IP_SRC[]', 'NXM_OF_IP_DST[]')
LEARNT = 10  # table of learnt flows
UFID = re.compile(r'ufid:([0-9a-f-]+)')
IPV4 = re.compile(r'ipv4\(src=([0-9.]+),dst=([0-9.]+),proto=(\d+)')
PORTS = re.compile(r'(?:tcp|udp)\(src=(\d+),dst=(\d+)\)')
PACKETS = re.compile(r'packets:(\d+)')
WIDTH = {6: 'TCP', 17: 'UDP'}


def rules(hosts, then):
    """Returns OpenFlow rules that create 6-tuple megaflows for packets to `hosts`, with the actions `then`."""
    flags = 'move:NXM_NX_TCP_FLAGS[]->NXM_NX_REG1[0..11],'  # only TCP
    found = [f'priority=1,actions={then}']
    for host in hosts:
        found += [f'priority=20,tcp,nw_dst={host},actions={HASH},{flags}{then}',
                  f'priority=10,ip,nw_dst={host},actions={HASH},{then}']
    return found


def learning_rules(hosts, then):
    """Returns the rules of the second variant: a rule with a counter is learnt for each TCP and UDP flow."""
    found = [f'priority=1,actions={then}', f'table={LEARNT},priority=0,actions=drop']
    for host in hosts:
        for number, name in WIDTH.items():
            flags = ',NXM_NX_TCP_FLAGS[]' if name == 'TCP' else ''
            learn = (f'learn(table={LEARNT},priority=100,idle_timeout=60,eth_type=0x800,nw_proto={number},NXM_OF_IP_SRC[],'
                     f'NXM_OF_IP_DST[],NXM_OF_{name}_SRC[],NXM_OF_{name}_DST[]{flags})')
            found.append(f'priority=20,{name.lower()},nw_dst={host},actions={learn},resubmit(,{LEARNT}),{then}')
    return found


def megaflows(dump):
    """Yields (identity, 5-tuple in CSV format, packets) of the exact IPv4 megaflows of `dpctl/dump-flows -m`."""
    for line in dump.splitlines():
        identity, ip, packets = UFID.search(line), IPV4.search(line), PACKETS.search(line)
        if identity and ip and packets and '/' not in ip[0]:
            ports = PORTS.search(line)
            yield identity[1], (ip[1], ip[2], *(ports.groups() if ports else ('0', '0')), ip[3]), int(packets[1])


def learnt(dump):
    """Returns {5-tuple: packets} from `ovs-ofctl dump-flows` of the table of learnt flows."""
    flows = {}
    for line in dump.splitlines():
        told = dict(word.split('=', 1) for word in re.split(r'[ ,]+', line) if '=' in word)
        proto = next((str(number) for number, name in WIDTH.items() if f'{name.lower()},' in line), None)
        if proto and 'nw_src' in told:
            key = (told['nw_src'], told['nw_dst'], told['tp_src'], told['tp_dst'], proto)
            flows[key] = flows.get(key, 0) + int(told['n_packets'])
    return flows


class Credit:
    """Packets of each 5-tuple. Counts of megaflows restart at 0 when a megaflow is created again."""

    def __init__(self):
        self.last, self.flows, self.polls, self.most = {}, {}, 0, 0

    def take(self, dump):
        """Adds a poll. A megaflow that was recreated between two polls is not detected if its count has grown."""
        now = {}
        for identity, key, packets in megaflows(dump):
            before = self.last.get(identity, 0)
            self.flows[key] = self.flows.get(key, 0) + packets - (before if packets >= before else 0)
            now[identity] = packets
        self.last = now
        self.polls += 1
        self.most = max(self.most, len(now))

    def told(self):
        return {'polls': self.polls, 'megaflows': self.most, 'flows': [(*key, n) for key, n in self.flows.items()]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('control')
    parser.add_argument('--every', type=float, default=1)
    settings = parser.parse_args()
    credit = Credit()

    def poll():
        credit.take(subprocess.run(('ovs-appctl', '-t', settings.control, 'dpctl/dump-flows', '-m'),
                                   stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout)

    print('ready', flush=True)
    due = time.monotonic() + settings.every
    while not select.select([sys.stdin], [], [], max(0, due - time.monotonic()))[0]:
        poll()
        due = max(due + settings.every, time.monotonic())
    poll()
    print(json.dumps(credit.told()), flush=True)


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""The program in the kernel: what it tells of what a real sender sent is what --pcap says of the same frames."""

import os
import re

import lib
import net

RATE = 50000  # packets a second
RING = 65536  # slots: more than any test fills
OF_RUN = ('start', 'end', 'first', 'last')  # columns of times


def needs_program(test):
    """Skips where the program is not built, or may not be loaded."""
    result = test.run('--kernel', 'no-such-if0', '--design', 'async', '--output', '/dev/null').expect(1)
    for reason in ('was built without it', 'may not load', 'is too old'):
        if reason in result.stderr:
            test.skip(result.stderr.strip())
    result.expect_one_line('no-such-if0', 'there is no such interface')


class Measuring:
    """A run as one epoch, that ends by itself when it has seen so many packets."""

    def __init__(self, test, space, place, packets, *options, design='async'):
        self.test = test
        number = len(test.processes)
        self.files = {name: test.path(f'{name}{number}.csv') for name in ('output', 'stats', 'flows')}
        places = [place] if isinstance(place, str) else place
        ring = () if '--ring-size' in options else ('--ring-size', RING)
        flows = ('--flows', self.files['flows']) if 'flow-table' in options else ()
        self.process = test.start(
            *(word for one in places for word in ('--kernel', one)), '--design', design,
            '--packets', packets, '--interval', '0', '--seed', '1', '--output', self.files['output'],
            '--stats', self.files['stats'], *flows, *ring, *options, inside=space)
        net.wait_until_ready(test, self.process, self.files['stats'])

    def finish(self, status=0):
        """(heavy hitters, ledger, flows)"""
        self.result = self.test.wait(self.process).expect(status)
        ledger = lib.read_stats(self.files['stats'])
        assert len(ledger) == 1, ledger
        return lib.read_output(self.files['output']), ledger[0], flows_of(self.files['flows'])


def flows_of(path):
    if not os.path.exists(path):
        return []
    return [line.split(',') for line in lib.read_text(path).splitlines()]


def truth_of(test, capture, *options):
    """The same of a replay."""
    number = len(test.processes)
    flows = test.path(f'replayed{number}.csv')
    rows, ledger, _ = test.measure(
        '--pcap', capture, '--interval', '0', '--seed', '1', '--design', 'async', '--workers', '1',
        *(('--flows', flows) if 'flow-table' in options else ()), *options)
    assert len(ledger) == 1, ledger
    return rows, ledger[0], flows_of(flows)


def frames_of(test, file):
    """Ethernet frames of a capture as they are there, as far as a cable takes them."""
    records = lib.Oracle(test.traces).records(lib.unpack(test, file))[:500]
    return [data for link, _, data, _ in records if link == 1 and 14 <= len(data) <= 1514]


def zoo(test, wanted=lambda frame: True):
    """(capture, packets): what all indexed captures have of them."""
    frames = []
    for entry in lib.index(test.traces):
        if entry['file'].startswith('zoo/') and entry['expected'] == 'measured':
            frames += filter(wanted, frames_of(test, entry['file']))
    return lib.write_pcap(test.path('zoo.pcap'), list(enumerate(frames))), len(frames)


def without(row, columns):
    return {name: value for name, value in row.items() if name not in columns}


def by_key(rows):
    """Without what ties decide."""
    return sorted(tuple(sorted(without(row, (*OF_RUN, 'rank')).items())) for row in rows)


def expect_equal(test, run, truth):
    """Rows, ledger and flows, but for times."""
    rows, ledger, flows = run.finish()
    true_rows, true_ledger, true_flows = truth
    for column in ('offered', 'received', 'measured', 'filtered', 'non_ip', 'malformed', 'nic_missed',
                   'ring_full', 'shed', 'bytes', 'distinct_keys'):
        assert ledger[column] == true_ledger[column], (
            f'{column}: {ledger[column]} instead of {true_ledger[column]}\n{ledger}')
    assert by_key(rows) == by_key(true_rows), f'other rows\n{rows[:3]}\n{true_rows[:3]}'
    if true_flows:
        header = true_flows[0]
        assert flows[0] == header and len(flows) > 100, flows[0]
        kept = [i for i, name in enumerate(header) if name not in OF_RUN]
        assert (sorted([row[i] for i in kept] for row in flows[1:]) ==
                sorted([row[i] for i in kept] for row in true_flows[1:])), 'other flows'


def is_cut_tag(frame):
    """A tag without what it tags: the kernel drops such when it takes tags off, before tc."""
    return frame[12:14] in (b'\x81\x00', b'\x88\xa8') and len(frame) < 18


def zoo_at(place, wanted, *options):
    def check(test):
        needs_program(test)
        space = net.Namespace(test)
        space.veth('tap0', 'wire0')
        capture, packets = zoo(test, wanted)
        run = Measuring(test, space, place, packets, *options)
        test.wait(space.send('wire0', capture, RATE)).expect(0)
        expect_equal(test, run, truth_of(test, capture, *options))
    return check


TOP = ('--top', '5000')
ZOOS = (
    ('tc, in', zoo_at('tap0,direction=in', lambda frame: not is_cut_tag(frame), *TOP)),
    ('tc, out', zoo_at('wire0,direction=out', lambda frame: True, *TOP)),
    ('xdp', zoo_at('tap0,hook=xdp', lambda frame: True, *TOP)),
    ('tc, in, flow-table', zoo_at('tap0', lambda frame: not is_cut_tag(frame), '--sketch', 'flow-table', *TOP)),
    ('xdp, simple-hash by tags', zoo_at('tap0,hook=xdp', lambda frame: True, '--sketch', 'simple-hash',
                                        '--key', 'src,dst,vlan,dscp,mpls,tcp_flags', *TOP)),
    ('tc, in, iblt by tags', zoo_at('tap0', lambda frame: not is_cut_tag(frame), '--sketch', 'iblt',
                                    '--key', 'src,vlan,in_port', *TOP)),
    ('tc, filter', zoo_at('tap0', lambda frame: not is_cut_tag(frame), '--filter', 'udp or vlan', *TOP)),
    ('xdp, filter', zoo_at('tap0,hook=xdp', lambda frame: True, '--filter', 'tcp port 80 or ip6', *TOP)),
)


def cases(settings):
    chosen = ZOOS[:3] if settings.sanitized else ZOOS
    return [(f'the zoo at {name}', lib.needs_traces(check)) for name, check in chosen]

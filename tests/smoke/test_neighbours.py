# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect --export neighbours: links between exporters equal the cables, in random networks and in
leaf-spine networks of Open vSwitch."""

import functools
import ipaddress
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
import types

import datagrams
import exports
import lib
import networks
import open_vswitch
from collected import EVERYTHING, NEIGHBOUR_COLUMNS

LONG = ('leaf_spine', 'changing_networks')

SURE = 0.75
WORLDS = 3  # per kind; ten times as many with --full
INTERVALS = 24
LEARNED = 8  # intervals until exporters that report late have reported, and most links are sure
# Kinds whose networks do not change: the least share of rows that are sure. Few flows have samples of several
# exporters where rates differ.
KINDS = {'unsampled': 0.7, 'unsampled: both sides': 0.7, 'unsampled: clocks': 0.6, 'unsampled: dark routers': 0.5,
         'sflow': 0.5, 'sflow: dark routers': 0.5, 'sflow: rates': 0.3, 'mixed': 0.3, 'all protocols': 0.3}
# Kinds whose networks change.
CHANGES = ('unsampled: late', 'unsampled: exporter dies', 'unsampled: router fails', 'unsampled: link fails',
           'sflow: exporter dies', 'sflow: link fails', 'mixed: link fails', 'mixed: exporter dies')
SHOWN = 3  # intervals until a change shows
# Hosts are only at both ends: just the order of reports can tell the order of exporters.
AMBIGUOUS = ('wire', 'roots')
RIGHT = 0.8

FLOWS = 30  # between two hosts
PACKETS = 4
RATE = 1500


# ---- random networks


def number_of(name):
    return int(name.split('/')[0].rsplit('.', 1)[1]) - 1


def beyond(world, node, port):
    """Returns the (exporter, input) that packets sent from this port reach first."""
    found, passed = set(), set()
    waiting = [world.ports[node][port]] if port in world.ports[node] else []
    while waiting:
        peer, entered = waiting.pop()
        if peer in world.exporters:
            found.add((peer, entered))
        elif peer not in passed:
            passed.add(peer)
            waiting += world.ports[peer].values()
    return found


def is_link(world, row):
    node, peer = number_of(row['from']), number_of(row['to'])
    ports = [int(row['from_interface'])] if row['from_interface'] else world.ports[node]
    return any(peer == other and row['to_interface'] in ('', str(entered))
               for port in ports for other, entered in beyond(world, node, port))


def neighbours_of(test, world, *options):
    folder = test.path(f'{len(test.processes)}')
    os.mkdir(folder)
    path = os.path.join(folder, 'neighbours.csv')
    test.run(*networks.arguments(world, 'best', folder), '--output', '/dev/null', '--export', f'neighbours={path}',
             *options).expect(0)
    return lib.read_csv(path, NEIGHBOUR_COLUMNS)


def random_networks(test, name):
    """A sure row is a cable, or a way over routers that do not export. Most rows are right, and sure."""
    wrong, sure, right, rows_of = [], 0, 0, 0
    for seed in range(WORLDS * (10 if test.settings.full else 1)):
        world = networks.World(name, seed, INTERVALS).run()
        for row in neighbours_of(test, world):
            link, known = is_link(world, row), float(row['sure']) >= SURE
            assert 0 <= float(row['sure']) <= float(row['order']) <= 1 and 0 < float(row['match']) <= 1, row
            if int(row['epoch']) < LEARNED:
                continue
            if known and not link:
                wrong.append((seed, world.topology, row))
            if world.topology not in AMBIGUOUS:
                rows_of += 1
                right += link
                sure += known
    assert len(wrong) <= 0.01 * sure, f'{len(wrong)} sure rows are no link, such as {wrong[:3]}'
    assert right >= RIGHT * rows_of and sure >= KINDS[name] * rows_of, (right, sure, rows_of)


def after_event(world):
    """Returns the network after its event. A dead exporter still forwards, and is in the paths of flows."""
    event, ports = world.kind['event'], {}
    for node, peers in world.ports.items():
        ports[node] = {port: (peer, entered) for port, (peer, entered) in peers.items()
                       if not (event == 'fail' and world.victim in (node, peer))
                       and not (event == 'cut' and {node, peer} == {*world.cable})}
    without = {node: exporter for node, exporter in world.exporters.items() if node != world.victim}
    lists = {'fail': [without], 'die': [without, world.exporters]}.get(event, [world.exporters])
    return [types.SimpleNamespace(ports=ports, exporters=exporters) for exporters in lists]


def test_changing_networks(test):
    """After exporters, routers or cables failed, or an exporter began, sure rows are links of the new network."""
    wrong, sure, right, rows_of = [], 0, 0, 0
    for kind in CHANGES:
        for seed in range(WORLDS * (10 if test.settings.full else 1)):
            world = networks.World(kind, seed, INTERVALS).run()
            now = after_event(world)
            first = world.at + (LEARNED if world.topology in AMBIGUOUS else SHOWN)
            for row in neighbours_of(test, world):
                if int(row['epoch']) < first:
                    continue
                link, known = any(is_link(network, row) for network in now), float(row['sure']) >= SURE
                if known and not link:
                    wrong.append((kind, seed, world.topology, row))
                sure += known
                rows_of += world.topology not in AMBIGUOUS
                right += link and world.topology not in AMBIGUOUS
    assert right >= RIGHT * rows_of, (right, rows_of)
    assert len(wrong) <= 0.01 * sure, f'{len(wrong)} of {sure} sure rows are no link, such as {wrong[:3]}'


def chain_rows(test, name, before, after):
    """Runs a chain of 60 flows per interval over hops (router, input, output), which change at interval 4. Returns
    the rows of each interval."""
    routers = {number: datagrams.Router('v5', f'192.0.2.{number}') for number in (1, 2, 3)}
    capture, path = datagrams.Capture(), test.path(f'{name}.csv')
    for interval in range(12):
        flows = [datagrams.Flow(100 * interval + number, 10, 100) for number in range(60)]
        for position, (number, entered, left) in enumerate(before if interval < 4 else after):
            for first in range(0, 60, 20):
                part, router = flows[first:first + 20], routers[number]
                records = [datagrams.v5_record(flow, entered, left) for flow in part]
                when = 10 * interval + 3 + position / 5
                capture.add(when, router.address, router.v5(when, part, records=records))
    capture.write(test.path(f'{name}.pcap'))
    test.run('collect', '--pcap', test.path(f'{name}.pcap'), *EVERYTHING[:-1], '10s', '--output', '/dev/null',
             '--export', f'neighbours={path}').expect(0)
    intervals = [set() for _ in range(12)]
    for row in lib.read_csv(path, NEIGHBOUR_COLUMNS):
        assert 0 <= float(row['sure']) <= float(row['order']) <= 1 and '-' not in row['sure'], row
        assert row['flows'] == '60', row
        intervals[int(row['epoch'])].add(tuple(int(row[column].rsplit('.', 1)[-1]) for column in NEIGHBOUR_COLUMNS[3:7]))
    return intervals


def test_change_of_a_chain(test):
    """A chain has no other evidence than the order of reports. A change shows from its second interval on."""
    chain, direct, without = ((1, 1, 2), (2, 11, 12), (3, 21, 22)), ((1, 1, 2), (3, 77, 22)), ((1, 1, 2), (3, 21, 22))
    for name, before, after in (('removed', chain, direct), ('inserted', direct, chain), ('dies', chain, without),
                                ('begins', without, chain)):
        links = [{(start, left, stop, entered) for (start, _, left), (stop, entered, _) in zip(hops, hops[1:])}
                 for hops in (before, after)]
        rows = chain_rows(test, name, before, after)
        assert rows[:4] == 4 * links[:1] and rows[5:] == 7 * links[1:] and rows[4] <= links[1], (name, rows)


def dot_of(test, *paths):
    """Returns {((exporter, interface), (exporter, interface)): (bytes / bytes, dashed)} of the graph, and checks that
    Graphviz reads it."""
    picture = test.path('network.dot')
    test.run('plot', *paths, picture).expect(0)
    text = lib.read_text(picture)
    if shutil.which('dot'):
        subprocess.run(['dot', '-Tsvg', picture, '-o', test.path('network.svg')], check=True)
    word = r'"((?:[^"\\]|\\.)*)"'
    edge = re.compile(rf'\t{word} -- {word} \[taillabel={word}, headlabel={word}, label={word}, tooltip="sure: '
                      r'[0-9.]+", penwidth=([0-9.]+)(, style=dashed)?\];')
    first, second, *lines, last, end = text.split('\n')
    assert (first, second, last, end) == ('graph network {', '\tnode [shape=box];', '}', ''), text
    found = {}
    for line in lines:
        start, stop, out, enter, label, width, dashed = edge.fullmatch(line).groups()
        assert 1 <= float(width) <= 6, line
        found[(start, out), (stop, enter)] = label, dashed is not None
    assert len(found) == len(lines), text
    return found


def size(number):
    """A size with three digits."""
    unit = 0
    while number >= 999.5 and unit < 5:
        number, unit = number / 1000, unit + 1
    return f'{number:.3g} {("B", "KB", "MB", "GB", "TB", "PB")[unit]}'


def test_graph(test):
    """An edge per cable has the bytes of both directions in all intervals, also from several files."""
    world = networks.World('unsampled', 1, INTERVALS).run()
    rows = neighbours_of(test, world)
    sums, sure = {}, {}
    for row in rows:
        start, end = ((row[end], row[f'{end}_interface']) for end in ('from', 'to'))
        both = min(start, end), max(start, end)
        sums.setdefault(both, {start: 0, end: 0})[start] += int(row['bytes'])
    for row in sorted(rows, key=lambda row: int(row['epoch'])):
        start, end = ((row[end], row[f'{end}_interface']) for end in ('from', 'to'))
        sure[min(start, end), max(start, end)] = float(row['sure'])
    paths = []
    for half in (0, 1):
        paths.append(test.path(f'half{half}.csv'))
        with open(paths[-1], 'w', encoding='utf-8') as stream:
            stream.write(','.join(NEIGHBOUR_COLUMNS) + '\n')
            for row in rows:
                if (int(row['epoch']) >= INTERVALS // 2) == half:
                    stream.write(','.join(row[name] for name in NEIGHBOUR_COLUMNS) + '\n')
    assert rows and dot_of(test, *paths) == {
        ends: (' / '.join(size(sent[end]) for end in ends), sure[ends] < SURE) for ends, sent in sums.items()}


def test_graph_of_bad_files(test):
    """Each bad file has one clear line. Names cannot leave their quotes."""
    header, row = 'from,from_interface,to,to_interface,bytes,sure\n', 'a,1,b,2,500,0.9\n'
    path, picture = test.path('bad.csv'), test.path('bad.dot')

    def plot(text, *options):
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(text)
        return test.run('plot', path, picture, *options)

    for text, says in (('', 'no header line'), ('from,to\n' + row, "no column 'from_interface'"),
                       (header + 'a,1,b\n', ':2: not 6 fields'), (header + '"a"b,1,b,2,5,1\n', ':2: not 6 fields'),
                       (header + row + 'a,1,b,2,many,0.9\n', ":3: bytes: 'many': not a number"),
                       (header + 'a,1,b,2,5,\n', "sure: '': not a number"), (header, 'bad.csv: no links'),
                       (header + row + 'a,1,b,2,5,7.0\n', ":3: sure: '7.0': not between 0 and 1"),
                       (header + 'a,1,b,2,-5,1\n', "bytes: '-5': not a number")):
        plot(text).expect(2).expect_one_line(says)
        assert not os.path.exists(picture), text
    test.run('plot', '/nowhere.csv', picture).expect(1).expect_one_line('/nowhere.csv')
    plot(header + row, '--stats', path).expect(2).expect_one_line('only for a .svg file')
    plot(header + row, '--measurement', 'x').expect(2).expect_one_line('only for a .svg file')
    test.run('plot', path, test.path('bad.png')).expect(2).expect_one_line('.svg or .dot')
    cut = plot(header + row + 'a,1,c,2,5').expect(0)
    assert 'truncated' in cut.stderr and dot_of(test, path) == {(('a', '1'), ('b', '2')): ('500 B / 0 B', False)}
    plot(header + '"x"" -- \\",1,b,2,1200,0.5\n').expect(0)
    assert dot_of(test, path) == {(('b', '2'), ('x\\" -- \\\\', '1')): ('0 B / 1.2 KB', True)}
    # CSV of the collector marks formulas with an apostrophe. Names of any length differ in all characters.
    long = 100 * 'x'
    plot(header + f"'=x,1,'y,2,1200,1\n{long}1,1,{long}2,2,1200,1\n").expect(0)
    assert {name for ends in dot_of(test, path) for name, _ in ends} == {'=x', "'y", long + '1', long + '2'}


def test_all_cables(test):
    """Nearly every cable has a sure row in both directions; workers change nothing."""
    world = networks.World('unsampled: equal timeouts', 5, INTERVALS).run()
    rows = neighbours_of(test, world)
    assert rows == neighbours_of(test, world, '--workers', '2')
    got = {(number_of(row['from']), row['from_interface'], number_of(row['to'])) for row in rows
           if float(row['sure']) >= SURE}
    true = {(node, str(port), peer) for node, ports in world.ports.items() for port, (peer, _) in ports.items()}
    assert len(got & true) >= RIGHT * len(true) and got <= true, (sorted(true - got), sorted(got - true))


# ---- Open vSwitch


def frame(source, target, sport):
    """A UDP packet of 100 bytes."""
    addresses = ipaddress.ip_address(source).packed + ipaddress.ip_address(target).packed
    ip = struct.pack('>BBHHHBBH', 0x45, 0, 86, 0, 0, 64, 17, 0) + addresses
    total = sum(struct.unpack('>10H', ip))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + ip[12:]
    return b'\2\0\0\0\0\1\2\0\0\0\0\2\x08\0' + ip + struct.pack('>HHHH', sport, 53, 66, 0) + bytes(58)


def send_all(test, switches):
    """Sends flows between hosts of different leaves, packet after packet in random order."""
    rng, hosts = random.Random(5), [(leaf, port) for leaf in range(switches.leaves) for port in switches.HOSTS]
    for source in hosts:
        flows = [(target, sport) for target in hosts for sport in range(2000, 2000 + FLOWS) if target[0] != source[0]]
        packets = flows * PACKETS
        rng.shuffle(packets)
        frames = [frame('10.{}.{}.1'.format(*source), '10.{}.{}.1'.format(*target), sport) for target, sport in packets]
        path = lib.write_pcap(test.path('host{}{}.pcap'.format(*source)), list(enumerate(frames)))
        test.wait(switches.namespace.send(switches.sender(*source), path, RATE)).expect(0)


def record(test, switches):
    path = test.path('everything.pcap')
    recorder = test.start(path, *map(str, sorted(set(exports.PORTS.values()))), inside=switches.namespace,
                          program=['python3', os.path.join(os.path.dirname(__file__), 'record.py')])
    said = os.path.join(recorder.directory, 'stdout')
    test.until(lambda: os.path.getsize(said) > 0 or not recorder.running(), 'the recorder listens')
    switches.export('netflow', 'netflow', 'targets="127.0.0.1:2055"', 'active-timeout=1', 'engine_id=NUMBER')
    switches.export('sflow', 'sflow', 'agent=lo', 'targets="127.0.0.1:6343"', 'header=128', 'sampling=2', 'polling=60')
    send_all(test, switches)
    time.sleep(2.5)  # NetFlow flows are sent after their second
    for column in ('netflow', 'sflow'):
        switches.silence(column)
    return path, recorder


def leaf_spine(test, leaves, spines):
    switches = open_vswitch.LeafSpine(test, leaves, spines)
    path, recorder = record(test, switches)
    index = {name: switches.namespace.link(name)['ifindex'] for name in switches.names.values()}
    sent = {place: switches.namespace.sent(name) for place, name in switches.names.items()}
    switches.end()
    recorder.signal(signal.SIGTERM)
    test.wait(recorder).expect(0)
    check_netflow(switches, sent, links_of(test, path, 'v5'))
    check_sflow(switches, sent, {number: place for place, name in switches.names.items() for number in [index[name]]},
                links_of(test, path, 'sflow'))


def links_of(test, everything, form):
    """Returns the rows of a run over the datagrams of one protocol."""
    path, output = (test.path(f'{form}.{ending}') for ending in ('pcap', 'csv'))
    lib.write_pcap(path, [(when // 1000, datagram) for when, datagram in exports.frames(everything)
                          if int.from_bytes(datagram[36:38], 'big') == exports.PORTS[form]])
    test.run('collect', '--pcap', path, *EVERYTHING, '--output', '/dev/null', '--export',
             f'neighbours={output}').expect(0)
    return lib.read_csv(output, NEIGHBOUR_COLUMNS)


def check_netflow(switches, sent, rows):
    """The rows are the cables, with the packets of the kernel's counters. The domain ends with the switch's number."""
    got = {}
    for row in rows:
        start, end = ((int(row[end].split('/')[1]) & 255, int(row[f'{end}_interface'])) for end in ('from', 'to'))
        got[start, end] = int(row['packets'])
        assert row['match'] == row['order'] == '1.000000' and float(row['sure']) > 0.9, row
    assert got == {(start, end): sent[start] for start, end in switches.ports.items()}, got


def check_sflow(switches, sent, places, rows):
    """The rows are the cables. Flows that one switch did not sample are on no link."""
    got = {}
    for row in rows:
        start, end = (places[int(row[f'{end}_interface'])] for end in ('from', 'to'))
        got[start, end] = int(row['packets'])
        assert float(row['sure']) > 0.9, row
    assert set(got) == set(switches.ports.items()), got
    for (start, _), packets in got.items():
        assert 0.5 * sent[start] < packets < sent[start] + 6 * sent[start] ** 0.5, (start, packets, sent[start])


def cases(settings):
    sizes = ((2, 2), (3, 2), (4, 3)) if settings.full else ((3, 2),)
    return [(f'random networks: {name}', functools.partial(random_networks, name=name)) for name in KINDS] + [
        (f'leaf_spine of {leaves} and {spines}', functools.partial(leaf_spine, leaves=leaves, spines=spines))
        for leaves, spines in sizes]

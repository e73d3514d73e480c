# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect measures the traffic in the records of routers, each packet once.

`generate --export-format` writes the exports of routers for a SPEC. The same SPEC measured as
packets is the truth.
"""

import collections

import lib
import test_overload
from collected import (
    EVERYTHING, LINK_COLUMNS, PATH_COLUMNS, PROTOCOLS, TRAFFIC, check_equal, collect, generate, truth_of)


def whole(protocol, routers, path, workers):
    def check(test):
        exports = generate(test, 'exports.pcap', '--as', protocol, '--routers', routers, '--path', path)
        rows, ledger, exporters, _ = collect(
            test, '--pcap', exports, *EVERYTHING, '--workers', workers)
        truth = truth_of(test)
        check_equal(rows, truth)
        packets = sum(figures[0] for figures in truth.values())
        assert lib.total(ledger, 'measured') == packets
        assert lib.total(ledger, 'duplicate') == packets * (int(path) - 1), ledger
        assert len(exporters) == int(routers), exporters
        assert lib.total(exporters, 'lost_network') == 0, exporters
    return check


def sampled(protocol, path, sampling):
    """Each flow's interval holds the truth, and the ledger has estimates."""
    def check(test):
        exports = generate(test, 'exports.pcap', '--as', protocol, '--routers', '5', '--path', path,
                           '--sampling', sampling)
        rows, ledger, exporters, _ = collect(test, '--pcap', exports, *EVERYTHING)
        truth = truth_of(test)
        packets = sum(figures[0] for figures in truth.values())
        assert rows, 'no row'
        for row in rows:
            for figure, true in zip(('packets', 'bytes'), truth[lib.row_key(row)]):
                assert int(row[f'{figure}_low']) <= true <= int(row[f'{figure}_high']), (true, row)
        # Five standard errors, if a single observer sees each packet.
        off = lib.total(ledger, 'measured') - packets
        assert abs(off) <= 5 * (packets * (int(sampling) - 1)) ** 0.5, (off, packets)
        assert {row['sampling'] for row in exporters} == {sampling}, exporters
        heaviest = max(truth.values())[0]
        assert int(rows[0]['packets_low']) > heaviest / 2, rows[0]
    return check


def overloaded(protocol, workers, sampling='1'):
    """Records are skipped and sampled at levels that change all the time: they are in the ledger, and
    intervals contain the truth."""
    def check(test):
        exports = generate(test, 'exports.pcap', '--as', protocol, '--routers', '3', '--path', '2', '--sampling', sampling)
        truth = truth_of(test)
        packets = sum(figures[0] for figures in truth.values())
        config = test.path('steps.conf')
        with open(config, 'w', encoding='ascii') as stream:
            stream.write('[measurement first]\nsketch = flow-table\nsteps = rate:1/2,off\n'
                         '[measurement second]\nsketch = count-min\npriority = 2\n')
        for number, sketch in enumerate((('--sketch', 'flow-table'), ('--sketch', 'count-min'), ('--config', config))):
            states = test_overload.write_states(test, test_overload.mixed(int(workers), 2000 // int(workers), number))
            rows, ledger, _, _ = collect(test, '--pcap', exports, *sketch, '--top', '300', '--interval', '0',
                                         '--workers', workers, '--seed', number, '--states-from', states, '--force')
            test_overload.check_intervals([row for row in rows if row['measurement'] in ('main', 'first')], truth)
            assert lib.total(ledger, 'skipped') > 0, ledger
            for row in ledger:
                got = int(row['measured']) + int(row['skipped'])
                assert got == packets or sampling != '1', (got, packets, row)
    return check


def end_routers(path):
    """Ingress and egress in keys match the paths of --paths."""
    def check(test):
        exports = generate(test, 'exports.pcap', '--as', 'ipfix', '--routers', '5', '--path', path)
        names = {f'192.0.2.{n}': f'r{n}' for n in range(1, 6)}
        named = [part for address, name in names.items() for part in ('--exporter', f'{address}={name}')]
        paths = test.path('paths.csv')
        rows, _, _, _ = collect(test, '--pcap', exports, *EVERYTHING, *named, '--key', 'routers', '--paths', paths)
        ports, _, _, _ = collect(test, '--pcap', exports, *EVERYTHING, *named, '--key', 'ingress,egress,dst_port')
        truth = truth_of(test)
        matrix, by_port = collections.Counter(), collections.Counter()
        way_of = {tuple(row[column] for column in lib.KEY_COLUMNS): (row['ingress'], row['egress'])
                  for row in lib.read_csv(paths, PATH_COLUMNS)}
        for key, (packets, _) in truth.items():
            matrix[way_of[key]] += packets
            by_port[(*way_of[key], key[3])] += packets
        assert len(matrix) == (20 if path == '3' else 5), matrix
        # Each source network enters at a single router.
        behind = {}
        for key, (ingress, _) in way_of.items():
            assert behind.setdefault(key[0].rpartition('.')[0], ingress) == ingress, key
        got, got_by_port = collections.Counter(), collections.Counter()
        for row in rows:
            got[row['ingress'], row['egress']] += int(row['packets'])
        for row in ports:
            got_by_port[row['ingress'], row['egress'], row['dst_port']] += int(row['packets'])
        assert got == matrix, (got, matrix)
        assert got_by_port == by_port, (got_by_port - by_port, by_port - got_by_port)
    return check


def slots_change_hands(workers):
    """More exporters than --max-exporters, in turn: some row counts every record."""
    def check(test):
        exports = generate(test, 'exports.pcap', '--as', 'v9', '--routers', '6', '--path', '2', '--sampling', '3')
        _, _, exporters, _ = collect(test, '--pcap', exports, *EVERYTHING, '--exporters-max', '2',
                                     '--workers', workers)
        others = [row for row in exporters if row['exporter'] == 'others']
        assert len(others) == 1, exporters
        assert int(others[0]['records']) > 0, others
    return check


def many_exporters(test):
    """Template memory suffices for the maximum of --max-exporters."""
    exports = generate(test, 'exports.pcap', '--as', 'v9', '--routers', '1', '--path', '1')
    _, _, exporters, _ = collect(test, '--pcap', exports, *EVERYTHING, '--exporters-max', '65000')
    assert len(exporters) == 1, exporters


EXPRESSIONS = ('tcp port 443', 'udp or ip6', 'net 198.18.0.0/16 and not port 53', 'portrange 1024-9999', 'arp')


def filtered(protocol, workers):
    """A filter drops the records of exactly the packets that it drops in the traffic."""
    def check(test):
        spec = TRAFFIC if protocol == 'v5' else TRAFFIC + ',ipv6=0.4'
        exports = generate(test, 'exports.pcap', '--as', protocol, '--routers', '4', '--path', '2', spec=spec)
        packets = sum(figures[0] for figures in truth_of(test, spec).values())
        for expression in EXPRESSIONS:
            rows, ledger, exporters, _ = collect(test, '--pcap', exports, *EVERYTHING, '--workers', workers,
                                                 '--filter', expression)
            matching, _, _ = test.measure('--synthetic', spec, *EVERYTHING, '--filter', expression)
            truth = {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in matching}
            check_equal(rows, truth)
            measured = sum(figures[0] for figures in truth.values())
            assert lib.total(ledger, 'measured') == measured, ledger
            assert lib.total(ledger, 'duplicate') == measured, ledger
            assert lib.total(ledger, 'filtered') == 2 * (packets - measured), ledger
            assert all(row['confidence'] for row in rows), rows[0]
            assert sum(int(row['counted']) for row in exporters) >= len(truth), exporters
    return check


def filtered_samples(test):
    """Bounds of matching records hold the truth, and --links has no other record."""
    exports = generate(test, 'exports.pcap', '--as', 'sflow', '--routers', '3', '--path', '1', '--sampling', '10')
    links = test.path('links.csv')
    rows, ledger, exporters, _ = collect(test, '--pcap', exports, *EVERYTHING, '--filter', 'udp', '--links', links)
    truth = {key: figures for key, figures in truth_of(test).items() if key[4] == '17'}
    assert rows and {row['proto'] for row in rows} == {'17'}, rows[:1]
    for row in rows:
        for figure, true in zip(('packets', 'bytes'), truth[lib.row_key(row)]):
            assert int(row[f'{figure}_low']) <= true <= int(row[f'{figure}_high']), (true, row)
    measured = lib.total(ledger, 'measured')
    assert lib.total(exporters, 'records') * 10 == measured, (exporters, measured)
    told = lib.read_csv(links, LINK_COLUMNS)
    assert sum(int(row['packets']) for row in told if row['direction'] == 'in') == measured, told
    assert {row['source'] for row in told} == {'records'}, told


def refused_filters(test):
    exports = generate(test, 'exports.pcap', '--as', 'v9', '--routers', '1', '--path', '1')
    for expression, why in (('len > 100', 'depends on more of a packet than records have'),
                            ('tcp[13] & 2 != 0', 'depends on more of a packet than records have'),
                            ('mpls 7', 'depends on more of a packet than records have'), ('tcp port', 'syntax error')):
        result = test.run('collect', '--pcap', exports, '--filter', expression).expect(2)
        assert '--filter: ' in result.stderr and why in result.stderr, result.describe()


SAMPLED = [(f'{protocol}, one of {sampling} packets, {path} on the way', sampled(protocol, path, sampling))
           for protocol in PROTOCOLS for path, sampling in (('1', '10'), ('3', '5'))]


def sections(test):
    """A section [export NAME] writes the rows of --export."""
    exports = generate(test, 'exports.pcap', '--as', 'ipfix,routers=3,hops=2')
    for kind in ('links', 'neighbours', 'paths', 'datagrams'):
        configuration, one, other = (test.path(f'{kind}.{name}') for name in ('conf', 'section', 'option'))
        with open(configuration, 'w', encoding='utf-8') as stream:
            stream.write(f'[export it]\nwhat = {kind}\nurl = {one}\n')
        test.run('collect', '--config', configuration, exports, '--output', '/dev/null', '--seed', '1').expect(0)
        test.run('collect', exports, '--export', f'{kind}={other}', '--output', '/dev/null', '--seed', '1').expect(0)
        rows = lib.read_text(one)
        assert rows.count('\n') > 1 and rows == lib.read_text(other), (kind, rows[:300])


def cases(settings):
    return lib.some(settings, [
        *[(f'{protocol}, {routers} routers, {path} on the way, {workers} workers',
           whole(protocol, routers, path, workers))
          for protocol in PROTOCOLS
          for routers, path, workers in (('1', '1', '1'), ('5', '3', '1'), ('6', '6', '3'))],
        *SAMPLED,
        ('65000 exporters', many_exporters),
        ('rows of sections', sections),
        *[(f'--filter, {protocol}, {workers} workers', filtered(protocol, workers))
          for protocol, workers in (('v5', '1'), ('v9', '3'), ('ipfix', '1'), ('sflow', '2'))],
        *[(f'overloaded, {protocol}, {workers} workers, one of {sampling} packets', overloaded(protocol, workers, sampling))
          for protocol, workers, sampling in (('v5', '1', '1'), ('v9', '3', '1'), ('ipfix', '1', '10'), ('sflow', '2', '1'))],
        ('--filter, one of 10 packets', filtered_samples),
        ('--filter that records cannot answer', refused_filters),
        *[(f'routers in keys, {path} on the way', end_routers(path)) for path in ('1', '3')],
        *[(f'slots that change hands, {workers} workers', slots_change_hands(workers)) for workers in ('1', '2')]])

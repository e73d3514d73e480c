# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect: what routers tell of traffic is the traffic, each packet once.

`generate --as` writes what routers export about a SPEC; the same SPEC measured as packets is the truth.
"""

import collections
import functools
import os

import lib

PROTOCOLS = ('v5', 'v9', 'ipfix', 'sflow')
EXPORTER_COLUMNS = (
    'epoch,start,end,exporter,domain,protocol,name,datagrams,bytes,records,counted,duplicate,edge_only,'
    'waiting,unknown_template,unusable,malformed,refused,shed,lost_network,lost_socket,reordered,repeated,'
    'restarts,templates,sampling,sampling_source').split(',')
PATH_COLUMNS = (
    'epoch,start,end,src_ip,dst_ip,src_port,dst_port,proto,path,ingress,egress,observers,packets,bytes,'
    'changed').split(',')
LINK_COLUMNS = (
    'epoch,start,end,exporter,interface,name,direction,packets,bytes,bps,speed,utilization,source,'
    'difference').split(',')
# Longer than any padding, shorter than any fragment.
TRAFFIC = 'flows=2K,zipf=1.0,size=100-1400,packets=40K,rate=2K,seed=7'
EVERYTHING = ('--sketch', 'flow-table', '--memory', '64MB', '--top', '1M', '--interval', '0')


def generate(test, name, *options, spec=TRAFFIC):
    path = test.path(name)
    if not os.path.exists(path):
        test.run('generate', '--synthetic', spec, '--output', path, *options).expect(0)
    return path


def truth_of(test, spec=TRAFFIC):
    """{5-tuple: (packets, bytes)} of the traffic, by a flow table that keeps all."""
    rows, _, _ = test.measure('--synthetic', spec, *EVERYTHING)
    return {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in rows}


def read_exporters(path):
    """Rows of --exporters; each must balance."""
    rows = lib.read_csv(path, EXPORTER_COLUMNS)
    for row in rows:
        n = {name: int(row[name] or 0) for name in EXPORTER_COLUMNS[7:25]}
        assert n['records'] == n['counted'] + n['duplicate'] + n['unusable'], f'records: {row}'
        assert n['edge_only'] <= n['counted'] + n['duplicate'], row
        if row['exporter'] != 'others':
            assert n['malformed'] + n['refused'] + n['shed'] + n['repeated'] <= n['datagrams'], row
        assert (row['sampling'] == '') == (row['sampling_source'] == ''), row
    return rows


def collect(test, *arguments, status=0):
    """Returns (heavy hitters, ledger rows, rows of --exporters, Result)."""
    name = len(test.processes)
    output, stats, exporters = (test.path(f'{kind}{name}.csv') for kind in ('output', 'stats', 'exporters'))
    result = test.run('collect', '--output', output, '--stats', stats, '--exporters', exporters,
                      *arguments).expect(status)
    ledger = lib.read_stats(stats)
    lib.check_account(result, ledger)
    return lib.read_output(output), ledger, read_exporters(exporters), result


def check_equal(rows, truth):
    """Every flow is there, exactly."""
    got = {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in rows}
    assert got == truth, (
        f'{len(got)} flows of {len(truth)}; such as ' +
        str([(key, got.get(key), truth.get(key)) for key in (got.keys() | truth.keys())
             if got.get(key) != truth.get(key)][:3]))
    lib.check_exact(rows, truth)


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
    """Each flow's interval holds the truth, and the account is of estimates."""
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
        # Five standard errors, were each packet seen by one observer alone.
        off = lib.total(ledger, 'measured') - packets
        assert abs(off) <= 5 * (packets * (int(sampling) - 1)) ** 0.5, (off, packets)
        assert {row['sampling'] for row in exporters} == {sampling}, exporters
        heaviest = max(truth.values())[0]
        assert int(rows[0]['packets_low']) > heaviest / 2, rows[0]
    return check


def end_routers(path):
    """Ingress and egress in keys are those of the ways that --paths tells."""
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
        # What enters at a router comes from networks that are behind no other.
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
    """More exporters than --exporters-max, in turn: what became of all records is in some row."""
    def check(test):
        exports = generate(test, 'exports.pcap', '--as', 'v9', '--routers', '6', '--path', '2', '--sampling', '3')
        _, _, exporters, _ = collect(test, '--pcap', exports, *EVERYTHING, '--exporters-max', '2',
                                     '--workers', workers)
        others = [row for row in exporters if row['exporter'] == 'others']
        assert len(others) == 1, exporters
        assert int(others[0]['records']) > 0, others
    return check


SAMPLED = [(f'{protocol}, one of {sampling} packets, {path} on the way', sampled(protocol, path, sampling))
           for protocol in PROTOCOLS for path, sampling in (('1', '10'), ('3', '5'))]


def cases(settings):
    return [(f'{protocol}, {routers} routers, {path} on the way, {workers} workers',
             whole(protocol, routers, path, workers))
            for protocol in PROTOCOLS
            for routers, path, workers in (('1', '1', '1'), ('5', '3', '1'), ('6', '6', '3'))] + SAMPLED + [
                (f'routers in keys, {path} on the way', end_routers(path)) for path in ('1', '3')] + [
                    (f'slots that change hands, {workers} workers', slots_change_hands(workers))
                    for workers in ('1', '2')]

# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of sketchtap collect: exports of a SPEC, collected rows, and the truth."""

import os

import lib

PROTOCOLS = ('v5', 'v9', 'ipfix', 'sflow')
EXPORTER_COLUMNS = (
    'epoch,start,end,exporter,domain,protocol,name,datagrams,bytes,records,counted,duplicate,edge_only,'
    'waiting,unknown_template,unusable,malformed,refused,shed,lost_network,lost_socket,reordered,repeated,'
    'restarts,templates,sampling,sampling_source,lost_agent').split(',')
PATH_COLUMNS = (
    'epoch,start,end,src_ip,dst_ip,src_port,dst_port,proto,path,ingress,egress,observers,packets,bytes,'
    'changed,ordered').split(',')
NEIGHBOUR_COLUMNS = (
    'epoch,start,end,from,from_interface,to,to_interface,flows,packets,bytes,match,order,sure,distance').split(',')
LINK_COLUMNS = (
    'epoch,start,end,exporter,interface,name,direction,packets,bytes,bps,speed,utilization,source,'
    'difference,role,fed_by').split(',')
# Longer than any padding, shorter than any fragment.
TRAFFIC = 'flows=2K,zipf=1.0,size=100-1400,packets=40K,rate=2K,seed=7'
EVERYTHING = ('--sketch', 'flow-table', '--memory', '64MB', '--top', '1M', '--interval', '0')


def generate(test, name, *options, spec=TRAFFIC):
    path = test.path(name)
    if not os.path.exists(path):
        test.run('generate', '--synthetic', spec, '--output', path, *options).expect(0)
    return path


def truth_of(test, spec=TRAFFIC):
    """Returns {5-tuple: (packets, bytes)} of the traffic, from a flow table that keeps every
    flow."""
    rows, _, _ = test.measure('--synthetic', spec, *EVERYTHING)
    return {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in rows}


def read_exporters(path):
    """Returns rows of --exporters; each must balance."""
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
    """Checks that every flow is reported exactly."""
    got = {lib.row_key(row): (int(row['packets']), int(row['bytes'])) for row in rows}
    assert got == truth, (
        f'{len(got)} flows of {len(truth)}; such as ' +
        str([(key, got.get(key), truth.get(key)) for key in (got.keys() | truth.keys())
             if got.get(key) != truth.get(key)][:3]))
    lib.check_exact(rows, truth)

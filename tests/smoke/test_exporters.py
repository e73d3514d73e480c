# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect with exporters of other projects: the records of softflowd and pmacct equal the
capture."""

import os
import signal

import collected
import lib
import peers

MIX = 'mix'


def nothing_wrong(exporters, result, *, protocol, sent, records):
    """Checks that all datagrams of the only exporter were read and understood, and none is
    missing."""
    assert len(exporters) == 1, exporters
    row = exporters[0]
    assert row['protocol'] == {'v5': 'netflow5', 'v9': 'netflow9'}.get(protocol, protocol), row
    assert (int(row['datagrams']), int(row['records'])) == (sent, records), row
    for column in ('duplicate', 'edge_only', 'waiting', 'unknown_template', 'unusable', 'malformed', 'refused',
                   'shed', 'lost_network', 'lost_socket', 'reordered', 'repeated', 'restarts'):
        assert row[column] == '0', (column, row, result.describe())


def sums(flows):
    return tuple(sum(figures[i] for figures in flows.values()) for i in (0, 1))


def softflowd_recorded(test, form, *options):
    capture = lib.unpack(test, MIX)
    return peers.recorded(test, '-'.join(('softflowd', form, *options)), form,
                          lambda port: peers.softflowd(test, capture, form, port, *options))


def count_datagrams(path):
    return sum(1 for _ in peers.exports.datagrams(path))


def softflowd(form):
    def check(test):
        path = softflowd_recorded(test, form)
        rows, ledger, exporters, result = collected.collect(test, '--pcap', path, *peers.EVERYTHING)
        truth = peers.softflowd_truth(test, lib.unpack(test, MIX), form)
        assert sums(truth)[0] == lib.total(ledger, 'measured') > 30000, ledger
        collected.check_equal(rows, truth)
        theirs = peers.nfcapd(test, form, path)
        nothing_wrong(exporters, result, protocol=form, sent=count_datagrams(path), records=theirs['flows'])
        assert (theirs['packets'], theirs['bytes']) == sums(truth), (theirs, sums(truth))
    return check


def listen(test, *options):
    """Starts a collector on a port of this host; returns (process, port, paths of its outputs)."""
    port = peers.free_port()
    paths = [test.path(f'live.{kind}') for kind in ('output', 'stats', 'exporters')]
    process = test.start('collect', '--listen', f'127.0.0.1:{port}', '--output', paths[0], '--stats', paths[1],
                         '--exporters', paths[2], *peers.EVERYTHING, *options)
    test.until(lambda: process.running() and peers.socket_row(port) is not None and
               os.path.exists(paths[2]) and os.path.getsize(paths[2]), 'it listens')
    return process, port, paths


def end(test, process, port, paths):
    """Returns (rows, ledger, exporters, result, dropped by the kernel) after everything is read."""
    peers.until_read(test, port, 'sketchtap')
    dropped = peers.socket_row(port)[1]
    process.signal(signal.SIGINT)
    result = test.wait(process).expect(0)
    ledger = lib.read_stats(paths[1])
    lib.check_account(result, ledger)
    return lib.read_output(paths[0]), ledger, collected.read_exporters(paths[2]), result, dropped


def burst(form):
    def check(test):
        """The exporter sends everything at once: the socket buffer holds the unread part."""
        capture = lib.unpack(test, MIX)
        peers.needs(test, 'softflowd')
        process, port, paths = listen(test)
        sent = peers.softflowd(test, capture, form, port)
        rows, _, exporters, result, dropped = end(test, process, port, paths)
        assert dropped == 0, dropped
        truth = peers.softflowd_truth(test, capture, form)
        collected.check_equal(rows, truth)
        # softflowd splits some keys, because it distinguishes kinds of ICMP.
        nothing_wrong(exporters, result, protocol=form, sent=sent, records=lib.total(exporters, 'records'))
    return check


def small_buffer(form):
    def check(test):
        """Lost datagrams are in lost_socket, exactly; rows never exceed the truth."""
        capture = lib.unpack(test, MIX)
        peers.needs(test, 'softflowd')
        process, port, paths = listen(test, '--receive-buffer', '64KB')
        process.signal(signal.SIGSTOP)  # otherwise it might keep up
        sent = peers.softflowd(test, capture, form, port)
        process.signal(signal.SIGCONT)
        rows, ledger, exporters, result, dropped = end(test, process, port, paths)
        lost, received = (lib.total(exporters, column) for column in ('lost_socket', 'datagrams'))
        assert 0 < received < sent and received + lost == sent, (received, lost, sent)
        assert lost == dropped and lib.total(exporters, 'lost_network') == 0, (lost, dropped, exporters)
        truth = peers.softflowd_truth(test, capture, form)
        for row in rows:
            assert int(row['packets']) <= truth[lib.row_key(row)][0], row
            assert row['packets_high'] == row['confidence'] == '', row
        assert 'losses unknown' in result.stderr, result.describe()
        assert 0 < lib.total(ledger, 'measured') < sums(truth)[0], ledger
    return check


def cases(settings):
    forms = ('v5', 'v9', 'ipfix')
    found = [(f'softflowd {form}, recorded', softflowd(form)) for form in forms]
    found += [(f'softflowd {form}, a burst', burst(form)) for form in (forms if settings.full else ('ipfix',))]
    found += [(f'softflowd {form}, a burst into a small buffer', small_buffer(form))
              for form in (forms if settings.full else ('v9',))]
    return lib.some(settings, found)

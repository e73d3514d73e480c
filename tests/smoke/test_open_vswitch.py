# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap collect and Open vSwitch: switches in a row that all report the same packets.

The exports are recorded once and collected in several ways. The interface counters are the truth.
"""

import os
import signal
import time

import collected
import exports
import lib
import open_vswitch
import peers

LONG = ('1 in a row',)

TRAFFIC = 'flows=200,zipf=1.0,size=100-1400,packets=3K,rate=2K,seed=7'
RATE = 1500  # packets per second



def export_all(switches):
    """An active timeout of a second: flows are reported several times."""
    switches.export('netflow', 'netflow', 'targets="127.0.0.1:2055"', 'active-timeout=1', 'engine_id=NUMBER')
    switches.export('ipfix', 'ipfix', 'targets="127.0.0.1:4739"', 'sampling=1', 'obs_domain_id=1NUMBER',
                    'cache_active_timeout=1', 'cache_max_flows=1000')
    switches.export('sflow', 'sflow', 'agent=lo', 'targets="127.0.0.1:6343"', 'header=128', 'sampling=10',
                    'polling=1')


def record(test, count):
    """Returns (packets that left, exports, traffic); the latter two are captures."""
    switches = open_vswitch.Switches(test, count)
    traffic, everything = test.path('traffic.pcap'), test.path('everything.pcap')
    test.run('generate', '--synthetic', TRAFFIC, '--output', traffic).expect(0)
    recorder = test.start(everything, *map(str, sorted(set(exports.PORTS.values()))), inside=switches.namespace,
                          program=['python3', os.path.join(os.path.dirname(__file__), 'record.py')])
    said = os.path.join(recorder.directory, 'stdout')
    test.until(lambda: os.path.getsize(said) > 0 or not recorder.running(), 'the recorder listens')
    export_all(switches)
    test.wait(switches.namespace.send('near', traffic, RATE)).expect(0)
    sent = switches.namespace.sent('near')
    test.until(lambda: switches.passed() == sent, 'all came out')
    time.sleep(2.5)  # NetFlow flows are sent after their second
    for column in ('netflow', 'ipfix', 'sflow'):
        switches.silence(column)
    switches.end()
    recorder.signal(signal.SIGTERM)
    test.wait(recorder).expect(0)
    return sent, everything, traffic


def only(test, everything, form):
    """Returns the datagrams of one protocol."""
    return lib.write_pcap(test.path(f'{form}.pcap'), [
        (when // 1000, frame) for when, frame in exports.frames(everything)
        if int.from_bytes(frame[36:38], 'big') == exports.PORTS[form]])


def measured(test, path, method, *options):
    rows, ledger, exporters, _ = collected.collect(
        test, '--pcap', path, '--dedup', method, *peers.EVERYTHING, *options)
    for row in exporters:
        # statistics of the switches: equal for each
        if row['protocol'] == 'ipfix' and row['domain'] == '0':
            assert row['records'] == '0', row
            continue
        for column in ('malformed', 'unusable', 'waiting', 'unknown_template', 'lost_network', 'repeated', 'restarts'):
            assert row[column] == '0', (column, row)
    return rows, lib.total(ledger, 'measured')


def all_count(test, path, form, truth, count):
    """Checks that `best` equals the interface counters for each flow, and `none` the sum of all
    observers."""
    packets = sum(figures[0] for figures in truth.values())
    rows, total = measured(test, path, 'best')
    assert total == packets, (form, total, packets)
    collected.check_equal(rows, truth)
    # IPFIX reports each flow at ingress and at egress.
    copies = count * (2 if form == 'ipfix' else 1)
    _, total = measured(test, path, 'none')
    assert total == packets * copies, (form, total, packets * copies)


def samples_count(test, path, truth, count):
    """Checks that every interval holds the truth, and that `none` counts the samples of each
    switch."""
    rows, _ = measured(test, path, 'best', '--confidence', '0.99999')
    assert len(rows) > 20, rows
    for row in rows:
        true = truth[lib.row_key(row)][0]
        assert int(row['packets_low']) <= true <= int(row['packets_high']), (true, row)
    _, total = measured(test, path, 'none')
    packets = sum(figures[0] for figures in truth.values()) * count
    # Five standard deviations of the binomial, times the interval.
    assert abs(total - packets) < 5 * (9 * packets) ** 0.5, (total, packets)


def in_a_row(count):
    def check(test):
        sent, everything, traffic = record(test, count)
        truth = exports.traffic(traffic)
        assert sum(figures[0] for figures in truth.values()) == sent, sent
        # NetFlow of Open vSwitch counts bytes of frames.
        frames = {key: (packets, size + 14 * packets) for key, (packets, size) in truth.items()}
        for form, true in (('v5', frames), ('ipfix', truth)):
            all_count(test, only(test, everything, form), form, true, count)
        samples_count(test, only(test, everything, 'sflow'), truth, count)
        # All protocols at once: unsampled records count, regardless of samples.
        rows, _ = measured(test, everything, 'best')
        assert {lib.row_key(row): int(row['packets']) for row in rows} == {
            key: figures[0] for key, figures in truth.items()}
    return check


def cases(settings):
    return [(f'{count} in a row', in_a_row(count)) for count in ((1, 2, 3) if settings.full else (1, 3))]

# SPDX-License-Identifier: BSD-3-Clause
"""doctor: every line is complete, the exit status follows from them, and nothing is changed."""

import csv
import glob
import os
import shutil

import lib

COLUMNS = ['check', 'status', 'found', 'wanted', 'command']
PORT = ('--port', 'net_null0')


def findings(result):
    """Returns the CSV rows by check; fails on an incomplete row."""
    rows = list(csv.reader(result.stdout.splitlines()))
    assert rows[0] == COLUMNS, result.describe()
    assert result.stdout.endswith('\n'), result.describe()
    found = {}
    for row in rows[1:]:
        assert len(row) == len(COLUMNS), row
        row = dict(zip(COLUMNS, row))
        assert row['status'] in ('ok', 'warning', 'missing'), row
        assert row['found'], row
        assert row['status'] == 'ok' or row['command'] or row['wanted'], row
        found.setdefault(row['check'], []).append(row)
    return found


def examine(test, *options, **more):
    """Runs doctor with CSV; checks that the exit status matches the lines."""
    result = test.run('doctor', *options, '--format', 'csv', **more)
    found = findings(result)
    missing = any(row['status'] == 'missing' for rows in found.values() for row in rows)
    assert result.status == (1 if missing else 0), result.describe()
    assert result.stderr == '', result.describe()
    return found


def settings_of_host():
    """Returns the settings that doctor's commands would change."""
    patterns = ('/proc/sys/kernel/*', '/proc/sys/vm/*hugepages*', '/proc/irq/*/smp_affinity_list',
                '/sys/kernel/mm/transparent_hugepage/*', '/sys/kernel/mm/hugepages/*/nr_*',
                '/sys/devices/system/cpu/cpu*/online', '/sys/class/net/*/flags',
                '/sys/bus/pci/devices/*/driver_override', '/proc/cmdline', '/proc/swaps')
    moving = ('random', 'pty', 'ns_last_pid', 'sched_', 'tainted')
    state = {}
    for pattern in patterns:
        for path in glob.glob(pattern):
            if not os.path.isfile(path) or os.path.basename(path).startswith(moving):
                continue
            try:
                with open(path, 'rb') as stream:
                    state[path] = stream.read()
            except OSError:
                state[path] = None
    for path in glob.glob('/sys/bus/pci/devices/*'):
        driver = os.path.join(path, 'driver')
        state[driver] = os.readlink(driver) if os.path.islink(driver) else None
    return state


@lib.alone
def test_changes_nothing(test):
    before = settings_of_host()
    assert len(before) > 20, 'this host shows no settings'
    for options in ((), PORT, ('--port', 'net_af_packet0,iface=lo'), ('--pcap', 'x.pcap')):
        examine(test, *options)
    after = settings_of_host()
    # Paths that appeared or vanished belong to other tests, such as interfaces.
    changed = sorted(path for path in set(before) & set(after) if before[path] != after[path])
    assert not changed, f'changed: {changed}'


def test_lines_are_for_the_source(test):
    general, null, replay = examine(test), examine(test, *PORT), examine(test, '--pcap', 'x.pcap')
    assert 'port' in general and 'hugepages' in general, sorted(general)
    # Captures and kernel interfaces work here, so that requirements of NICs are not reported as
    # missing.
    assert general['hugepages'][0]['status'] != 'missing', general['hugepages']
    assert 'virtual-port' in null and 'pcie-link' not in null, sorted(null)
    # A replay needs no isolated CPUs and no hugepages.
    assert 'libpcap' in replay and 'libpcap' not in null, sorted(replay)
    assert not {'isolation', 'interrupts', 'hugepages', 'driver'} & set(replay), sorted(replay)
    kernel = examine(test, '--port', 'net_af_packet0,iface=lo')
    assert {'interface', 'merging', 'vlan-strip'} <= set(kernel), sorted(kernel)
    assert len(examine(test, '--port', 'net_null0', '--port', 'net_null1')['virtual-port']) == 2


def test_captures(test):
    """Files are judged as by the run; standard input is not read."""
    there = lib.write_pcap(test.path('there.pcap'), [(0, lib.udp_frame(1))])
    for names, status in (((there, '-'), 'ok'), ((there, 'missing.pcap'), 'missing'), ((test.path('.'),), 'missing')):
        found = examine(test, *(word for name in names for word in ('--pcap', name)))['captures'][0]
        assert found['status'] == status and (status == 'ok' or names[-1] in found['found']), found
    test.run('--pcap', 'missing.pcap').expect(1).expect_one_line('missing.pcap')
    assert 'captures' not in examine(test, '--synthetic', 'packets=5')


def test_collector(test):
    """The template file is judged as by the run."""
    kept = ('--templates', test.path('templates'))
    found = examine(test, '--listen', '127.0.0.1:2055', *kept)
    assert found['templates'][0]['status'] == found['listen-port'][0]['status'] == 'ok', found
    assert not os.path.exists(kept[1])
    os.mkdir(kept[1])
    found = examine(test, '--listen', '127.0.0.1:2055', *kept)
    assert found['templates'][0]['status'] == 'missing', found['templates']
    test.run('collect', '--listen', '127.0.0.1:2055', *kept).expect(1).expect_one_line(*kept)
    assert 'templates' not in examine(test, '--listen', '127.0.0.1:2055')


def test_programs(test):
    """A program that sets sampling is searched as by the run."""
    listen = ('--listen', '127.0.0.1:2055', '--sampling-budget', '10')
    path = test.path('program')
    for name, reason in (('no-such-program', 'No such file'), (path, 'Permission denied'), ('/', 'Permission denied')):
        with open(path, 'w', encoding='ascii'):
            pass
        command = (*listen, '--sampling-command', name)
        found = examine(test, *command)['programs'][0]
        assert found['status'] == 'missing' and found['found'].startswith(f'{name}: ') and reason in found['found'], found
        test.run('collect', *command).expect(1).expect_one_line(name, reason)
    os.chmod(path, 0o700)
    for name in (path, 'true'):
        assert 'programs' not in examine(test, *listen, '--sampling-command', name)


def test_queue_fill(test):
    """A warning of the run's start is already shown by doctor: a port that does not report its
    queue fill."""
    assert 'queue-fill' not in examine(test, *PORT)
    found = examine(test, *PORT, '--keep-up', 'valve')['queue-fill'][0]
    run = test.run(*PORT, '--eal', '--no-pci', '--workers', '1', '--duration', '50ms', '--keep-up', 'valve', '--output',
                   os.devnull).expect(0)
    said = 'does not report how full a queue is'
    assert found['status'] == 'warning' and said in found['found'] and said in run.stderr, (found, run.stderr)
    # With async, load shedding reads the fill of the rings; a replay has no NIC queues.
    assert 'queue-fill' not in examine(test, *PORT, '--keep-up', 'valve', '--design', 'async')
    assert 'queue-fill' not in examine(test, '--pcap', 'x.pcap', '--keep-up', 'valve')


def test_missing_things_fail(test):
    found = examine(test, '--port', '0000:ff:1f.7')
    assert found['device'][0]['status'] == 'missing', found['device']
    found = examine(test, '--port', 'nosuchport0')
    assert found['virtual-port'][0]['status'] == 'missing', found['virtual-port']
    # An impossible plan is reported as by `plan`.
    test.run('doctor', *PORT, '--width', '4G', '--depth', '2', '--workers', '4').expect(
        1).expect_one_line('memory')


def test_table(test):
    result = test.run('doctor', *PORT)
    assert result.status in (0, 1), result.describe()
    lines = result.stdout.splitlines()
    for title in ('Run', 'Memory', 'CPUs', 'Clocks', 'Ports'):
        assert title in lines, result.describe()
    named = [line for line in lines if line.startswith(('  ok ', '  warning ', '  missing '))]
    assert len(named) >= 20, result.describe()
    # Only commands may exceed the screen width: they are meant to be copied.
    assert all(len(line) <= 100 for line in lines if 'do:' not in line), result.describe()
    counts = [sum(line.startswith(f'  {word} ') for line in named)
              for word in ('ok', 'warning', 'missing')]
    summary = '{} ok, {} warnings, {} missing'.format(*counts)
    assert any(line.startswith(summary) for line in lines), f'{summary}\n{result.stdout}'


def test_options_of_run_are_taken(test):
    """doctor accepts a configuration file of run, and reports the same mistakes."""
    config = test.path('run.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('port = net_null0\noutput = /nonexistent/x.csv\n[measurement a]\nkey = src\n')
    examine(test, '--config', config)
    test.run('doctor', '--workers', '0').expect(2).expect_one_line('--workers')
    test.run('doctor', '--port', '').expect(2)
    test.run('doctor', 'net_null0').expect(2).expect_one_line('net_null0')


def test_closed_output(test):
    with open('/dev/full', 'wb') as full:
        process = test.start('doctor', *PORT, stdout=full)
        test.wait(process).expect(1).expect_one_line('standard output')


def test_sys_of_another_namespace(test):
    """Plain `unshare --net` leaves the old namespace's /sys mounted: doctor does not trust it."""
    if os.geteuid() != 0 or shutil.which('unshare') is None or shutil.which('ip') is None:
        test.skip('needs root, unshare and ip')
    script = 'ip link add tap0 type veth peer name wire0 && exec "$0" doctor --port tap0 --format csv'
    result = test.wait(test.start(program=['unshare', '--net', 'sh', '-c', script, test.binary]))
    row = findings(result)['interface'][0]
    assert row['status'] == 'warning', row
    assert 'another network namespace' in row['found'], row


def test_as_another_user(test):
    """Checks that need more privileges are reported as such."""
    if os.geteuid() != 0 or shutil.which('setpriv') is None:
        test.skip('needs root and setpriv, to become another user')
    binary = test.path('sketchtap')
    shutil.copy(test.binary, binary)
    os.chmod(test.directory, 0o755)
    program = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--no-new-privs',
               '--inh-caps=-all', binary]
    process = test.start('doctor', '--port', 'net_af_packet0,iface=lo', '--format', 'csv',
                         program=program)
    result = test.wait(process).expect(1)
    found = findings(result)
    assert found['privileges'][0]['status'] == 'missing', found['privileges']
    assert 'cap_net_raw' in found['privileges'][0]['found'], found['privileges']
    for row in sum(found.values(), []):
        assert row['status'] != 'ok' or 'not to be seen' not in row['found'], row

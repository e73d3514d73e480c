# SPDX-License-Identifier: BSD-3-Clause
"""Plans for copied and invented machines."""

import os
import re
import subprocess

PLAN_MD = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/PLAN.md')


def cpus_of(text):
    """Returns the CPUs of a list such as 0-3,8."""
    for part in text.split(','):
        first, _, last = part.partition('-')
        yield from range(int(first), int(last or first) + 1)


def write_machine(test, nodes, ports, isolated='', memory_gb=256, name='machine'):
    """Writes the files of a machine. nodes: lists of CPUs, or of first and second threads of its
    cores."""
    def write(path, text):
        path = os.path.join(test.path(name), path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='ascii') as out:
            out.write(f'{text}\n')

    every = ','.join(','.join(threads) for threads in nodes)
    write('proc/meminfo', f'MemAvailable: {memory_gb << 20} kB')
    write('sys/devices/system/cpu/online', every)
    write('sys/devices/system/cpu/isolated', isolated)
    write('sys/devices/system/node/online', f'0-{len(nodes) - 1}')
    for node, threads in enumerate(nodes):
        folder = f'sys/devices/system/node/node{node}'
        write(f'{folder}/cpulist', ','.join(threads))
        write(f'{folder}/distance', ' '.join('10' if to == node else '21'
                                             for to in range(len(nodes))))
        write(f'{folder}/meminfo', f'Node {node} MemFree: {(memory_gb << 20) // len(nodes)} kB')
        for thread in threads:
            for core, cpu in enumerate(cpus_of(thread)):
                write(f'sys/devices/system/cpu/cpu{cpu}/topology/core_id', core)
                write(f'sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id', node)
    for port, node in ports.items():
        folder = f'sys/bus/pci/devices/{port}' if ':' in port else f'sys/class/net/{port}/device'
        write(f'{folder}/numa_node', node)
    return test.path(name)


def two_cards(test):
    """Two packages of 28 cores with two threads, and a NIC in each."""
    return write_machine(test, [('0-27', '56-83'), ('28-55', '84-111')],
                         {'0000:3b:00.0': 0, '0000:af:00.0': 1},
                         isolated='2-27,30-55,58-83,86-111')


def lcores(text):
    """Returns (role, CPU, node) of every lcore."""
    return [(role, int(cpu), int(node)) for cpu, node, role in
            re.findall(r'^\d+ +(\d+) +(\d+) +(reporter|feeder|receiver|worker) ', text, re.M)]


def rows_of(path):
    """Returns the number of lines after the header; the file may not exist yet."""
    if not os.path.exists(path):
        return 0
    with open(path, encoding='ascii') as lines:
        return sum(1 for _ in lines) - 1


def test_capacity_of_a_server(test):
    """The example of docs/PLAN.md."""
    result = test.run('plan', '--topology', two_cards(test), '--port', '0000:3b:00.0',
                      '--port', '0000:af:00.0').expect(0)
    placed = lcores(result.stdout)
    assert len(placed) == 1 + 2 * 26, result.describe()
    assert placed[0] == ('reporter', 0, 0), placed[0]
    for node, cpus in ((0, range(2, 28)), (1, range(30, 56))):
        workers = [cpu for role, cpu, at in placed if role == 'worker' and at == node]
        assert workers == list(cpus), workers
    assert 'warning' not in result.stdout, result.describe()


def test_receiver_for_each_node(test):
    result = test.run('plan', '--topology', two_cards(test), '--design', 'async', '--workers', '6',
                      '--port', '0000:3b:00.0', '--port', '0000:af:00.0').expect(0)
    placed = lcores(result.stdout)
    for node in (0, 1):
        roles = [role for role, _, at in placed if at == node and role != 'reporter']
        assert roles.count('receiver') == 1 and roles.count('worker') == 3, result.describe()


def test_one_worker_is_no_range(test):
    """Three workers on two small nodes are placed like the default."""
    machine = write_machine(test, [('0-1',), ('2-3',)], {'a': 0, 'b': 1})
    ports = ('--port', 'a', '--port', 'b')
    result = test.run('plan', '--topology', machine, *ports, '--workers', '3').expect(0)
    for words in ('port 0: a, NUMA node 0, 1 queue of 1024 descriptors, worker 0\n',
                  'port 1: b, NUMA node 1, 2 queues of 1024 descriptors, workers 1 to 2\n'):
        assert words in result.stdout, result.describe()
    assert 'packets cross between nodes' not in result.stdout, result.describe()
    chosen = test.run('plan', '--topology', machine, *ports).expect(0)
    assert lcores(chosen.stdout) == lcores(result.stdout), chosen.describe()


def test_what_cannot_work(test):
    machine = two_cards(test)
    ports = ('--port', '0000:3b:00.0', '--port', '0000:af:00.0')
    for status, arguments, words in (
            (1, ('--topology', machine, *ports, '--workers', '1'), '--workers 2'),
            (1, ('--topology', machine, *ports, '--lcores', '0-200'), 'does not have CPU 112'),
            (1, ('--topology', test.path('none'), *ports), 'no file sys/devices/system/cpu/online'),
            (1, ('--topology', machine, *ports, '--workers', '8', '--memory', '64GB'), 'are available')):
        test.run('plan', *arguments).expect(status).expect_one_line(words)
    test.run('--topology', machine, *ports).expect(2).expect_one_line('--topology')


def test_nothing_is_known_of_a_port(test):
    """A node missing from the copy, no node, and a missing port: a plan is still made."""
    machine = write_machine(test, [('0-3',)], {'far': 7, 'farther': 5000, 'none': -1, 'words': 'x'})
    for port in ('far', 'farther', 'none', 'words', 'other', '0000:01:00.0,mprq_en=1'):
        result = test.run('plan', '--topology', machine, '--port', port).expect(0)
        assert 'NUMA node unknown' in result.stdout, result.describe()
        assert len(lcores(result.stdout)) == 4, result.describe()


def test_copy_of_this_machine(test):
    """The command of docs/PLAN.md run here: the copy gives the plan of the machine."""
    with open(PLAN_MD, encoding='utf-8') as page:
        command = re.search(r'```\n(mkdir .*?)^tar ', page.read(), re.M | re.S).group(1)
    copy = test.path('copy')
    subprocess.run(['bash', '-c', command.replace('/tmp/machine', copy)], check=False,
                   capture_output=True, timeout=300)
    options = ('--port', 'net_null0', '--workers', '1')
    here = test.run('plan', *options).expect(0)
    there = test.run('plan', '--topology', copy, *options).expect(0)
    assert lcores(there.stdout) == lcores(here.stdout), there.describe() + here.describe()


def test_rings_of_a_driver(test):
    """Some drivers have a fixed ring size."""
    for port, entries in (('net_tap0', 32), ('net_af_xdp0,iface=lo', 2048), ('net_null0', 64)):
        plan = test.run('plan', '--port', port, '--workers', '1', '--descriptors', '64').expect(0)
        assert f'1 queue of {entries} descriptors\n' in plan.stdout, plan.describe()


def test_captures_of_exports(test):
    """An option of collectors plans collect --pcap: the lcores of sockets, and a feeder."""
    def roles(*options):
        plan = test.run('plan', *options, '--workers', '2').expect(0).stdout
        return plan.split(',')[0], re.findall(r'^\d+ +\S+ +\S+ +(\w+) ', plan, re.M)

    sockets = roles('--listen', '127.0.0.1:2055')
    assert sockets == ('design collect', ['reporter', 'receiver', 'worker', 'worker']), sockets
    for options in (('--exporters', 'exporters.csv'), ('--export', 'links=links.csv'), ('--dedup', 'none')):
        captures = roles('--pcap', 'exports.pcap', *options)
        assert captures == (sockets[0], ['reporter', 'feeder', *sockets[1][1:]]), (options, captures)
    assert roles('--pcap', 'exports.pcap')[0] == 'design rss'


def test_datagrams_of_collectors(test):
    """The datagrams that a master holds are a line of its plan, and count against free memory."""
    machine = write_machine(test, [('0-3',)], {}, memory_gb=4)

    def plan(collectors, *options, status=0):
        return test.run('plan', '--topology', machine, '--collectors', f'127.0.0.1:9000,{collectors}',
                        *options).expect(status)

    def total(collectors, line, *options):
        text = plan(collectors, *options).stdout
        assert f'\n{line}\n' in text, text
        return float(re.search(r'^total memory: ([\d.]+) MB$', text, re.M).group(1))

    held = [total(1, 'datagrams of 1 collector: 256.1 MB'), total(3, 'datagrams of 3 collectors: 768.4 MB')]
    assert abs(held[1] - held[0] - 2 * 256.125) < 0.2, held
    less = total(3, 'datagrams of 3 collectors: 96.4 MB', '--set', 'collectors-memory=32MB')
    assert abs(held[1] - less - 3 * 224) < 0.2, (held, less)
    plan(16, status=1).expect_one_line('datagrams of collectors', 'lower --flow-cache-size or collectors-memory')
    plan(16, '--set', 'collectors-memory=32MB')
    listens = test.run('plan', '--topology', machine, '--listen', '127.0.0.1:2055').expect(0).stdout
    assert 'collector:' not in listens and 'collectors:' not in listens, listens


def test_threads_keep_off_polling_cpus(test):
    """The reporter, the writer and DPDK's own threads do not run on a worker's CPU."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        test.skip('one CPU: all share it')
    output, stats = test.path('output.csv'), test.path('stats.csv')
    process = test.start('--port', 'net_null0', '--workers', '1', '--interval', '100ms',
                         '--output', output, '--stats', stats)
    test.until(lambda: rows_of(stats) > 0, 'an epoch')
    plan = test.run('plan', '--port', 'net_null0', '--workers', '1').expect(0)
    busy = {cpu for role, cpu, _ in lcores(plan.stdout) if role == 'worker'}
    tasks = f'/proc/{process.popen.pid}/task'
    pinned = 0
    for task in os.listdir(tasks):
        cpus = os.sched_getaffinity(int(task))
        if cpus == busy:
            pinned += 1
        else:
            assert not cpus & busy, (task, cpus, busy)
    assert pinned == 1, pinned
    process.signal(2)
    test.wait(process).expect(0)

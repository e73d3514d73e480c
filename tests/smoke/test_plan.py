# SPDX-License-Identifier: BSD-3-Clause
"""Plans for machines that are described, and their drawings."""

import os
import re
import shutil
import subprocess

TWO_CARDS = '''# two packages of 28 cores with two threads, a card in each
node 0 cpus=0-27  siblings=56-83  memory=128GB hugepages=8GB
node 1 cpus=28-55 siblings=84-111 memory=128GB hugepages=8GB
distance 0 1 21
isolated 2-27,30-55,58-83,86-111
port 0000:3b:00.0 node=0
port 0000:af:00.0 node=1
'''


def describe(test, text=TWO_CARDS, name='machine'):
    path = test.path(name)
    with open(path, 'w', encoding='ascii') as out:
        out.write(text)
    return path


def lcores(text):
    """(role, CPU, node) of every lcore."""
    return [(role, int(cpu), int(node)) for cpu, node, role in
            re.findall(r'^\d+ +(\d+) +(\d+) +(reporter|feeder|receiver|worker) ', text, re.M)]


def rows_of(path):
    """Lines behind the header; the file may not be there yet."""
    if not os.path.exists(path):
        return 0
    with open(path, encoding='ascii') as lines:
        return sum(1 for _ in lines) - 1


def test_capacity_of_a_server(test):
    """As docs/PLAN.md says."""
    result = test.run('plan', '--topology', describe(test), '--port', '0000:3b:00.0',
                      '--port', '0000:af:00.0').expect(0)
    placed = lcores(result.stdout)
    assert len(placed) == 1 + 2 * 26, result.describe()
    assert placed[0] == ('reporter', 0, 0), placed[0]
    for node, cpus in ((0, range(2, 28)), (1, range(30, 56))):
        workers = [cpu for role, cpu, at in placed if role == 'worker' and at == node]
        assert workers == list(cpus), workers
    assert 'warning' not in result.stdout, result.describe()


def test_receiver_for_each_node(test):
    result = test.run('plan', '--topology', describe(test), '--design', 'async', '--workers', '6',
                      '--port', '0000:3b:00.0', '--port', '0000:af:00.0').expect(0)
    placed = lcores(result.stdout)
    for node in (0, 1):
        roles = [role for role, _, at in placed if at == node and role != 'reporter']
        assert roles.count('receiver') == 1 and roles.count('worker') == 3, result.describe()


def test_one_worker_is_no_range(test):
    """Three workers on two small nodes: they lie where the cores are, as without the option."""
    machine = describe(test, 'node 0 cpus=0-1\nnode 1 cpus=2-3\nport a node=0\nport b node=1\n')
    ports = ('--port', 'a', '--port', 'b')
    result = test.run('plan', '--topology', machine, *ports, '--workers', '3').expect(0)
    for words in ('port 0: a, NUMA node 0, 1 queue of 1024 descriptors, worker 0\n',
                  'port 1: b, NUMA node 1, 2 queues of 1024 descriptors, workers 1 to 2\n'):
        assert words in result.stdout, result.describe()
    assert 'packets cross between nodes' not in result.stdout, result.describe()
    chosen = test.run('plan', '--topology', machine, *ports).expect(0)
    assert lcores(chosen.stdout) == lcores(result.stdout), chosen.describe()


def test_what_cannot_work(test):
    machine = describe(test)
    ports = ('--port', '0000:3b:00.0', '--port', '0000:af:00.0')
    for status, arguments, words in (
            (1, ('--topology', machine, *ports, '--workers', '1'), '--workers 2'),
            (1, ('--topology', machine, *ports, '--lcores', '0-200'), 'no CPU 112'),
            (1, ('--topology', test.path('none'), *ports), 'No such file'),
            (1, ('--topology', machine, *ports, '--workers', '8', '--memory', '64GB'), 'are there'),
            (2, ('--topology', describe(test, 'node 0 cpus=0-3\nnode 1 cpus=3\n', 'wrong'), *ports),
             ':2: CPU 3 is given twice')):
        test.run('plan', *arguments).expect(status).expect_one_line(words)
    test.run('--topology', machine, *ports).expect(2).expect_one_line('--topology')


def test_drawing(test):
    for design in ('rss', 'async', 'sync'):
        result = test.run('plan', '--dot', '--topology', describe(test), '--design', design,
                          '--port', '0000:3b:00.0', '--port', '0000:af:00.0',
                          '--workers', '6').expect(0)
        assert result.stdout.startswith('digraph plan {'), result.describe()
        assert result.stdout.count('{') == result.stdout.count('}'), result.describe()
        for node in (0, 1):
            assert f'subgraph cluster_node{node} ' in result.stdout, result.describe()
        drawn = set(re.findall(r'^\s*(\w+) \[shape', result.stdout, re.M))
        used = set(re.findall(r'(\w+) ->|-> (\w+)', result.stdout))
        assert {name for pair in used for name in pair if name} <= drawn, result.describe()


def test_dot_draws_it(test):
    if shutil.which('dot') is None:
        test.skip('dot is not installed')
    result = test.run('plan', '--dot', '--topology', describe(test), '--port', '0000:3b:00.0',
                      '--port', '0000:af:00.0', '--workers', '6').expect(0)
    svg = subprocess.run(['dot', '-Tsvg'], input=result.stdout, capture_output=True, text=True,
                         timeout=60, check=True).stdout
    assert '</svg>' in svg, svg


def test_this_machine_is_drawn(test):
    result = test.run('plan', '--dot', '--synthetic', 'flows=1K', '--workers', '2').expect(0)
    assert 'worker 1' in result.stdout and 'feeder' in result.stdout, result.describe()


def test_threads_keep_off_polling_cpus(test):
    """The reporter, the writer and DPDK's own threads do not run where a worker polls."""
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
    test.wait(process, 30).expect(0)

# SPDX-License-Identifier: BSD-3-Clause
"""A run leaves nothing behind: no EAL file, no hugepage, no process. Several run at once."""

import glob
import os
import re

import lib

SOURCE = ('--synthetic', 'flows=1K,packets=100K,seed=1')


def state():
    """Returns the files in EAL's usual directories, and the hugepages in use."""
    folders = ['/var/run/dpdk', '/tmp/dpdk']
    if os.environ.get('XDG_RUNTIME_DIR'):
        folders.append(os.path.join(os.environ['XDG_RUNTIME_DIR'], 'dpdk'))
    files = {os.path.join(folder, name) for top in folders
             for folder, folders_in, names in os.walk(top) for name in names + folders_in}
    pages = []
    for path in sorted(glob.glob('/sys/kernel/mm/hugepages/*/*')):
        if path.endswith(('free_hugepages', 'nr_hugepages')):
            with open(path, encoding='ascii') as stream:
                pages.append((path, stream.read()))
    mounts = set()
    with open('/proc/mounts', encoding='utf-8') as stream:
        for line in stream:
            _, folder, kind = line.split()[:3]
            if kind == 'hugetlbfs':
                mounts |= set(glob.glob(os.path.join(folder, '*')))
    return files, pages, mounts


def without_strangers(found, process):
    """Removes the directories of other runs of sketchtap, which may come and go during the test."""
    files, pages, mounts = found
    own = str(process.popen.pid)
    return {path for path in files
            if re.findall(r'/sketchtap-(\d+)', path) in ([], [own])}, pages, mounts


@lib.alone
def test_nothing_is_left(test):
    before = state()
    for options, status in (((*SOURCE,), 0), (('--pcap', '/nonexistent'), 1),
                            ((*SOURCE, '--workers', '4'), 0), (('plan', *SOURCE), 0),
                            (('--port', 'net_nonexistent0', '--eal', '--no-pci'), 1)):
        process = test.start(*options, program=['env', '-u', 'RUNTIME_DIRECTORY', test.binary])
        test.wait(process).expect(status)
        after = without_strangers(state(), process)
        before = without_strangers(before, process)
        assert after == before, (
            f'{" ".join(options)}: {sorted(after[0] ^ before[0])} {sorted(after[2] ^ before[2])} '
            f'{set(after[1]) ^ set(before[1])}')
        group = [pid for pid in os.listdir('/proc') if pid.isdigit() and in_session(pid, process)]
        assert not group, f'processes {group} are left'


def in_session(pid, process):
    try:
        return os.getsid(int(pid)) == process.popen.pid
    except (ProcessLookupError, PermissionError):
        return False


@lib.alone
def test_several_at_once(test):
    """Each run has its own file prefix."""
    processes = [test.start(*SOURCE, '--seed', '1') for _ in range(4)]
    results = [test.wait(process).expect(0) for process in processes]
    assert len({result.stdout for result in results}) == 1, 'the same run, different rows'

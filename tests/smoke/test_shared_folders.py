# SPDX-License-Identifier: BSD-3-Clause
"""Folders that others may write: files planted by another user in place of an output are neither
followed nor changed."""

import csv
import os
import socket
import stat
import subprocess
import sys

import collected
import lib

OTHER = 65534
AS_OTHER = ('setpriv', f'--reuid={OTHER}', f'--regid={OTHER}', '--clear-groups')
TRAFFIC = ('--synthetic', 'flows=10,packets=1000,seed=1', '--interval', '0')
SECRET = 'root:$6$secret\n' * 20


def require_root(test):
    if os.getuid() != 0:
        test.skip('another user is needed: run as root')
    os.chmod(test.directory, 0o755)
    if subprocess.run([*AS_OTHER, 'true'], check=False, capture_output=True).returncode != 0:
        test.skip('setpriv cannot become another user')


def plant(code, *words):
    """Runs Python code as another user."""
    subprocess.run([*AS_OTHER, sys.executable, '-c', f'import os, sys; {code}', *words], check=True)


def make_folder(test, name, mode, owner=0):
    path = test.path(name)
    os.mkdir(path)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    return path


def write(path, text=SECRET, mode=0o600):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


PLANTS = {
    'link': 'os.symlink(sys.argv[2], sys.argv[1])',
    'dangling': 'os.symlink(sys.argv[2] + ".none", sys.argv[1])',
    'file': 'open(sys.argv[1], "w").write("theirs")',
    'fifo': 'os.mkfifo(sys.argv[1], 0o666)',
}


def put_in_the_way(kind, path, victim):
    """Plants an obstacle as another user; returns its state, which must not change. Hard links are
    made as if fs.protected_hardlinks were 0."""
    if kind == 'hard link':
        os.link(victim, path)
    else:
        plant(PLANTS[kind], path, victim)
    return describe(path)


def describe(path):
    found = os.lstat(path)
    return found.st_ino, found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns


def writers(test):
    """Yields (name, program, words before the path, words after it) of every command that may
    replace its own file."""
    capture, rows = collected.generate(test, 'in.pcap', '--as', 'ipfix', spec='flows=10,packets=1K,rate=1K'), test.path('rows.csv')
    test.run(*TRAFFIC, '--output', rows).expect(0)
    for option in '--output', '--stats':
        for mode in '--force', '--append':
            yield f'{option} {mode}', test.binary, (*TRAFFIC, option), (mode,)
    yield '--flows', test.binary, (*TRAFFIC, '--sketch', 'flow-table', '--output', '/dev/null', '--flows'), ('--force',)
    yield 'generate', test.binary, ('generate', *TRAFFIC[:2], '--output'), ('--force',)
    yield 'histogram', test.binary, ('generate', *TRAFFIC[:2], '--port', 'net_ring0', '--return', 'net_ring0', '--output'), (
        '--force',)
    yield '--exporters', test.binary, ('collect', '--pcap', capture, '--interval', '0', '--output', '/dev/null',
                                       '--exporters'), ('--force',)
    yield '--templates', test.binary, ('collect', '--pcap', capture, '--interval', '0', '--output', '/dev/null',
                                       '--templates'), ()
    yield 'plot', test.binary, ('plot', rows), ()
    if test.bench_binary and os.path.exists(test.bench_binary):
        yield 'bench', test.bench_binary, ('worker', '--output'), ('--force',)


def test_every_writer(test):
    """In a folder like /tmp: exit status 1, one line, nothing changed. A free name is created, and
    belongs to this user."""
    require_root(test)
    folder, victim = make_folder(test, 'shared', 0o1777), write(test.path('victim'))
    untouched = describe(victim)
    kinds = (*PLANTS, 'hard link')
    for number, (name, program, before, after) in enumerate(writers(test)):
        path = os.path.join(folder, 'name.svg')
        # else two kinds per writer, so that each kind has several writers
        every = number == 0 or test.settings.full
        for kind in kinds if every else (kinds[number % 5], kinds[(number + 2) % 5]):
            if name == '--templates' and kind == 'hard link':
                continue  # replaces the name, not the file
            there = put_in_the_way(kind, path, victim)
            now = describe(victim)
            result = test.run(*before, path, *after, program=[program])
            assert result.status == 1, (name, kind, result.describe())
            result.expect_one_line(path)
            assert describe(path) == there, (name, kind)
            assert describe(victim) == now and read(victim) == SECRET, (name, kind)
            assert os.listdir(folder) == ['name.svg'], (name, kind, os.listdir(folder))
            os.unlink(path)
        assert not os.path.exists(victim + '.none'), name
        if name == 'bench':
            continue  # this would run a benchmark
        test.run(*before, path, *after, program=[program]).expect(0)
        made = os.lstat(path)
        assert stat.S_ISREG(made.st_mode) and made.st_uid == 0, name
        os.unlink(path)
    assert describe(victim) == untouched


def test_folders_on_the_way(test):
    """A link of another user in the middle of a path."""
    require_root(test)
    shared, private = make_folder(test, 'shared', 0o1777), make_folder(test, 'private', 0o700)
    plant('os.symlink(sys.argv[2], sys.argv[1])', os.path.join(shared, 'logs'), private)
    path = os.path.join(shared, 'logs', 'name.csv')
    for words in (*TRAFFIC, '--output', path), ('generate', *TRAFFIC[:2], '--output', path):
        test.run(*words).expect(1).expect_one_line(path, 'link')
    config = write(test.path('spool.conf'),
                   f'[export heavy]\nwhat = heavy-hitters\nurl = tcp://127.0.0.1:9\nspool = {shared}/logs/rows,10MB\n')
    test.run(*TRAFFIC, '--config', config).expect(1).expect_one_line('spool', 'link')
    assert os.listdir(private) == []


def test_folder_of_a_user(test):
    """root writes, appends, overwrites and rotates in a user's folder. It follows the user's links
    only to files of the same user."""
    require_root(test)
    home, victim = make_folder(test, 'home', 0o755, OTHER), write(test.path('victim'))
    path = os.path.join(home, 'name.csv')
    for mode, ends in ((), 1), (('--append',), 2), (('--force',), 1):
        test.run(*TRAFFIC, '--output', path, *mode).expect(0)
        assert len({row['epoch'] for row in lib.read_output(path)}) == ends
    os.chown(path, OTHER, OTHER)
    test.run(*TRAFFIC, '--output', path, '--append').expect(0)
    test.run('--synthetic', 'flows=10,packets=1000,rate=1000,seed=1', '--interval', '100ms', '--output', path, '--append',
             '--rotate', '1KB').expect(0)
    assert len(os.listdir(home)) > 2, os.listdir(home)
    link = os.path.join(home, 'link.csv')
    plant('open(sys.argv[1] + ".own", "w"); os.symlink("link.csv.own", sys.argv[1])', link)
    test.run(*TRAFFIC, '--output', link, '--force').expect(0)
    os.unlink(link)
    plant('os.symlink(sys.argv[2], sys.argv[1])', link, victim)
    test.run(*TRAFFIC, '--output', link, '--force').expect(1).expect_one_line(link, 'a symbolic link of another user')
    assert read(victim) == SECRET


def test_numbers_of_others(test):
    """A complete file planted by another user, or a FIFO of its name, does not change the numbering
    of this run."""
    require_root(test)
    folder = make_folder(test, 'shared', 0o1777)
    path = os.path.join(folder, 'rows.csv')
    test.run(*TRAFFIC, '--output', path).expect(0)
    header, row = read(path).splitlines()[:2]
    row = row.replace('0', '7000', 1)
    os.unlink(path)
    plant('open(sys.argv[1], "w").write(sys.argv[2])', os.path.join(folder, 'rows-99990101T000000Z.csv'), f'{header}\n{row}\n')
    plant('os.mkfifo(sys.argv[1])', os.path.join(folder, 'rows-99990102T000000Z.csv'))
    test.run(*TRAFFIC, '--output', path, '--append', '--rotate', '1h').expect(0)
    assert {row['epoch'] for row in lib.read_output(path)} == {'0'}


def spool_config(test, spool):
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
    return write(test.path('spool.conf'), f'[export heavy]\nwhat = heavy-hitters\nurl = tcp://127.0.0.1:{port}\n'
                 f'spool = {spool},10MB\n', 0o644)


def test_spools(test):
    """A spool folder belongs to the current user, and others cannot write to it. In any other
    folder nothing is created, emptied or removed, and no output is begun."""
    require_root(test)
    victim, output = write(test.path('victim')), test.path('rows.csv')
    for number, (mode, owner) in enumerate(((0o700, OTHER), (0o755, OTHER), (0o1777, OTHER), (0o770, 0), (0o777, 0), (0o1777, 0))):
        spool = make_folder(test, f'spool{number}', mode, owner)
        for name in 'url', 'lock':
            os.symlink(victim, os.path.join(spool, name))
        write(os.path.join(spool, '0000000000000003.part'))
        result = test.run(*TRAFFIC, '--config', spool_config(test, spool), '--output', output)
        result.expect(1).expect_one_line(spool, 'another user' if owner else 'other users')
        assert sorted(os.listdir(spool)) == ['0000000000000003.part', 'lock', 'url']
        assert read(victim) == SECRET and not os.path.exists(output), spool
    own = make_folder(test, 'own', 0o755)
    for name in 'url', 'lock':
        for make in os.symlink, os.link:
            path = os.path.join(own, name)
            if os.path.lexists(path):
                os.unlink(path)
            make(victim, path)
            test.run(*TRAFFIC, '--config', spool_config(test, own), '--output', output).expect(1).expect_one_line(own, name)
            assert read(victim) == SECRET and not os.path.exists(output), name
            os.unlink(path)
    test.run(*TRAFFIC, '--config', spool_config(test, own), '--output', output).expect(0)


def test_folder_of_a_group(test):
    """A folder of root that a group may write is accepted for a user of that group."""
    require_root(test)
    if subprocess.run([*AS_OTHER, 'test', '-x', test.binary], check=False).returncode != 0:
        test.skip('another user cannot reach the binary')
    folder, capture = make_folder(test, 'state', 0o770), collected.generate(test, 'in.pcap', '--as', 'ipfix', spec='flows=10,packets=1K,rate=1K')
    os.chown(folder, 0, OTHER)
    run = make_folder(test, 'run', 0o700, OTHER)
    program = [*AS_OTHER, 'env', f'RUNTIME_DIRECTORY={run}', test.binary]
    for spool in os.path.join(folder, 'spool'), folder:
        test.run(*TRAFFIC, '--config', spool_config(test, spool), '--output', os.path.join(folder, 'rows.csv'), '--force',
                 program=program).expect(0)
    test.run('collect', '--pcap', capture, '--interval', '0', '--output', '/dev/null', '--templates',
             os.path.join(folder, 'templates'), program=program).expect(0)
    assert os.stat(os.path.join(folder, 'spool')).st_mode & 0o777 == 0o700
    assert os.stat(os.path.join(folder, 'templates')).st_uid == OTHER


def test_socket_of_another(test):
    """No rows go to a socket that another user planted in a shared folder; a socket in that user's
    own folder is accepted."""
    require_root(test)
    for name, mode, owner, connects in ('shared', 0o1777, 0, False), ('home', 0o755, OTHER, True):
        path = os.path.join(make_folder(test, name, mode, owner), 'rows.sock')
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            os.chown(path, OTHER, OTHER)
            server.listen()
            server.setblocking(False)
            result = test.run(*TRAFFIC, '--stats', f'unix:{path}')
            assert result.status == (0 if connects else 1), result.describe()
            assert connects or 'belongs to another user' in result.stderr, result.describe()
            try:
                client, _ = server.accept()
            except BlockingIOError:
                assert not connects
                continue
            with client:
                assert connects
                assert len(list(csv.DictReader(client.makefile(encoding='utf-8')))) == 1

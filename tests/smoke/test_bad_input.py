# SPDX-License-Identifier: BSD-3-Clause
"""Each mistake gives one clear line and the right exit status; no file is written or destroyed."""

import os
import shutil

import lib

SOURCE = ('--synthetic', 'flows=1K,packets=10K,seed=1')
TEXT, MACHINE = 2, 1  # exit statuses: detected from the text; detected on the machine

# name: (status, arguments, text in the message)
MISTAKES = {
    'unknown option': (TEXT, (*SOURCE, '--frobnicate'), '--frobnicate'),
    'unknown option with value': (TEXT, (*SOURCE, '--frobnicate=1'), '--frobnicate'),
    'unknown command': (TEXT, ('frobnicate', *SOURCE), 'frobnicate'),
    'stray word': (TEXT, (*SOURCE, 'stray'), 'stray'),
    'value missing': (TEXT, ('--synthetic',), '--synthetic'),
    'no source': (TEXT, ('--top', '5'), '--pcap'),
    'two kinds of source': (TEXT, (*SOURCE, '--pcap', 'a.pcap'), '--pcap'),
    'port and capture': (TEXT, ('--port', 'net_null0', '--pcap', 'a.pcap'), '--pcap'),
    'bad unit of a time': (TEXT, (*SOURCE, '--interval', '5parsecs'), '5parsecs'),
    'negative time': (TEXT, (*SOURCE, '--interval', '-1s'), '--interval'),
    'empty time': (TEXT, (*SOURCE, '--interval', ''), '--interval'),
    'time beyond 64 bits': (TEXT, (*SOURCE, '--interval', '999999999999999999999d'), '--interval'),
    'bad unit of a size': (TEXT, (*SOURCE, '--memory', '4QB'), '4QB'),
    'bad unit of a rate': (TEXT, (*SOURCE, '--pace', '5furlongs'), '5furlongs'),
    'no number': (TEXT, (*SOURCE, '--top', 'many'), 'many'),
    'no width': (TEXT, (*SOURCE, '--width', '0'), '--width'),
    'width of no power of two': (TEXT, (*SOURCE, '--width', '1000'), '1000'),
    'no depth': (TEXT, (*SOURCE, '--depth', '0'), '--depth'),
    'absurd depth': (TEXT, (*SOURCE, '--depth', '1000000'), '--depth'),
    'more indices than hash bits': (TEXT, (*SOURCE, '--depth', '16', '--width', '1048576'),
                                    'depth'),
    'no memory at all': (TEXT, (*SOURCE, '--memory', '0'), '--memory'),
    'memory for less than one counter': (TEXT, (*SOURCE, '--memory', '1'), '--memory'),
    'width and memory': (TEXT, (*SOURCE, '--width', '65536', '--memory', '4MB'),
                         '--memory: contradicts --width'),
    'too few mbufs': (TEXT, (*SOURCE, '--mbufs', '512', '--workers', '2'), 'mbufs 512'),
    'threshold below use': (TEXT, (*SOURCE, '--top', '0', '--threshold', '0.0000000023'),
                            '--threshold'),
    'main lcore for EAL': (TEXT, (*SOURCE, '--eal', '--main-lcore=1'), '--main-lcore'),
    'help of EAL': (TEXT, (*SOURCE, '--eal', '--log-level=8 --help'), '--help'),
    'dispatch without its design': (TEXT, (*SOURCE, '--dispatch', 'flow'), '--design async'),
    'atomic without sharing': (TEXT, (*SOURCE, '--atomic', 'add'), '--sharing shared'),
    'rings of another design': (TEXT, (*SOURCE, '--ring-size', '64'), '--design async'),
    'link of no port': (TEXT, (*SOURCE, '--wait-link', '1s'), '--port'),
    'append and force': (TEXT, (*SOURCE, '--append', '--force'), '--force'),
    'no workers': (TEXT, (*SOURCE, '--workers', '0'), '--workers'),
    'negative workers': (TEXT, (*SOURCE, '--workers', '-1'), '--workers'),
    'a thousand workers': (TEXT, (*SOURCE, '--workers', '1000'), '--workers'),
    'unknown design': (TEXT, (*SOURCE, '--design', 'magic'), 'magic'),
    'unknown sharing': (TEXT, (*SOURCE, '--sharing', 'magic'), 'magic'),
    'unknown sketch': (TEXT, (*SOURCE, '--sketch', 'magic'), 'magic'),
    'unknown key': (TEXT, (*SOURCE, '--key', 'magic'), 'magic'),
    'unknown metric': (TEXT, (*SOURCE, '--count', 'magic'), 'magic'),
    'unknown format': (TEXT, (*SOURCE, '--format', 'magic'), 'magic'),
    'confidence above one': (TEXT, (*SOURCE, '--confidence', '1.5'), '--confidence'),
    'confidence of one': (TEXT, (*SOURCE, '--confidence', '1'), '--confidence'),
    'threshold above one': (TEXT, (*SOURCE, '--threshold', '2'), '--threshold'),
    'bad list of lcores': (TEXT, (*SOURCE, '--lcores', '1-'), '--lcores'),
    'field of the SPEC': (TEXT, ('--synthetic', 'flows=1K,colour=red'), 'colour'),
    'value in the SPEC': (TEXT, ('--synthetic', 'flows=0'), 'flows'),
    'exponent in the SPEC': (TEXT, ('--synthetic', 'zipf=steep'), 'zipf'),
    'ramp in the SPEC': (TEXT, ('--synthetic', 'rate=5M-0'), 'rate=5M-0'),
    'sine in the SPEC': (TEXT, ('--synthetic', 'rate=sine:1M'), 'sine:PEAK:PERIOD'),
    'drift without an end in the SPEC':
        (TEXT, ('--synthetic', 'zipf=1-2,packets=0'), 'over=10s'),
    'size in the SPEC': (TEXT, ('--synthetic', 'size=1'), 'size'),
    'range in the SPEC': (TEXT, ('--synthetic', 'size=200-100'), 'size'),
    'share in the SPEC': (TEXT, ('--synthetic', 'ipv6=2'), 'ipv6'),
    'generate without a SPEC': (TEXT, ('generate',), '--synthetic'),
    'absent capture': (MACHINE, ('--pcap', '/nonexistent/a.pcap'), '/nonexistent/a.pcap'),
    'absent configuration': (MACHINE, ('--config', '/nonexistent/a.conf'), '/nonexistent/a.conf'),
    'directory as capture': (MACHINE, ('--pcap', '/usr'), '/usr'),
    'absent PCI port': (MACHINE, ('--port', '0000:ff:1f.7'), '0000:ff:1f.7'),
    'port without its file': (
        MACHINE, ('--port', 'net_pcap0,rx_pcap=/nonexistent/a.pcap', '--eal', '--no-pci'),
        'net_pcap0'),
    'absent virtual device': (MACHINE, ('--port', 'net_nonexistent0', '--eal', '--no-pci'),
                              'net_nonexistent0'),
    'unknown argument for EAL': (MACHINE, (*SOURCE, '--eal', '--bogus'), '--bogus'),
    'output in no folder': (MACHINE, (*SOURCE, '--output', '/nonexistent/a.csv'),
                            '/nonexistent/a.csv'),
    'stats in no folder': (MACHINE, (*SOURCE, '--stats', '/nonexistent/a.csv'),
                           '/nonexistent/a.csv'),
    'output where nobody may write': (MACHINE, (*SOURCE, '--output', '/proc/sketchtap.csv'),
                                      '/proc/sketchtap.csv'),
    'output is a directory': (MACHINE, (*SOURCE, '--output', '/usr', '--force'), '/usr'),
    'sketch larger than the machine': (MACHINE, (*SOURCE, '--width', '4294967296'), None),
    'more lcores than there are': (MACHINE, (*SOURCE, '--lcores', '900-903'), '--lcores'),
}

# name: (text of the configuration, line of the mistake, text in the message)
CONFIGURATIONS = {
    'unknown name': ('top = 5\ncolour = red\n', 2, 'colour'),
    'bad value': ('top = 5\n\ninterval = 5parsecs\n', 3, '5parsecs'),
    'unknown section': ('top = 5\n[painting]\ncolour = red\n', None, 'painting'),
    'unknown name in a measurement': ('[measurement a]\nkey = src\ncolour = red\n', 3, 'colour'),
    'not for a measurement': ('[measurement a]\nworkers = 2\n', 2, 'workers'),
    'width and memory': ('width = 1024\nmemory = 4MB\n', 2, ': memory: contradicts width;'),
    'no equals sign': ('top = 5\nnonsense\n', 2, None),
    'two measurements of one name': ('[measurement a]\nkey = src\n[measurement a]\nkey = dst\n',
                                     None, 'a'),
}


def case(status, arguments, mention):
    def check(test):
        output, stats = test.path('output.csv'), test.path('stats.csv')
        files = () if arguments[0] == 'generate' else tuple(
            word for option, path in (('--stats', stats), ('--output', output))
            if option not in arguments for word in (option, path))
        # The mistake comes last, so that a missing value is really missing.
        command = (arguments[0], *files, *arguments[1:]) if arguments[0][0] != '-' else (
            *files, *arguments)
        result = test.run(*command).expect(status)
        result.expect_one_line(*([mention] if mention else []))
        assert result.stdout == '', result.describe()
        for path in (output, stats):
            assert not os.path.exists(path), f'{path} was made'
    return check


def configuration_case(text, line, mention):
    def check(test):
        path = test.path('wrong.conf')
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(text)
        mentions = [f'{path}:{line}' if line else path] + ([mention] if mention else [])
        test.run('--config', path, *SOURCE).expect(TEXT).expect_one_line(*mentions)
    return check


def cases(settings):
    return [(name, case(*rest)) for name, rest in MISTAKES.items()] + [
        (f'configuration: {name}', configuration_case(*rest))
        for name, rest in CONFIGURATIONS.items()]


def refuse(test, data):
    path, output = test.path('input.pcap'), test.path('output.csv')
    with open(path, 'wb') as stream:
        stream.write(data)
    with open(output, 'w', encoding='utf-8') as stream:
        stream.write('before\n')
    test.run('--pcap', path, '--output', output, '--force').expect(MACHINE).expect_one_line(path)
    with open(output, encoding='utf-8') as stream:
        assert stream.read() == 'before\n', 'a bad source destroyed the output'


def test_output_is_the_capture(test):
    path = test.path('in.pcap')
    lib.write_pcap(path, [(0, lib.udp_frame())])
    with open(path, 'rb') as stream:
        before = stream.read()
    for option in ('--output', '--stats'):
        test.run('--pcap', path, option, path, '--force').expect(TEXT).expect_one_line('in.pcap')
    with open(path, 'rb') as stream:
        assert stream.read() == before, 'the capture was changed'


def test_no_memory_to_merge(test):
    """Enough memory for the workers' sketches, not for the reporter's: one line, and outputs stay
    untouched."""
    if test.sanitized:
        test.skip('a sanitizer takes more address space than the limit')
    output = test.path('output.csv')
    test.run(*SOURCE, '--width', '16777216', '--output', output, program=[
        'prlimit', f'--as={700_000 << 10}', test.binary]).expect(MACHINE).expect_one_line('memory')
    assert not os.path.exists(output)


def test_empty_file(test):
    refuse(test, b'')


def test_not_a_capture(test):
    for data in (b'x', b'Dear reader,\n' * 100, os.urandom(5000), b'\x1f\x8b\x08\x00garbage',
                 b'\xd4\xc3\xb2\xa1', b'\x7fELF' + b'\0' * 100):
        refuse(test, data)


def test_absurd_memory(test):
    result = test.run(*SOURCE, '--memory', '1TB').expect_one_line('memory')
    assert result.status in (TEXT, MACHINE), result.describe()


def test_too_many_workers(test):
    """A replay has at most 16 queues."""
    result = test.run(*SOURCE, '--workers', '17').expect_one_line('workers')
    assert result.status in (TEXT, MACHINE), result.describe()


def test_no_memory(test):
    """An address space that is too small for the sketch."""
    if test.sanitized:
        test.skip('a sanitizer takes more address space than the limit')
    process = test.start(*SOURCE, '--memory', '4GB', program=[
        'prlimit', f'--as={2 << 30}', test.binary])
    test.wait(process).expect(MACHINE).expect_one_line('memory')


def test_limits_of_the_process(test):
    """Limits that are too low are raised if permitted, else reported: open files and stack size."""
    if shutil.which('prlimit') is None:
        test.skip('prlimit is not installed')
    for limit, status, mentions in (('--nofile=6:6', MACHINE, ('ulimit -n',)),
                                    ('--nofile=16:4096', 0, ()),
                                    ('--stack=65536:65536', MACHINE, ('ulimit -s',))):
        if test.sanitized and limit.startswith('--stack'):
            continue
        process = test.start(*SOURCE, '--output', '/dev/null', program=['prlimit', limit, test.binary])
        result = test.wait(process).expect(status)
        if status != 0:
            result.expect_one_line(*mentions)


def test_empty_runtime_directory(test):
    """An empty runtime directory is refused: EAL would use the root of the file system."""
    process = test.start(*SOURCE, '--output', '/dev/null',
                         program=['env', 'RUNTIME_DIRECTORY=', test.binary])
    path = f'/var/run/dpdk/sketchtap-{process.popen.pid}' if os.getuid() == 0 else None
    test.wait(process).expect(0)
    assert not os.path.exists('/dpdk'), 'left in the root'
    assert path is None or not os.path.exists(path), path


def test_unreadable_capture(test):
    if os.getuid() != 0:
        test.skip('another user is needed: run as root')
    path = lib.write_pcap(test.path('secret.pcap'), [(0, lib.udp_frame())])
    os.chmod(path, 0)
    os.chmod(test.directory, 0o755)
    program = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', test.binary]
    process = test.start('--pcap', path, '--output', '/dev/null', '--force', program=program)
    os.chmod(process.directory, 0o777)
    result = test.wait(process)
    if 'setpriv' in result.stderr or result.status in (126, 127):
        test.skip('another user cannot run the binary')
    result.expect(MACHINE).expect_one_line(path)


def test_not_root(test):
    """A replay needs no privilege."""
    if os.getuid() != 0:
        test.skip('not root: all other tests also run unprivileged')
    os.chmod(test.directory, 0o777)
    if test.wait(test.start(program=['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
                                     'test', '-x', test.binary])).status != 0:
        test.skip('another user cannot reach the binary')
    program = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', 'env',
               f'RUNTIME_DIRECTORY={test.directory}', test.binary]
    output = test.path('output.csv')
    test.wait(test.start(*SOURCE, '--output', output, program=program)).expect(0)
    assert len(lib.read_output(output)) == 100

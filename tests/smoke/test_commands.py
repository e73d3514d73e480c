# SPDX-License-Identifier: BSD-3-Clause
"""plan, --help, --version and the manual page."""

import os
import re
import shutil

import lib

COMPLETION = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../config/completion.bash')
ARCHITECTURE_MD = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/ARCHITECTURE.md')


def test_help(test):
    result = test.run('--help', 'all').expect(0)
    assert result.stderr == '', result.describe()
    for option in ('--pcap', '--port', '--synthetic', '--workers', '--interval', '--output',
                   '--stats', '--config', '--key', '--memory', '--set', '--export'):
        assert option in result.stdout, f'{option} is not in --help'
    assert max(map(len, result.stdout.splitlines())) <= 100, 'lines of more than 100 columns'


def test_terms(test):
    """Every term is explained once: for operators in --help all, for developers also in
    docs/ARCHITECTURE.md."""
    terms = test.run('--help', 'all').stdout.split('\nTerms:\n')[1].split('\n\n')[0]
    with open(ARCHITECTURE_MD, encoding='utf-8') as stream:
        table = stream.read().split('\n## Words\n')[1].split('\n## ')[0]
    words = re.findall(r'^  (\w+(?: \w+)*)  ', terms, re.M) + re.findall(r'^\| ([a-z ]+) \|', table, re.M)
    assert len(words) > 20, words
    assert len(words) == len(set(words)), sorted(words)


def complete(test, program, *words):
    """Returns the completions of bash for the last word."""
    script = f'source {COMPLETION}; program=$1; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ' \
             '_sketchtap "$program" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    return test.run('-c', script, 'bash', program, 'sketchtap', *words, program=['bash']).expect(0).stdout.split()


def test_completion(test):
    """Completes exactly the options of each command in help, then files."""
    text = test.run('--help').expect(0).stdout.split('\nCommands:\n')[1].split('\n\n')[0]
    commands = set(re.findall(r'^  (\w+)', text, re.M))
    assert commands == {word for word in complete(test, test.binary, '') if not word.startswith('-')}, commands
    assert complete(test, test.bench_binary, 'pi') == ['pipeline']
    assert '--rounds' in complete(test, test.bench_binary, 'kernels', '--r')
    for command in ('run', 'plan', 'collect'):
        text = test.run(command, '--help', 'all').expect(0).stdout
        options = set(re.findall(r'^  (--[a-z0-9-]+)', text, re.M))
        assert set(complete(test, test.binary, command, '--')) == options and len(options) > 20, options
    for command, options in (('ctl', {'--name', '--format'}), ('follow', {'--json'}), ('top', {'--stats'}),
                             ('plot', {'--stats', '--measurement'})):
        assert set(complete(test, test.binary, command, '--')) == options, command
    assert complete(test, test.binary, 'pla') == ['plan']
    assert complete(test, test.binary, 'run', '--workers', '') == []
    assert complete(test, test.binary, 'run', '--set', 'conf') == ['confidence=']
    assert set(complete(test, test.binary, 'run', '--export', 'q')) == {'queues=', 'queries='}
    assert set(complete(test, test.binary, 'run', '--design', '')) == {'rss', 'async', 'sync', 'async:'}


def test_version(test):
    result = test.run('--version').expect(0)
    assert re.search(r'sketchtap \d+\.\d+', result.stdout), result.describe()


def test_manual_page_has_every_option(test):
    build = os.path.dirname(os.path.dirname(test.binary))
    page = os.path.join(build, 'docs', 'sketchtap.1')
    if not os.path.exists(page):
        test.skip('the binary is not in its build directory')
    if shutil.which('man') is None:
        test.skip('man is not installed')
    process = test.start(page, program=['man', '--warnings', '-Tutf8', '-l'])
    page = test.wait(process).expect(0)
    assert page.stderr == '', page.describe()
    text = re.sub(r'\x1b\[[0-9;]*m|.\x08', '', page.stdout)
    options = set(re.findall(r'^\s+(--[a-z-]+)', test.run('--help', 'all').stdout, re.M))
    assert len(options) > 20, options
    missing = sorted(option for option in options if option not in text)
    asks = set(re.findall(r'^  ([a-z]+) ', test.run('ctl', '--help').expect(0).stdout, re.M)) - {'sketchtap'}
    assert len(asks) > 8, asks
    missing += sorted(ask for ask in asks if f'ctl {ask}' not in text or f'/sketchtap/{ask}' not in text)
    missing += sorted(column for column in columns_of_files(test) if not re.search(rf'^ +([a-z0-9_]+, )*{column}\b', text, re.M))
    assert not missing, f'not in the manual page: {missing}'


def columns_of_files(test):
    """Returns the columns of CSV files of --output, --stats, --flows and --queues, including
    optional columns."""
    kinds = {kind: test.path(f'{kind}.csv') for kind in ('output', 'stats', 'queues')}
    outputs = [word for kind, path in kinds.items() for word in (f'--{kind}', path)]
    flows = ['--flows', test.path('flows.csv')]
    capture = lib.write_pcap(test.path('few.pcap'), [(n, lib.udp_frame(n)) for n in range(9)])
    columns = set()
    for source, *words in (('--pcap', '--sketch', 'flow-table', '--deep', 'tcp', *flows), ('--pcap', '--key', 'vlan,dscp,mpls,in_port'),
                           ('--pcap', '--states-from', test.path('states.csv')), ('collect', '--key', 'routers')):
        if '--states-from' in words:
            with open(words[-1], 'w', encoding='utf-8') as file:
                file.write('worker,packet,to\n0,1,1/2\n')
        command = ('collect', '--pcap') if source == 'collect' else (source,)
        test.run(*command, capture, *words, *outputs, '--force')
        for path in [*kinds.values(), *flows[1:]]:
            columns.update(lib.read_text(path).split('\n', 1)[0].split(',') if os.path.exists(path) else ())
    assert {'state', 'mpls', 'skipped', 'egress', 'duplicate', 'ended', 'level_max'} <= columns, columns
    return columns


def test_plan(test):
    for source in (('--synthetic', 'flows=1K,packets=1K'), ('--pcap', 'not-opened.pcap')):
        for workers in (1, 2, 4):
            result = test.run('plan', *source, '--workers', workers).expect(0)
            lines = [line for line in result.stdout.splitlines() if 'worker' in line.lower()]
            assert len(lines) >= workers, result.describe()
            assert 'reporter' in result.stdout.lower(), result.describe()


def test_plan_starts_nothing(test):
    output = test.path('output.csv')
    test.run('plan', '--synthetic', 'flows=1K', '--output', output).expect(0)
    assert not os.path.exists(output)


def test_plan_says_how_much_memory(test):
    """Twice the width needs more memory: the plan's text changes."""
    texts = {test.run('plan', '--synthetic', 'flows=1K', '--workers', '1', '--width', width)
             .expect(0).stdout for width in ('65536', '131072')}
    assert len(texts) == 2, texts


def test_what_is_printed_is_there(test):
    """If output cannot be written, the status shows it; a reader that closes early is not an
    error."""
    ours, bench = [test.binary], [test.bench_binary]
    for program, *arguments in ((ours, '--help'), (ours, '--version'), (ours, 'tune', '--help'),
                                (ours, 'plan', '--synthetic', 'flows=1K'),
                                (bench, '--help'), (bench, 'kernels', '--help')):
        with open('/dev/full', 'wb') as full:
            process = test.start(*arguments, program=program, stdout=full)
            test.wait(process).expect(1).expect_one_line('standard output')
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, 'wb') as nobody:
            result = test.wait(test.start(*arguments, program=program, stdout=nobody))
        assert result.status in (0, -13) and result.said() == [], result.describe()


def test_run_is_the_default_command(test):
    source = ('--synthetic', 'flows=100,packets=1000,seed=1', '--seed', '1', '--format', 'csv')
    named, unnamed = test.run('run', *source).expect(0), test.run(*source).expect(0)
    assert named.stdout == unnamed.stdout, named.describe()
    assert named.stdout.startswith('epoch,'), named.describe()


def test_hands_that_know_tcpdump(test):
    """FILE, -r, -c and -n work as in tcpdump; -w refers to the command that writes captures."""
    capture = lib.write_pcap(test.path('some.pcap'), [(i, lib.udp_frame(i % 7)) for i in range(100)])
    common = ('--seed', '1', '--format', 'csv')
    whole = test.run('--pcap', capture, *common).expect(0).stdout
    part = test.run('--pcap', capture, '--packets', '40', *common).expect(0).stdout
    assert whole != part and len(whole.splitlines()) == 8, whole
    for words in ((capture,), ('run', capture), ('-r', capture), ('-nr', capture), ('-nnr' + capture,)):
        assert test.run(*words, *common).expect(0).stdout == whole, words
    for words in ((capture, '-c', '40'), ('-nc40', '-r', capture)):
        assert test.run(*words, *common).expect(0).stdout == part, words
    with open(capture, 'rb') as stream:
        assert test.run('-r', '-', *common, stdin=stream).expect(0).stdout == whole
    test.run('-r', capture, '-w', test.path('out.pcap')).expect(2).expect_one_line('generate --output')
    test.run('-i', 'nosuchport0').expect(1).expect_one_line('nosuchport0')
    made = test.path('made.pcap')
    test.run('generate', '--synthetic', 'flows=1,packets=9', '-c', '5', '-w', made).expect(0)
    assert len(test.run(made, *common).expect(0).stdout.splitlines()) == 2


def test_examples_name_no_other_option(test):
    """Examples do not name a file of --output like one of --flows, --stats, --queues or
    --prefix-stats."""
    folder = test.settings.root
    texts = [os.path.join(folder, 'README.md')]
    for part in ('docs', 'config'):
        for inside, _, names in os.walk(os.path.join(folder, part)):
            texts += [os.path.join(inside, name) for name in names if not name.endswith('.webp')]
    for path in texts:
        with open(path, encoding='utf-8') as stream:
            named = re.search(r'output(\s*=\s*|\s+)(flows|stats|queues|rules)\.', stream.read())
        assert named is None, f'{path}: {named[0]}'


def test_config_examples_are_read(test):
    """Every example configuration passes the check of `plan`."""
    folder = os.path.join(test.settings.root, 'config')
    examples = sorted(name for name in os.listdir(folder) if name.endswith(('.conf', '.ini'))
                      ) if os.path.isdir(folder) else []
    assert examples, 'config has no example'
    for name in examples:
        result = test.run('plan', '--config', os.path.join(folder, name))
        # An example may name a port that this machine lacks: status 1, never 2.
        assert result.status in (0, 1), result.describe()


def test_sections_of_documents_are_read(test):
    """Configuration blocks of README and documents are valid as printed."""
    folder, read = test.settings.root, 0
    texts = [os.path.join(folder, 'README.md')] + [os.path.join(folder, 'docs', name)
                                                   for name in os.listdir(os.path.join(folder, 'docs')) if name.endswith('.md')]
    for path in texts:
        for block in re.findall(r'^```ini\n(.*?)^```', lib.read_text(path), re.M | re.S):
            if '[Service]' in block:  # a systemd unit
                continue
            given, read = test.path('given.conf'), read + 1
            with open(given, 'w', encoding='utf-8') as file:
                file.write(block)
            results = [test.run('plan', '--config', given, *source)
                       for source in (('--synthetic', 'packets=1'), ('--listen', '127.0.0.1:2055'))]
            assert any(result.status in (0, 1) for result in results), (path, [result.describe() for result in results])
    assert read >= 3, read


def test_commented_section_is_read(test):
    """The section [export NAME] of an example is valid without its comment signs."""
    text = lib.read_text(os.path.join(test.settings.root, 'config', 'collector.conf'))
    before, section = text.split('# [export ', 1)
    given = test.path('given.conf')
    for end, statuses in (('', (0, 1)), ('colour = red\n', (2,))):
        with open(given, 'w', encoding='utf-8') as stream:
            stream.write(f'{before}[export {re.sub("^# ", "", section, flags=re.MULTILINE)}{end}')
        result = test.run('plan', '--config', given)
        assert result.status in statuses, result.describe()


def test_example_measures_ones_own_capture(test):
    """The README's command: a capture on the command line replaces the one in the example."""
    root = test.settings.root
    assert 'sketchtap --config config/replay.conf trunk.pcap' in lib.read_text(os.path.join(root, 'README.md'))
    capture = lib.write_pcap(test.path('trunk.pcap'), [(i, lib.udp_frame(i % 7)) for i in range(500)])
    rows, ledger, _ = test.measure('--config', os.path.join(root, 'config', 'replay.conf'), capture)
    assert len(rows) == 7 and lib.total(ledger, 'measured') == 500, ledger


def test_quickstart(test):
    """Measures a capture in every notation, and a generated one only without arguments; other
    commands are unchanged."""
    root, stubs = test.path('tree'), test.path('stubs')
    for folder in (f'{root}/tools', f'{root}/build-release/src', stubs):
        os.makedirs(folder)
    shutil.copy(os.path.join(test.settings.root, 'tools', 'quickstart'), f'{root}/tools/quickstart')
    for script in (f'{root}/tools/packages', f'{stubs}/meson'):
        with open(script, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n')
        os.chmod(script, 0o755)
    with open(f'{root}/build-release/src/sketchtap', 'w', encoding='utf-8') as file:
        file.write('#!/bin/sh\necho "$@"\n')
    os.chmod(file.name, 0o755)

    def words(*given):
        program = ['env', f'PATH={stubs}:{os.environ["PATH"]}', f'{root}/tools/quickstart']
        return test.run(*given, program=program).expect(0).stdout.split()

    for given in (['my.pcap'], ['a/my.pcapng'], ['-r', 'my'], ['-rmy'], ['--pcap=my'], ['-i', 'eth0'], ['--kernel', 'eth0'],
                  ['--synthetic', 'random'], ['run', 'my.pcap']):
        told = words(*given)
        assert told[0] == 'run' and told.count('--synthetic') == given.count('--synthetic'), told
        assert ('--interval' in told) == (given[0] not in ('-i', '--kernel')) and told[-1] == given[-1], told
    assert '--synthetic' in words() and '--synthetic' in words('--top', '5')
    assert words('doctor', '--port', 'eth0') == ['doctor', '--port', 'eth0']

# SPDX-License-Identifier: BSD-3-Clause
"""Every example command of README.md, docs/ and config/ is valid.

Commands come from code blocks, fenced or indented, and from comments in config/. Measurements are
planned, captures are generated; for other commands, only option names are checked. A line <!-- not
run: REASON --> above a block marks commands that need something a test lacks, such as a NIC: only
their names are checked.
"""

import functools
import glob
import os
import re
import shlex

import lib

MARK = re.compile(r'<!-- not run: .+ -->$')
OTHERS = ('ctl', 'follow', 'top', 'plot')
PLANNED = ('run', 'collect', 'plan', 'doctor')
PLACEHOLDER = re.compile(r'\.\.\.|\[[a-zA-Z]|^<|\b(?:NAME|FILE|DIR|COMMAND|WORKER|HOST|PORT|TIME|SPEC|VALUE|KEY)\b')


def blocks(text):
    """Returns [(lines, names only)] of a Markdown document."""
    found, lines, fenced, marked, before = [], [], False, False, ''
    for line in [*text.splitlines(), '']:
        is_fence = line.lstrip().startswith('```')
        indented = not fenced and line.startswith('    ') and (before == '' or before.startswith('    '))
        if fenced and not is_fence or indented:
            lines.append(line)
        elif lines and (is_fence or line):
            found.append((lines, marked))
            lines, marked = [], False
        if is_fence:
            fenced = not fenced
        elif not fenced and not indented and line:
            marked = MARK.match(line) is not None
        before = line
    return found + ([(lines, marked)] if lines else [])


def segments(line):
    """Returns the simple commands of a line of shell, without redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words, redirected = [], False
    for token in [*lexer, ';']:
        if token and set(token) <= set('|&;()'):
            if words:
                yield words
            words = []
        elif token and set(token) <= set('<>'):
            redirected = True
            if words and words[-1].isdigit():
                words.pop()
        elif redirected:
            redirected = False
        else:
            words.append(token)


def commands_of(lines):
    """Yields commands of sketchtap and sketchtap-bench in lines of shell."""
    for line in '\n'.join(lines).replace('\\\n', ' ').splitlines():
        line = re.sub(r'^\s*(?:\$ |# )?(?:sudo )?', '', line)
        if not re.match(r'(?:time )?sketchtap(?:-bench)? ', line) and '; sketchtap ' not in line and '&& sketchtap' not in line:
            continue
        if re.match(r'sketchtap  ', line):  # output of top
            continue
        try:
            found = list(segments(line))
        except ValueError:
            continue  # prose
        for words in found:
            while words and words[0] in ('sudo', 'time'):
                words = words[1:]
            if words and words[0] in ('sketchtap', 'sketchtap-bench'):
                yield words


def documents(test):
    """Returns [(file, command, names only)]."""
    root = test.settings.root
    found = []
    for path in [os.path.join(root, 'README.md'), *sorted(glob.glob(os.path.join(root, 'docs', '*.md')))]:
        for lines, marked in blocks(lib.read_text(path)):
            found += [(os.path.basename(path), words, marked) for words in commands_of(lines)]
    for path in sorted(glob.glob(os.path.join(root, 'config', '*.conf'))):
        lines = [line[1:] for line in lib.read_text(path).splitlines() if re.match(r'#   sketchtap ', line)]
        found += [(os.path.basename(path), words, False) for words in
                  commands_of([re.sub(r'(\.conf|\.pcap)  .*', r'\1', line) for line in lines])]
    return found


def command_of(words):
    """Returns (command, its words)."""
    if len(words) > 1 and not words[1].startswith('-') and not re.search(r'[./]', words[1]):
        return words[1], words[2:]
    return ('run' if words[0] == 'sketchtap' else ''), words[1:]


@functools.lru_cache(maxsize=None)
def help_of(test, program, command):
    words = () if not command else (command, '--help') if command in OTHERS else (command, '--help', 'all')
    return test.run(*(words or ('--help',)), program=[program]).expect(0).stdout


def check_names(test, name, words):
    """Checks that options are documented, and that ctl has the request."""
    program = test.binary if words[0] == 'sketchtap' else test.bench_binary
    command, rest = command_of(words)
    text = help_of(test, program, command)
    for word in rest:
        option = re.match(r'--[a-z][a-z0-9-]*', word)
        assert not option or re.search(rf'(?<![a-z-]){option[0]}(?![a-z0-9-])', text), (name, ' '.join(words), option[0])
    if command == 'ctl':
        asks = [word for word in rest if not word.startswith('-')]
        assert not asks or re.search(rf'\b{asks[0]}\b', text) or '--name' in rest, (name, words)


def test_names(test):
    found = documents(test)
    assert len(found) > 60, found
    wrong = []
    for name, words, _ in found:
        try:
            check_names(test, name, words)
        except AssertionError as error:
            wrong.append(error.args[0])
    assert not wrong, wrong


def local(words, root):
    """Replaces ports, interfaces and files of the document by those of this host."""
    result, nulls, kernels = [], 0, 0
    words = iter(words)
    for word in words:
        option, _, value = word.partition('=')
        if option in ('--port', '-i', '--kernel', '--config', '--prefixes', '--monitor', '--profile', '--lcores'):
            value = value or next(words)
        if option in ('--port', '-i'):
            result += ['--port', value if value.startswith('net_') else f'net_null{nulls}']
            nulls += 1
        elif option == '--kernel':
            result += ['--kernel', 'lo' + value[len(value.split(',')[0]):]] if kernels == 0 else []
            kernels += 1
        elif option == '--config':
            path = os.path.join(root, 'config', os.path.basename(value))
            result += ['--config', path] if os.path.exists(path) else []
        elif option in ('--prefixes', '--monitor'):
            result += [option, '/dev/null' + value[len(value.split(',')[0]):]]
        elif option not in ('--profile', '--lcores'):
            result.append(word)
    return result


def collected(words):
    """Converts options of collect for plan: a socket replaces files."""
    kept, words = [], iter(words)
    for word in words:
        if word in ('--pcap', '-r'):
            next(words)
        elif word.startswith('-'):
            kept.append(word)
        elif kept and kept[-1].startswith('-'):
            kept.append(word)
    return kept if {'--listen', '--config', '--collectors'} & set(kept) else ['--listen', '127.0.0.1:2055', *kept]


def run_one(test, words):
    """Returns the error, or None if there is none or the command cannot run here."""
    command, rest = command_of(words)
    if words[0] != 'sketchtap' or any(PLACEHOLDER.search(word) for word in rest) or '--help' in rest:
        return None
    rest = local(rest, test.settings.root)
    if command in PLANNED:
        rest = collected(rest) if command == 'collect' or '--listen' in rest else rest
        if command == 'doctor' and not {'--port', '--kernel', '--pcap', '--listen', '--config', '--synthetic'} & set(rest):
            rest += ['--port', 'net_null0']
        result = test.run('plan', *rest)
    elif command == 'generate' and '--port' not in rest:
        result = test.run('generate', *rest, '--packets', '1', '--force', '--output', test.path('generated.pcap'))
    else:
        return None
    built_without = 'built without' in result.stderr or 'was built' in result.stderr
    return None if result.status == 0 or built_without else (' '.join(words), result.describe())


def test_commands(test):
    """Commands that can be planned or generated succeed."""
    wrong, run = [], 0
    for name, words, marked in documents(test):
        if marked:
            continue
        run += 1
        fault = run_one(test, words)
        wrong += [(name, *fault)] if fault else []
    assert not wrong, '\n'.join(map(str, wrong))
    assert run > 40, run


def configurations(test):
    """Returns [(file, lines)] of blocks that are configuration files of sketchtap, complete or
    partial."""
    keys = set(re.findall(r'^  (?:--)?([a-z][a-z-]*)(?: =|$| [A-Z])', help_of(test, test.binary, 'plan'), re.M))
    root = test.settings.root
    for path in [os.path.join(root, 'README.md'), *sorted(glob.glob(os.path.join(root, 'docs', '*.md')))]:
        for lines, marked in blocks(lib.read_text(path)):
            text = [line.strip() for line in lines if line.strip() and line.strip()[0] not in '#;']
            settings = [line for line in text if re.match(r'[a-z][a-z.-]* *= *\S', line)]
            sections = [line for line in text if re.match(r'\[(?:sketchtap|(?:measurement|export) [\w.-]+)\]$', line)]
            if not marked and len(settings) + len(sections) == len(text) and (
                    sections or any(line.split('=')[0].strip() in keys for line in settings)):
                yield os.path.basename(path), [line.strip() for line in lines]


def test_configurations(test):
    """Blocks of keys and sections are planned; those without a source get one."""
    found = list(configurations(test))
    assert len(found) > 3, found
    for number, (name, lines) in enumerate(found):
        text = '\n'.join(lines) + '\n'
        text = re.sub(r'^port *=.*', 'port = net_null0', text, flags=re.M)
        text = re.sub(r'^(prefixes|monitor) *= *[^,\n]*', r'\1 = /dev/null', text, flags=re.M)
        if not re.search(r'^(port|pcap|synthetic|kernel|listen) *=', text, re.M):
            text = f'listen = 127.0.0.1:2055\n{text}' if name == 'COLLECTOR.md' else f'port = net_null0\n{text}'
        if re.search(r'^what *= *flows', text, re.M) and not re.search(r'^sketch *=', text, re.M):
            text = f'sketch = flow-table\n{text}'
        if re.search(r'^what *= *(?:states|overload)|^priority|^steps', text, re.M) and not re.search(r'^(keep-up|overload) *=', text, re.M):
            text = f'overload = best\n{text}'
        path = test.path(f'{number}.conf')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        result = test.run('plan', '--config', path)
        assert result.status == 0 or 'built without' in result.stderr, (name, text, result.describe())


def test_packaged_links(test):
    """The Debian package has every file to which a document in it links, at the same relative path."""
    root = test.settings.root
    listed = lib.read_text(os.path.join(root, 'debian', 'sketchtap.docs')).split()
    assert not any('/' in path for path in listed), listed  # dh_installdocs drops folders
    for line in lib.read_text(os.path.join(root, 'debian', 'sketchtap.install')).splitlines():
        pattern, _, folder = line.partition(' usr/share/doc/sketchtap/')
        assert not folder or os.path.dirname(pattern) == folder, line
        listed += [pattern] if folder else []
    packaged = {path for pattern in listed for found in glob.glob(os.path.join(root, pattern))
                for path in ([found] if os.path.isfile(found) else glob.glob(os.path.join(found, '*')))}
    links = [(path, link) for path in packaged if path.endswith('.md')
             for link in re.findall(r'\]\(([^)#\s:]+)[^)\s]*\)', lib.read_text(path))]
    missing = [(path, link) for path, link in links
               if os.path.normpath(os.path.join(os.path.dirname(path), link)) not in packaged]
    assert len(links) > 100 and not missing, missing


def test_build_folder(test):
    """The README installs from the folder in which tools/quickstart builds."""
    root = test.settings.root
    built = re.search(r'^build=\$root/(\S+)$', lib.read_text(os.path.join(root, 'tools', 'quickstart')), re.M)[1]
    named = re.findall(r'ninja -C (\S+)', lib.read_text(os.path.join(root, 'README.md')))
    assert named and set(named) == {built}, (named, built)

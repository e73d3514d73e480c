# SPDX-License-Identifier: BSD-3-Clause
"""Former spellings of options and configuration files give the same output as the new ones, byte
for byte."""

import os
import re

import lib

HERE = os.path.dirname(os.path.abspath(__file__))
TRAFFIC = ('--synthetic', 'flows=2K,packets=50K,seed=3', '--seed', '7', '--workers', '1')
WHOLE = (*TRAFFIC, '--interval', '0', '--top', '200')
TABLE = (*WHOLE, '--sketch', 'flow-table')
PLAN = ('plan', '--port', 'net_null0', '--workers', '2')
GENERATE = ('generate', '--synthetic', 'flows=500,packets=20K,rate=10kpps,seed=3')

# Old and new words after the same beginning. {f}: an output file. {p}: the file of prefixes.
SAME = {
    'rank_by': (WHOLE, '--count bytes', '--rank-by bytes'),
    'width': (TABLE, '--buckets 3000', '--width 3000'),
    'width_k': (TABLE, '--buckets 3072', '--width 3K'),
    'flow_detail': (TABLE, '--deep tcp --deep-after 5 --deep-share 0.02 --deep-flows 100',
                    '--flow-detail tcp,after=5,share=0.02,max=100'),
    'flow_detail_level': (TABLE, '--deep rate', '--flow-detail rate'),
    'flow_detail_mixed': (TABLE, '--deep rate --deep-after 5', '--flow-detail rate --deep-after 5'),
    'flow_detail_order': (TABLE, '--deep-flows 50 --deep-share 0.5 --deep-after 3 --deep tcp',
                          '--flow-detail tcp,after=3,share=0.5,max=50'),
    'prefixes_order': (WHOLE, '--monitor-side src --monitor {p} --rules {f}', '--prefixes {p},side=src --export prefixes={f}'),
    'sharing_order': (WHOLE, '--atomic add --sharing shared', '--sharing shared:add'),
    'design': ((*WHOLE, '--workers', '2'), '--design async --dispatch round-robin', '--design async:round-robin'),
    'sharing': (WHOLE, '--sharing shared --atomic add', '--sharing shared:add'),
    'prefixes': (WHOLE, '--monitor {p} --monitor-side src --rules {f}', '--prefixes {p},side=src --export prefixes={f}'),
    'queues': (WHOLE, '--queues {f}', '--export queues={f}'),
    'overload': (WHOLE, '--keep-up valve --states {f}', '--overload valve --export overload={f}'),
    'flows': (TABLE, '--flows {f}', '--export flows={f}'),
    'output': (WHOLE, '--output {f}', '--export heavy-hitters={f}'),
    'confidence': (WHOLE, '--confidence 0.9', '--set confidence=0.9'),
    'iblt_load': ((*TRAFFIC, '--interval', '1s', '--sketch', 'iblt'), '--iblt-load 0.5', '--set iblt-load=0.5'),
    'no_progress': (WHOLE, '--no-progress', '--set no-progress=yes'),
    'descriptors': (PLAN, '--descriptors 1024', '--set descriptors=1K'),
    'mbufs': (PLAN, '--mbufs 65536', '--set mbufs=65536'),
    'mbuf_cache': (PLAN, '--mbuf-cache 64', '--set mbuf-cache=64'),
    'ring_size': ((*PLAN, '--design', 'async'), '--ring-size 4096', '--set ring-size=4096'),
    'rss_key': (PLAN, '--rss-key default', '--set rss-key=default'),
    'controller': (PLAN, '--keep-up best --reserve 20% --priority 2 --deadline 5s --steps rate:1/2,off --max-skip 0.5',
                   '--overload best --set reserve=20% --set priority=2 --set deadline=5s --set steps=rate:1/2,off '
                   '--set max-skip=0.5'),
    'control': (PLAN, '--control read', '--set control=read'),
    'metrics': (PLAN, '--metrics 9999 --metrics-top 5', '--metrics 9999 --set metrics-top=5'),
    'forwarded': (('plan', '--port', 'net_null0', '--forward', 'loop'), '--forwarded {f}', '--export forwarded={f}'),
    'verbose': (PLAN, '--verbose', '--log-level debug'),
    'collector': (('plan', '--listen', '127.0.0.1:2055'),
                  '--export-timeout 1m --observed-flows 5K --link-overhead 18 --exporters-max 50 --receive-buffer 1MB',
                  '--active-timeout 1m --flow-cache-size 5K --set link-overhead=18 --set exporters-max=50 '
                  '--set receive-buffer=1MB'),
    'generate_v5': (GENERATE, '--as v5 --output {f}', '--export-format netflow5 --output {f}'),
    'generate_word': (GENERATE, '--as v9 --output {f}', '--export-format v9 --output {f}'),
    'generate_parts': (GENERATE, '--as v9 --routers 3 --path 2 --sampling 4 --drop 0.1 --output {f}',
                       '--export-format netflow9,routers=3,hops=2,sampling=4,loss=10% --output {f}'),
}


def words(text, file, prefixes):
    return text.format(f=file, p=prefixes).split()


def outcome(test, common, text, number):
    """Returns standard output and the file; both file names are replaced by one word."""
    prefixes, file = test.path('prefixes'), test.path(f'file{number}')
    with open(prefixes, 'w', encoding='ascii') as stream:
        stream.write('0.0.0.0/1 lower\n128.0.0.0/1 upper\n')
    result = test.run(*common, *words(text, file, prefixes)).expect(0)
    assert not [line for line in result.error_lines() if 'option' in line], result.describe()
    written = b''
    if os.path.exists(file):
        with open(file, 'rb') as stream:
            written = stream.read()
    return result.stdout.replace(file, 'FILE'), written


def same(test, common, old, new):
    before, after = outcome(test, common, old, 1), outcome(test, common, new, 2)
    assert before[0] == after[0], (old, new, before[0][:500], after[0][:500])
    assert before[1] == after[1], (old, new, before[1][:500], after[1][:500])
    assert before[0] or before[1], (old, new)


def cases(settings):  # pylint: disable=unused-argument
    for name, (common, old, new) in SAME.items():
        yield name, lambda test, common=common, old=old, new=new: same(test, common, old, new)


def test_collected(test):
    """Rows of collect: paths, links, deliveries."""
    capture = test.path('exports.pcap')
    test.run(*GENERATE, '--as', 'ipfix', '--routers', '3', '--output', capture).expect(0)
    for kind in ('paths', 'links', 'deliveries'):
        same(test, ('collect', '--pcap', capture, '--interval', '10s', '--seed', '5', '--workers', '1',
                    '--export-timeout', '20s'), f'--force --{kind} {{f}}', f'--force --export {kind}={{f}}')


def written(test, name, text):
    path = test.path(name)
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(text)
    return path


def test_former_files(test):
    """Example configurations of the last version plan the same run as the current ones."""
    for name in os.listdir(os.path.join(HERE, 'former')):
        former = os.path.join(HERE, 'former', name)
        now = os.path.join(HERE, '..', '..', 'config', name)
        plans = [test.run('plan', '--config', path).expect(0).stdout.replace(path, 'FILE') for path in (former, now)]
        assert plans[0] == plans[1], (name, plans)


def test_former_keys(test):
    """Former keys and words of sections, in a run."""
    old = ('count = bytes\nkeep-up = valve\n[measurement a]\nsketch = flow-table\n'
           'buckets = 3000\ndeep = rate\ndeep-after = 5\n[export x]\nwhat = states\nurl = {f}\n')
    new = ('rank-by = bytes\noverload = valve\n[measurement a]\nsketch = flow-table\n'
           'width = 3000\nflow-detail = rate,after=5\n[export x]\nwhat = overload\nurl = {f}\n')
    outputs = []
    for number, text in enumerate((old, new)):
        file = test.path(f'states{number}')
        path = written(test, f'{number}.conf', text.format(f=file))
        result = test.run(*WHOLE, '--config', path).expect(0)
        outputs.append((result.stdout, lib.read_text(file)))
    assert outputs[0] == outputs[1] and outputs[0][0].count('\n') > 50, outputs


# Former keys of a file, former options of the command line, and current options that mean both.
LEVELS = {
    'flow_detail': ('sketch = flow-table\ndeep = tcp\ndeep-after = 3\n', '--deep rate',
                    '--sketch flow-table --flow-detail rate,after=3'),
    'section': ('sketch = flow-table\ndeep-after = 3\ndeep = tcp\n[measurement main]\ndeep = rate\n', '',
                '--sketch flow-table --flow-detail rate,after=3'),
    'design': ('design = async\ndispatch = round-robin\n', '--design async --workers 2',
               '--design async:round-robin --workers 2'),
    'sharing': ('sharing = shared\natomic = add\n', '--sharing shared', '--sharing shared:add'),
    'prefixes': ('monitor = /dev/null\nmonitor-side = src\n', '--monitor {p} --rules {f}',
                 '--prefixes {p},side=src --export prefixes={f}'),
    'width': ('sketch = flow-table\nwidth = 4096\n', '--buckets 3000', '--sketch flow-table --width 3000'),
}


def test_former_levels(test):
    """A former option replaces its own key of the file, not the others that are parts of its value now."""
    for text, old, new in LEVELS.values():
        same(test, WHOLE, f"--config {written(test, 'levels.conf', text)} {old}", new)


def test_value_replaces_value(test):
    """A value on the command line replaces the whole value of the file, including its parts."""
    path = written(test, 'a.conf', 'flow-detail = tcp,after=3\ndesign = async:round-robin\nlog-level = debug\n'
                                   'sketch = flow-table\n')
    file = test.run(*WHOLE, '--config', path, '--design', 'rss', '--flow-detail', 'rate', '--log-level', 'error').expect(0)
    plain = test.run(*WHOLE, '--sketch', 'flow-table', '--flow-detail', 'rate').expect(0)
    assert file.stdout == plain.stdout, (file.describe(), plain.describe())
    last = test.run(*WHOLE, '--sketch', 'flow-table', '--flow-detail', 'tcp,after=3', '--flow-detail', 'rate').expect(0)
    assert last.stdout == plain.stdout, last.describe()


def test_set(test):
    """--set for the run, one measurement and one export: it overrides the file, and mistakes are
    reported by name."""
    path = written(test, 'a.conf', 'top = 3\n[measurement a]\nkey = src\n[measurement b.c]\nkey = dst\n'
                                   '[export x]\nwhat = stats\nurl = /dev/null\n')
    stats = test.path('stats.csv')
    result = test.run(*TRAFFIC, '--interval', '0', '--config', path, '--set', 'measurement.b.c.top=2',
                      '--set', f'export.x.url={stats}', '--set', 'export.x.what=queues').expect(0)
    rows = [line.split(',')[1] for line in result.stdout.splitlines()[1:]]
    assert rows == ['a'] * 3 + ['b.c'] * 2, result.describe()
    assert lib.read_text(stats).startswith('epoch,start,end,worker,'), lib.read_text(stats)
    for wrong, mentions in {
            'top': "--set: 'top': not KEY=VALUE",
            '=5': 'not KEY=VALUE',
            'interva=5s': '--set: interva: unknown key; did you mean interval?',
            'help=all': '--set: help: not a key of the file; give --help',
            'top=x': "--set top: 'x': not a count",
            'measurement.z.top=5': '--set measurement.z: no such section; add [measurement z]',
            'measurement.a.workers=5': 'unknown key',
            'export.z.url=a': '--set export.z: no such section',
            'export.x.what=z': "--set export.x.what: 'z': not allowed",
            'export.x.rate=5': '--set export.x.rate: has no effect',
            'export.x.zz=5': 'unknown key',
            'flow-detail=rate,what=5': "--set flow-detail: 'what': unknown key; keys: after, share, max",
            'export=what=f': "--set export: 'what': unknown kind; kinds: ",
            'flow-detail=rate,after=0': "--flow-detail after: '0': out of range"}.items():
        said = test.run(*TRAFFIC, '--config', path, '--sketch', 'flow-table', '--set', wrong).expect(2)
        assert mentions in said.stderr, (wrong, mentions, said.describe())


def test_messages_name_what_was_written(test):
    for line, mentions in {'--keep-up magic': "--keep-up: 'magic'", '--overload magic': "--overload: 'magic'",
                           '--confidence 2': "--confidence: '2'", '--set confidence=2': "--set confidence: '2'",
                           '--deep-after 0': "--deep-after: '0'", '--queue f': 'did you mean --export queues?',
                           '--keep-upp best': 'did you mean --overload?', '--export queues': 'not KIND=FILE|URL'}.items():
        said = test.run(*TRAFFIC, *line.split()).expect(2)
        assert mentions in said.stderr, (line, mentions, said.describe())


def test_no_old_spelling_is_documented(test):
    """Help shows no former name."""
    text = ''.join(test.run(command, '--help', 'all').expect(0).stdout for command in ('run', 'collect', 'generate', 'tune'))
    old = {word[2:] for _, words_of_old, _ in SAME.values() for word in words_of_old.split() if word.startswith('--')}
    new = {word[2:] for _, _, words_of_new in SAME.values() for word in words_of_new.split() if word.startswith('--')}
    for name in old - new - {'flows', 'output'}:  # flows and output are also kinds of --export
        assert not re.search(rf'^  --{name}\b(?!-)', text, re.M), name


def test_former_keys_of_prefixes(test):
    """Former keys of --prefixes in a file."""
    prefixes = written(test, 'prefixes', '0.0.0.0/1 lower\n128.0.0.0/1 upper\n')
    outputs = []
    for number, text in enumerate(('monitor = {p}\nmonitor-side = src\nrules = {f}\n',
                                   'prefixes = {p},side=src\nexport = prefixes={f}\n')):
        file = test.path(f'rules{number}')
        path = written(test, f'{number}.conf', text.format(p=prefixes, f=file))
        outputs.append((test.run(*WHOLE, '--config', path).expect(0).stdout, lib.read_text(file)))
    assert outputs[0] == outputs[1] and 'upper' in outputs[0][1], outputs

# SPDX-License-Identifier: BSD-3-Clause
"""json:FILE has the same rows as CSV; outputs with several destinations; --append, rotation,
invalid names."""

import csv
import glob
import json
import os

import lib

SOURCE = ('--synthetic', 'flows=1K,zipf=1.0,packets=50K,rate=100K,seed=1', '--seed', '1')
RATES = ('pps', 'bps')
# Text columns; a name or an address may look like a number.
TEXT = {'measurement', 'start', 'end', 'src_ip', 'dst_ip', 'first', 'last', 'ended', 'design', 'sharing',
        'sketch', 'ports', 'prefix', 'name'}


def both(test, name, *options):
    """--OPTION twice for every OPTION: as CSV and as JSON lines. Returns {option: (CSV, JSON)} and
    the arguments."""
    files = {option: (test.path(f'{name}.{option}.csv'), test.path(f'{name}.{option}.json'))
             for option in options}
    arguments = []
    for option, (as_csv, as_json) in files.items():
        arguments += [f'--{option}', as_csv, f'--{option}', f'json:{as_json}']
    return files, arguments


def read_json(path):
    """Returns [[(name, text)]] with every number as printed."""
    def number(text):
        return ('number', text)
    text = lib.read_text(path) if os.path.getsize(path) else ''
    assert text == '' or text.endswith('\n'), f'half a row at the end: {text[-80:]!r}'
    return [json.loads(line, parse_int=number, parse_float=number, object_pairs_hook=list)
            for line in text.splitlines()]


def expected_rate(row, name):
    """Returns the rate of a heavy hitter, or None if it has none."""
    amount = row['packets'] if name == 'pps' else row['bytes']
    ns = (lib.timestamp(row['end']) - lib.timestamp(row['start'])) * 1000
    return None if amount == '' or ns == 0 else int(amount) * (8 if name == 'bps' else 1) * 1e9 / ns


def check_rates(row, rates):
    for name, value in rates:
        expected = expected_rate(row, name)
        if value is None:
            assert expected is None or row['start'][:19] == row['end'][:19], f'no {name}: {row}'
        elif expected is not None:  # times have microseconds
            ns = (lib.timestamp(row['end']) - lib.timestamp(row['start'])) * 1000
            slack = expected * 2000 / ns + 1
            assert abs(int(value[1]) - expected) <= slack, f'{name} {value} instead of {expected}: {row}'


def check_same(option, as_csv, as_json):
    with open(as_csv, encoding='utf-8', newline='') as stream:
        rows = list(csv.DictReader(stream))
    objects = read_json(as_json)
    assert len(rows) == len(objects), f'--{option}: {len(objects)} objects, {len(rows)} rows'
    for row, pairs in zip(rows, objects):
        rates = [pair for pair in pairs if option == 'output' and pair[0] in RATES]
        said = [pair for pair in pairs if pair not in rates]
        assert [name for name, _ in said] == list(row), f'--{option}: {pairs}'
        for name, value in said:
            if row[name] == '':
                assert value is None, f'--{option} {name}: {value!r} instead of null'
            else:
                expected = row[name] if name in TEXT else ('number', row[name])
                assert value == expected, f'--{option} {name}: {value!r} instead of {expected!r}'
        if option == 'output':
            assert [name for name, _ in rates] == list(RATES), pairs
            check_rates(row, rates)
    return len(rows)


def check_capture(test, entry, path):
    status = 0 if entry['expected'] == 'measured' or entry['file'] in lib.UNLIKE_INTERFACES else 1
    rules = test.path('rules')
    with open(rules, 'w', encoding='utf-8') as stream:
        stream.write('0.0.0.0/1 low "half", it\\is\n128.0.0.0/1 high\n::/0 6\n')
    settings = test.path('settings')
    with open(settings, 'w', encoding='utf-8') as stream:
        stream.write('[measurement flows]\nsketch = flow-table\nkey = 6tuple\nidle-timeout = 1s\n'
                     '[measurement prefixes]\nkey = src/24/48,vlan,dst_port\n')
    files, arguments = both(test, 'rows', 'output', 'stats', 'queues', 'flows', 'rules')
    test.run('--pcap', path, '--config', settings, '--monitor', rules, '--seed', '1', '--workers', '2',
             '--interval', '1s', *arguments).expect(status)
    for option, pair in files.items():
        rows = check_same(option, *pair)
        assert rows or option != 'stats' or not int(entry['packets']), 'no rows at all'


def case(entry):
    def check(test):
        path = os.path.join(test.traces, entry['file'])
        check_capture(test, entry, lib.unpack(test, entry['file']) if path.endswith('.xz') else path)
    return check


def cases(settings):
    return [(f'same as csv, {entry["file"]}', case(entry))
            for entry in lib.few(settings, lib.index(settings.traces)) if entry['expected'] != 'refused']


def test_several_destinations(test):
    """Each destination has all rows. An option on the command line replaces all values of the
    file."""
    a, b, c, settings = (test.path(name) for name in ('a.csv', 'b.csv', 'c.json', 'settings'))
    with open(settings, 'w', encoding='utf-8') as stream:
        stream.write(f'output = {a}\noutput = csv:{b}\noutput = json:{c}\noutput = -\n')
    result = test.run('--config', settings, *SOURCE, '--top', '5').expect(0)
    texts = [lib.read_text(path) for path in (a, b)]
    assert texts[0] == texts[1] == result.stdout and lib.read_output(a), result.describe()
    assert check_same('output', a, c) == len(lib.read_output(a))
    other = test.path('other.csv')
    result = test.run('--config', settings, *SOURCE, '--top', '5', '--output', other).expect(0)
    assert result.stdout == '' and lib.read_text(other) == texts[0], result.describe()


def test_standard_output(test):
    """json:- equals --format json, and csv:- equals the default."""
    plain = test.run(*SOURCE, '--top', '5').expect(0).stdout
    assert test.run(*SOURCE, '--top', '5', '--output', 'csv:-').expect(0).stdout == plain
    named = test.run(*SOURCE, '--top', '5', '--output', 'json:-').expect(0).stdout
    assert [json.loads(line)['rank'] for line in named.splitlines()][:5] == [1, 2, 3, 4, 5], named
    assert test.run(*SOURCE, '--top', '5', '--format', 'json').expect(0).stdout == named
    table = test.run(*SOURCE, '--top', '5', '--format', 'table', '--output', 'json:-').expect(2)
    table.expect_one_line('--output', '--format table')


def test_bad_destinations(test):
    """A prefix is a format only if it is a known one; otherwise it is part of the name, or an error
    if it looks like a format."""
    for text in ('json:', 'csv:'):
        test.run(*SOURCE, '--stats', text).expect(2).expect_one_line('--stats', text)
    home = os.getcwd()
    try:
        os.chdir(test.directory)
        for name in ('xml:a', './table:c', 'C:a', 'host:a', '10:30.csv', 'a.json:b', 'json', 'tablecloth:a',
                     './json:a'):
            test.run(*SOURCE, '--output', name).expect(0)
            assert lib.read_output(os.path.join(test.directory, name)), name
        for name in ('table:a', 'auto:a', 'JSON:a', 'Csv:-', 'jsonl:a', 'ndjson:a'):
            for option in ('--output', '--stats'):
                result = test.run(*SOURCE, option, name).expect(2)
                result.expect_one_line(option, f"'{name}'", 'formats: csv, json', f'./{name}')
            assert not os.path.exists(name), name
        test.run(*SOURCE, '--output', 'json:table:b').expect(0)
        assert os.path.exists('table:b')
    finally:
        os.chdir(home)
    path = test.path('one')
    for first, second in (('--output', '--output'), ('--output', '--stats'), ('--stats', '--stats')):
        test.run(*SOURCE, first, path, second, f'json:{path}').expect(2).expect_one_line(second, path)
    assert not os.path.exists(path)
    test.run(*SOURCE, *['--stats', 'json:/dev/null'] * 3, *['--output', '/dev/null'] * 2).expect(0)


def test_append(test):
    """Numbering continues in all files as in CSV; a file with foreign rows is refused."""
    files, arguments = both(test, 'all', 'output', 'stats')
    for _ in range(3):
        test.run(*SOURCE, '--interval', '100ms', '--top', '3', *arguments, '--append').expect(0)
    for option, pair in files.items():
        check_same(option, *pair)
    numbers = [json.loads(line)['epoch'] for line in open(files['stats'][1], encoding='utf-8')]
    assert numbers == list(range(len(numbers))) and len(numbers) >= 15, numbers
    for option, other in (('output', files['stats'][1]), ('stats', files['output'][1]),
                          ('output', files['output'][0])):
        before = open(other, 'rb').read()
        result = test.run(*SOURCE, f'--{option}', f'json:{other}', '--append').expect(1)
        result.expect_one_line(other, 'not a row')
        assert open(other, 'rb').read() == before, 'changed'


def test_append_after_half_a_row(test):
    """An unfinished last row is removed, even if it is the only one; foreign data that looks
    similar stays."""
    path = test.path('rows.json')
    run = (*SOURCE, '--interval', '100ms', '--top', '3', '--output', f'json:{path}', '--append')
    test.run(*run).expect(0)
    whole = open(path, 'rb').read()
    last = int(json.loads(whole.splitlines()[-1])['epoch'])
    first = whole.splitlines(keepends=True)[0]
    for half, kept in ((whole + first[:40], whole), (first[:-1], b''), (first[:3], b''), (b'', b'')):
        with open(path, 'wb') as stream:
            stream.write(half)
        test.run(*run).expect(0)
        text = open(path, 'rb').read()
        assert text.startswith(kept), 'a whole row was changed'
        numbers = [json.loads(line)['epoch'] for line in text.splitlines()]
        assert numbers == sorted(numbers) and numbers[-1] == last + (last + 1) * bool(kept), numbers
    for strange in (b'Dear reader', b'{"epoch":1}\n', b'{"epoch": 1,\n'):
        with open(path, 'wb') as stream:
            stream.write(strange)
        test.run(*run).expect(1).expect_one_line(path)
        assert open(path, 'rb').read() == strange, 'changed'


def test_rotation(test):
    """Complete files are renamed like those of CSV, and have the same rows."""
    _, arguments = both(test, 'rows', 'output')
    slow = ('--synthetic', 'flows=1K,zipf=1.0,packets=50K,rate=10K,seed=1', '--seed', '1')
    test.run(*slow, '--interval', '500ms', '--top', '3', '--rotate', '1s', *arguments).expect(0)
    as_csv, as_json = (sorted(glob.glob(test.path(f'rows.*.{word}'))) for word in ('csv', 'json'))
    assert len(as_csv) > 2 and len(as_csv) == len(as_json), (as_csv, as_json)
    assert sum(check_same('output', *pair) for pair in zip(as_csv, as_json)) == 3 * 10

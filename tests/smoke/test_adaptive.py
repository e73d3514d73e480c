# SPDX-License-Identifier: BSD-3-Clause
"""Cost of a packet by stage, and profiles. Times are only checked for consistency."""

import os
import re
import time

import lib
from test_control import connect, stop

LONG = ('parts_add_up',)

PACED = ('--synthetic', 'flows=1K,packets=100G,rate=200K,seed=1', '--pace', 'recorded', '--workers', '1')
QUIET = ('--output', '/dev/null')


def ask_costs(test, client, command='costs'):
    """Returns the costs of the last interval, once one has a timed burst."""
    def there():
        answer.clear()
        answer.update(client.ask(command))
        return 'error' not in answer

    answer = {}
    test.until(there, 'a burst is timed')
    return answer


def parts_of(answer):
    """Returns the ns of every part."""
    yield from (float(answer[f'{part}_ns']) for part in ('receive', 'filter', 'parse', 'rules', 'free'))
    yield from (float(key['ns']) for key in answer['keys'].values())
    for measurement in answer['measurements'].values():
        yield from (float(measurement['sketch_ns']), float(measurement['distinct_ns']))


def test_parts_add_up(test):
    """Parts add up to their sum, which is below the cost of whole bursts. Filter and prefixes are
    parts if configured.

    While other programs use the CPU, a packet takes far longer in one interval than in the next.
    The least disturbed intervals are compared.
    """
    rules, stats = test.path('rules'), test.path('stats.csv')
    with open(rules, 'w', encoding='utf-8') as stream:
        stream.write('0.0.0.0/0 all\n')
    process = test.start(*PACED, '--interval', '20ms', '--stats', stats, '--filter', 'udp or tcp',
                         '--monitor', rules, *QUIET)
    client = connect(test, process)
    answers = {}
    while len(answers) < 30:
        answer = ask_costs(test, client)
        answers[answer['epoch']] = answer
        time.sleep(0.02)
    stop(test, process, client)
    rows = {int(row['epoch']): row for row in lib.read_stats(stats)}
    for epoch, answer in answers.items():
        assert abs(sum(parts_of(answer)) - float(answer['sum_ns'])) < 0.1, answer
        assert 0 < answer['timed_bursts'] <= answer['timed_packets'], answer
        for part in ('filter', 'parse', 'rules', 'free'):
            assert float(answer[f'{part}_ns']) > 0, (part, answer)
        every = float(rows[epoch]['delay_ns']) * int(rows[epoch]['received'])
        assert float(answer['sum_ns']) * answer['timed_packets'] < 1.01 * every + 1000, (answer, rows[epoch])
    timed = min(float(answer['sum_ns']) for answer in answers.values())
    whole = min(float(row['delay_ns']) for row in rows.values() if int(row['received']) >= 100)
    assert 0.05 < timed / whole < 20, (timed, whole)


def test_parts_of_measurements(test):
    """The maximum number of measurements, each with its own key, none of them the 5-tuple."""
    keys = ('src', 'dst', 'src-dst', 'src/24', 'dst/24', 'src/16', 'dst/16', 'src/8', 'dst/8', 'src_port',
            'dst_port', 'proto', 'src,proto', 'dst,proto', 'src/20', 'dst/20')
    config = test.path('many.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        for i, key in enumerate(keys):
            stream.write(f'[measurement m{i}]\nkey = {key}\nwidth = 1K\n')
    process = test.start(*PACED, '--config', config, '--interval', '100ms', *QUIET)
    client = connect(test, process)
    answer = ask_costs(test, client)
    of_worker = ask_costs(test, client, 'costs,0')
    for wrong in ('costs,1', 'costs,x', 'costs,-1', 'costs,0x', 'costs,99999999999999999999'):
        assert list(client.ask(wrong)) == ['error', 'mistake'], wrong
    stop(test, process, client)
    assert [answer['keys'][str(k)]['key'] for k in range(17)] == ['5tuple', *keys], answer['keys']
    assert list(of_worker) == list(answer), of_worker
    for i in range(16):
        measurement = answer['measurements'][str(i)]
        assert (measurement['name'], measurement['key']) == (f'm{i}', i + 1), measurement
        assert float(measurement['sketch_ns']) > 0, measurement


def test_what_is_filtered_costs(test):
    """A live port on which the filter rejects everything."""
    process = test.start('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1', '--filter', 'udp',
                         '--interval', '50ms', *QUIET)
    client = connect(test, process)
    answer = ask_costs(test, client)
    stop(test, process, client)
    assert float(answer['filter_ns']) > 0, answer


def test_kept_up(test):
    """With load shedding, a worker times bursts that it processes completely."""
    process = test.start(*PACED, '--keep-up', 'valve', '--interval', '100ms', *QUIET)
    client = connect(test, process)
    answer = ask_costs(test, client)
    stop(test, process, client)
    assert float(answer['parse_ns']) > 0 and answer['timed_bursts'] > 0, answer


TWO = '[measurement flows]\nsketch = flow-table\nwidth = 4K\n[measurement senders]\nkey = src,dst_port\nwidth = 1K\n'
TRAFFICS = ('new', 'uncached', 'cached', 'one')


def write(test, name, text):
    path = test.path(name)
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(text)
    return path


def make_profile(test):
    """Measures a profile of two measurements; returns the paths of the configuration and the
    profile, and its text.

    The profile ignores options of the run that have no effect on it.
    """
    config = write(test, 'two.conf', TWO)
    result = test.bench('profile', '--config', config, '--no-huge', '--duration', '1ms', '--seed', '1',
                        '--port', 'net_null0', '--states-from', test.path('nothing')).expect(0)
    return config, write(test, 'host.profile', result.stdout), result.stdout


def capacity_of(text):
    """Returns {level: ns and Mpps for each traffic}."""
    return {name: [float(figure) for figure in figures.split()]
            for name, figures in re.findall(r'^(full|count only) +([0-9. ]+)$', text, re.M)}


def test_profile(test):
    """A profile made here is accepted here: by plan, which prints the load the host can measure,
    and by a run."""
    config, path, text = make_profile(test)
    lines = [line for line in text.splitlines() if not line.startswith('#')]
    assert lines[0] == 'sketchtap profile 1' and lines[-1] == f'rows: {len(lines) - 6}', text
    rows = [dict(zip(lines[4].split(','), line.split(','))) for line in lines[5:-1]]
    kinds = [(row['part'], row['traffic'], row['unit'], row['key'], row['sketch'], row['state']) for row in rows]
    sketches = (('5tuple', 'flow-table', 'count'), ('src+dst_port', 'count-min', ''))
    assert sorted(kinds) == sorted(
        [(part, '', 'burst', '', '', '') for part in ('receive', 'parse', 'free', 'distinct')]
        + [('timer', '', 'packet', '', '', '')] + [('key', '', 'burst', key, '', '') for key, *_ in sketches]
        + [('sketch', traffic, unit, *sketch) for sketch in sketches for traffic in TRAFFICS
           for unit in ('burst', 'packet')]
        + [('sketch', traffic, 'lookup', *sketch) for sketch in sketches for traffic in ('cached', 'uncached')]), kinds
    assert text.count('# I: ns') == text.count('# II: BIC') == 2, text

    plan = ('plan', '--config', config, '--pcap', '/dev/null', '--workers')
    without = test.run(*plan, '3').expect(0).stdout
    with_it = test.run(*plan, '3', '--profile', path).expect(0).stdout
    assert with_it.startswith(without), with_it
    states = capacity_of(with_it[len(without):])
    assert list(states) == ['full', 'count only'], with_it
    for figures in states.values():
        for ns, worker, every in zip(figures[::3], figures[1::3], figures[2::3]):
            assert abs(worker - 1000 / ns) < 0.02 * worker + 0.01, with_it
            assert abs(every - 3 * worker) < 0.02 * every + 0.03, with_it
    assert all(full > count for full, count in zip(states['full'][::3], states['count only'][::3])), with_it


def test_states_of_a_plan(test):
    """With --overload, the plan has a row per shedding level in order; each is cheaper than the one
    before."""
    config, path, _ = make_profile(test)
    with open(config, encoding='utf-8') as stream:
        first, second = re.findall(r'^\[measurement (\w+)\]', stream.read(), re.M)
    steps = {first: 'keys:1/4, off', second: 'rate:1/2, rate:1/4'}
    changed = write(test, 'steps.conf', re.sub(
        r'^\[measurement (\w+)\]', lambda found: f'{found[0]}\nsteps = {steps[found[1]]}\npriority = '
        f'{2 if found[1] == first else 1}', open(config, encoding='utf-8').read(), flags=re.M))
    levels = ['wait', *(f'1/{1 << k}' for k in range(2, 7))]
    given_up = [f'{first} keys:1/4', f'{first} off', f'{second} rate:1/2', f'{second} rate:1/4']
    for how, names in (('valve', levels), ('best', given_up + levels)):
        text = test.run('plan', '--config', changed, '--pcap', '/dev/null', '--profile', path, '--keep-up', how).expect(0).stdout
        rows = re.findall(r'^(\S.*?) +([0-9.]+)(?: +[0-9.]+){8}$', text, re.M)
        assert [name for name, _ in rows] == ['full', *names, 'count only'], text
        ns = {name: float(figure) for name, figure in rows}
        for sequence in (names[:-6], levels):
            falling = [ns['full'], *(ns[name] for name in sequence), ns['count only']]
            # Selecting a share of the keys may cost as much as it saves.
            assert all(a > b - 2.1 for a, b in zip(falling, falling[1:])), text
        assert abs(ns['wait'] - ns.get(f'{first} off', ns['wait'])) < 0.11, text
        count = ns['count only']
        assert abs((ns['1/4'] - count) - 2 * (ns['1/8'] - count)) < 0.4, text


def test_profile_in_a_run(test):
    """The run uses the profile for its measurements; missing parts are measured at the start."""
    config, path, _ = make_profile(test)
    with open(config, 'a', encoding='utf-8') as stream:
        stream.write('[measurement hosts]\nkey = dst\nsketch = simple-hash\nwidth = 1K\n')
    lacking = test.run('plan', '--config', config, '--pcap', '/dev/null', '--profile', path).expect(0).stdout
    assert f'{path} has no figure of key of dst; create one with sketchtap-bench profile' in lacking, lacking
    process = test.start(*PACED, '--config', config, '--profile', path, '--interval', '100ms', *QUIET)
    client = connect(test, process)
    answer = ask_costs(test, client)
    stop(test, process, client)
    states = answer['profile'].values()
    assert [state['state'] for state in states] == ['full', 'count only'], answer
    # an emulated CPU: reported, and no value is invented
    if '200 ms are too short' in process.stderr():
        assert not any('cached_ns' in state for state in states if state['state'] == 'full'), answer
        test.skip('200 ms do not suffice to measure the missing parts of the profile')
    assert all(float(state[f'{traffic}_ns']) > 0 for state in states
               for traffic in ('cached', 'uncached', 'new')), answer


def test_profile_without_a_part(test):
    """Parts that neither the profile has nor the run can measure are reported at the start."""
    config, path, text = make_profile(test)
    run = ('--synthetic', 'flows=10,packets=10', '--config', config, '--workers', '1', *QUIET, '--profile')
    for part in ('receive', 'parse', 'free'):
        lines = [line for line in text.splitlines() if not line.startswith(f'{part},')]
        rows = sum(not line.startswith('#') for line in lines) - 6
        lines = [f'rows: {rows}' if line.startswith('rows: ') else line for line in lines]
        result = test.run(*run, write(test, 'lacking', '\n'.join(lines) + '\n')).expect(0)
        assert f'no cost of {part},' in result.stderr, result.describe()
    assert 'no cost' not in test.run(*run, path).expect(0).stderr


def test_refused_profiles(test):
    """Profiles of another CPU, build or DPDK are refused unless --ignore-profile-mismatch is set;
    damage is reported with its line."""
    config, path, text = make_profile(test)
    plan = ('plan', '--config', config, '--pcap', '/dev/null', '--profile')
    for fact in ('cpu', 'build', 'dpdk'):
        other = write(test, fact, re.sub(f'^{fact}: .*', f'{fact}: another', text, flags=re.M))
        refused = test.run(*plan, other).expect(1)
        assert f"another {fact}: 'another', this host has '" in refused.stderr, refused.describe()
        assert refused.stdout == '', refused.describe()
        taken = test.run(*plan, other, '--foreign-profile').expect(0)
        assert f'another {fact}' in taken.stderr and 'full' in taken.stdout, taken.describe()
    run = test.run('--synthetic', 'flows=10,packets=10', '--profile', other).expect(1)
    assert 'another dpdk' in run.stderr, run.describe()
    cut = write(test, 'cut', text[:text.index('rows: ')])
    line = text[:text.index('rows: ')].count('\n') + 1
    assert f'line {line}: unexpected end of file' in test.run(*plan, cut).expect(1).stderr
    wrong = write(test, 'wrong', text.replace('parse,,burst', 'parse,,first', 1))
    assert "line 7: 'first': unknown keyword" in test.run(*plan, wrong).expect(1).stderr
    assert 'line 1: not a profile' in test.run(*plan, config).expect(1).stderr
    assert 'cannot open' in test.run(*plan, test.path('nothing')).expect(1).stderr
    os.mkfifo(test.path('fifo'))
    assert 'not a regular file' in test.run(*plan, test.path('fifo')).expect(1).stderr
    assert 'without --profile' in test.run(*plan[:-1], '--foreign-profile').expect(2).stderr
    contradicts = test.run('plan', '--listen', ':2055', '--profile', path).expect(2)
    assert '--profile: contradicts --listen' in contradicts.stderr, contradicts.describe()


def test_no_profile_into_a_full_disk(test):
    """An incomplete profile is an error."""
    with open('/dev/full', 'w', encoding='utf-8') as full:
        result = test.bench('profile', '--no-huge', '--duration', '1ms', '--width', '1K', stdout=full)
    assert result.status == 1, result.describe()

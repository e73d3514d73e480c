# SPDX-License-Identifier: BSD-3-Clause
"""What a packet costs, part by part. Times are not judged, but for what must add up."""

import statistics
import time

import lib
from test_control import connect, stop

PACED = ('--synthetic', 'flows=1K,packets=100G,rate=200K,seed=1', '--pace', 'recorded', '--workers', '1')
QUIET = ('--output', '/dev/null')


def ask_costs(test, client, command='costs'):
    """Of the last epoch, once one has a burst that was timed."""
    def there():
        answer.clear()
        answer.update(client.ask(command))
        return 'error' not in answer

    answer = {}
    test.until(there, 'a burst is timed')
    return answer


def parts_of(answer):
    """ns of every part."""
    yield from (float(answer[f'{part}_ns']) for part in ('receive', 'filter', 'parse', 'rules', 'free'))
    yield from (float(key['ns']) for key in answer['keys'].values())
    for measurement in answer['measurements'].values():
        yield from (float(measurement['sketch_ns']), float(measurement['distinct_ns']))


def test_parts_add_up(test):
    """To their sum, and about to what --stats has; a filter and rules are parts where there are some."""
    rules, stats = test.path('rules'), test.path('stats.csv')
    with open(rules, 'w', encoding='utf-8') as stream:
        stream.write('0.0.0.0/0 all\n')
    process = test.start(*PACED, '--interval', '100ms', '--stats', stats, '--filter', 'udp or tcp',
                         '--monitor', rules, *QUIET)
    client = connect(test, process)
    answers = {}
    while len(answers) < 8:
        answer = ask_costs(test, client)
        answers[answer['epoch']] = answer
        time.sleep(0.02)
    stop(test, process, client)
    for answer in answers.values():
        assert abs(sum(parts_of(answer)) - float(answer['sum_ns'])) < 0.1, answer
        assert 0 < answer['timed_bursts'] <= answer['timed_packets'], answer
        for part in ('filter', 'parse', 'rules', 'free'):
            assert float(answer[f'{part}_ns']) > 0, (part, answer)
    rows = {int(row['epoch']): row for row in lib.read_stats(stats)}
    ratio = statistics.median(float(answer['sum_ns']) / float(rows[epoch]['delay_ns'])
                              for epoch, answer in answers.items())
    assert 0.1 < ratio < 10, (ratio, answers)


def test_parts_of_measurements(test):
    """As many measurements as there may be, each with a key of its own, none of them the 5-tuple."""
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
    """A live port of which nothing is measured."""
    process = test.start('--port', 'net_null0', '--eal', '--no-pci', '--workers', '1', '--filter', 'udp',
                         '--interval', '50ms', *QUIET)
    client = connect(test, process)
    answer = ask_costs(test, client)
    stop(test, process, client)
    assert float(answer['filter_ns']) > 0, answer

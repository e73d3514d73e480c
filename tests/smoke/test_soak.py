# SPDX-License-Identifier: BSD-3-Clause
"""tools/soak, and receivers that fail at random, for a few seconds. Long runs are started by hand,
see docs/SOAK.md."""

import json
import os
import random
import re
import signal
import time

import failing
import lib
import test_live_pairs
from test_ipfix import DELIVERIES

LONG = ('receivers_that_fail', 'receivers_that_fail_live')

FATES = ('delivered', 'acknowledged', 'failed', 'unknown', 'dropped')
QUEUE = 4 << 20  # queue size of each destination in bytes
# allowance for librdkafka, libcurl and threads in bytes, of which messages take 64 MB
LIBRARY = 96 << 20


@lib.alone
def test_seconds_of_it(test):
    if test.sanitized:
        test.skip("memory grows with a sanitizer")
    soak = os.path.join(test.settings.root, 'tools', 'soak')
    minutes = 0.3 if test.settings.slow else 0.08  # includes a start of up to a fifth of the time
    result = test.run('--binary', test.binary, '--directory', test.path('soak'), '--minutes', minutes,
                      '--hangup', '2', '--sample', '1', '--flows', '10K', program=[soak])
    result.expect(0)
    for figure in ('packets', 'rate', 'epochs', 'files', 'memory'):
        assert figure in result.stdout, result.describe()


def seconds(test):
    """Returns how long receivers fail, in seconds."""
    return float(os.environ.get('SKETCHTAP_SOAK_SECONDS', 60 if test.settings.full else 4))


class Places:
    """One destination of each kind, as sections; most fail at random from a seed. Files of the same
    rows serve as truth."""

    def __init__(self, test, seed):
        self.test, self.seed = test, seed
        self.receivers = {'flows-tcp': failing.Receiver('flows-tcp', seed), 'heavy-tcp': failing.Receiver('heavy-tcp', seed),
                          'flows-ipfix': failing.Ipfix('flows-ipfix', seed),
                          'flows-db': failing.Database('flows-db', seed),
                          'spooled-db': failing.Database('spooled-db', seed),
                          'spooled-tcp': failing.Receiver('spooled-tcp', seed),
                          'calm': failing.Receiver('calm', seed, calm=True)}
        self.broker = failing.Broker(test, seed)
        urls = {name: f'{self.scheme(name)}127.0.0.1:{receiver.port}{"/rows" if name.endswith("-db") else ""}'
                for name, receiver in self.receivers.items()}
        urls['flows-kafka'] = self.broker.url
        self.config = test.path('places.conf')
        with open(self.config, 'w', encoding='utf-8') as file:
            for name, url in urls.items():
                what = 'heavy-hitters' if name.startswith('heavy') else 'flows'
                file.write(f'[export {name}]\nwhat = {what}\nurl = {url}\nqueue = {QUEUE >> 20}MB\n')
                if name.startswith('spooled'):
                    file.write(f'spool = {test.path(name)},1MB\n')
            file.write('kafka.message.timeout.ms = 3000\nkafka.reconnect.backoff.max.ms = 300\n')
        self.names = list(urls)

    @staticmethod
    def scheme(name):
        return {'ipfix': 'ipfix+tcp://', 'db': 'clickhouse://'}.get(name.split('-')[-1], 'json:tcp://')

    def watch(self, process, last):
        """Sends SIGHUP at random times; at the end, each receiver gets one of the last moods."""
        choice, begin = random.Random(f'{self.seed} signals'), time.monotonic()
        while process.running() and time.monotonic() - begin < seconds(self.test):
            time.sleep(choice.uniform(0.1, 1))
            process.signal(signal.SIGHUP)
        for receiver in (*self.receivers.values(), self.broker):
            receiver.settle(last)

    def finish(self):
        for receiver in self.receivers.values():
            receiver.close()
        self.kept = {name: receiver.kept for name, receiver in self.receivers.items()}
        self.kept['flows-kafka'] = self.broker.close(self.test)


def accounts(path):
    """Returns {export: sums over its rows}, each of which balances; `left` is the number still
    waiting at the end."""
    sums, waited = {}, {}
    for row in lib.read_csv(path, DELIVERIES):
        name = row['export']
        figures = {column: int(row[column]) for column in ('rows', *FATES, 'waiting', 'spooled', 'retries', 'reconnects')}
        assert figures['rows'] + waited.get(name, 0) == sum(figures[fate] for fate in (*FATES, 'waiting')), row
        assert figures['spooled'] <= figures['waiting'], row
        waited[name] = figures['waiting']
        before = sums.setdefault(name, dict.fromkeys(figures, 0))
        for column, value in figures.items():
            before[column] += value
        before['left'] = figures['waiting']
    return sums


def written(path):
    """Returns the rows of a file, in the form that receivers keep."""
    kept = failing.Kept()
    with open(path, encoding='utf-8') as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            kept.add({**row, 'record': number} if 'rank' not in row else row)
    return kept


def check_arrived(name, sums, kept, perhaps, truth):
    """Checks that all received rows are real and unchanged, and that their number is within that of
    the delivery rows."""
    for number, told in enumerate(kept.sums):
        assert told == 0 or (number < len(truth.sums) and told == truth.sums[number]), (name, number)
    assert kept.rows >= sums['acknowledged'], (name, kept.rows, sums)
    most = sums['delivered'] + sums['acknowledged'] + sums['unknown'] + sums['left']
    assert perhaps.rows <= most, (name, perhaps.rows, sums)


def check(places, result, deliveries, files, base):
    """base: memory of a run without destinations."""
    # A fast host ends the run early.
    moods = [receiver.moods for receiver in (*places.receivers.values(), places.broker) if not receiver.calm]
    assert min(moods) > 0 and sum(moods) > 2 * len(moods), moods
    if 'the disk does not keep up' in result.stderr:
        places.test.skip('the disk is too slow: files are incomplete')
    truths = {kind: written(path) for kind, path in files.items()}
    sums = accounts(deliveries)
    for name in places.names:
        truth = truths['heavy' if name.startswith('heavy') else 'flows']
        account = sums[name]
        assert account['rows'] == truth.rows > 0, (name, account, truth.rows)
        kept = places.kept[name]
        if not name.endswith('ipfix'):
            check_arrived(name, account, kept, getattr(places.receivers.get(name), 'perhaps', kept), truth)
        lost = account['failed'] + account['unknown'] + account['dropped']
        # Every loss is logged.
        said = [line for line in result.stderr.splitlines() if 'warning' in line and name in line]
        assert said or lost == account['left'] == 0, (name, account, result.describe())
    calm = sums['calm']
    assert calm['rows'] == calm['delivered'] == places.kept['calm'].rows, calm
    lost = sum(account[fate] for account in sums.values() for fate in ('failed', 'unknown', 'dropped'))
    result.expect(1 if lost else 0)
    most = base + QUEUE * len(places.names) + LIBRARY
    assert places.test.sanitized or result.max_rss < most, f'{result.max_rss} bytes, more than {most}'


def seed_of(test):
    return os.environ.get('SKETCHTAP_SOAK_SEED', str(int(time.time())) if test.settings.full else '1')


MEASURE = ('--workers', '1', '--seed', '3', '--sketch', 'flow-table')


@lib.alone
def test_receivers_that_fail(test):
    """A replay waits for failing receivers, about a second in each interval. Its files equal those
    of a run without exports, byte for byte."""
    test.patience.left += 5 * seconds(test)
    traffic = ('--synthetic', f'flows=5000,packets={int(seconds(test) + 4) * 5000},rate=20K,seed=3', '--interval', '250ms')
    kinds = {'heavy': '--output', 'flows': '--flows'}
    files = {kind: test.path(f'{kind}.json') for kind in kinds}
    alone = [word for kind, option in kinds.items() for word in (option, f'json:{files[kind]}.alone')]
    base = test.run('run', *traffic, *MEASURE, *alone).expect(0)
    places, deliveries = Places(test, seed_of(test)), test.path('deliveries.csv')
    process = test.start('run', *traffic, *MEASURE, '--config', places.config, '--deliveries', deliveries,
                         *(word for kind, option in kinds.items() for word in (option, f'json:{files[kind]}')))
    places.watch(process, ('takes',))
    result = test.wait(process)
    places.finish()
    check(places, result, deliveries, files, base.max_rss)
    for path in files.values():
        with open(path, 'rb') as one, open(f'{path}.alone', 'rb') as other:
            assert one.read() == other.read(), f'{path} is not as without exports'


@lib.alone
def test_receivers_that_fail_live(test):
    """A live run waits for no receiver: its files have all packets, independent of deliveries."""
    test.patience.left += 5 * seconds(test)
    receiving, sending, path = test_live_pairs.memif(test)
    files, stats = {kind: test.path(f'{kind}.json') for kind in ('heavy', 'flows')}, test.path('stats.csv')
    places, deliveries = Places(test, seed_of(test)), test.path('deliveries.csv')
    process = test.start('run', '--port', receiving, '--eal', '--no-pci', '--interval', '50ms', '--idle', 'sleep', *MEASURE,
                         '--config', places.config, '--deliveries', deliveries, '--stats', stats,
                         '--output', f'json:{files["heavy"]}', '--flows', f'json:{files["flows"]}')
    test.until(lambda: os.path.exists(path) or not process.running(), 'it listens')
    sender = test.start('generate', '--synthetic', 'packets=0,flows=1000,seed=3', '--pace', '20kpps', '--port', sending, '--eal',
                        '--no-pci', '--linger', '1h')
    test.until(lambda: os.path.exists(deliveries) and len(lib.read_text(deliveries)) > 1000 or not process.running(),
               'it measures')
    base = lib.resident(process.popen.pid) if process.running() else 0
    places.watch(process, ('takes', 'takes', 'takes', 'is frozen', 'is gone'))
    sender.signal(signal.SIGINT)
    test.until_said(sender, 'sent')
    time.sleep(0.5)  # until waiting packets have arrived
    process.signal(signal.SIGINT)
    result = test.wait(process)
    # it stays until the receiver is gone, because it owns the shared memory
    sender.signal(signal.SIGINT)
    sent = int(re.search(r'sent (\d+) packets', test.wait(sender).stderr)[1])
    places.finish()
    check(places, result, deliveries, files, base)
    with open(files['flows'], encoding='utf-8') as lines:
        assert sum(json.loads(line)['packets'] for line in lines) == sent
    ledger = lib.read_stats(stats)
    assert lib.total(ledger, 'measured') == sent

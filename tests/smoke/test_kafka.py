# SPDX-License-Identifier: BSD-3-Clause
"""Rows to a real Kafka broker, and through it into ClickHouse; only with --full.

The broker is started from artifacts of Maven Central, which stay in the folder of peers.outside().
"""

import csv
import json
import os
import signal

import lib
import peers
import test_clickhouse
from test_ipfix import account

VERSION = '3.9.1'
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId><version>1.7.36</version></dependency>
</dependencies></project>"""
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
num.partitions=2
"""
LOG4J = """log4j.rootLogger=WARN, s
log4j.appender.s=org.apache.log4j.ConsoleAppender
log4j.appender.s.layout=org.apache.log4j.SimpleLayout
"""
TRAFFIC = ('--synthetic', 'flows=5K,packets=300K,rate=100K,ipv6=0.2', '--interval', '1s', '--sketch', 'flow-table')


def fetch(folder):
    os.makedirs(folder)
    with open(os.path.join(folder, 'pom.xml'), 'w', encoding='utf-8') as stream:
        stream.write(POM)
    return peers.call('mvn', '--quiet', '--batch-mode', 'dependency:copy-dependencies', '-DoutputDirectory=jars',
                      cwd=folder)


class Broker:
    def __init__(self, test):
        if not test.settings.full:
            test.skip('only with --full')
        peers.needs(test, 'java', 'mvn', 'kcat')
        self.test, self.folder = test, test.path('kafka')
        self.jars = os.path.join(peers.fetched(test, f'kafka-{VERSION}', fetch), 'jars')
        self.port, self.controller = peers.free_port(), peers.free_port()
        os.mkdir(self.folder)
        with open(os.path.join(self.folder, 'log4j.properties'), 'w', encoding='utf-8') as stream:
            stream.write(LOG4J)
        self.configure('')
        self.java('kafka.tools.StorageTool', 'format', '-t', 'MkU3OEVBNTcwNTJENDM2Qg', '-c', self.properties).expect(0)
        self.begin()

    def configure(self, more):
        self.properties = os.path.join(self.folder, 'server.properties')
        with open(self.properties, 'w', encoding='utf-8') as stream:
            stream.write(PROPERTIES.format(port=self.port, controller=self.controller, folder=self.folder) + more)

    def command(self, *arguments):
        return ('-Xmx400m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1',
                f'-Dlog4j.configuration=file:{self.folder}/log4j.properties', '-cp', f'{self.jars}/*', *arguments)

    def java(self, *arguments):
        return self.test.run(*self.command(*arguments), program=['java'])

    def begin(self):
        self.process = self.test.start(*self.command('kafka.Kafka', self.properties), program=['java'])
        self.test.until(lambda: self.kcat('-L', '-m', '1').status == 0, 'the broker answers')

    def end(self, number=signal.SIGKILL):
        self.process.signal(number)
        self.process.wait(self.test.patience)

    def kcat(self, *arguments, **options):
        return self.test.run('-b', f'127.0.0.1:{self.port}', *arguments, program=['kcat'], **options)

    def url(self, topic):
        return f'kafka://127.0.0.1:{self.port}/{topic}'

    def rows(self, topic):
        """Returns the rows in a topic, from beginning to end."""
        return [json.loads(line) for line in
                self.kcat('-C', '-t', topic, '-o', 'beginning', '-e', '-q').expect(0).stdout.splitlines()]


def as_csv(rows, names):
    """Converts JSON rows to CSV rows of a file."""
    return sorted([str(row.get(name, '')) for name in names] for row in rows)


def in_file(path):
    with open(path, encoding='utf-8') as stream:
        names, *rows = csv.reader(stream)
    return names, sorted(rows)


def identities(rows):
    return {(row['host'], row['run'], row.get('record', (row['epoch'], row['measurement'], row.get('rank'))))
            for row in rows}


def test_rows(test):
    """Three kinds of rows in three topics: read by kcat, and by ClickHouse into the tables of
    config/clickhouse."""
    broker = Broker(test)
    server = test_clickhouse.Server(test)
    statements = test_clickhouse.statements(test, 'tables', 'kafka')
    for statement in statements:
        server.ask(statement.replace('localhost:9092', f'127.0.0.1:{broker.port}'))
    arguments, paths = [], {}
    for option, topic in (('--output', 'heavy_hitters'), ('--flows', 'flows'), ('--stats', 'ledger')):
        paths[topic] = test.path(f'{topic}.csv')
        arguments += [option, broker.url(topic), option, paths[topic]]
    deliveries = test.path('deliveries.csv')
    test.run(*TRAFFIC, *arguments, '--deliveries', deliveries).expect(0)
    for topic, path in paths.items():
        sums = account(deliveries, broker.url(topic))
        names, written = in_file(path)
        arrived = broker.rows(topic)
        assert sums['rows'] == sums['acknowledged'] == len(written) == len(arrived) > 0, (topic, sums)
        assert len(identities(arrived)) == len(written), topic
        numbers = [name for name in names if name not in ('share', 'drop_rate') and not name.endswith('_ns')]
        places = [names.index(name) for name in numbers]
        assert as_csv(arrived, numbers) == sorted([row[place] for place in places] for row in written), topic
    for table, columns in (('heavy_hitters', ('packets', 'bytes', 'packets_high', 'rank')),
                           ('flows', ('packets', 'bytes', 'tcp_flags')), ('ledger', ('offered', 'measured', 'bytes'))):
        wanted = test_clickhouse.rows_of(paths[table], *columns)
        sums = ', '.join(f'sum({column})' for column in columns)
        test.until(lambda: server.ask(f'SELECT count() FROM {table}') == [str(wanted[0])], f'{table} is full')
        told = server.ask(f'SELECT count(), {sums} FROM {table} FINAL')[0].split('\t')
        assert [int(part) for part in told] == wanted, (table, told)
    assert server.ask('SELECT uniqExact(host, run, record) FROM flows') == server.ask('SELECT count() FROM flows FINAL')
    server.end(test)
    broker.end(signal.SIGTERM)


def offsets(broker, topic):
    """Returns the number of rows in a topic of two partitions."""
    asked = broker.kcat('-Q', '-t', f'{topic}:0:-1', '-t', f'{topic}:1:-1')
    return sum(int(line.split()[-1]) for line in asked.stdout.splitlines()) if asked.status == 0 else 0


def test_killed_broker(test):
    """The broker is killed while rows arrive, and restarts: each row arrives at least once, and
    repetitions are recognizable."""
    broker = Broker(test)
    rows, deliveries, url = test.path('rows.csv'), test.path('deliveries.csv'), broker.url('flows')
    process = test.start('run', '--synthetic', 'flows=3K,packets=100M,rate=3K', '--pace', 'recorded', '--interval',
                         '1s', '--sketch', 'flow-table', '--output', '/dev/null', '--flows', url, '--flows', rows,
                         '--deliveries', deliveries)
    test.until(lambda: offsets(broker, 'flows') > 0, 'some rows are there')
    broker.end()
    test.until_said(process, 'rows wait')
    broker.begin()
    test.until_said(process, ': resumed')
    process.signal(signal.SIGINT)
    test.wait(process).expect(0)
    sums, arrived, (names, written) = account(deliveries, url), broker.rows('flows'), in_file(rows)
    assert sums['rows'] == sums['acknowledged'] == len(written), sums
    assert len(identities(arrived)) == len(written) <= len(arrived), (len(arrived), len(written))
    packets = {row['record']: row['packets'] for row in arrived}
    assert sum(packets.values()) == sum(int(row[names.index('packets')]) for row in written)
    broker.end(signal.SIGTERM)


def test_frozen_broker(test):
    """A broker that reads requests and never replies: the state of its rows is unknown."""
    broker = Broker(test)
    deliveries, url, config = test.path('deliveries.csv'), broker.url('ledger'), test.path('run.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write(f'[export ledger]\nwhat = stats\nurl = {url}\nkafka.message.timeout.ms = 2000\n')
    process = test.start('run', '--synthetic', 'flows=100,packets=100M,rate=5K', '--pace', 'recorded', '--interval',
                         '500ms', '--output', '/dev/null', '--config', config, '--deliveries', deliveries)
    test.until(lambda: offsets(broker, 'ledger') > 0, 'a row is there')
    broker.process.signal(signal.SIGSTOP)
    test.until_said(process, 'timed out')
    process.signal(signal.SIGINT)
    result = test.wait(process).expect(1)
    broker.process.signal(signal.SIGCONT)
    sums = account(deliveries, 'ledger')
    assert sums['acknowledged'] > 0 and sums['unknown'] > 0, sums
    assert sums['acknowledged'] + sums['unknown'] + sums['failed'] + sums['dropped'] == sums['rows'], sums
    assert 'ledger: ' in result.stderr, result.describe()
    broker.end(signal.SIGTERM)


def test_refused_rows(test):
    """A missing topic, and one with a lower message size limit: rows fail, and the broker's error
    is logged."""
    broker = Broker(test)
    with open(broker.properties, encoding='utf-8') as stream:
        # the content does not matter: this creates the topic
        broker.kcat('-P', '-t', 'short', stdin=stream).expect(0)
    broker.end()
    broker.configure('auto.create.topics.enable=false\nmessage.max.bytes=100\n')
    broker.begin()
    for topic, words in (('nowhere', 'Unknown topic'), ('short', 'too large')):
        deliveries, config = test.path(f'{topic}.csv'), test.path(f'{topic}.conf')
        with open(config, 'w', encoding='utf-8') as stream:
            stream.write(f'[export {topic}]\nwhat = stats\nurl = {broker.url(topic)}\n'
                         'kafka.topic.metadata.propagation.max.ms = 1000\n')
        result = test.run('--synthetic', 'flows=10,packets=10K', '--interval', '0', '--output', '/dev/null',
                          '--config', config, '--deliveries', deliveries).expect(1)
        sums = account(deliveries, topic)
        assert sums['rows'] == sums['failed'] == 1, (topic, sums)
        assert words in result.stderr, result.describe()
    broker.end(signal.SIGTERM)


def test_properties(test):
    """Properties that librdkafka rejects are reported with file and line."""
    config = test.path('run.conf')
    for number, (line, part) in enumerate((('acks = some', 'Invalid value'), ('retires = 3', 'not a property'),
                                           ('sasl.password = x', 'sasl.password.file = FILE'))):
        with open(config, 'w', encoding='utf-8') as stream:
            stream.write('[export heavy]\nwhat = heavy-hitters\nurl = kafka://127.0.0.1/heavy\n'
                         f'{number * "# more" + chr(10)}kafka.{line}\n')
        result = test.run('--synthetic', 'packets=10', '--config', config)
        if 'was built without it' in result.stderr:
            test.skip('built without Kafka')
        result.expect(2).expect_one_line(f'{config}:5: kafka.{line.split()[0]}: ', part)

# SPDX-License-Identifier: BSD-3-Clause
"""Receivers that fail at random, from a seed. Each changes its mood repeatedly and stores the rows
it received.

A row has a number: its record number, or one computed from its interval and rank. Only a checksum
of each row is stored, because a run may last an hour.
"""

import array
import json
import random
import select
import signal
import socket
import struct
import subprocess
import threading
import time
import zlib

import lib
import peers

RANKS = 128  # more than the rows of --top 100
WHO = ('host', 'run', 'record')  # fields that rows have and files do not


def number_of(row):
    return row['record'] if 'record' in row else row['epoch'] * RANKS + row.get('rank', 0)


def checksum(row):
    """Checksum of the fields that files also have; never 0."""
    return zlib.crc32(json.dumps([item for item in row.items() if item[0] not in WHO]).encode()) | 1


class Kept:
    """Checksums by row number."""

    def __init__(self):
        self.sums, self.rows, self.twice = array.array('L'), 0, 0

    def add(self, row):
        number, told = number_of(row), checksum(row)
        if number >= len(self.sums):
            self.sums.extend([0] * (number + 4096 - len(self.sums)))
        before = self.sums[number]
        assert before in (0, told), f'came twice, and not the same: {row}'
        self.rows += before == 0
        self.twice += before != 0
        self.sums[number] = told

    def add_lines(self, text):
        for line in text.splitlines():
            self.add(json.loads(line))

    def has(self, number):
        return number < len(self.sums) and self.sums[number] != 0


class Receiver(threading.Thread):
    """A TCP receiver with one connection at a time. MOODS: its behaviors and their weights."""

    MOODS = {'takes': 8, 'is frozen': 2, 'is slow': 2, 'closes': 1, 'resets': 1, 'says garbage': 1, 'is gone': 2}
    LASTS = (0.05, 0.9)  # duration of a mood, in seconds

    def __init__(self, name, seed, calm=False):
        super().__init__(daemon=True)
        self.title, self.calm, self.random = name, calm, random.Random(f'{seed} {name}')
        self.listener, self.connection = None, None
        self.mood, self.until = 'takes', time.monotonic() + 0.5
        self.failure, self.ended, self.kept, self.moods = None, threading.Event(), Kept(), 0
        self.listen(0)
        self.port = self.listener.getsockname()[1]
        self.start()

    def listen(self, port):
        self.listener = socket.create_server(('127.0.0.1', port), backlog=1)

    def run(self):
        try:
            while not self.ended.is_set() or (self.connection and self.mood != 'is frozen'):
                self.step()
        except Exception as failure:  # raised again by close()
            self.failure = failure
        finally:
            self.hang_up()
            if self.listener:
                self.listener.close()

    def step(self):
        if not self.calm and time.monotonic() > self.until:
            self.mood = self.random.choices(list(self.MOODS), self.MOODS.values())[0]
            self.until = time.monotonic() + self.random.uniform(*self.LASTS)
            self.moods += 1
        if self.mood == 'is gone':
            self.hang_up()
            if self.listener:
                self.listener.close()
            self.listener = None
            time.sleep(0.02)
        elif self.listener is None:
            self.listen(self.port)
        elif self.connection is None:
            if select.select([self.listener], [], [], 0.05)[0]:
                self.connection = self.listener.accept()[0]
                self.connection.settimeout(0.05)
                self.begin()
        elif self.mood == 'is frozen':
            time.sleep(0.05)
        elif self.mood in ('closes', 'resets'):
            if self.mood == 'resets':
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            self.hang_up()
            self.mood = 'takes'
        else:
            self.read()

    def read(self):
        try:
            if self.mood == 'says garbage':
                self.connection.send(b'\0\xff\r\n\r\nHTTP/9 999 no\r\n')
                self.mood = 'takes'
            if self.mood == 'is slow':
                time.sleep(0.02)
            data = self.connection.recv(2048 if self.mood == 'is slow' else 65536)
        except TimeoutError:
            return
        except OSError:
            data = b''
        if data:
            self.take(data)
        else:
            self.hang_up()

    def settle(self, moods):
        """Sets the final mood."""
        self.mood, self.until = 'takes' if self.calm else self.random.choice(moods), float('inf')

    def hang_up(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def begin(self):
        """Called when a connection begins."""
        self.rest = b''

    def take(self, data):
        *lines, self.rest = (self.rest + data).split(b'\n')
        for line in lines:
            self.kept.add(json.loads(line))

    def close(self):
        self.ended.set()
        self.join(30)
        assert not self.is_alive() and self.failure is None, (self.title, self.failure)


class Ipfix(Receiver):
    """Expects whole messages, except the last one of a connection."""

    def begin(self):
        self.rest, self.messages = b'', 0

    def take(self, data):
        self.rest += data
        while len(self.rest) >= 16:
            version, length = struct.unpack_from('>HH', self.rest)
            assert version == 10 and 16 <= length <= 1400, self.rest[:16].hex()
            if len(self.rest) < length:
                return
            self.rest = self.rest[length:]
            self.messages += 1


class Database(Receiver):
    """Receives INSERTs over HTTP. `kept`: rows it answered with 200. `perhaps`: complete rows,
    except those it answered with 503."""

    MOODS = {**Receiver.MOODS, 'is busy': 1, 'is in doubt': 1, 'hangs up unasked': 1}
    ANSWERS = {'is busy': (503, b'try again'), 'is in doubt': (500, b'Code: 159. Timeout exceeded')}

    def __init__(self, *arguments, **options):
        self.perhaps = Kept()
        super().__init__(*arguments, **options)

    def take(self, data):
        self.rest += data
        head, found, body = self.rest.partition(b'\r\n\r\n')
        length = int(head.lower().partition(b'content-length:')[2].split(b'\r\n')[0]) if found else 0
        if not found or len(body) < length:
            return
        self.rest = b''
        if head.startswith(b'GET /?query=DESCRIBE'):  # at startup; the columns are unknown here
            self.connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
            return
        assert head.startswith(b'POST ') and len(body) == length, head
        status, said = self.ANSWERS.get(self.mood, (200, b''))
        if self.mood != 'is busy':  # this answer states that no row was written
            self.perhaps.add_lines(body.decode())
        if self.mood == 'hangs up unasked':
            self.hang_up()
            return
        if status == 200:
            self.kept.add_lines(body.decode())
        try:
            self.connection.sendall(b'HTTP/1.1 %d x\r\nContent-Length: %d\r\n\r\n%s' % (status, len(said), said))
        except OSError:
            self.hang_up()


class Broker(threading.Thread):
    """The mock broker of librdkafka, started by kafka_mock.c."""

    MOODS = {'takes': 6, 'is frozen': 2, 'is gone': 2, 'is slow': 2, 'says errors': 1}
    # Connection broken, not the leader, timeout, too few replicas.
    ERRORS = (-195, 6, 7, 19)
    calm = False

    def __init__(self, test, seed, topic='rows'):
        super().__init__(daemon=True)
        self.random, self.ended, self.moods = random.Random(f'{seed} broker'), threading.Event(), 0
        self.process = test.start(topic, program=[peers.built(test, 'kafka_mock', 'rdkafka')], stdin=subprocess.PIPE)
        self.out = f'{self.process.directory}/stdout'
        test.until(lambda: lib.read_text(self.out).endswith('\n'), 'the broker listens')
        self.url = f'kafka://{lib.read_text(self.out).strip()}/{topic}'
        self.start()

    def say(self, words):
        self.process.popen.stdin.write(words.encode() + b'\n')
        self.process.popen.stdin.flush()

    def run(self):
        while not self.ended.wait(self.random.uniform(0.3, 1)):
            mood = self.random.choices(list(self.MOODS), self.MOODS.values())[0]
            lasts, self.moods = self.random.uniform(0.1, 0.9), self.moods + 1
            if mood == 'is frozen':
                self.process.signal(signal.SIGSTOP)
                self.ended.wait(lasts)
                self.process.signal(signal.SIGCONT)
            elif mood == 'is gone':
                self.say('down')
                self.ended.wait(lasts)
                self.say('up')
            elif mood == 'is slow':
                self.say(f'rtt {self.random.randrange(1, 300)}')
                self.ended.wait(lasts)
                self.say('rtt 0')
            elif mood == 'says errors':
                self.say(f'errors {self.random.choice(self.ERRORS)}')

    def settle(self, _):
        self.ended.set()
        self.join(30)

    def close(self, test):
        """Returns the rows in the topic."""
        self.process.popen.stdin.close()
        test.wait(self.process).expect(0)
        kept = Kept()
        with open(self.out, encoding='utf-8') as lines:
            next(lines)
            for line in lines:
                kept.add(json.loads(line))
        return kept

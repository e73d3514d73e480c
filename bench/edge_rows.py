# SPDX-License-Identifier: BSD-3-Clause
"""CSV files of bench/living-edge and bench/edge, whose rows include machine, date and command."""

import csv
import datetime
import os
import platform
import subprocess
import sys

FACTS = ('machine', 'kernel', 'software', 'date', 'command')


class Rows:
    """A CSV file; each row is written at once."""

    def __init__(self, settings, name, bench, columns, said):
        if os.path.exists(settings.output) and not settings.force:
            sys.exit(f'{name}: {settings.output}: file exists; use --force to replace it')
        self.file = open(settings.output, 'w', newline='', encoding='utf-8')
        self.writer = csv.DictWriter(self.file, columns, restval='', lineterminator='\n')
        self.writer.writeheader()
        self.file.flush()  # before a fork copies the buffer
        self.same = {'bench': f'{name} {bench}'.strip(), **said}

    def write(self, row):
        short = {name: f'{value:.4f}'.rstrip('0').rstrip('.') if isinstance(value, float) else value
                 for name, value in row.items()}
        self.writer.writerow({**self.same, **short})
        self.file.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


def read(path):
    with open(path, newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def first_line(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().splitlines()[0].strip()


def machine():
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        cpu = next((line.split(':')[1].strip() for line in file if line.startswith('model name')), platform.machine())
    with open('/proc/meminfo', encoding='ascii') as file:
        memory = int(file.readline().split()[1]) >> 10
    return {'machine': f'{cpu}, {os.cpu_count()} CPUs, {memory} MB', 'kernel': f'Linux {platform.release()}',
            'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC')}

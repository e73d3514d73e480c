# SPDX-License-Identifier: BSD-3-Clause
"""sketchtap plot: the lines of the chart equal the files; invalid files are refused."""

import collections
import os
import re
import xml.etree.ElementTree

import lib

SVG = '{http://www.w3.org/2000/svg}'
LEFT, RIGHT, HEIGHT = 84, 940, 190


class Picture:
    """A chart read from a file. Each panel has its own scale."""

    def __init__(self, path, seconds):
        self.root = xml.etree.ElementTree.parse(path).getroot()
        self.seconds = seconds
        self.texts = [''.join(text.itertext()) for text in self.root.iter(SVG + 'text')]
        self.titles = [text.text for text in self.root.iter(SVG + 'text') if text.get('class') == 'title']
        self.flows = [text.text for text in self.root.iter(SVG + 'text') if text.get('class') == 'flow']
        self.tops = [float(text.get('y')) + 10 for text in self.root.iter(SVG + 'text') if text.get('class') == 'title']

    def highest(self, panel):
        """Returns the value at the top of a panel."""
        label, = [text.text for text in self.root.iter(SVG + 'text')
                  if text.get('class') == 'end' and abs(float(text.get('y')) - 4 - self.tops[panel]) < 0.2]
        number, unit = re.match(r'([0-9.]+)\s*([KMG%]?)', label).groups()
        return float(number) * {'': 1, 'K': 1e3, 'M': 1e6, 'G': 1e9, '%': 0.01}[unit]

    def value(self, panel, y):
        return (self.tops[panel] + HEIGHT - y) / HEIGHT * self.highest(panel)

    def time(self, x):
        return (x - LEFT) / (RIGHT - LEFT) * self.seconds

    def line(self, flow):
        """Returns [(from, to, rate)] in seconds since the beginning."""
        lines = ''.join(path.get('d') for path in self.root.iter(SVG + 'path')
                        if path.get('class').startswith('line') and path.find(SVG + 'title').text == flow)
        steps, x, y = [], 0, 0
        for word, first, second in re.findall(r'([MVH])([0-9.-]+)(?: ([0-9.-]+))?', lines):
            if word == 'M':
                x, y = float(first), float(second)
            elif word == 'V':
                y = float(first)
            else:
                steps.append((self.time(x), self.time(float(first)), self.value(0, y)))
                x = float(first)
        return sorted(steps)

    def intervals(self, number):
        """Returns [(low, high)] of the flow with this number."""
        path = [path for path in self.root.iter(SVG + 'path') if path.get('class') == 'interval'][::-1][number]
        return [(self.value(0, float(low)), self.value(0, float(high)))
                for low, high in re.findall(r'M[0-9.-]+ ([0-9.-]+)H[0-9.-]+V([0-9.-]+)H', path.get('d'))]

    def piles(self, panel, colour):
        """Returns the heights of rectangles of a colour."""
        return [float(rect.get('height')) / HEIGHT * self.highest(panel) for rect in self.root.iter(SVG + 'rect')
                if rect.get('fill') == colour and rect.get('width') != '11' and
                self.tops[panel] - 1 <= float(rect.get('y')) <= self.tops[panel] + HEIGHT + 1]


def name_of(row):
    if row['proto'] == '1':
        return f'{row["src_ip"]} -> {row["dst_ip"]} icmp'
    proto = {'6': 'tcp', '17': 'udp'}[row['proto']]
    return f'{row["src_ip"]}:{row["src_port"]} -> {row["dst_ip"]}:{row["dst_port"]} {proto}'


def record(test, *words, packets='40K'):
    output, stats = test.path('flows.csv'), test.path('stats.csv')
    test.run('--synthetic', f'flows=500,zipf=1.1,size=100-1400,packets={packets},rate=20K,seed=1', '--interval', '100ms', '--top', '20',
             '--force', '--output', output, '--stats', stats, *words).expect(0)
    return output, stats


def heaviest(rows, metric):
    sums = collections.Counter()
    for row in rows:
        sums[name_of(row)] += int(row[metric])
    return [name for name, _ in sums.most_common(8)]


def test_rates_intervals_shares_losses(test):
    """Twenty intervals of a sketch that is too narrow, and of a table that sheds."""
    picture = test.path('picture.svg')
    for words in (('--width', '64', '--sketch', 'count-min'), ('--sketch', 'flow-table', '--width', '32', '--count',
                                                               'bytes')):
        output, stats = record(test, *words)
        test.run('plot', output, picture, '--stats', stats).expect(0)
        rows, ledger, shown = lib.read_output(output), lib.read_stats(stats), Picture(picture, 2.0)
        metric, factor = ('bytes', 8) if 'bytes' in words else ('packets', 1)
        pixel = shown.highest(0) / HEIGHT
        assert shown.flows == heaviest(rows, metric) and len(shown.flows) == 8, shown.flows
        for number, flow in enumerate(shown.flows):
            mine = [row for row in rows if name_of(row) == flow]
            steps = shown.line(flow)
            assert len(steps) == len(mine) > 3, (flow, steps)
            wide = [row for row in mine if row[f'{metric}_high'] != row[f'{metric}_low']]
            assert len(shown.intervals(number)) == len(wide), flow
            for row, (begin, end, rate) in zip(mine, steps):
                assert abs(begin - int(row['epoch']) / 10) < 0.004 and abs(end - begin - 0.1) < 0.004, (row, begin, end)
                assert abs(rate - int(row[metric]) * factor * 10) <= pixel, (row, rate)
            for row, (low, high) in zip(wide, shown.intervals(number)):
                assert abs(low - int(row[f'{metric}_low']) * factor * 10) <= pixel, (row, low)
                assert abs(high - int(row[f'{metric}_high']) * factor * 10) <= pixel, (row, high)
        first = [float(row['share']) for row in rows if name_of(row) == shown.flows[0]]
        for share, pile in zip(first, shown.piles(1, '#0072b2')):
            assert abs(share - pile) < 0.001, (share, pile)
        lost = [sum(int(row[name]) for name in lib.LOSSES) for row in ledger]
        assert shown.titles[2] == (f'Lost: {sum(lost):,} shed' if sum(lost) else 'Lost: nothing'), shown.titles
        for told, pile in zip([loss for loss in lost if loss], shown.piles(2, '#c62828')):
            assert abs(told * 10 - pile) <= shown.highest(2) / HEIGHT, (told, pile)
        assert (sum(lost) > 0) == ('flow-table' in words)


def test_many_intervals_and_files(test):
    """800 intervals in two files are merged into steps with the sums of the files."""
    output, _ = record(test, '--interval', '2500us', '--width', '256')
    text = lib.read_text(output).splitlines(keepends=True)
    half = next(n for n, line in enumerate(text) if line.startswith('399,'))
    first, second, picture = test.path('1.csv'), test.path('2.csv'), test.path('picture.svg')
    for path, lines in ((first, text[:half]), (second, text[:1] + text[half:])):
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(''.join(lines))
    test.run('plot', first, second, picture).expect(0)
    shown, rows = Picture(picture, 2.0), lib.read_output(output)
    assert len(shown.titles) == 2 and os.path.getsize(picture) < 500000
    for flow in shown.flows[:3]:
        steps = shown.line(flow)
        assert 300 < len(steps) <= 400, len(steps)
        exact = sum(int(row['packets']) for row in rows if name_of(row) == flow)
        drawn = sum(rate * 2.0 / 400 for _, _, rate in steps)
        assert abs(drawn - exact) < 0.03 * exact, (flow, drawn, exact)


def test_times(test):
    """Labels of the time axis are unique."""
    picture = test.path('picture.svg')
    for interval, packets in (('1ms', '60'), ('0', '9')):
        output, _ = record(test, '--interval', interval, packets=packets)
        test.run('plot', output, picture).expect(0)
        times = [text.text for text in Picture(picture, 1).root.iter(SVG + 'text') if text.get('class') == 'middle']
        assert len(times) > 1 and len(set(times)) == len(times), (interval, times)


def in_halves(path, names, first_of_second):
    """Splits a file's rows into two files, each with the header."""
    text = lib.read_text(path).splitlines(keepends=True)
    half = next(n for n, line in enumerate(text) if line.startswith(first_of_second))
    for name, lines in zip(names, (text[:half], text[:1] + text[half:])):
        with open(name, 'w', encoding='utf-8') as stream:
            stream.write(''.join(lines))


def test_rotated_accounts(test):
    """Files of --stats in any position; intervals without a ledger count as unknown, not as
    lossless."""
    output, stats = record(test, '--sketch', 'flow-table', '--width', '32')
    outputs, accounts = [[test.path(f'{name}{n}.csv') for n in (1, 2)] for name in ('flows', 'stats')]
    in_halves(output, outputs, '12,')
    in_halves(stats, accounts, '7,')
    picture = test.path('picture.svg')
    test.run('plot', '--stats', accounts[0], *outputs, '--stats', accounts[1], picture).expect(0)
    rows, ledger, shown = lib.read_output(output), lib.read_stats(stats), Picture(picture, 2.0)
    lost = [int(row['shed']) for row in ledger]
    assert shown.flows == heaviest(rows, 'packets') and shown.titles[2] == f'Lost: {sum(lost):,} shed', shown.titles
    test.run('plot', *outputs, picture, '--stats', accounts[1]).expect(0)
    title = Picture(picture, 2.0).titles[2]
    assert title == f'Lost: {sum(lost[7:]):,} shed; unknown for 7 of 20 intervals', title


def test_missing_in_some(test):
    """If merged intervals lack a flow in one of them, the figure has no upper bound."""
    output, _ = record(test)
    header, row = lib.read_text(output).splitlines()[:2]
    flow, other = dict(zip(header.split(','), row.split(','))), test.path('other.csv')
    with open(other, 'w', encoding='utf-8') as stream:
        stream.write(header + '\n')
        for epoch in range(1200):
            for rank in (1, 2) if epoch % 4 in (0, 1, 2) else (1,):
                second = f'2000-01-01T00:{epoch // 60:02}:{epoch % 60:02}'
                flow.update(epoch=str(epoch), start=f'{second}.000000Z', end=f'{second}.999999Z', rank=str(rank), packets='100',
                            packets_low='90', packets_high='110', src_ip=f'198.51.100.{rank}', share='0.500000')
                stream.write(','.join(flow.values()) + '\n')
    picture = test.path('picture.svg')
    test.run('plot', other, picture).expect(0)
    root = Picture(picture, 1200).root
    steps = {rank: [sum(len(re.findall('H', path.get('d'))) for path in root.iter(SVG + 'path') if path.get('class') == kind and
                        path.find(SVG + 'title').text.startswith(f'198.51.100.{rank}:')) for kind in ('line', 'line open')]
             for rank in (1, 2)}
    assert steps == {1: [600, 0], 2: [300, 300]}, steps
    assert Picture(picture, 1200).titles[0].endswith('; dashed: no upper bound')


def test_measurements(test):
    """The first measurement, with a note about others; a named one, with any name; names are
    escaped."""
    output, _ = record(test)
    picture, odd = test.path('picture.svg'), test.path('odd.csv')
    header, *lines = lib.read_text(output).splitlines()
    name = '"<b>&""x,\x01"'
    with open(odd, 'w', encoding='utf-8') as stream:
        stream.write('\n'.join([header, lines[0], lines[0].replace('0,main', f'0,{name}', 1), lines[20].split(',')[0]]))
    said = test.run('plot', odd, picture).expect(0).stderr
    assert 'main; --measurement NAME' in said and 'is truncated' in said, said
    assert Picture(picture, 1).titles[0].startswith('main: the heaviest flows by packets')
    test.run('plot', odd, picture, '--measurement', '<b>&"x,\x01').expect(0)
    assert Picture(picture, 1).titles[0].startswith('<b>&"x,?: '), Picture(picture, 1).titles
    test.run('plot', odd, picture, '--measurement', 'none').expect(2).expect_one_line('measurement none')


def test_what_is_refused(test):
    """Mistakes in arguments or contents give status 2, system errors 1; no chart is written."""
    output, stats = record(test)
    picture, empty = test.path('picture.svg'), test.path('empty.csv')
    with open(empty, 'w', encoding='utf-8') as stream:
        stream.write(lib.read_text(output).splitlines(keepends=True)[0])
    for words, status, says in (
            ((), 2, 'FILE.csv... PICTURE.svg'), ((output,), 2, 'FILE.csv... PICTURE.svg'),
            ((output, output), 2, 'must be a .svg or .dot file'), ((output, picture, '--nonsense'), 2, 'allowed'),
            ((output, picture, '--stats'), 2, 'allowed'), ((stats, picture), 2, "no column 'rank'"),
            ((output, picture, '--stats', output), 2, "no column 'distinct_keys'"), ((empty, picture), 2, 'no rows'),
            (('nowhere.csv', picture), 1, 'No such file'), ((test.directory, picture), 1, 'Is a directory'),
            (('/dev/stdin', picture), 1, 'read twice'), ((output, picture, '--stats', '/dev/null'), 1, 'read twice')):
        test.run('plot', *words).expect(status).expect_one_line(says)
    assert not os.path.exists(picture)
    test.run('plot', output, '/nowhere/picture.svg').expect(1).expect_one_line('/nowhere/picture.svg')
    os.symlink('/dev/full', picture)
    test.run('plot', output, picture).expect(1).expect_one_line('No space left')
    assert 'Usage: sketchtap plot' in test.run('plot', '--help').expect(0).stdout

# SPDX-License-Identifier: BSD-3-Clause
"""The page at / of --metrics: the response of the server, and the rendered page, which equals the
files."""

import base64
import csv
import hashlib
import json
import re
import signal

import lib
from browser import Browser
from test_metrics import ask, needs_server, start, stop

PACED = ('--synthetic', 'flows=2K,zipf=1.1,ipv6=0.3,packets=100G,rate=10K,seed=1', '--pace', 'recorded', '--interval',
         '500ms')
SENT = {'X-Content-Type-Options': 'nosniff', 'X-Frame-Options': 'DENY', 'Referrer-Policy': 'no-referrer',
        'Cross-Origin-Resource-Policy': 'same-origin', 'Cache-Control': 'no-store'}
# Name of a file that the page displays.
MARKUP = '<img src=x onerror=document.title=1>\'"&amp;\\.csv'
UNITS = {'': 1, 'k': 1e3, 'M': 1e6, 'G': 1e9}


def test_what_a_browser_gets(test):
    """Size, headers and hashes of scripts and styles; no external resource, and no function that
    parses text as markup."""
    port = needs_server(test)
    process = start(test, port, '--metrics', str(port), '--output', '/dev/null')
    status, headers, page = ask(port, '/')
    other = ask(port, '/api/v1/top')[1]
    stop(test, process)
    assert status == 200 and headers['Content-Type'] == 'text/html; charset=utf-8', (status, headers)
    assert len(page.encode()) < 60000, len(page)
    for name, value in SENT.items():
        assert headers[name] == other[name] == value, (name, headers, other)
    policy = dict(part.strip().split(' ', 1) for part in headers['Content-Security-Policy'].split(';'))
    for kind in ('script', 'style'):
        text, = re.findall(f'<{kind}>(.*?)</{kind}>', page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy.pop(f'{kind}-src') == f"'sha256-{digest}'", policy
    assert policy == {'default-src': "'none'", 'connect-src': "'self'", 'img-src': 'data:', 'base-uri': "'none'",
                      'form-action': "'none'", 'frame-ancestors': "'none'"}, policy
    assert other['Content-Security-Policy'] == "default-src 'none'; frame-ancestors 'none'", other
    # The only URL is the SVG namespace, which is never requested.
    assert set(re.findall(r'\w+://[^\'" ]+', page)) == {'http://www.w3.org/2000/svg'}, page
    assert not re.search(r'<input[^>]* checked', page), 'a unit is preselected'
    for word in ('innerHTML', 'outerHTML', 'insertAdjacentHTML', 'document.write', 'eval(', ' style="', '@import'):
        assert word not in page, word


def test_json_of_the_page(test):
    """Deliveries are the sums of --deliveries, for any file name; epochs start from a given one;
    reasons of the ledger."""
    port = needs_server(test)
    output, deliveries = test.path(MARKUP), test.path('deliveries.csv')
    process = start(test, port, '--metrics', str(port), '--output', output, '--deliveries', deliveries)
    epochs, told = [], []

    def all_told():
        epochs[:], told[:] = (json.loads(ask(port, f'/api/v1/{name}')[2]) for name in ('epochs', 'deliveries'))
        return epochs and told[0]['epoch'] > epochs[-1]['epoch'] and told[0]['waiting'] == 0

    test.until(all_told, 'all rows are there')
    ledger = json.loads(ask(port, '/api/v1/ledger')[2])
    number = epochs[0]['epoch']
    assert json.loads(ask(port, f'/api/v1/epochs?after={number}')[2]) == [row for row in epochs if row['epoch'] > number]
    assert json.loads(ask(port, f'/api/v1/epochs?after={number + 1000000}')[2]) == []
    assert json.loads(ask(port, '/api/v1/epochs?after=18446744073709551615')[2]) == []
    for wrong in ('', 'x', '-1', '1x', '99999999999999999999'):
        status, _, text = ask(port, f'/api/v1/epochs?after={wrong}')
        assert status == 400 and 'interval number' in text, (wrong, status, text)
    stop(test, process)
    with open(deliveries, encoding='utf-8', newline='') as stream:
        rows = [row for row in csv.DictReader(stream) if row['export'] == output]
    of_output, = [row for row in told if row['export'] == output]
    assert of_output['kind'] == 'heavy-hitters', of_output
    for column in ('rows', 'delivered', 'failed', 'dropped', 'bytes'):
        assert of_output[column] == lib.total(rows, column), (column, of_output)
    assert of_output['rows'] == len(lib.read_output(output)) > 0
    words = {row['column']: row for row in ledger}
    assert [row['column'] for row in ledger if row['column'] in lib.STATS_COLUMNS] == lib.STATS_COLUMNS[4:17], ledger
    assert tuple(name for name, row in words.items() if row['fate'] == 'lost') == lib.LOSSES, ledger
    assert all((row['why'] != '') == (row['fate'] == 'lost') for row in ledger), ledger


def shown_value(text):
    digits, prefix = re.fullmatch(r'([0-9.]+)\u00a0([kMG]?)(?:pps|bit/s)', text).groups()
    return float(digits) * UNITS[prefix]


def table(page, name):
    """Returns the texts of its cells, and the title of each row's fourth cell."""
    return page.look(f'[...document.querySelectorAll("#{name} tbody tr")].map(row => [...[...row.cells].map('
                     'cell => cell.firstChild ? cell.firstChild.textContent : ""), row.cells[3] && row.cells[3].title])')


def grouped(value):
    return f'{int(value):,}'


def check_flows(page, output, measurement, metric):
    epoch = re.match(r'Interval (\d+)\.', page.look('byId("flows-note").textContent'))[1]
    rows = [row for row in lib.read_output(output) if row['epoch'] == epoch and row['measurement'] == measurement]
    shown = table(page, 'flows')
    assert len(shown) == min(len(rows), 20) > 5, (epoch, len(rows), shown)
    for row, (rank, flow, _, rate, error, share, title) in zip(rows, shown):
        value, low, high = (int(row[name]) for name in (metric, f'{metric}_low', f'{metric}_high'))
        assert rank == row['rank'] and flow.lstrip('[').startswith(row['src_ip']), (row, flow)
        assert title == f'{value:,} {metric}, from {low:,} to {high:,}', (row, title)
        exact = value * (8 if metric == 'bytes' else 1) / 0.5
        assert abs(shown_value(rate) - exact) <= exact * 0.006, (row, rate)
        off = max(high - value, value - low) / value
        assert (error == 'exact') == (off == 0), (row, error)
        assert abs(float(re.sub(r'[^0-9.]', '', share)) / 100 - float(row['share'])) < 0.0006, (row, share)
        if off:
            assert abs(float(re.sub(r'[^0-9.]', '', error)) / 100 - off) <= 0.006 * max(off, 1), (row, error)


def check_ledger(page, stats, measurement):
    rows = [row for row in lib.read_stats(stats) if row['measurement'] == measurement]
    epoch = int(re.match(r'interval (\d+)', page.look('byId("ledger-note").textContent'))[1])
    until = [row for row in rows if int(row['epoch']) <= epoch]
    shown = {cells[0]: cells[1:3] for cells in table(page, 'ledger')}
    assert list(shown) == lib.STATS_COLUMNS[4:17], shown
    for column, (last, every) in shown.items():
        assert last == grouped(until[-1][column]), (column, last)
        assert every == grouped(lib.total(until, column)), (column, every)
    return until


def check_chart(page, rows):
    """Arrow keys move between intervals, and the readout equals the file."""
    page.look('byId("traffic").focus()')
    page.press('Home')
    for row in rows:
        told = page.look('byId("readout").textContent')
        lost = sum(int(row[name]) for name in lib.LOSSES)
        match = re.search(r', interval (\d+): ([^,]+), (?:(none)|([0-9,]+)) lost$', told)
        assert match and match[1] == row['epoch'], (told, row)
        assert match[4] == f'{lost:,}' if lost else match[3] == 'none', (told, row)
        assert abs(shown_value(match[2]) - int(row['measured']) / 0.5) <= int(row['measured']) * 0.012 + 1, (told, row)
        assert page.look('document.querySelectorAll("#traffic .cursor").length') == 1
        page.press('ArrowRight')


def check_screens(page):
    """At each width nothing is wider than the screen; dark mode is dark."""
    for width, dark in ((1280, False), (360, False), (360, True), (768, True)):
        page.show(width, 900, dark)
        # A scroll bar takes part of the width.
        assert page.look('document.documentElement.scrollWidth') <= width, width
        red, green, blue = map(int, re.findall(r'\d+', page.look('getComputedStyle(document.body).backgroundColor')))
        assert (red + green + blue < 150) == dark, (width, dark, red, green, blue)


def freeze(page):
    page.look('byId("freeze").click()')
    assert page.look('byId("state").textContent') == 'frozen'


def choose(page, measurement):
    page.look(f'byId("measurements").value = "{measurement}"; byId("measurements").dispatchEvent(new Event("change",'
              ' {bubbles: true}))')


def test_in_a_browser(test):
    """The page equals the files, row by row; no console error, no external request, no markup; only
    with --full."""
    if not test.settings.full:
        test.skip('only with --full')
    port = needs_server(test)
    config = test.path('some.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('[measurement flows]\nkey = 5tuple\ntop = 40\n[measurement senders]\nkey = src/24\ncount = bytes\n')
    output, stats = test.path(MARKUP), test.path('stats.csv')
    run = test.start(*PACED, '--config', config, '--output', output, '--stats', stats, '--metrics', str(port))
    page = Browser(test)
    page.open(f'http://127.0.0.1:{port}/')
    page.until('document.body && document.body.dataset.epoch > 4', 'it shows epochs')
    page.until('document.querySelectorAll("#run tr").length > 1', 'and a worker')
    freeze(page)
    check_flows(page, output, 'flows', 'packets')
    rows = check_ledger(page, stats, 'flows')
    check_chart(page, rows[:4])
    # Each measurement starts with the unit of its ranking, and keeps the unit chosen by the user.
    for name, counted, checked in (('senders', 'bytes', 'bits'), ('flows', 'packets', 'packets')):
        choose(page, name)
        check_flows(page, output, name, counted)
        assert page.look('document.querySelector("[name=unit]:checked").value') == checked, name
    page.look('document.querySelector("[value=bits]").click()')
    check_flows(page, output, 'flows', 'bytes')
    choose(page, 'senders')
    check_flows(page, output, 'senders', 'bytes')
    page.look('document.querySelector("[value=packets]").click()')
    check_flows(page, output, 'senders', 'packets')
    check_ledger(page, stats, 'senders')
    deliveries = {cells[0]: cells for cells in table(page, 'deliveries')}
    assert set(deliveries) == {output, stats}, deliveries
    assert page.look('document.images.length') == 0 and page.look('document.title') == 'sketchtap'
    page.look('byId("find").value = "198.1"; byId("find").dispatchEvent(new Event("input"))')
    found = table(page, 'flows')
    assert found and all('198.1' in cells[1] for cells in found), found
    check_screens(page)
    # All controls can be reached by keyboard.
    page.look('document.activeElement.blur()')
    been = set()
    for _ in range(25):
        page.press('Tab')
        been.add(page.look('document.activeElement.id || document.activeElement.name'))
    assert {'measurements', 'unit', 'freeze', 'traffic', 'find'} <= been, been
    check_errors(page)
    assert page.complaints == [], page.complaints
    assert page.asked and all(url.startswith((f'http://127.0.0.1:{port}/', 'data:')) for url in page.asked), page.asked
    check_ends_and_begins(test, page, run, port)
    page.close()


def check_errors(page):
    """Errors have no percentage if the value is zero."""
    for value, low, high, shown in ((0, 0, 0, 'exact'), (0, 0, 1500, '+1.50\u00a0k'), (10, 10, 10, 'exact'),
                                    (10, 5, 10, '\u221250.0\u00a0%'), (10, 10, 40, '+300\u00a0%')):
        assert page.look(f'errorText({{value: {value}, low: {low}, high: {high}}})') == shown, (value, low, high)
    assert page.look('errorText({value: null, low: null, high: null})') == '?'


def check_ends_and_begins(test, page, run, port):
    """The page reports that the run does not respond, and then shows another run from its start."""
    before = int(page.look('document.body.dataset.epoch'))
    page.look('byId("freeze").click()')
    page.until(f'document.body.dataset.epoch > {before}', 'it goes on')
    run.signal(signal.SIGTERM)
    test.wait(run).expect(0)
    page.until('byId("state").className === "gone"', 'it reports no response')
    again = test.start(*PACED, '--output', '/dev/null', '--metrics', str(port))
    page.until(f'document.body.dataset.epoch < {before} && seen.rows.length > 2', 'another run is shown')
    assert page.look('seen.measurement') == 'main' and page.look('seen.rows[0].epoch') == 0
    # No figure is a difference between two runs: a worker is busy for 0 to 100 % of its time.
    page.until('[...document.querySelectorAll("#run tr")].some(row => row.textContent.includes("busy"))', 'a worker')
    busy = [cells[1] for cells in table(page, 'run') if 'busy' in cells[1]]
    assert all(0 <= float(re.match(r'<?(-?[0-9.]+)', text)[1]) <= 101 for text in busy), busy
    # After ten minutes in a background tab, the page does not report missing data.
    state = '(drawState(), byId("state").className)'
    states = page.look(f'[seen.fresh = seen.looked = 1, {state}, seen.looked = 600000, {state}]')
    assert states[1::2] == ['', 'late'], states
    again.signal(signal.SIGTERM)
    test.wait(again).expect(0)

# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the test harness."""

import __main__
import importlib.machinery
import importlib.util
import os
import re
import signal
import unittest.mock

import lib


def test_patience_outlives_a_standstill(test):
    """A machine that stalls for minutes fails no test; a condition that never holds does."""
    clock = [1000.0]
    with unittest.mock.patch('lib.time.monotonic', lambda: clock[0]):
        patience = lib.Patience(10)
        clock[0] += 150
        assert patience.spend() and patience.left == 10 - lib.Patience.STEP, patience.left
        for _ in range(94):
            clock[0] += 0.1
            assert patience.spend(), patience.left
        clock[0] += 0.2
        assert not patience.spend()


def test_a_process_that_ended_before_its_signal(test):
    """An ended process keeps its status for the test to check."""
    process = test.start('-c', 'kill -SEGV $$', program=['sh'])
    os.waitid(os.P_PID, process.popen.pid, os.WEXITED | os.WNOWAIT)
    process.signal(signal.SIGINT)
    assert test.wait(process).status == -signal.SIGSEGV, process.result.status


def test_pictures_of_a_terminal(test):
    """Leading blanks become positions instead of characters, because some renderers drop them. The
    README's screens are drawn this way."""
    loader = importlib.machinery.SourceFileLoader('picture', os.path.join(test.settings.root, 'tools', 'picture'))
    picture = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(picture)
    lines = ['  #  flow', ' 9  a <b>', '10  c', '', '   ', 'd']
    drawn = ''.join(picture.draw([(line, '') for line in lines], 20))
    assert 'white-space: pre' in drawn and 'xml:space="preserve"' in drawn, drawn
    found = [(float(x), int(y), text) for x, y, text in re.findall(r'<text x="([\d.]+)" y="(\d+)"[^>]*>(.*?)</text>', drawn)]
    blank = picture.BLANK
    wanted = [(2, 0, f'#{blank * 2}flow'), (1, 1, f'9{blank * 2}a{blank}&lt;b&gt;'), (0, 2, f'10{blank * 2}c'), (0, 5, 'd')]
    assert found == [(picture.MARGIN + column * picture.ADVANCE, picture.MARGIN + picture.LINE * row + picture.FONT, text)
                     for column, row, text in wanted], found
    for name in ('terminal', 'top'):
        text = lib.read_text(os.path.join(test.settings.root, 'docs', f'{name}.svg'))
        assert not re.search(f'<text [^>]*>[ {blank}]', text), name


def test_cleaning_up_in_vain(test):
    """A test fails if its cleanup fails, and the next test runs."""
    def lost_child(child):
        child.start('-c', ':', program=['sh']).popen.wait()

    verdict, text = __main__.run_one(test.settings, 'lost child', lost_child)
    assert verdict == 'fail' and 'ChildProcessError' in text, (verdict, text)


def test_a_failure_tells_of_the_run_behind_it(test):
    """A failure of a client includes the output of the run that caused it."""
    def asks_in_vain(child):
        child.wait(child.start('-c', 'echo out of patience >&2; exit 3', program=['sh']))
        child.run('-c', 'exit 1', program=['sh']).expect(0)

    verdict, text = __main__.run_one(test.settings, 'asks in vain', asks_in_vain)
    assert verdict == 'fail' and 'exit status 1 instead of 0' in text, (verdict, text)
    assert 'ended with 3: sh -c echo' in text and '\nout of patience' in text, text

# SPDX-License-Identifier: BSD-3-Clause
"""What the tests themselves stand on."""

import unittest.mock

import lib


def test_patience_outlives_a_standstill(test):
    """A machine that stood still for minutes fails no test; waiting in vain does."""
    clock = [1000.0]
    with unittest.mock.patch('lib.time.monotonic', lambda: clock[0]):
        whole = lib.Patience(60)
        part = lib.Patience(10, whole)
        clock[0] += 150
        assert part.spend() and part.left == 10 - lib.Patience.STEP, part.left
        for _ in range(94):
            clock[0] += 0.1
            assert part.spend(), part.left
        clock[0] += 0.2
        assert not part.spend()
        assert 49 < whole.left < 51, whole.left

# SPDX-License-Identifier: BSD-3-Clause
"""tools/soak, in a few seconds: the long run itself is started by hand, docs/SOAK.md."""

import os

import lib


@lib.alone
def test_seconds_of_it(test):
    if test.sanitized:
        test.skip("a sanitizer's memory grows")
    soak = os.path.join(test.settings.root, 'tools', 'soak')
    result = test.run('--binary', test.binary, '--directory', test.path('soak'), '--minutes', '0.15',
                      '--hangup', '2', '--sample', '1', '--flows', '10K', program=[soak])
    result.expect(0)
    for figure in ('packets', 'rate', 'epochs', 'files', 'memory'):
        assert figure in result.stdout, result.describe()

# SPDX-License-Identifier: BSD-3-Clause
"""The systemd unit: its command, and that its user and capabilities suffice and are needed."""

import os
import shutil

import lib
import net

NOBODY = 65534


def unit(test):
    """Returns {setting: [values]} of the unit as installed, and its text."""
    path = os.path.join(os.path.dirname(os.path.dirname(test.binary)), 'config',
                        'sketchtap@.service')
    if not os.path.exists(path):
        test.skip('the binary is not in its build directory')
    with open(path, encoding='utf-8') as stream:
        text = stream.read()
    settings = {}
    for line in text.splitlines():
        name, equals, value = line.partition('=')
        if equals and not line.startswith('#'):
            settings.setdefault(name, []).append(value)
    return settings, text


def test_systemd_understands_it(test):
    if shutil.which('systemd-analyze') is None:
        test.skip('systemd-analyze is not installed')
    settings, text = unit(test)
    program = settings['ExecStart'][0].split()[0]
    path = test.path('sketchtap@test.service')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(text.replace(program, test.binary))
    result = test.run(path, program=['systemd-analyze', 'verify', '--man=no']).expect(0)
    assert 'sketchtap' not in result.stderr, result.describe()


def test_what_it_starts(test):
    settings, _ = unit(test)
    config = test.path('test.conf')
    with open(config, 'w', encoding='utf-8') as stream:
        stream.write('synthetic = flows=10,packets=100\nno-huge = yes\noutput = flows.csv\n')
    _, *words = settings['ExecStart'][0].split()
    assert words.pop(0) == '$SKETCHTAP_COMMAND' and settings['Environment'] == ['SKETCHTAP_COMMAND=run']
    words = [config if word.endswith('/%i.conf') else word.replace('%i', 'test') for word in words]
    assert config in words and 'test' in words, settings['ExecStart']
    assert settings['AssertPathExists'][0].endswith('/sketchtap/%i.conf') and 'ConditionPathExists' not in settings
    test.run('plan', *words).expect(0)
    test.run('collect', *words).expect(2).expect_one_line('synthetic')
    assert settings['Type'] == ['notify'] and float(settings['WatchdogSec'][0]) > 0
    assert settings['RestartPreventExitStatus'] == ['2']


def test_user_and_capabilities(test):
    """Packet sockets in promiscuous mode as another user need CAP_NET_RAW, which the unit
    grants."""
    space = net.Namespace(test)
    space.veth('tap0', 'wire0')
    os.chmod(test.directory, 0o755)
    given = unit(test)[0]['AmbientCapabilities'][0].lower().replace('cap_', '').split()
    assert sorted(given) == ['net_admin', 'net_raw']

    for capabilities, enough in ((given, True), (['net_raw'], True), (['net_admin'], False)):
        words = ','.join(['-all'] + [f'+{name}' for name in capabilities])
        name = ''.join(capabilities)
        home, stats = test.path(f'home-{name}'), test.path(f'home-{name}/stats.csv')
        os.mkdir(home)
        os.chown(home, NOBODY, NOBODY)
        as_user = ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups',
                   '--no-new-privs', f'--inh-caps={words}', f'--ambient-caps={words}', 'env',
                   f'RUNTIME_DIRECTORY={home}']
        if test.run('--version', program=[*as_user, test.binary], inside=space).status != 0:
            test.skip('another user cannot run the binary')
        process = test.start('--port', 'net_af_packet0,iface=tap0', '--no-huge', '--workers', '1',
                             '--interval', '0', '--packets', '100', '--output', '/dev/null',
                             '--stats', stats, program=[*as_user, test.binary], inside=space)
        if not enough:
            test.wait(process).expect(1).expect_one_line('net_af_packet0')
            continue
        net.wait_until_ready(test, process, stats)
        capture = lib.write_pcap(test.path('sent.pcap'),
                                 [(i, lib.udp_frame(i)) for i in range(100)])
        test.wait(space.send('wire0', capture, 10000)).expect(0)
        test.wait(process).expect(0)
        assert lib.total(lib.read_stats(stats), 'measured') == 100

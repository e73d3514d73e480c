# SPDX-License-Identifier: BSD-3-Clause
"""What the lab is made of: QEMU, and a Debian of each release, which is booted and which builds the packages.

All of it comes from the package mirror that this machine uses, once, and is kept in ~/.cache/sketchtap/lab
($XDG_CACHE_HOME). What could not be had in one go is not kept.
"""

import functools
import glob
import hashlib
import lzma
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'sketchtap', 'lab')
RELEASES = {'12': 'bookworm', '13': 'trixie'}
KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg'
IMAGE_BYTES = 6 << 30  # sparse
TREE_SECONDS = 1500
BUILD_SECONDS = 1500

# QEMU of Debian 12 has no igb. It runs where it lies, with its own libraries.
QEMU_PACKAGES = ('qemu-system-x86', 'seabios')
# What a host has on which the packages are installed: their dependencies, so that no network is needed, and what
# cases and smoke tests look with.
GUEST_PACKAGES = (
    'systemd', 'systemd-sysv', 'udev', 'dbus', 'kmod', 'linux-image-amd64', 'initramfs-tools', 'python3',
    'librte-meta-bus', 'librte-meta-mempool', 'librte-meta-net', '?name(^librte-fib)', '?name(^librte-member)',
    'libbpf1', 'libcurl4', 'libmicrohttpd12', 'libncursesw6', 'libpcap0.8', 'librdkafka1',
    'procps', 'iproute2', 'iputils-ping', 'ethtool', 'pciutils', 'numactl', 'logrotate', 'tcpreplay')
# Beside what debian/control asks for.
BUILD_PACKAGES = ('build-essential', 'debhelper', 'git', 'lintian', 'xz-utils')

UNIT = '''[Unit]
Description=The lab's agent
RequiresMountsFor=/lab
[Service]
ExecStart=/usr/bin/python3 /lab/agent.py
Restart=always
LimitMEMLOCK=infinity
[Install]
WantedBy=multi-user.target
'''
FSTAB = '''/dev/vda / ext4 defaults 0 0
lab /lab 9p ro,trans=virtio,version=9p2000.L,msize=262144 0 0
'''


class NotThere(Exception):
    """Something that cannot be had here, and why."""


def call(*command, seconds=60, **how):
    """What it printed; NotThere where it is missing or fails."""
    try:
        return subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, **how).stdout
    except subprocess.CalledProcessError as failed:
        raise NotThere(f'{command[0]} failed:\n{failed.stdout[-3000:]}') from failed
    except (OSError, subprocess.SubprocessError) as reason:
        raise NotThere(str(reason)) from reason


def mirrors(suite):
    """Lines for apt: the mirrors that this machine takes Debian and its security updates from."""
    found = {}
    for line in call('apt-get', 'indextargets', '--format', '$(LABEL) $(REPO_URI)', 'Created-By: Packages').splitlines():
        label, uri = line.split(' ', 1)
        found.setdefault(label, uri)
    if 'Debian' not in found:
        raise NotThere('apt names no mirror of Debian (apt-get update)')
    lines = [f'deb {found["Debian"]} {suite} main']
    if 'Debian-Security' in found:
        lines.append(f'deb {found["Debian-Security"]} {suite}-security main')
    return lines


# What is mounted in a tree goes with the command, however that ends.
MOUNTS_APART = ('unshare', '--mount', '--propagation', 'private')


def debian(suite, tree, variant, packages):
    """A new tree."""
    keep = [f'--aptopt={name} "{value}"' for name, value in re.findall(
        r'^(Acquire::(?:Check-\S+|https?::Proxy\S*)) "(.*)";$', call('apt-config', 'dump'), re.M)]
    call(*MOUNTS_APART, 'mmdebstrap', '--mode=root', f'--variant={variant}', f'--keyring={KEYS}', *keep,
         '--aptopt=APT::Install-Recommends "false"', '--dpkgopt=path-exclude=/usr/share/locale/*',
         '--dpkgopt=path-exclude=/usr/share/man/*', '--dpkgopt=path-include=/usr/share/man/man[1-9]*',
         f'--include={",".join(packages)}', suite, tree, *mirrors(suite), seconds=TREE_SECONDS)


def words_inside(tree, command, folder=None):
    """What runs a shell command in a tree, as root, with mounts that go with it, a folder at /mnt too."""
    mounts = 'for at in proc dev sys; do mount --rbind /$at "$0/$at"; done; exec chroot "$0" /bin/sh -euc "$1"'
    if folder:
        mounts = f'mount --bind {folder} "$0/mnt"; {mounts}'
    return [*MOUNTS_APART, 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'DEBIAN_FRONTEND=noninteractive',
            'LC_ALL=C.UTF-8', 'HOME=/root', 'sh', '-euc', mounts, tree, command]


def inside(tree, command, seconds):
    return call(*words_inside(tree, command), seconds=seconds)


def made(name, recipe, make):
    """Path in the cache of what make(path) has made by this recipe."""
    path, stamp = os.path.join(CACHE, name), os.path.join(CACHE, f'{name}.recipe')
    wanted = hashlib.sha256(repr(recipe).encode()).hexdigest()
    try:
        with open(stamp, encoding='ascii') as stream:
            if stream.read() == wanted:
                return path
    except FileNotFoundError:
        pass
    os.makedirs(CACHE, exist_ok=True)
    for old in (stamp, path):
        if os.path.lexists(old):
            shutil.rmtree(old) if os.path.isdir(old) else os.unlink(old)
    make(path)
    with open(stamp, 'w', encoding='ascii') as stream:
        stream.write(wanted)
    return path


def qemu():
    """Path of a tree with QEMU in it."""
    return made('qemu', QEMU_PACKAGES, lambda tree: debian(RELEASES['13'], tree, 'extract', QEMU_PACKAGES))


def write(path, text):
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(text)


# What finds the disk, and no more: an emulated CPU takes long to unpack it, and to ask udev of every device.
INITRAMFS = 'MODULES=list\nCOMPRESS=gzip\n'
INITRAMFS_MODULES = 'virtio_pci\nvirtio_blk\next4\n'
INITRAMFS_WITHOUT = ('hooks/dmsetup', 'hooks/fsck', 'hooks/keymap', 'hooks/resume', 'hooks/thermal', 'hooks/udev',
                     'scripts/*/resume', 'scripts/*/udev')
# Units that nothing here looks at: each takes an emulated CPU seconds of every boot, or comes at a time of its own.
MASKED = ('apt-daily.timer', 'apt-daily-upgrade.timer', 'dpkg-db-backup.timer', 'e2scrub_all.timer', 'fstrim.timer',
          'logrotate.timer', 'e2scrub_reap.service', 'getty@tty1.service', 'getty-static.service',
          'proc-sys-fs-binfmt_misc.automount', 'serial-getty@ttyS0.service', 'sys-fs-fuse-connections.mount',
          'systemd-binfmt.service', 'systemd-journal-flush.service', 'systemd-logind.service', 'systemd-pstore.service',
          'systemd-repart.service', 'systemd-update-utmp.service', 'systemd-update-utmp-runlevel.service')
# Modules that udev does not load by itself: a card's comes with the case that wants it, the others never.
NOT_BY_ITSELF = ('e1000e', 'igb', 'virtio_net', 'vmxnet3', 'aesni_intel', 'crc32_pclmul', 'crct10dif_pclmul', 'evdev',
                 'ghash_clmulni_intel', 'iTCO_wdt', 'lpc_ich', 'pcspkr', 'sha1_ssse3', 'sha256_ssse3', 'sha512_ssse3')
GUEST = (GUEST_PACKAGES, BUILD_PACKAGES, UNIT, FSTAB, INITRAMFS, INITRAMFS_MODULES, INITRAMFS_WITHOUT, MASKED, NOT_BY_ITSELF)


def unpacked(kernel):
    """Where it is packed by xz, which takes an emulated CPU ten times as long."""
    at = kernel.find(b'\xfd7zXZ\0')
    return lzma.LZMADecompressor().decompress(kernel[at:]) if at > 0 else kernel


def make_guest(release, directory):
    """directory/disk, kernel and initrd to boot; directory/tree, which then gets what builds packages."""
    tree = os.path.join(directory, 'tree')
    os.makedirs(directory)
    debian(RELEASES[release], tree, 'minbase', GUEST_PACKAGES)
    write(os.path.join(tree, 'etc/systemd/system/lab.service'), UNIT)
    write(os.path.join(tree, 'etc/fstab'), FSTAB)
    write(os.path.join(tree, 'etc/hostname'), f'debian{release}\n')
    write(os.path.join(tree, 'etc/machine-id'), f'{int(release):032x}\n')  # a first boot takes longer
    write(os.path.join(tree, 'etc/modules-load.d/lab.conf'), '9p\n9pnet_virtio\n')
    os.makedirs(os.path.join(tree, 'lab'))
    write(os.path.join(tree, 'etc/initramfs-tools/conf.d/lab'), INITRAMFS)
    write(os.path.join(tree, 'etc/initramfs-tools/modules'), INITRAMFS_MODULES)
    write(os.path.join(tree, 'etc/modprobe.d/lab.conf'), ''.join(f'blacklist {name}\n' for name in NOT_BY_ITSELF))
    inside(tree, f'cd /usr/share/initramfs-tools && rm -f {" ".join(INITRAMFS_WITHOUT)} && update-initramfs -u && '
           f'systemctl -q enable lab.service && systemctl -q mask {" ".join(MASKED)}', TREE_SECONDS)
    kernel, initrd = (max(glob.glob(os.path.join(tree, 'boot', pattern))) for pattern in ('vmlinuz-*', 'initrd.img-*'))
    shutil.copy(initrd, os.path.join(directory, 'initrd'))
    with open(kernel, 'rb') as packed, open(os.path.join(directory, 'kernel'), 'wb') as stream:
        stream.write(unpacked(packed.read()))
    disk = os.path.join(directory, 'disk')
    with open(disk, 'wb') as stream:
        stream.truncate(IMAGE_BYTES)
    call('mke2fs', '-q', '-t', 'ext4', '-E', 'lazy_itable_init=1', '-d', tree, disk, seconds=300)
    inside(tree, f'apt-get update -q && apt-get install -q -y --no-install-recommends {" ".join(BUILD_PACKAGES)}',
           TREE_SECONDS)


def guest(release):
    return made(f'debian-{release}', GUEST, lambda directory: make_guest(release, directory))


def committed():
    """What the packages are made of: every file that is committed, but tests, and texts and pictures, which go in as they are."""
    lines = call('git', '-C', ROOT, 'ls-tree', '-r', 'HEAD').splitlines()
    return [line for line in lines if not re.search(r'\s(tests/.*|.*\.(csv|md|svg|webp))$', line)]


def build(release, into):
    """The packages of what is committed, as tools/package makes them; and what it said, lintian too."""
    tree = os.path.join(guest(release), 'tree')
    source = os.path.join(tree, 'root', 'sketchtap')
    shutil.rmtree(source, ignore_errors=True)
    call('git', 'clone', '-q', '--no-hardlinks', ROOT, source, seconds=300)
    try:
        shutil.copy('/etc/resolv.conf', os.path.join(tree, 'etc', 'resolv.conf'))
        # A run that was ended may have left packages unpacked.
        said = inside(tree, 'dpkg --configure -a && cd /root/sketchtap && apt-get build-dep -q -y --no-install-recommends ./ && '
                      'tools/package /root/sketchtap/packages', BUILD_SECONDS)
        os.makedirs(into)
        for path in glob.glob(os.path.join(source, 'packages', '*.deb')):
            if '-dbgsym_' not in path:
                shutil.copy(path, into)
        write(os.path.join(into, 'log'), said)
    finally:
        shutil.rmtree(source, ignore_errors=True)


@functools.cache  # what is committed meanwhile is another's
def packages(release):
    """Path of a folder with the packages and the log of their build."""
    return made(f'packages-{release}', committed(), lambda into: build(release, into))

# SPDX-License-Identifier: BSD-3-Clause
"""Images of the virtual machines: QEMU, and a Debian of each release, which boots and builds the
packages.

Everything comes from the package mirror of this machine once, and is cached in
~/.cache/sketchtap/lab ($XDG_CACHE_HOME). Incomplete downloads are not kept.
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
IMAGE_BYTES = 6 << 30  # sparse file
TREE_SECONDS = 1500
BUILD_SECONDS = 1500

# QEMU of Debian 12 lacks igb. It runs from its tree with its own libraries.
QEMU_PACKAGES = ('qemu-system-x86', 'seabios')
# Packages of the guest: dependencies of our packages, so that no network is needed, and tools for
# cases and smoke tests.
GUEST_PACKAGES = (
    'systemd', 'systemd-sysv', 'udev', 'dbus', 'kmod', 'linux-image-amd64', 'initramfs-tools', 'python3',
    'librte-meta-bus', 'librte-meta-mempool', 'librte-meta-net', '?name(^librte-fib)', '?name(^librte-member)',
    'libbpf1', 'libcurl4', 'libmicrohttpd12', 'libncursesw6', 'libpcap0.8', 'librdkafka1',
    'procps', 'iproute2', 'iputils-ping', 'ethtool', 'pciutils', 'numactl', 'logrotate', 'tcpreplay')
# In addition to the dependencies in debian/control.
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
    """An image or tool is not available; the text is the reason."""


def call(*command, seconds=60, **how):
    """Returns the output of a command; raises NotThere if it is missing or fails."""
    try:
        return subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, **how).stdout
    except subprocess.CalledProcessError as failed:
        raise NotThere(f'{command[0]} failed:\n{failed.stdout[-3000:]}') from failed
    except (OSError, subprocess.SubprocessError) as reason:
        raise NotThere(str(reason)) from reason


def mirrors(suite):
    """Returns lines for apt with the host's mirrors of Debian and its security updates."""
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


# Mounts in a tree end with the command.
MOUNTS_APART = ('unshare', '--mount', '--propagation', 'private')


def debian(suite, tree, variant, packages):
    """Creates a Debian tree."""
    keep = [f'--aptopt={name} "{value}"' for name, value in re.findall(
        r'^(Acquire::(?:Check-\S+|https?::Proxy\S*)) "(.*)";$', call('apt-config', 'dump'), re.M)]
    call(*MOUNTS_APART, 'mmdebstrap', '--mode=root', f'--variant={variant}', f'--keyring={KEYS}', *keep,
         '--aptopt=APT::Install-Recommends "false"', '--dpkgopt=path-exclude=/usr/share/locale/*',
         '--dpkgopt=path-exclude=/usr/share/man/*', '--dpkgopt=path-include=/usr/share/man/man[1-9]*',
         f'--include={",".join(packages)}', suite, tree, *mirrors(suite), seconds=TREE_SECONDS)


def words_inside(tree, command, folder=None):
    """Returns the command line that runs a shell command in a tree as root, with temporary mounts,
    optionally a folder at /mnt."""
    mounts = 'for at in proc dev sys; do mount --rbind /$at "$0/$at"; done; exec chroot "$0" /bin/sh -euc "$1"'
    if folder:
        mounts = f'mount --bind {folder} "$0/mnt"; {mounts}'
    return [*MOUNTS_APART, 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'DEBIAN_FRONTEND=noninteractive',
            'LC_ALL=C.UTF-8', 'HOME=/root', 'sh', '-euc', mounts, tree, command]


def inside(tree, command, seconds):
    return call(*words_inside(tree, command), seconds=seconds)


def made(name, recipe, make):
    """Returns the path in the cache; calls make(path) if it is missing or its recipe has
    changed."""
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
    """Returns the path of a tree with QEMU."""
    return made('qemu', QEMU_PACKAGES, lambda tree: debian(RELEASES['13'], tree, 'extract', QEMU_PACKAGES))


def write(path, text):
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(text)


# Only the drivers of the disk: emulated CPUs take long to unpack an initramfs and to probe devices.
INITRAMFS = 'MODULES=list\nCOMPRESS=gzip\n'
INITRAMFS_MODULES = 'virtio_pci\nvirtio_blk\next4\n'
INITRAMFS_WITHOUT = ('hooks/dmsetup', 'hooks/fsck', 'hooks/keymap', 'hooks/resume', 'hooks/thermal', 'hooks/udev',
                     'scripts/*/resume', 'scripts/*/udev')
# Units that are not needed: each takes seconds of every boot on an emulated CPU, or starts at an
# arbitrary time.
MASKED = ('apt-daily.timer', 'apt-daily-upgrade.timer', 'dpkg-db-backup.timer', 'e2scrub_all.timer', 'fstrim.timer',
          'logrotate.timer', 'e2scrub_reap.service', 'getty@tty1.service', 'getty-static.service',
          'proc-sys-fs-binfmt_misc.automount', 'serial-getty@ttyS0.service', 'sys-fs-fuse-connections.mount',
          'systemd-binfmt.service', 'systemd-journal-flush.service', 'systemd-logind.service', 'systemd-pstore.service',
          'systemd-repart.service', 'systemd-update-utmp.service', 'systemd-update-utmp-runlevel.service')
# Modules that udev does not load automatically: cases load those of their NIC; the others are not
# needed.
NOT_BY_ITSELF = ('e1000e', 'igb', 'virtio_net', 'vmxnet3', 'aesni_intel', 'crc32_pclmul', 'crct10dif_pclmul', 'evdev',
                 'ghash_clmulni_intel', 'iTCO_wdt', 'lpc_ich', 'pcspkr', 'sha1_ssse3', 'sha256_ssse3', 'sha512_ssse3')
GUEST = (GUEST_PACKAGES, BUILD_PACKAGES, UNIT, FSTAB, INITRAMFS, INITRAMFS_MODULES, INITRAMFS_WITHOUT, MASKED, NOT_BY_ITSELF)


def unpacked(kernel):
    """Returns an uncompressed kernel: an emulated CPU takes ten times as long to unpack xz."""
    at = kernel.find(b'\xfd7zXZ\0')
    return lzma.LZMADecompressor().decompress(kernel[at:]) if at > 0 else kernel


def make_guest(release, directory):
    """Creates directory/disk, kernel and initrd for booting, and directory/tree, which also gets
    build packages."""
    tree = os.path.join(directory, 'tree')
    os.makedirs(directory)
    debian(RELEASES[release], tree, 'minbase', GUEST_PACKAGES)
    write(os.path.join(tree, 'etc/systemd/system/lab.service'), UNIT)
    write(os.path.join(tree, 'etc/fstab'), FSTAB)
    write(os.path.join(tree, 'etc/hostname'), f'debian{release}\n')
    # otherwise systemd runs a slower first boot
    write(os.path.join(tree, 'etc/machine-id'), f'{int(release):032x}\n')
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
    """Returns the committed files on which the packages depend: without tests, documents and
    pictures."""
    lines = call('git', '-C', ROOT, 'ls-tree', '-r', 'HEAD').splitlines()
    return [line for line in lines if not re.search(r'\s(tests/.*|.*\.(csv|md|svg|webp))$', line)]


def build(release, into):
    """Builds the packages of the committed files with tools/package; saves its output, including
    lintian's."""
    tree = os.path.join(guest(release), 'tree')
    source = os.path.join(tree, 'root', 'sketchtap')
    shutil.rmtree(source, ignore_errors=True)
    call('git', 'clone', '-q', '--no-hardlinks', ROOT, source, seconds=300)
    try:
        shutil.copy('/etc/resolv.conf', os.path.join(tree, 'etc', 'resolv.conf'))
        # An interrupted run may have left packages unconfigured.
        said = inside(tree, 'dpkg --configure -a && cd /root/sketchtap && apt-get build-dep -q -y --no-install-recommends ./ && '
                      'tools/package /root/sketchtap/packages', BUILD_SECONDS)
        os.makedirs(into)
        for path in glob.glob(os.path.join(source, 'packages', '*.deb')):
            if '-dbgsym_' not in path:
                shutil.copy(path, into)
        write(os.path.join(into, 'log'), said)
    finally:
        shutil.rmtree(source, ignore_errors=True)


@functools.cache  # later commits are ignored
def packages(release):
    """Returns the folder with the packages and their build log."""
    return made(f'packages-{release}', committed(), lambda into: build(release, into))

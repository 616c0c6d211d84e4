"""Walls around a stranger's program: it sees what Python and this package need, to read only, and
no file of the course, of the machine's people or of its administrator.

    unshare --net --ipc --mount --pid --fork --kill-child python -I -m mqlab.lessons.course.walls …

What follows is the command that is run behind the walls. A root of its own is put together in
memory, in the current folder: the parts of the system and of Python's prefixes that hold programs
and libraries, this package, and an empty folder to work in, which is as large as MOST_FILES says.
A course is seen only if it is within one of those parts, in /usr/share for example. The command
can undo nothing of it: it has no capability, and gets none by a program that it starts.

Raises OSError where this machine does not allow that, and the command is not run. Linux from 5.12
on has what it takes (mount_setattr(2), capabilities(7)), for root, and for others in a user
namespace.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ...places import DATASETS, IS_CLONE, LABS, PACKAGE

MOST_FILES = "size=256m,nr_inodes=20k,mode=755"
#: of each prefix, what holds programs and libraries
PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "share", "pyvenv.cfg")
PREFIXES = ("/", "/usr", "/usr/local", sys.base_prefix, sys.prefix)
SETTINGS = (
    "alternatives", "fonts", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime",
    "nsswitch.conf", "passwd",
)  # fmt: skip
DEVICES = ("null", "zero", "full", "random", "urandom")
#: of linux/mount.h, linux/prctl.h and fcntl.h
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC = 1, 2, 4, 8, 4096, 16384
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, READ_ONLY, NO_SUID = 442, -100, 0x8000, 1, 2
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Build the walls, then become the command."""
    home = Path.cwd()
    build(home)
    drop_capabilities()
    os.execvp(sys.argv[1], sys.argv[1:])


def build(home: Path) -> None:
    """The root of its own, in `home`, which is an empty folder in it too."""
    _mount("tmpfs", home, "tmpfs", MS_NOSUID | MS_NODEV, MOST_FILES)
    root = Root(home)
    for path in list_needed():
        root.bring(path)
    if not IS_CLONE:
        _mount("tmpfs", root.find(LABS), "tmpfs", MS_RDONLY)
    for name in ("proc", "tmp", "dev/shm", home.relative_to("/")):
        (home / name).mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # a container may hide parts of its own
        _mount("proc", home / "proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    os.chroot(home)
    os.chdir(home)


def list_needed() -> Iterator[Path]:
    """What is brought; a folder within another comes after it."""
    for prefix in PREFIXES:
        yield from (Path(prefix, name) for name in PARTS)
    yield from (Path("/etc", name) for name in SETTINGS)
    yield from (Path("/dev", name) for name in DEVICES)
    for place in map(Path, sys.path):
        if place.name in ("site-packages", "dist-packages"):
            yield place
        else:  # the folder of a clone holds more than its packages
            yield from (place / name for name in ("mqlab", "mqlab_widgets"))
    yield from (PACKAGE, DATASETS, Path(sys.executable))


class Root:
    """The new root, in the folder `at`."""

    def __init__(self, at: Path) -> None:
        self._at = at
        self._brought: list[Path] = []

    def find(self, path: Path) -> Path:
        """Where an absolute path of the machine is in here."""
        return self._at / path.relative_to("/")

    def bring(self, path: Path) -> None:
        """Make a file or folder of the machine visible in this root: mount what is at `path`,
        read-only; a link on the way becomes a link here too, and what it leads to is mounted. Does
        nothing where there is no such file."""
        path = Path(os.path.abspath(path))
        if not path.exists():
            return
        # from / on downward: a link on the way is followed, and the rest looked up from there
        for part in (*reversed(path.parents), path):
            if part.is_symlink():
                self._link(part)
                return self.bring(part.parent / part.readlink() / path.relative_to(part))
        if not self._has(path):  # neither it nor a folder above it is mounted
            target = self.find(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            # a folder or an empty file, for the mount to cover
            target.mkdir(exist_ok=True) if path.is_dir() else target.touch()
            _mount(path, target, kind="", flags=MS_BIND | MS_REC)
            _protect(target)
            self._brought.append(path)
        return None

    def _has(self, path: Path) -> bool:
        return any(path.is_relative_to(one) for one in self._brought)

    def _link(self, path: Path) -> None:
        here = self.find(path)
        if not os.path.lexists(here):
            here.parent.mkdir(parents=True, exist_ok=True)
            here.symlink_to(path.readlink())


def drop_capabilities() -> None:
    """None is left to the next program that this process becomes, nor to any after it."""
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    for capability in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
        _check(_libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), f"capability {capability}")


def _mount(what: str | Path, at: Path, kind: str, flags: int, more: str = "") -> None:
    words = (str(what), str(at), kind)
    _check(_libc.mount(*map(os.fsencode, words), ctypes.c_ulong(flags), more.encode()), str(at))


def _protect(at: Path) -> None:
    """What is mounted there and below can be read only."""
    change = (ctypes.c_uint64 * 4)(READ_ONLY | NO_SUID, 0, 0, 0)
    done = _libc.syscall(
        ctypes.c_long(MOUNT_SETATTR), ctypes.c_int(AT_FDCWD), os.fsencode(at),
        ctypes.c_uint(AT_RECURSIVE), change, ctypes.c_size_t(ctypes.sizeof(change)),
    )  # fmt: skip
    _check(done, str(at))


def _check(done: int, what: str) -> None:
    if done:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


if __name__ == "__main__":
    main()

"""The process of a learner's file, closed before it receives one.

    python -I -m mqlab.lessons.builder.closed

It holds no broker: of the packages in `BARE` it loads what the pages ask for, and not the module
that makes up the rest. And it opens no file any more, whatever walls there are around it: so there
is no right file to read, none to import, and nothing to write (Landlock, Linux from 5.13 on;
landlock(7)).
"""

from __future__ import annotations

import codecs
import ctypes
import os
import sys
from types import ModuleType

from ...places import PACKAGE

BARE = ("kafka", "kafka.coordinator")
#: of linux/landlock.h and linux/prctl.h
CREATE_RULESET, RESTRICT_SELF, ASK_VERSION, PR_SET_NO_NEW_PRIVS = 444, 446, 1, 38
#: what each version can deny: first all but to link elsewhere, then that, then to truncate
DENIED = (0x1FFF, 0x3FFF, 0x7FFF)


def ask_version() -> int:
    """Of the kernel's Landlock; 0 or less where it has none."""
    if sys.platform != "linux":
        return 0
    return int(ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, ASK_VERSION))


def load_bare() -> None:
    """Packages that are folders of modules, and nothing else."""
    for name in BARE:
        package = ModuleType(f"mqlab.{name}")
        package.__path__ = [str(PACKAGE.joinpath(*name.split(".")))]
        sys.modules[package.__name__] = package


def close_files() -> None:
    """This process opens no file any more; as before where the kernel has no Landlock. OSError
    where it has, and refuses."""
    version = ask_version()
    if version <= 0:
        return
    codecs.lookup("utf-16-be")  # Python reads it from a file, and `java_hash` encodes with it
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    denied = ctypes.c_uint64(DENIED[min(version, len(DENIED)) - 1])
    rules = libc.syscall(CREATE_RULESET, ctypes.byref(denied), ctypes.sizeof(denied), 0)
    if rules < 0 or libc.syscall(RESTRICT_SELF, rules, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "landlock")
    os.close(rules)


if __name__ == "__main__":
    load_bare()
    from .apart import main

    sys.exit(main(close_files))

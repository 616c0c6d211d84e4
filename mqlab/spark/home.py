"""Spark's own home on this machine: a path that stays, and the classes that are ready in it.

Who writes them down, and why: `classes.py`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from pathlib import Path

from .. import places

CACHE = places.CACHE / "spark"
NAME = "classes.jsa"
#: a JVM has much to say about classes that cannot be archived, and says it on standard output
QUIET = "-Xlog:disable"


def find_folder() -> Path:
    """The folder for this Java and this PySpark; it need not be there yet."""
    java = find_java()
    changed = java.stat().st_mtime_ns if java else 0
    return CACHE / f"{zlib.crc32(f'{java} {changed} {_find_spark()}'.encode()):08x}"


def find_java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    return Path(java).resolve() if java else None


def _find_spark() -> Path:
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())


def make_home(folder: Path) -> Path:
    """Return the home folder for Spark below `folder`, which has links to all of Spark's own but
    its folder `python`, in which `pyspark.zip` is; made at the first call. Every Python worker
    would compile PySpark again out of that archive, 0.8 s of CPU each time; without it they import
    the installed one, which is compiled. Raises OSError where nothing can be written."""
    home = folder / "home"
    if not home.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="home-", dir=folder))
        for path in _find_spark().iterdir():
            if path.name != "python":
                (made / path.name).symlink_to(path)
        try:
            made.rename(home)
        except OSError:  # another process was quicker
            shutil.rmtree(made)
    return home


def read_flags(folder: Path) -> str:
    """What makes a JVM use the file, if there is one."""
    archive = folder / NAME
    return f'{QUIET} "-XX:SharedArchiveFile={archive}"' if archive.is_file() else ""

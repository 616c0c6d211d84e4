"""Spark's classes, made ready once per machine: the JVM starts in half the time.

    python -m mqlab.spark.classes [--later]      (--later: beside other work; `make setup` does so)

A JVM that runs Spark loads, checks and links some 15,000 classes before the first order is read:
7 of the 16 s of CPU that its start and an empty query take (two cores, Java 17). At its end it can
write them down as they are in memory, and the next JVM maps that file (*class data sharing*,
`-XX:ArchiveClassesAtExit`, JEP 350). The file belongs to one Java and one class path: so Spark's
home needs a path that stays, and a JVM that finds anything else goes without the file by itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from .home import CACHE, NAME, QUIET, find_folder, find_java
from .session import start


def write() -> None:
    """Write the archive of classes that later JVMs start from: run an empty query in a JVM that
    saves the classes it has loaded when it exits. Folders kept for
    other versions of Java or PySpark are deleted. Raises IncomeError where Spark cannot start,
    OSError where nothing can be written."""
    from .warm import warm_up  # needs PySpark, which may not be there

    folder = find_folder()
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{NAME}.{os.getpid()}"  # renamed when it is whole
    try:
        spark = start("local[2]", f'{QUIET} "-XX:ArchiveClassesAtExit={archive}"')
        warm_up(spark)
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # Spark's gateway ends when its input does
        gateway.proc.wait()
        archive.replace(folder / NAME)
    finally:
        archive.unlink(missing_ok=True)
    for outdated in CACHE.iterdir():
        if outdated != folder:
            shutil.rmtree(outdated, ignore_errors=True)


def write_later() -> None:
    """In a process of its own that is not waited for and lets all others go first."""
    if hasattr(os, "nice"):
        os.nice(19)
    subprocess.Popen(
        [sys.executable, "-m", "mqlab.spark.classes"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


def main(later: bool) -> None:
    """Nothing where there is no Java, or the file is there. Without it all works, only slower."""
    if find_java() and not (find_folder() / NAME).is_file():
        write_later() if later else write()


if __name__ == "__main__":
    main("--later" in sys.argv[1:])

"""One quiet Spark session, tuned for many small batches on a small machine.

Each setting was measured (two cores, medians of interleaved runs): the simple compiler and the
serial collector halve short runs; Spark's classes are ready (classes.py); the other checkpoint
file manager does not start a process for each small file; nothing of Spark's own talk reaches the
notebook.

The JVM and Python talk through sockets that are files. A port of loopback could be asked by a
stranger first, for instance by a program that still looks for a process just killed, and Spark
gives a job's result only to the first who asks.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING

from ..kernel.text import NO_REASON, Text, Words
from . import topics
from .errors import IncomeError, need
from .files import STATES
from .home import find_folder, make_home, read_flags

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).parents[2]
LOG4J = """\
rootLogger.level = off
"""
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # Fixed at a query's first start, as the state is split that way for good.
    "spark.sql.shuffle.partitions": str(STATES),
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    # Reconciliation replays every batch, so no `offsets/N` may be tidied away.
    "spark.sql.streaming.minBatchesToRetain": "100000",
    "spark.sql.streaming.metricsEnabled": "false",
}
JVM = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.sql.catalogImplementation": "in-memory",
}
JAVA_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
LONGEST = 60  # a folder's path: with Spark's 42 characters, macOS takes 103 for a socket's file


_ONE = Lock()  # two threads that ask at once get one session


def session(master: str | None = None) -> SparkSession:
    """The process's Spark session, started at the first call.

    `master` is Spark's address (None: `local[2]`, or where it runs already); executors on other
    machines get this package sent. Raises IncomeError that says what to install, or that this
    process already runs Spark at another address.
    """
    need()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with _ONE:
        running = SparkContext._active_spark_context
        if running is None:
            spark = start(master or "local[2]")
        elif master and running.master != master:
            raise IncomeError(
                "this process already runs Spark on {}: restart the kernel to use {}",
                running.master,
                master,
            )
        else:
            spark = SparkSession.builder.getOrCreate()
        for key, value in SETTINGS.items():
            spark.conf.set(key, value)
        return spark


class Starting:
    """A session that is started beside other work, and warmed up if there is time for it."""

    def __init__(self, master: str | None = None) -> None:
        self._wanted = Event()
        self._pool = ThreadPoolExecutor(1, "spark-start")
        self._session = self._pool.submit(self._start, master)

    def _start(self, master: str | None) -> SparkSession:
        spark = session(master)
        if not self._wanted.is_set():
            from .warm import warm_up

            warm_up(spark)
        return spark

    def wait(self) -> SparkSession:
        """Raises IncomeError that says what to install."""
        self._wanted.set()
        return self._session.result()

    def finish(self) -> None:
        """Lets the thread go; a start in progress is waited for."""
        self._wanted.set()
        self._pool.shutdown()


def start(master: str, java_flags: str = "") -> SparkSession:
    """Start a JVM with Spark at `master`, and return its session. `java_flags` are added to the
    JVM's; without any, a local one starts from the archive of classes (classes.py), where it is
    there. Raises IncomeError where the JVM does not start."""
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    local = master.startswith("local") and not master.startswith("local-cluster")
    # The workers run this very Python and find this package, wherever the notebook was started.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    paths = [str(PROJECT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    # for all that this session writes; removed at the end of the process
    folder = Path(tempfile.mkdtemp(prefix="mqlab-spark-"))
    (folder / "log4j2.properties").write_text(LOG4J)
    # links to Spark by which its Python workers start faster (home.py), beside the archive of
    # classes; None: where Spark is found anyway
    home = _find_home(folder) if local else None
    if home and not java_flags:
        java_flags = read_flags(home.parent)
    flags = f"{JAVA_FLAGS} {java_flags} -Dlog4j2.configurationFile=file:{folder}/log4j2.properties"
    os.environ["SPARK_LOCAL_DIRS"] = str(folder)  # what a killed JVM leaves behind is in one place
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = JVM | {
        "spark.driver.extraJavaOptions": flags,
        "spark.executor.extraJavaOptions": JAVA_FLAGS,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    if connector_jars := topics.jars():
        settings["spark.jars"] = ",".join(map(str, connector_jars))
    settings |= choose_sockets(folder, local)
    if local:
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    conf = SparkConf().setAppName("mqlab").setMaster(master).setAll(list(settings.items()))
    try:
        # What the JVM and the Python workers that it starts print goes to a file.
        with (folder / "stderr").open("wb") as stderr, _set_home(home):
            gateway = launch_gateway(conf, {"stderr": stderr})
        spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
    except PySparkRuntimeError as error:
        raise IncomeError(_no_java(folder / "stderr")) from error
    if not local:  # executors on other machines get this package
        spark.sparkContext.addPyFile(str(_package(folder)))
    return spark


def choose_sockets(folder: Path, local: bool) -> dict[str, str]:
    """Settings by which JVM and Python talk through files, in this folder where both are here; none
    on Windows and where the folder's path is too long, as on macOS: there they talk via ports."""
    if not hasattr(socket, "AF_UNIX") or len(str(folder)) > LONGEST:
        return {}
    name = "spark.python.unix.domain.socket"
    return {f"{name}.enabled": "true"} | ({f"{name}.dir": str(folder)} if local else {})


def _find_home(folder: Path) -> Path | None:
    """Where a local JVM finds Spark; None: where it is found anyway. Where no cache can be
    written, this process's own folder does."""
    if os.environ["PYSPARK_PYTHON"] != sys.executable:
        return None
    try:
        return make_home(find_folder())
    except OSError:
        return make_home(folder)


@contextmanager
def _set_home(home: Path | None) -> Iterator[None]:
    """`SPARK_HOME`, for the start of the JVM."""
    before = os.environ.get("SPARK_HOME")
    if home:
        os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        os.environ.pop("SPARK_HOME", None)
        if before is not None:
            os.environ["SPARK_HOME"] = before


NO_JAVA = Words(
    "Spark 4.3 could not start; it needs Java 17 or 21 (Debian: apt-get install "
    "openjdk-17-jre-headless, or set JAVA_HOME): {}"
)


def _no_java(stderr: Path) -> Text:
    lines = stderr.read_text(errors="replace").strip().splitlines()
    return NO_JAVA(lines[0] if lines else NO_REASON)


def _package(folder: Path) -> Path:
    """The program as a zip file for executors on other machines."""
    archive = folder / "mqlab.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted((PROJECT / "mqlab").rglob("*.py")):
            out.write(path, path.relative_to(PROJECT))
    return archive


def process_ids(spark: SparkSession) -> tuple[int, int]:
    """The JVM and this driver, for a kill -9 of both."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return int(jvm.java.lang.ProcessHandle.current().pid()), os.getpid()

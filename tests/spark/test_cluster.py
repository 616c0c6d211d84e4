"""The job on a cluster: the same orders, processes of their own, some of them killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka")
if not (shutil.which("java") and Path("/proc/self/task").is_dir()):
    pytest.skip("a Spark cluster needs Java, its deaths Linux's /proc", allow_module_level=True)

from mqlab.explore import Budget, explore
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from mqlab.spark.files import DAY
from tests.spark.cluster import run_cluster

ROOT = Path(__file__).parents[2]


@pytest.mark.spread("mqlab/spark")
def test_an_executor_and_a_worker_die_and_the_sum_is_right(
    broker_address: str, tmp_path: Path
) -> None:
    """kill -9 of an executor once batch 1 is in, of the other worker once batch 3 is in."""
    with run_cluster(tmp_path) as cluster:
        kills = {
            "batch 1:": lambda: cluster.kill_executor(0),
            "batch 3:": lambda: cluster.kill_worker(1),
        }
        said: list[str] = []
        with subprocess.Popen(
            [sys.executable, "-m", "mqlab", "income", "--master", cluster.address,
             "--orders", str(DAY), "--bootstrap-server", broker_address,
             "--checkpoint", str(tmp_path / "checkpoint")],
            cwd=ROOT, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as job:  # fmt: skip
            assert job.stderr is not None and job.stdout is not None
            for line in job.stderr:
                said.append(line)
                for place in [place for place in kills if place in line]:
                    kills.pop(place)()
            result = job.stdout.read()
    assert not kills, "".join(said)
    assert job.returncode == 0, "".join(said)
    assert "total £57,751.32, without Spark £57,751.32 → equal" in result
    assert "lines fed 5,331, read 5,331 = counted 5,331" in result


@pytest.mark.spread("mqlab/spark", "mqlab/explore")
def test_an_executor_and_a_worker_die_and_the_search_counts_the_same(tmp_path: Path) -> None:
    """kill -9 of an executor once the second job has written worlds, of the other worker, with its
    executors, once the fourth has."""
    worlds = tmp_path / "worlds"
    with run_cluster(tmp_path) as cluster:
        kills = {2: lambda: cluster.kill_executor(0), 4: lambda: cluster.kill_worker(1)}
        with subprocess.Popen(
            [sys.executable, "-m", "mqlab", "explore", "two_phase_set", "managers=6",
             "--spark", cluster.address, "--disk", str(worlds)],
            cwd=ROOT, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as job:  # fmt: skip
            while job.poll() is None:
                for level in [n for n in kills if (worlds / "known" / f"level={n}").exists()]:
                    kills.pop(level)()
                time.sleep(0.01)
            assert job.stdout is not None
            said = job.stdout.read()
    assert not kills and job.returncode == 0, said
    assert str(explore(TwoPhaseSet(managers=6), Budget())) in said

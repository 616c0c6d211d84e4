"""What a server loads, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys

#: only those who test, compress, draw or run Spark need these
HEAVY = ("hypothesis", "pyarrow", "numpy", "pandas", "pyspark", "IPython", "plotly", "pytest")


def loaded_by(code: str) -> set[str]:
    """The packages that a new interpreter has loaded after `code`."""
    code += "; import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_server_loads_nothing_that_it_does_not_need() -> None:
    loaded = loaded_by("import mqlab.serve.server, mqlab.serve.kafka.adapter")
    assert "kio" in loaded
    assert not loaded & {*HEAVY}


def test_hypothesis_is_there_for_whoever_wants_it() -> None:
    assert "hypothesis" in loaded_by(
        "import mqlab.serve.server, mqlab.serve.kafka.adapter, hypothesis.strategies"
    )

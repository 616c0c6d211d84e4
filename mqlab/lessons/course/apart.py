"""Runs the cells of a submission, from standard input to standard output, and nothing else.

    python -m mqlab.lessons.course.apart < {"cells": ["…", …], "timeout_s": 300} > [[output, …], …]

The process knows no course, no gradebook and no student: whatever it runs finds nothing but this
package and an empty folder. See `mqlab.lessons.course.grading`, which asks, and
labs/instructor, which says how to put it into a container.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# jsonschema would parse a grammar of international addresses at its import: half of what a short
# submission takes, for each of which a process starts. No notebook's schema asks for them.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # ImportError, as if not installed

from nbclient.exceptions import DeadKernelError  # noqa: E402
from nbformat.v4 import new_code_cell, new_notebook  # noqa: E402
from nbgrader.preprocessors import Execute  # noqa: E402

from .notebooks import KERNEL  # noqa: E402


def main() -> int:
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")  # dup: the kernel does not inherit it
    os.dup2(2, 1)  # what a cell writes past Jupyter goes to the log
    task = json.load(sys.stdin)
    notebook = new_notebook(
        cells=[new_code_cell(source) for source in task["cells"]],
        metadata={"kernelspec": KERNEL},
    )
    # nbgrader's own: it also notes an error that a cell has kept from being shown.
    execute = Execute(timeout=task["timeout_s"], kernel_name=KERNEL["name"])
    try:
        ran, _ = execute.preprocess(notebook, {"metadata": {"path": str(Path.cwd())}})
    except DeadKernelError as error:
        sys.exit(f"the kernel died: {error}")
    with answer:
        json.dump([cell.outputs for cell in ran.cells], answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())

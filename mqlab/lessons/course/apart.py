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

from nbclient.exceptions import DeadKernelError
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.preprocessors import Execute

from .notebooks import KERNEL


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

"""Where labs and data are, and where what is made and fetched goes.

In a clone, and in the folder that a students' zip unpacks into, they are beside the packages. A
wheel brings them within this one (`.ci/hatch/shipped.py`): then a command works in the current
folder, and a cache is where the system keeps them.
"""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).parent
SHIPPED = PACKAGE / "shipped"
IS_CLONE = not SHIPPED.is_dir()
ROOT = PACKAGE.parent if IS_CLONE else SHIPPED
LABS = ROOT / "labs"
DATASETS = ROOT / "datasets"
SCENARIOS = DATASETS / "scenarios"
RECORDINGS = DATASETS / "recordings"
ON_CALL = DATASETS / "on-call.tar.gz"
#: what to do where a package is missing
TO_INSTALL = (
    "run `make setup` in the project" if IS_CLONE
    else 'pip install "mqlab[lab,search,kafka,pulsar,spark]", or the part that you need'
)  # fmt: skip
#: where a command puts what a person goes on working with
WORK = ROOT if IS_CLONE else Path()


def _find_cache() -> Path:
    if IS_CLONE:
        return ROOT / ".cache"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "mqlab"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mqlab"


CACHE = _find_cache()

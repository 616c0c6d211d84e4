"""What a wheel holds besides the packages: labs, data, and the frame of a zip for students.

An editable installation takes all of it from the clone, so nothing is copied there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = (
    "labs/*.ipynb", "labs/images/*", "labs/instructor/*.md",
    "labs/instructor/zh/*.md", "labs/source/*.py",
    "labs/coordinator/*", "labs/check_round/*", "labs/pending_acks/*",
    "labs/reports/*/*", "labs/choose/*", "labs/lecture/*", "labs/site/**/*", "datasets/**/*",
    "LICENSE", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "mqlab/check/README.md",
    "mqlab/explore/README.md", "Makefile", "pyproject.toml", "requirements.lock", ".gitignore",
    ".ci/**/*",
)  # fmt: skip


class Shipped(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """The files of SHIPPED below mqlab/shipped; a zip for students lacks some of them."""
        if version == "editable":
            return
        root = Path(self.root)
        for path in (path for pattern in SHIPPED for path in sorted(root.glob(pattern))):
            if path.is_file() and "__pycache__" not in path.parts and ".kept-" not in path.name:
                inside = path.relative_to(root).as_posix()
                build_data["force_include"][str(path)] = f"mqlab/shipped/{inside}"
        # A wheel's user needs no Babel: it brings the catalogues compiled.
        sys.path.insert(0, self.root)
        from mqlab.kernel.catalogue import DOMAINS, find_catalogue, read_catalogue

        for domain in DOMAINS:
            read_catalogue(domain)  # which leaves it compiled
            compiled = find_catalogue(domain).with_suffix(".mo")
            inside = compiled.relative_to(root).as_posix()
            within = inside if inside.startswith("mqlab/") else f"mqlab/shipped/{inside}"
            build_data["force_include"][str(compiled)] = within

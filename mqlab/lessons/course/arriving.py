"""What comes from students is files and archives of strangers.

On a machine that students log in to, each writes into nbgrader's inbox: a link there could have the
teacher's copy of the solution collected as a student's own. So links are
not collected (`Collect`), and whichever way a submission came, one that holds a link is not graded
(`OnlyFiles`). A learning platform hands out zips: of these only notebooks are taken, each up to
MOST_BYTES, and no archive within an archive (`Extract`, for `nbgrader zip_collect`). One bad
submission does not keep the others out.
"""

from __future__ import annotations

import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

from nbconvert.exporters.exporter import ResourcesDict
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import ExtractorPlugin
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from .judging import GradingError
from .notebooks import Notebook

MOST_BYTES = 20_000_000  # of a notebook
MOST_OF_ALL = 1_000_000_000  # of the notebooks of an archive
MOST_CELLS = 2_000  # of a notebook; the longest lab has 107, and 35,000 characters
MOST_SOURCE = 1_000_000  # characters of its cells' sources
DAMAGED = (OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def find_fault(folder: Path) -> str:
    """Why a submission's folder is not graded, in words; nothing where it may be. nbgrader copies
    what is beside a notebook too."""
    for path in (folder.parent, folder, *sorted(folder.rglob("*"))):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return f"{path.name} is a link"
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return f"{path.name} is no file"
        if stat.S_ISREG(mode) and path.stat().st_size > MOST_BYTES:
            return f"{path.name} is larger than {MOST_BYTES // 1_000_000} MB"
    return ""


def find_excess(nb: Notebook) -> str:
    """Why a notebook is too long to be graded, in words; nothing where it is not. What cells have
    shown is not counted: pictures are large."""
    source = sum(len(cell.source) for cell in nb.cells)
    if len(nb.cells) > MOST_CELLS:
        return f"it has {len(nb.cells):,} cells, and more than {MOST_CELLS:,} are not graded"
    if source > MOST_SOURCE:
        return f"its cells have {source:,} characters, and more than {MOST_SOURCE:,} are not graded"
    return ""


class OnlyFiles(NbGraderPreprocessor):
    """The first step of grading: raises GradingError for a submission with a fault."""

    submissions = Unicode(help="the folder of the submissions").tag(config=True)

    def preprocess(self, nb: Notebook, resources: ResourcesDict) -> tuple[Notebook, ResourcesDict]:
        known = resources["nbgrader"]
        why = find_fault(Path(self.submissions, known["student"], known["assignment"]))
        why = why or find_excess(nb)
        if why:
            raise GradingError(f"{why}: ask for the notebook again")
        return nb, resources


class Collect(ExchangeCollect):
    """nbgrader's, for an inbox with anything in it."""

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """A folder with a name that nbgrader would not have given belongs to no student."""
        try:
            record: dict[str, Any] = super()._path_to_record(path)
        except (ExchangeError, ValueError, OverflowError):
            self.log.warning("not collected: %s is no name that nbgrader gives", Path(path).name)
            return {"username": "", "filename": "", "timestamp": datetime.min}
        return record

    def init_src(self) -> None:
        super().init_src()
        every: list[dict[str, Any]] = self.src_records  # type: ignore[has-type]
        self.src_records = [record for record in every if record["username"]]

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        why = find_fault(Path(src))
        if not why:
            try:
                shutil.copytree(src, dest, symlinks=True)
                return
            except OSError as error:
                why = str(error)
                shutil.rmtree(dest, ignore_errors=True)
        self.log.warning("not collected: %s: %s", Path(src).name, why)


def find_warnings(log: str) -> Iterator[str]:
    """What nbgrader's log warns of, each in one line."""
    for warning in re.findall(r"^\[WARNING\] (.*?)(?=^\[|\Z)", log, re.S | re.M):
        yield " ".join(warning.split())


class Extract(ExtractorPlugin):
    """Notebooks out of `downloaded/LAB/archive`: of NAME.zip, or of the folder NAME and the zips in
    it, they go to `extracted/NAME`, and so NAME is the student. Of two notebooks of one name the
    first is taken."""

    def extract(self, archive_path: str, extracted_path: str) -> None:
        for path in sorted(Path(archive_path).rglob("*")):
            top = path.relative_to(archive_path).parts[0]
            folder = Path(extracted_path, Path(top).stem if path.name == top else top)
            if path.is_symlink() or not path.is_file():
                continue
            try:
                if path.suffix == ".zip":
                    self._unzip(path, folder)
                elif path.suffix == ".ipynb":
                    with path.open("rb") as file:
                        self._keep(file, folder / path.name)
            except DAMAGED as error:
                self.log.warning("%s cannot be read: %s", path.name, error)

    def _unzip(self, path: Path, folder: Path) -> None:
        left = MOST_OF_ALL
        with zipfile.ZipFile(path) as zipped:
            for info in zipped.infolist():
                name = PurePosixPath(info.filename)
                if name.suffix != ".ipynb" or "__MACOSX" in name.parts:
                    continue
                if left < MOST_BYTES:
                    self.log.warning("%s holds too much: the rest of it is left out", path.name)
                    return
                with zipped.open(info) as file:
                    left -= self._keep(file, folder / name.name)

    def _keep(self, file: IO[bytes], path: Path) -> int:
        """How many bytes were taken."""
        if path.exists():
            self.log.warning("%s is there twice: the first is taken", path.name)
            return 0
        data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            self.log.warning("%s/%s is too large", path.parent.name, path.name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return len(data)

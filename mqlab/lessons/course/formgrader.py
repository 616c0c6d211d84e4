"""nbgrader's formgrader as a server of its own, in which submissions are read.

python -m mqlab.lessons.course.formgrader    (in a course's folder; started by `mqlab class --open`)

A page that shows a stranger's words does not belong into JupyterLab, which opens terminals, kernels
and files for anyone who is signed in. This server offers none of them, only the formgrader's own
pages. They show a submission as text (`mqlab.lessons.course.formgrader`). Should that ever fail, no
script of the submission runs: the browser runs only scripts that carry a word which is made up at
each start and is in nbgrader's own templates.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import sys
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from jupyter_server.serverapp import ServerApp
from nbconvert.exporters import HTMLExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat.v4 import new_code_cell, new_output
from nbgrader import preprocessors as steps
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.server_extensions.formgrader import handlers
from nbgrader.server_extensions.formgrader.formgrader import FormgradeExtension
from traitlets import Unicode
from traitlets.config import Config

from .arriving import Collect, Extract, OnlyFiles
from .notebooks import KERNEL, Notebook, read

# ---- What of a submission a teacher gets to see: text, and nothing that a browser acts on
#
# A notebook can hold HTML and scripts in its outputs, in its markdown, in its attachments and even
# in
# its metadata, and a page of JupyterLab or of nbgrader would run them with the rights of the one
# who
# reads it. `make_inert` leaves of a submission what can be read: its code, outputs as plain text,
# and
# what the lab itself says. Text that a student wrote between the cells is shown as comments. The
# feedback page, which is opened from the disk, also forbids every script by its own policy.

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:; base-uri 'none'; "
    "form-action 'none'"
)
HIDDEN = re.compile(r"^[ #]*BEGIN HIDDEN TESTS.*?(^[ #]*END HIDDEN TESTS[^\n]*\n?|\Z)", re.M | re.S)
MOST_TEXT = 100_000  # characters of an output


class Inert(NbGraderPreprocessor):
    """`make_inert` as a step of grading and of showing."""

    releases = Unicode(help="the folder of the released assignments").tag(config=True)

    def preprocess(self, nb: Notebook, resources: ResourcesDict) -> tuple[Notebook, ResourcesDict]:
        path = find_released(self.releases, resources)
        make_inert(nb, read(path).cells if path is not None else ())
        return nb, resources


class HideTests(NbGraderPreprocessor):
    """A feedback page shows what a hidden test said, and not the test."""

    def preprocess_cell(
        self, cell: Notebook, resources: ResourcesDict, index: int
    ) -> tuple[Notebook, ResourcesDict]:
        if cell.cell_type == "code":
            cell.source = HIDDEN.sub("", cell.source)
        return cell, resources


class FeedbackExporter(HTMLExporter):
    """A page that runs no script and fetches nothing, wherever it is opened."""

    def from_notebook_node(self, nb: Any, resources: Any = None, **given: Any) -> Any:
        html, resources = super().from_notebook_node(nb, resources, **given)
        meta = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        return re.sub(r"<head\b[^>]*>", lambda head: head[0] + meta, html, count=1), resources


def course_settings(folder: Path) -> Config:
    """nbgrader's settings for its formgrader, where an instructor reads and grades the submissions
    of the course in this folder: what is handed in is collected and repaired, and made inert, so
    that only its text is shown."""
    c = Config()
    # ours in place of nbgrader's: what is collected may have any form, and is checked
    c.ExchangeFactory.collect = Collect
    c.ZipCollectApp.extractor_plugin = Extract
    c.FileNameCollectorPlugin.named_regexp = (
        rf"{re.escape(str(folder))}/downloaded/[^/]+/extracted/"
        r"(?P<student_id>[^/]+)/(?P<file_id>[^/]+)\.ipynb$"
    )
    c.OnlyFiles.submissions = str(folder / "submitted")
    c.Repair.releases = c.Inert.releases = str(folder / "release")
    # OnlyFiles refuses a submission with a fault, Repair puts deleted cells back, Inert makes text
    # of a submission, HideTests leaves hidden tests out of what a student is shown; the others
    # (`steps`, nbconvert's) are not ours
    c.Autograde.sanitize_preprocessors = [
        OnlyFiles,
        steps.ClearOutput,
        "mqlab.lessons.course.repairing.Repair",
        Inert,
        steps.DeduplicateIds,
        steps.OverwriteKernelspec,
        steps.OverwriteCells,
        steps.CheckCellMetadata,
    ]
    c.GenerateFeedback.preprocessors = [
        Inert,
        steps.GetGrades,
        HideTests,
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]
    c.GenerateFeedback.exporter_class = FeedbackExporter
    return c


def find_released(releases: str, resources: ResourcesDict) -> Path | None:
    """The released notebook of which nbgrader's `resources` name a submission, if it is there."""
    known = resources.get("nbgrader", {})
    lab = known.get("assignment") or resources.get("assignment_id")
    notebook = known.get("notebook") or resources.get("notebook_id")
    path = Path(releases, str(lab), f"{notebook}.ipynb")
    return path if releases and path.is_file() else None


def make_inert(notebook: Notebook, released: Iterable[Notebook]) -> None:
    """Change a submission so that only text is left of what its student could put into it: in
    metadata, attachments and outputs too. So no script of a student's runs in the browser of the
    one who grades.

    A cell gets the metadata of the released cell of its name, or none; Markdown that was not
    released becomes a comment in a code cell.
    """
    released_cells = list(released)
    texts = {cell.source for cell in released_cells if cell.cell_type == "markdown"}
    metadata_of = {
        cell.metadata.nbgrader.grade_id: cell.metadata
        for cell in released_cells
        if "nbgrader" in cell.metadata
    }
    notebook.metadata = deepcopy({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for index, cell in enumerate(notebook.cells):
        # a student's file may have anything here
        given = cell.metadata.get("nbgrader")
        name = given.get("grade_id") if isinstance(given, dict) else None
        original = metadata_of.get(name) if isinstance(name, str) else None
        if cell.cell_type != "code" and cell.source not in texts:
            cell = new_code_cell(_as_comments(cell.source))
        cell["id"] = f"cell-{index}"
        cell.metadata = deepcopy(original) if original is not None else type(notebook)()
        cell.pop("attachments", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [kept for one in cell.outputs for kept in _text_of(one)]
        notebook.cells[index] = cell


def _as_comments(text: str) -> str:
    return "\n".join(f"# {line}" for line in text.splitlines())


def _text_of(output: Notebook) -> list[Notebook]:
    """An output as text; none where it has no text."""
    if output.output_type == "stream":
        name = "stderr" if output.name == "stderr" else "stdout"
        return [new_output("stream", name=name, text=str(output.text)[:MOST_TEXT])]
    if output.output_type == "error":
        name, message = str(output.ename)[:200], str(output.evalue)[:MOST_TEXT]
        return [new_output("error", ename=name, evalue=message, traceback=[f"{name}: {message}"])]
    text = output.get("data", {}).get("text/plain")
    return [] if text is None else [new_output("stream", text=f"{text}"[:MOST_TEXT] + "\n")]


TEMPLATES = Path(handlers.template_path)
#: what nbgrader's own templates have in an `onclick`
CLICKS = ("toggle_name(true);", "toggle_name(false);")


class Loader(FileSystemLoader):
    """nbgrader's templates, with the word in each script that they have."""

    def __init__(self, folder: Path, word: str) -> None:
        super().__init__(folder)
        self._word = word

    def get_source(self, environment: Environment, template: str) -> Any:
        text, *rest = super().get_source(environment, template)
        return text.replace("<script", f'<script nonce="{self._word}"'), *rest


class Formgrader(FormgradeExtension):
    """nbgrader's extension, which repairs and shows as the rest of a course does."""

    def build_extra_config(self) -> Any:
        config = super().build_extra_config()
        config.merge(course_settings(Path.cwd()))
        return config

    def load_config(self) -> Any:
        config = super().load_config()
        config.merge(course_settings(Path.cwd()))
        return config

    def use_word(self, settings: dict[str, Any], word: str) -> None:
        """Show pages by templates that carry the word, and submissions as text."""
        settings["nbgrader_jinja2_env"] = Environment(loader=Loader(TEMPLATES, word))
        exporter = HTMLExporter(
            config=self.config, extra_loaders=[Loader(TEMPLATES / "formgrade", word)]
        )
        exporter.register_preprocessor(
            Inert(releases=str(Path.cwd() / "release"), enabled=True), enabled=True
        )
        settings["nbgrader_exporter"] = exporter


class Server(ServerApp):
    """Signing in and the formgrader, and no other service of a Jupyter server."""

    name = "mqlab-formgrader"
    default_services = ("auth",)  # type: ignore[assignment]

    def find_server_extensions(self) -> None:
        """None, whatever is switched on for JupyterLab."""

    def init_server_extensions(self) -> None:
        self.jpserver_extensions = {}
        super().init_server_extensions()

    def init_webapp(self) -> None:
        word = secrets.token_urlsafe(16)
        self.tornado_settings = {"headers": {"Content-Security-Policy": write_policy(word)}}
        # A contents manager brings a route to the files below it.
        self.contents_manager.get_extra_handlers = list  # type: ignore[method-assign]
        super().init_webapp()
        formgrader = Formgrader(parent=self)
        formgrader.root_dir = self.root_dir
        formgrader.log = self.log
        formgrader.initialize([])
        formgrader.init_tornado_settings(self.web_app)
        formgrader.use_word(self.web_app.settings, word)
        formgrader.init_handlers(self.web_app)


def write_policy(word: str) -> str:
    """What a browser may do with a page of this server."""
    clicks = " ".join(f"'sha256-{_digest(click)}'" for click in CLICKS)
    return (
        f"default-src 'self'; script-src 'nonce-{word}' 'unsafe-eval' 'unsafe-hashes' {clicks}; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        "object-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'self'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


if __name__ == "__main__":
    sys.exit(Server.launch_instance())

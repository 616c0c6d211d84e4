"""nbgrader's formgrader as a server of its own, in which submissions are read.

python -m mqlab.lessons.course.formgrader    (in a course's folder; started by `mqlab class --open`)

A page that shows a stranger's words does not belong into JupyterLab, which opens terminals, kernels
and files for anyone who is signed in. This server offers none of them, only the formgrader's own
pages. They show a submission as text (`mqlab.lessons.course.showing`). Should that ever fail, no
script of the submission runs: the browser runs only scripts that carry a word which is made up at
each start and stands in nbgrader's own templates.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import sys
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from jupyter_server.serverapp import ServerApp
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from nbgrader.server_extensions.formgrader.formgrader import FormgradeExtension

from .showing import Inert, course_settings

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
    """nbgrader's extension, which mends and shows as the rest of a course does."""

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

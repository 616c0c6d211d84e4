"""Imports go down only. ARCHITECTURE.md says why; this file says which package is where."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from tests.project.sources import ROOT, imports, modules, relative

FLOORS = {
    "mqlab.kernel": 0,
    "mqlab.places": 0,
    "mqlab.recordings": 1,
    "mqlab.kafka": 2,
    "mqlab.rocketmq": 2,
    "mqlab.pulsar": 2,
    "mqlab.patterns": 2,
    "mqlab.explore": 3,
    "mqlab.scenario": 3,
    "mqlab_widgets.encoding": 4,
    "mqlab_widgets.scene": 4,
    "mqlab_widgets.style": 4,
    "mqlab_widgets.views": 4,
    "mqlab_widgets.widths": 4,
    "mqlab.serve": 5,
    "mqlab.serve.kafka": 5,
    "mqlab.serve.rocketmq": 5,
    "mqlab.serve.pulsar": 5,
    "mqlab.spark": 5,
    "mqlab.check": 5,
    "mqlab.check.kafka": 5,
    "mqlab.real": 5,
    "mqlab.real.kafka": 5,
    "mqlab.real.rocketmq": 5,
    "mqlab.real.pulsar": 5,
    "mqlab.brokers": 6,
    "mqlab.registry": 6,
    "mqlab_widgets": 6,
    "mqlab.inspect": 7,
    "mqlab.inspect.kafka": 7,
    "mqlab.inspect.rocketmq": 7,
    "mqlab.inspect.pulsar": 7,
    "mqlab.lessons": 7,
    "mqlab.site": 7,
    "mqlab.lab": 8,
    "mqlab.cli": 8,
    "mqlab": 8,
}
STANDARD_ONLY = 4  # this floor and those below need nothing but the standard library
SIBLINGS = (2, 5)  # packages of these floors do not import each other
#: packages that know a broker, also inside a layer that does not
BROKERS = (".kafka", ".rocketmq", ".pulsar")
KNOW_NO_BROKER = (
    "mqlab.explore",
    "mqlab.scenario",
    "mqlab.serve",
    "mqlab.check",
    "mqlab.real",
    "mqlab.recordings",
    "mqlab.registry",
    "mqlab.inspect",
    "mqlab_widgets",
)
#: the commands that are about lessons; the others run where no lesson is
LESSON_COMMANDS = ("mqlab.cli.labs", "mqlab.cli.class", "mqlab.cli.build", "mqlab.cli.choose")

# What the floors above may import besides, always inside an extra of pyproject.toml. An entry
# more is a decision: the package then cannot run where that library is missing.
LIBRARIES = {
    "mqlab.kernel": {"babel"},  # in a clone, where a catalogue is newer than its compiled form
    "mqlab.explore": {"numpy"},
    "mqlab.serve": {"h11", "kio"},
    "mqlab.serve.kafka": {"kio", "pyarrow"},
    "mqlab.serve.pulsar": {"google"},
    "mqlab.spark": {
        "confluent_kafka",
        "kio",
        "numpy",
        "pandas",
        "py4j",
        "pyarrow",
        "pyflink",
        "pyspark",
    },
    "mqlab.check.kafka": {"confluent_kafka"},
    "mqlab.real.kafka": {"confluent_kafka", "kio", "pyarrow"},
    "mqlab.inspect.kafka": {"confluent_kafka", "kio"},
    "mqlab.site": {"jinja2", "markdown_it"},
    "mqlab.lessons": {
        "IPython",
        "ipywidgets",
        "jinja2",
        "jupyter_server",
        "jupytext",
        "nbclient",
        "nbconvert",
        "nbformat",
        "nbgrader",
        "traitlets",
    },
    "mqlab_widgets": {"IPython", "anywidget", "ipywidgets", "traitlets"},
    "mqlab.cli": {"PIL", "confluent_kafka", "playwright"},
}
OURS = ("mqlab", "mqlab_widgets")

# What the tests of floors that know no broker may import of ours: they run on a toy system, so
# they fail for a fault of their own floor only. Commands as they are typed, and the committed
# scenarios, need a broker.
TOY = "tests.kernel.toy"
ORACLE = "mqlab.patterns.two_phase.oracle"
TESTS = {
    "tests.kernel": ("mqlab.kernel", "tests.kernel"),
    # and the model whose states are known: the explorer's oracle
    "tests.explore": ("mqlab.kernel", "mqlab.explore", TOY, "tests.models", ORACLE),
    "tests.scenario": ("mqlab.kernel", "mqlab.scenario", TOY),
}
WIDE_TESTS = {"tests/explore/test_command.py"} | {
    f"tests/scenario/test_{name}.py"
    for name in ("bad_input", "commands", "goldens", "incidents", "page", "view")
}
HEAVY = {"pyspark", "numpy", "pandas", "pyarrow", "mqlab.spark"}


def package_of(name: str) -> str:
    """The entry of FLOORS a module belongs to: the longest that fits."""
    fits = [entry for entry in FLOORS if name == entry or name.startswith(entry + ".")]
    return max(fits, key=len)


def objection(importer: str, imported: str) -> str:
    """Why `importer` may not import `imported`; empty if it may."""
    here = package_of(importer)
    top = imported.partition(".")[0]
    if top not in OURS:
        if top in sys.stdlib_module_names or top in LIBRARIES.get(here, ()):
            return ""
        if FLOORS[here] <= STANDARD_ONLY:
            return f"{here} needs the standard library only"
        return f"{top} is not among the LIBRARIES of {here}"
    there = package_of(imported)
    if here == there or imported == "mqlab":  # the version stands in mqlab/__init__.py
        return ""
    if there == "mqlab.lessons" and here == "mqlab.cli" and importer not in LESSON_COMMANDS:
        return f"{importer} is no command about lessons"
    if FLOORS[there] > FLOORS[here]:
        return f"floor {FLOORS[here]} imports floor {FLOORS[there]}"
    if here.startswith(KNOW_NO_BROKER) and not here.endswith(BROKERS):
        if FLOORS[there] == 2 or there.endswith(BROKERS):
            return f"{here} knows no broker"
    if here.endswith(BROKERS) and there.endswith(BROKERS):
        if here.rpartition(".")[2] != there.rpartition(".")[2]:
            return f"{here} and {there} are siblings"
    if FLOORS[there] == FLOORS[here] and FLOORS[here] in SIBLINGS:
        # A broker's package may use the layer it belongs to.
        return "" if here.startswith(there + ".") else f"{here} and {there} are siblings"
    return ""


def test_every_package_has_a_floor() -> None:
    unknown = {
        name for name in modules() if package_of(name) == "mqlab" and not name.endswith("__main__")
    }
    assert unknown <= {"mqlab"}, "give these packages a floor in FLOORS"


def test_imports_go_down_only() -> None:
    wrong = [
        f"{relative(path)}:{line} imports {imported}: {why}"
        for name, path in modules().items()
        for line, imported in imports(name, path)
        if (why := objection(name, imported))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("importer", "imported", "why"),
    [
        ("mqlab.kernel.run", "mqlab.kafka", "floor 0 imports floor 2"),
        ("mqlab.kafka.leader", "mqlab.pulsar.broker", "siblings"),
        ("mqlab.spark.job", "mqlab.serve", "siblings"),
        ("mqlab.scenario.parser", "mqlab.kafka", "knows no broker"),
        ("mqlab.kafka.leader", "numpy", "standard library only"),
        ("mqlab.serve.kafka.wire", "pyspark", "LIBRARIES"),
        ("mqlab.serve.driver", "mqlab.kafka.leader", "knows no broker"),
        ("mqlab.serve.trace.live", "mqlab.serve.kafka.trace", "knows no broker"),
        ("mqlab.serve.kafka.front", "mqlab.serve.rocketmq.wire", "siblings"),
        ("mqlab.serve.rocketmq.front", "mqlab.kafka.leader", "siblings"),
        ("mqlab.spark.job", "mqlab.serve.kafka", "siblings"),
        ("mqlab.serve.kafka.adapter", "mqlab.serve.adapter", ""),
        ("mqlab.real.program", "mqlab.real.kafka.client", "knows no broker"),
        ("mqlab.recordings.evidence", "mqlab.kafka.log", "floor 1 imports floor 2"),
        ("mqlab.recordings.evidence", "kio", "standard library only"),
        ("mqlab.real.program", "kio", "LIBRARIES"),
        ("mqlab.real.rocketmq.broker", "mqlab.real.kafka.jars", "siblings"),
        ("mqlab.real.kafka.wire", "mqlab.serve.kafka.wire", "siblings"),
        ("mqlab.real.kafka.broker", "mqlab.real.program", ""),
        ("mqlab.kafka.evidence", "mqlab.recordings.evidence", ""),
        ("mqlab.cli.real", "tests.oracle.command", "LIBRARIES"),
        ("mqlab_widgets.views.strips", "mqlab_widgets.player", "floor 4 imports floor 6"),
        ("mqlab.cli.run", "mqlab.kafka.system", ""),
        ("mqlab.cli.run", "mqlab.lessons.check", "no command about lessons"),
        ("mqlab.cli.class", "mqlab.lessons.course.classroom", ""),
        ("mqlab.registry.searches", "mqlab.lessons.check", "floor 6 imports floor 7"),
        ("mqlab.registry.cases.kafka", "mqlab.kafka.config", "knows no broker"),
        ("mqlab.inspect.show", "mqlab.inspect.kafka", "knows no broker"),
        ("mqlab.inspect.kafka.folder", "mqlab.serve.kafka.wire.validation", ""),
        ("mqlab.inspect.kafka.folder", "mqlab.serve.pulsar.wire", "siblings"),
        ("mqlab.real.kafka.client", "mqlab.inspect.kafka", "floor 5 imports floor 7"),
        ("mqlab.kafka.leader", "mqlab.lessons.check", "floor 2 imports floor 7"),
    ],
)
def test_the_rule_itself(importer: str, imported: str, why: str) -> None:
    assert (why in objection(importer, imported)) if why else not objection(importer, imported)


def allowed_in_test(package: str, imported: str) -> bool:
    """Whether a test of this package may import the module; what is not ours it may."""
    if imported.partition(".")[0] not in (*OURS, "tests"):
        return True
    return any(imported == name or imported.startswith(name + ".") for name in TESTS[package])


def test_tests_of_floors_that_know_no_broker_know_none() -> None:
    wrong = [
        f"{relative(path)}:{line} imports {imported}; {part} may import {', '.join(TESTS[part])}"
        for part in TESTS
        for path in sorted((ROOT / part.replace(".", "/")).glob("*.py"))
        if relative(path) not in WIDE_TESTS
        for line, imported in imports(f"{part}.{path.stem}", path)
        if not allowed_in_test(part, imported)
    ]
    assert not wrong, "\n".join(wrong)
    assert all((ROOT / name).is_file() for name in WIDE_TESTS)


@pytest.mark.parametrize(
    ("package", "imported", "may"),
    [
        ("tests.kernel", "mqlab.kernel.world", True),
        ("tests.kernel", "mqlab.kafka.log", False),
        ("tests.kernel", "mqlab.explore", False),
        ("tests.explore", "tests.models.plain", True),
        ("tests.explore", "mqlab.registry", False),
        ("tests.scenario", "tests.kernel.toy", True),
        ("tests.scenario", "tests.kernel.test_kernel", False),
        ("tests.scenario", "jsonschema", True),
    ],
)
def test_the_rule_for_tests_itself(package: str, imported: str, may: bool) -> None:
    assert allowed_in_test(package, imported) is may


def test_labs_other_than_11_run_without_spark_or_arrays() -> None:
    wrong = []
    for path in sorted((ROOT / "labs" / "source").glob("*.py")):
        if path.name.startswith("11-"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            wrong += [
                f"{relative(path)}:{node.lineno} imports {name}"
                for name in names
                for heavy in HEAVY
                if name == heavy or name.startswith(heavy + ".")
            ]
    assert not wrong, "\n".join(wrong)


def test_help_loads_only_the_standard_library() -> None:
    """`mqlab --help` is quick because nothing but the command line itself is imported."""
    script = (
        "import sys; from mqlab.cli import build_parser; build_parser(None)[0].format_help();"
        "print(*sorted(m for m in sys.modules if m.startswith('mqlab')))"
        ";print(*sorted({m.partition('.')[0] for m in sys.modules} - sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ours, others = done.stdout.splitlines()
    floor = ("mqlab.cli", "mqlab.kernel", "mqlab.places")  # the words of help, in two languages
    assert [one for one in ours.split() if one != "mqlab" and not one.startswith(floor)] == []
    assert set(others.split()) <= {"__main__", "mqlab"}


#: configurations of roles that hold a function: RocketMQ's listener is the application's in the
#: real client too
SLOTS = {"ProducerConfig": {"execute", "check"}}


def test_no_role_holds_a_slot_for_a_student() -> None:
    """A lesson brings a role of its own (`lessons/kafka/systems/ruled.py`); none of the engine's is
    configured with a function."""
    held: dict[str, set[str]] = {}
    for name, path in modules().items():
        if not name.startswith(tuple(f"mqlab{package}." for package in (*BROKERS, ".patterns"))):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Config"):
                fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
                slots = {
                    ast.unparse(field.target)
                    for field in fields
                    if re.search(r"Callable|Rule\b", ast.unparse(field.annotation))
                }
                if slots:
                    held[node.name] = slots
    assert held == SLOTS

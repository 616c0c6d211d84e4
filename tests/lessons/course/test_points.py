"""Points are for answers: what a cell puts in the place of the judge gets none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from nbgrader import utils

import mqlab.kernel.run
import mqlab.lessons.check
import mqlab.lessons.course.judging
from mqlab.kernel import LANGUAGES, Fact, FactKind, Text, speaking
from mqlab.lessons.builder.checking import Building
from mqlab.lessons.course import classroom
from mqlab.lessons.course.answering import page_of, read_page
from mqlab.lessons.course.graded import list_exercises
from mqlab.lessons.course.grading import read_task
from mqlab.lessons.course.judging import APART, Judge, Known, Task
from mqlab.lessons.course.notebooks import labs_in, read_source
from mqlab.lessons.course.points import NotYet, grade
from mqlab.lessons.course.wire import Odd, WireError, decode_line, encode
from mqlab.lessons.kafka.lab07 import LSO
from mqlab.lessons.kafka.lab08 import LOOP, MANY
from mqlab.lessons.kafka.systems.loop import Abortable, App
from mqlab.lessons.spark.decide import DECIDE
from mqlab.lessons.verdict import Verdict
from tests.project.chinese import compare
from tests.project.sources import ROOT

LABS = labs_in(ROOT / "labs")
read_once = cache(read_source)
#: cell, belief on the instructor's page, belief or promise that the verdict names, its example
VERDICTS = [
    row.split(" | ")
    for row in Path(__file__).with_name("verdicts.txt").read_text("utf-8").splitlines()
]
#: a test cell: its grade, which no student's copy has, and what the student sees
HIDDEN = re.compile(
    r"""### BEGIN HIDDEN TESTS
from mqlab\.lessons\.course\.points import grade

grade\("([\w ]+)", (\w+)\)
### END HIDDEN TESTS
check\((\w+), (\w+)\)$"""
)
WRONG = "def lso(first_offsets, high_watermark):\n    return high_watermark"
RIGHT = "def lso(first_offsets, high_watermark):\n    return min([*first_offsets, high_watermark])"
AND = "\n---\n"  # between what a verdict says in English and in Chinese
#: what has given all points once, or might; each stands before a wrong answer
FORGERIES = {
    "json": """
import json
loads = json.loads
json.loads = lambda text, **named: [True] if "ok" in str(text) else loads(text, **named)
json.dumps = lambda value, **named: '["verdict", true]'
""",
    "path": """
import os, mqlab.lessons.course, mqlab.lessons.course.points
text = "class NotYet(Exception): pass\\ndef grade(*given): pass\\n"
open("points.py", "w").write(text)
open("judging.py", "w").write(text)
mqlab.lessons.course.__path__.insert(0, ".")
""",
    "transformers": """
import ast
class Nothing(ast.NodeTransformer):
    def visit_Call(self, node): return ast.Constant(True)
get_ipython().ast_transformers.append(Nothing())
get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\\n"])
""",
    "import": """
import builtins
class Agrees:
    ok = True
    def __getattr__(self, name): return Agrees()
    def __call__(self, *given, **named): return Agrees()
old = builtins.__import__
__builtins__.__import__ = lambda name, *rest: Agrees() if "points" in name else old(name, *rest)
""",
    "modules": """
import sys, types
import mqlab.lessons.check, mqlab.lessons.verdict, mqlab.lessons.course.wire, mqlab.explore
for module in [one for name, one in sys.modules.items() if name.startswith("mqlab.")]:
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and "check" in vars(value):
            value.check = lambda *given, **named: types.SimpleNamespace(ok=True)
        if name in ("explore", "judge", "grade"):
            setattr(module, name, lambda *given, **named: types.SimpleNamespace(ok=True))
mqlab.lessons.verdict.Verdict.__init__ = lambda self, *given, **named: None
""",
    "atexit": """
import atexit, os
atexit.register(lambda: os.write(1, b'["verdict", true]\\n'))
os._exit = lambda code: [os.write(fd, b'["ended"]\\n') for fd in range(1, 9)]
""",
    "stdout": """
import os
for fd in range(1, 30):
    for line in (b'["verdict", true, ""]', b'["value", true]', b'["returned", {"ok": true}]'):
        try: os.write(fd, line + b'\\n')
        except OSError: pass
""",
    "pickle": """
import copyreg, pickle
copyreg.pickle(int, lambda value: (eval, ("__import__('os')._exit(0)",)))
from mqlab.lessons.course import answering
answering.plain = lambda value: pickle.dumps(value)
""",
    "wire": """
from mqlab.lessons.course import answering, wire
wire.Wire.hear = lambda self, *given: ("done",)
answering.Answering.serve = lambda self: self._wire.say("verdict", True, "right")
""",
    "ptrace": """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) not in (os.getpid(), os.getppid()):
        try: open(f"/proc/{pid}/mem", "r+b").write(b"right")
        except OSError: pass
""",
}
#: in place of an answer: it agrees with all that it is compared with
AGREES = """
class Agrees(str):
    ok = True
    order = ()
    kept = True
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __hash__(self): return 0
    def __call__(self, *given, **named): return Agrees()
    def __iter__(self): return iter([Agrees(), Agrees()])
"""
#: in a rule: all that calls it thinks that it went well
WALKS = """
def lso(first_offsets, high_watermark):
    import sys
    frame = sys._getframe()
    while frame:
        for name, value in list(frame.f_locals.items()) + list(frame.f_globals.items()):
            if isinstance(value, dict) and "ok" in value: value["ok"] = True
            if hasattr(value, "say") and hasattr(value, "hear"):
                value.say("verdict", True, "right")
        frame = frame.f_back
    return high_watermark
"""


def list_told(cell: str) -> set[str]:
    """What the verdicts name on the page's wrong answers of "NN cell"."""
    return {told for one, _, told, _ in VERDICTS if one == cell}


def graded_cells() -> list[tuple[str, str, Any]]:
    """(lab, its own imports, test cell) of all graded cells."""
    found = []
    for lab in LABS:
        cells = read_once(lab).cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        imports = re.findall(r"(?m)^from mqlab\.lessons[^\n]*import (?:[^\n(]+$|\([^)]*\))", code)
        found += [(lab.name, "\n".join(imports), cell) for cell in cells if utils.is_grade(cell)]
    return found


def test_every_graded_cell_judges_anew() -> None:
    cells = graded_cells()
    assert cells
    for lab, _, cell in cells:
        found = HIDDEN.fullmatch(cell.source)
        assert found is not None, f"{lab}: {cell.metadata['nbgrader']['grade_id']}"
        exercise, answer, _, shown = found.groups()
        assert exercise in list_exercises()
        assert answer == shown


def tasks(lab: Any, answers: dict[str, str], before: str = "") -> list[tuple[str, Task]]:
    """(name of the test cell, task) for a lab in which these answers are written."""
    cells = deepcopy(read_once(lab).cells)
    for cell in cells:
        if utils.is_solution(cell):
            cell.source = before + answers[cell.metadata["nbgrader"]["grade_id"]]
    return [
        (cell.metadata["nbgrader"]["grade_id"], read_task(cells, place)[1])
        for place, cell in enumerate(cells)
        if utils.is_grade(cell)
    ]


@pytest.mark.parametrize("forgery", FORGERIES)
def test_no_forgery_is_given_a_point_that_its_answer_does_not_deserve(
    forgery: str, tmp_path: Path
) -> None:
    task = Task("lso", "lso", (FORGERIES[forgery], WRONG))
    with Judge() as judge:
        result = judge.judge(task)
        assert not result.ok
        assert judge.judge(Task("lso", "lso", (RIGHT,))).ok, "the next answer is judged as ever"


@pytest.mark.parametrize("exercise", sorted(list_exercises()))
def test_an_answer_that_agrees_with_everything_gets_no_point(exercise: str, judge: Judge) -> None:
    assert not judge.judge(Task(exercise, "it", (AGREES, "it = Agrees()"))).ok


def test_a_walk_through_the_frames_reaches_no_verdict(judge: Judge) -> None:
    assert not judge.judge(Task("lso", "lso", (WALKS,))).ok


@pytest.mark.spread("mqlab/lessons", "labs/source", "labs/instructor")
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_solution_gets_every_point_and_its_listed_wrong_answers_their_message(
    lab: Any, judge: Judge, wordless: None, in_both: list[Verdict]
) -> None:
    """Every word of every narration is another one here, and no grade depends on it. As they are
    the solutions are graded in their notebooks (`labs/solutions`). The message says the same in
    Chinese. `verdicts.txt` has the belief or broken promise that each wrong answer's verdict names,
    and whether it opens an example."""
    right = classroom.answers(lab, classroom.SOLVED)
    for name, task in tasks(lab, right):
        result = judge.judge(task)
        assert result.ok, f"{name}: {result.says}"
    said, found = [], []
    wrong = read_page(lab).wrong if page_of(lab).exists() else ()
    for answer in wrong:
        code = classroom.paste(answer.code)
        for task in [one for _, one in tasks(lab, {**right, answer.grade_id: code})]:
            if any(code in cell for cell in task.cells):
                result = judge.judge(task)
                assert not result.ok and "not yet: " in result.says
                english, chinese = result.says.replace("*", "·").split(AND)  # it is no Markdown
                assert chinese.startswith("还不对：") and list(compare(english, chinese)) == []
                said.append((answer.grade_id, english, chinese))
                told = in_both[-1]
                shown = "no example" if (trace := told.trace()) is None else "example"
                lights = () if trace is None else trace.snapshot(-1).lights
                assert all(not light.ok for light in lights if light.name == told.light)
                cell = f"{lab.name[:2]} {answer.grade_id}"
                found.append([cell, answer.belief, told.misconception, shown])
                break
    assert len({(name, one) for name, one, _ in said}) == len(wrong), "a message of its own"
    assert len({(name, one) for name, _, one in said}) == len(wrong), "and in Chinese too"
    assert found == [row for row in VERDICTS if row[0].startswith(lab.name[:2])]


def test_who_answers_alike_gets_the_same_verdict_and_nobody_else() -> None:
    """The second is led along what the first was asked; a third that differs late is not."""
    late = RIGHT.replace("return", "return 1 if len(first_offsets) > 1 else")
    with Judge() as judge:
        first, second, third = (
            judge.judge(Task("lso", "lso", (source,))) for source in (RIGHT, RIGHT + "\n", late)
        )
    assert first.ok and second.ok and second.says == first.says
    assert not third.ok


def test_in_another_process_too_an_answer_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each submission has a process of its own."""
    with Judge() as judge:
        first = judge.judge(Task("lso", "lso", (RIGHT,)))
    monkeypatch.setattr(mqlab.lessons.check, "explore", lambda *given: pytest.fail("searched"))
    with Judge() as judge:
        again = judge.judge(Task("lso", "lso", (f"# mine\n{RIGHT}",)))
    assert again.ok and again.says == first.says


@pytest.fixture
def wordless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose facts say nothing: what they are, their kind and body, stays."""
    tell = mqlab.kernel.run.new_fact

    def mute(kind: FactKind, node: str, text: Text, *given: Any, **named: Any) -> Fact:
        return tell(kind, node, Text("blah", "嘛"), *given, **named)

    monkeypatch.setattr(mqlab.kernel.run, "new_fact", mute)


@pytest.fixture
def in_both(monkeypatch: pytest.MonkeyPatch) -> list[Verdict]:
    """A verdict says its sentence in both languages, and nobody has heard of it before; each one
    that was told."""
    every: list[Verdict] = []

    def tell(verdict: Verdict) -> str:
        every.append(verdict)
        said = []
        for lang in LANGUAGES:
            with speaking(lang):
                said.append(verdict.sentence)
        return AND.join(said)

    monkeypatch.setattr(Verdict, "__str__", tell)
    monkeypatch.setattr(mqlab.lessons.course.judging, "KNOWN", Known())
    return every


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """Of the answers of many notebooks, so with the time of many."""
    with Judge(notebook_s=7_200) as judge:
        yield judge


def recorded(check: Callable[[Any], Any], right: Callable[..., Any]) -> Callable[..., Any]:
    """A table of all that the shown check asks, instead of a rule."""
    known: dict[tuple[Any, ...], Any] = {}

    def noted(*given: Any) -> Any:
        known[given] = right(*given)
        return known[given]

    assert check(noted).ok
    return lambda *given: known.get(given, next(iter(known.values())))


def decided(marker: int, batch: int) -> str:
    return "skip" if batch == marker else "write" if batch == marker + 1 else "stop"


@pytest.mark.parametrize(
    ("name", "exercise", "right"),
    [("lso", LSO, lambda firsts, hw: min([*firsts, hw])), ("decide", DECIDE, decided)],
)
def test_an_answer_learned_by_heart_passes_what_is_shown_and_gets_no_point(
    name: str, exercise: Any, right: Callable[..., Any]
) -> None:
    by_heart = recorded(exercise.check, right)
    assert exercise.check(by_heart).ok
    with pytest.raises(NotYet):
        grade(name, by_heart)
    grade(name, right)


def loop(app: App, worth: Callable[[App, Any], str]) -> None:
    while orders := app.poll():
        try:
            app.begin()
            for order in orders:
                app.send(worth(app, order))
            app.send_offsets(orders[-1].offset + 1)
            app.commit()
        except Abortable:
            app.abort()
            app.seek(orders[0].offset)


@pytest.mark.spread("mqlab/lessons")
def test_a_loop_that_knows_the_orders_gets_no_point() -> None:
    known = {order: order.replace(":", "+") for order in MANY.orders}

    def by_heart(app: App, order: Any) -> str:
        app.income(order)
        return known.get(order.value, "580538+31678")

    def by_rule(app: App, order: Any) -> str:
        return app.income(order)

    assert LOOP.check(lambda app: loop(app, by_heart)).ok
    with pytest.raises(NotYet, match="counted"):
        grade("loop", lambda app: loop(app, by_heart))
    grade("loop", lambda app: loop(app, by_rule))


ENDLESS = "def it(*given):\n    while True: pass"


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("lso", ENDLESS, "a loop without an end"),
        ("loop", ENDLESS, "a loop without an end"),
        ("lso", "it = lambda *given: 1 // 0", "it raised ZeroDivisionError"),
        ("lso", "it = lambda *given: {1: 2}", r"it said \{1: 2\}: an offset is a whole number"),
        ("lso", "it = 5", "'int' object is not callable"),
        ("lso", "it == 5", "there is no `it`: the cell that makes it ended with NameError"),
        ("loop", "it = lambda app: app.fly()", "`app` has no call `fly`"),
        ("loop", "it = lambda app: app.send(3.5)", "a number or a text"),
        ("loop", "it = lambda app: None", "nothing is written yet"),
        ("decide", "it = lambda *given: None", "nothing is written yet"),
        ("half", "it = 7", "write one line"),
        ("half", "it = 'kill coordinator when=… after=…'", "still has its blanks"),
        ("commit", "it = 'prepare'", "an order is a list of pieces"),
        ("commit", "it = []", "no piece is in your list yet"),
        ("commit", "it = ['vanish']", "no piece 'vanish'"),
    ],
)
def test_what_is_no_answer_is_told_in_a_sentence(
    name: str, answer: str, says: str, judge: Judge
) -> None:
    result = judge.judge(Task(name, "it", (answer,)))
    assert not result.ok
    assert re.search(says, result.says)


def test_what_a_broken_off_judging_left_unsaid_is_not_the_next_answers(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr("mqlab.lessons.course.judging.KNOWN.judge", interrupt)
        judge.judge(Task("lso", "lso", (RIGHT,)))
    assert judge.judge(Task("lso", "lso", (RIGHT,))).ok


@pytest.mark.parametrize(
    "line",
    [
        b"1",
        b"[1.5]",
        b'[{"pairs": 1}]',
        b'[{"odd": 1}]',
        b"[{}]",
        b"[" * 99_999,
        b"[" + b"9" * 9_999,
    ],
)
def test_a_line_that_is_no_value_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        decode_line(line)


@pytest.mark.parametrize(
    "value", [(), (1, True, None, "", "∀"), ({(1, 2): {"a": ()}},), (Odd("x"),), ({},)]
)
def test_a_value_comes_through_the_wire_as_it_is(value: Any) -> None:
    said = decode_line(json.dumps(encode(value)).encode())
    assert said == value and repr(said) == repr(value)


def test_the_unseen_cases_are_not_those_of_the_lab() -> None:
    assert not set(DECIDE.pairs) & set(DECIDE.unseen)


def test_an_exercise_that_fails_costs_its_own_answer_only(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object, **how: object) -> Verdict:
        raise StopIteration("no light")

    monkeypatch.setattr(Building, "check", fail)
    failed = judge.judge(Task("coordinator 2", "it", ("it = 'text'",)))
    assert not failed.ok and "StopIteration: no light" in failed.says
    assert judge.judge(Task("lso", "lso", (RIGHT,))).ok


def test_no_function_of_ours_reads_a_right_file_where_no_wall_hides_it() -> None:
    reads = "from mqlab.lessons.lab13 import read_right\nit = read_right(1)"
    with Judge(APART) as judge:
        result = judge.judge(Task("coordinator 1", "it", (reads,)))
    assert not result.ok and "FileNotFoundError" in result.says


ANSWERS = {
    "consume": (
        "from mqlab.lessons.patterns.exercises import counting\n"
        "it = next(iter(counting.GRADED['consume'][0].right))"
    ),
    "steps": (
        "from itertools import permutations\nfrom mqlab.lessons.spark.decide import STEPS\n"
        "it = next(one for one in permutations(('write', 'progress')) if STEPS.check(one).ok)"
    ),
    "resume": "from mqlab.lessons.spark.two_phase import right_answer as it",
    "decide": "from mqlab.spark.sinks import decide as it",
    "admit": "from mqlab.lessons.kafka.lab06 import right as it",
    "fence": "import mqlab.lessons.patterns.exercises.fence as own\nit = own.right",
    "excuses": (
        "from mqlab.lessons.lab14 import RIGHT\n"
        "it = '\\n'.join(f'{asked}: {reason}' for asked, reason in RIGHT.items())"
    ),
}


@pytest.mark.parametrize("exercise", ANSWERS)
def test_no_answer_is_to_be_had_from_a_function_of_ours(judge: Judge, exercise: str) -> None:
    assert not judge.judge(Task(exercise, "it", (ANSWERS[exercise],))).ok


def test_what_answers_an_exercise_is_withheld_wherever_it_is_graded() -> None:
    """Each module with exercises, as the process with the answers imports it."""
    code = """
import importlib, sys
from mqlab.lessons.course import apart
from mqlab.lessons.course.graded import list_exercises
sys.meta_path.insert(0, apart.Withholding)
early = [name for name in sys.modules if hasattr(sys.modules[name], "GRADED")]
assert not early, early
for name in sorted({*list_exercises().values()}):
    module = importlib.import_module(f"mqlab.lessons.{name}")
    own = {one: value for one, value in vars(module).items() if one.lower()[:5] == "right"}
    assert module.GRADED == {}, name
    assert {type(value) for value in own.values()} <= {apart.Withheld}, own
"""
    subprocess.run([sys.executable, "-c", code], check=True)

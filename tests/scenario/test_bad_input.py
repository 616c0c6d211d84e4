"""What is wrong in a scenario is told in one sentence: the line, what was found, what to write.

`bad_input.txt` has a scenario and, after `=>`, words of the sentence; a blank line ends both, and
a line that begins with `##` is a heading.
"""

from __future__ import annotations

import os
import random
import re
import shlex
from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.kernel import parse, speaking
from mqlab.kernel.play import encode
from mqlab.registry import reopen_run, scenario, system
from mqlab.scenario.golden import split_blocks
from mqlab.scenario.language import ScenarioError

FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios"
K, R, P = "system kafka", "system rocketmq consumers=shop", "system pulsar"
SENT = "\nrun app: init, begin, send orders-0 a"
NOT_A_NAME = "is not a name; a name has letters, digits and . _ - only"

TEXT = Path(__file__).with_name("bad_input.txt").read_text("utf-8")
#: what is written, and words of what is said
BAD = [
    *re.findall(r"(?m)^((?:(?!##|=> ).+\n)+)=> (.+)", TEXT),
    (f"{K} partitions={'9' * 5000}", "partitions='9999999999999999999…'"),
]


def test_the_text_is_read_whole() -> None:
    assert len(BAD) == TEXT.count("\n=> ") + 1


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad_input_is_one_sentence(text: str, words: str, tmp_path: Path, capsys) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(text)
    assert words in str(error.value)
    assert re.match(r"line \d|no line `system", str(error.value))
    with speaking("zh"), pytest.raises(ScenarioError) as chinese:
        scenario(text)
    with speaking("zh"):
        said = str(chinese.value)
    assert not re.search(r"\b(?:expected|there|which|write|must|is no|takes)\b", said), said
    file = tmp_path / "story.scn"
    file.write_text(text, "utf-8")
    for command in (["run"], ["view", "-o", str(tmp_path / "page.html")]):
        assert main([*command, str(file)]) != 0
        said = capsys.readouterr().err
        assert words in said and str(file) in said and len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{K}\r\nrun app:\tinit, begin, send orders-0 "a，b # c"\r\n', '"a，b # c": ok'),
        (f"\ufeff{K}{SENT}", "send orders-0 a: ok"),
        (f"{K}{SENT}; commit", "commit: ok"),
        (f"{K}\nhold app -> orders-0 Produce #1{SENT}\nrelease app→orders-0 Produce", "ok @0"),
        (f"{K} timeout_ms=2000{SENT}\nat 1m\nat 60000\nfire coordinator", "CompleteAbort"),
    ],
)
def test_what_a_student_types_otherwise_is_read_all_the_same(text: str, told: str) -> None:
    assert told in scenario(text).narrate()


@pytest.mark.parametrize(
    ("lines", "numbers"),
    [
        ("kil app\nrun app: init\nhold app\n\nat soon", [2, 4, 6]),
        ("run app: comit\nrun ap: init\nfire nobody\nkill app\nrestart coordinatr", [2, 3, 4, 6]),
        ("foo\n" * 40, [*range(2, 12)]),
    ],
)
def test_all_mistakes_of_a_file_are_told_at_once(lines: str, numbers: list[int]) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(f"{K}\n{lines}")
    told = str(error.value).splitlines()
    assert [int(n) for one in told for n in re.findall(r"^line (\d+): ", one)] == numbers
    assert len(numbers) < 10 or told[-1] == "and 30 more"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["explore", "kafka", "producers=app:- client=legacy; app=send orders-0 a"], NOT_A_NAME),
        (["explore", "rocketmq", "consumers=shop app=consume"], NOT_A_NAME),
        (["explore", "kafka", "app=subscribe g orders"], "this system has no group 'g'"),
        (["explore", "kafka", "app=comit"], "no call 'comit'; did you mean commit?"),
        (["explore", "kafak"], "no system 'kafak'; did you mean kafka?"),
        (
            ["explore", "kafka", "app=init", "--killable", "coordinater"],
            "did you mean coordinator?",
        ),
        (["explore", "kafka", "--claim", "torn-raed"], "did you mean torn-read?"),
        (["run", "nowhere.scn"], "no file nowhere.scn: give a .scn file, or the name of a sc"),
        (["view", "nowhere.scn"], "no file nowhere.scn"),
        (["explore", "kafka", "--off", "gravity"], "no safeguard 'gravity'"),
        (["run", "torn-reed"], "did you mean kafka/torn-read?"),
        (["view", "kafka/torn-reed.scn"], "did you mean kafka/torn-read?"),
        (["open", "nonsense"], "this is not a token"),
    ],
)
def test_a_command_says_it_in_one_line(words: list[str], says: str, capsys) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert says in said and len(said.splitlines()) == 1


def test_a_search_in_which_nobody_calls_anything_says_so(capsys) -> None:
    assert main(["explore", "kafka partitions=1"]) == 1, "nothing is ever reached"
    assert "nobody calls anything here: give a client its calls, as in 'app=" in (
        capsys.readouterr().out
    )
    main(["explore", "kafka", "partitions=1", "app=init"])
    assert "nobody calls" not in capsys.readouterr().out


def test_lines_off_add_up() -> None:
    assert system("kafka off=lso off=verification") == system("kafka off=verification,lso")


def test_what_is_no_file_is_passed_over_or_refused(tmp_path: Path, capsys) -> None:
    os.mkfifo(tmp_path / "pipe.scn")
    assert main(["run", str(tmp_path)]) == 2
    assert "no .scn file in" in capsys.readouterr().err
    os.mkfifo(tmp_path / "coordinator.py")
    assert main(["build", "check", str(tmp_path / "coordinator.py")]) == 2
    assert "cannot read" in capsys.readouterr().err


# ---- values of several words ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("kafka partitions=1 producers=app:-",
         ('send orders-0 "a b; c, d" key="k 1"', """send orders-0 '{"id": 1}'""")),
        ("rocketmq early=on", ('send orders-0 "o 1" property="note:it\'s so"', "send orders-0 o2")),
        ("pulsar", ("""send orders-0 "a b" 'c "d"' "txn=t" sequence=3""",)),
    ],
)  # fmt: skip
def test_a_value_of_several_words_is_told_as_it_is_written(line, calls) -> None:
    told = scenario(f"system {line}\nrun app: {', '.join(calls)}")
    assert all(f"{call}: ok" in told.narrate() for call in calls)
    given = scenario(f"system {line} app={shlex.quote('; '.join(calls))}\nheal")
    assert given.narrate() == told.narrate()
    made = system(given.system)
    assert tuple(map(str, made.nodes()[0].program)) == calls and made.line() == given.system
    again = scenario(f"system {line}\n" + "\n".join(f"do {choice}" for choice in told.choices))
    assert again.narrate() == told.narrate()
    play, note = reopen_run(encode(system(told.system), told))
    assert play.trace.narrate() == told.narrate() and not note.en


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{K} admins=admin\nrun admin: elect orders-0 1", "an administrator has no such call; re"),
        (f"{K} readers=r\nrun r: init", "a consumer has no such call; readers=, admins=, produ"),
        (f"{K}\nrun app: poll orders-0", "a producer has no such call; readers=, admins=, produc"),
        (f"{K}\nrun app: init-producer-id", "no transaction in UNINITIALIZED"),
        (f"{K}\nrun app: init, resume-transaction 0 1", "READY: only in place of init"),
        (f"{R}\nrun app: consume", "a producer has no such call; consumers= have"),
        (f"{R}\nrun shop: send orders-0 a", "a consumer has no such call; producers= have"),
        (f"{P}\nrun app: subscribe orders-0 s, nack s orders-0@0", "failed none of these was rec"),
    ],
)
def test_a_call_at_a_wrong_place_fails_with_advice(text: str, says: str) -> None:
    assert says in scenario(text).narrate()


def test_a_timer_is_named_after_its_value_however_many_blanks_it_has() -> None:
    line = f"{K} partitions=1 producers=app:- delivery_timeout_ms=3000\nhold app→orders-0 Produce\n"
    told = scenario(f'{line}run app: send orders-0 "a  b c"\nfire app delivery orders-0 a  b c')
    assert "timer delivery orders-0 a  b c" in told.narrate()
    assert parse(told.choices[-1]).b == "delivery orders-0 a  b c"


# ---- what still waits ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "waits", "chinese"),
    [
        (f"{K} partitions=1{SENT}\nkill coordinator\nrun app: commit",
         "still waits: commit of app, for an answer; app→coordinator EndTxn#1, for coordinator, "
         "which is dead (`restart coordinator`)",
         "仍在等待：app 的 commit，等待应答；app→coordinator EndTxn#1，等待已停止的 coordinator"),
        (f"{K} partitions=1\nhold app→orders-0 Produce{SENT}, commit",
         "commit of app, for an answer; app→orders-0 Produce#1, "
         "for `release app→orders-0 Produce#1`",
         "等待 `release app→orders-0 Produce#1`"),
        (f"{K} partitions=1\npartition app | coordinator\nrun app: init",
         "init of app, for an answer; app→coordinator InitProducerId#1, for `heal`",
         "等待 `heal`"),
        (f"{K} partitions=1{SENT}, commit", "", ""),
        (f"{K} partitions=1\ndrop app→coordinator InitProducerId\nrun app: init",
         "still waits: init of app, for an answer or for a broken connection "
         "(`break app coordinator`)",
         "仍在等待：app 的 init，等待应答或连接断开（`break app coordinator`）"),
        # the heartbeat of `one` is no help: it is another member that must join again
        (f"{K} partitions=1 groups=1 readers=one,two\nrun one: subscribe g orders, poll\n"
         "run two: subscribe g orders\nfire __consumer_offsets-0 session/g/one-1\n"
         "run one: commit-offsets g, poll",
         "or for a timer (`fire one heartbeat`, `fire __consumer_offsets-0 session/g/two-2`, "
         "`fire __consumer_offsets-0 session/g/one-3`, `fire __consumer_offsets-0 join/g`, "
         "`fire two heartbeat`)",
         "`fire __consumer_offsets-0 join/g`"),
        (f"{K} partitions=1\ndo run app init\ndo call app", "", ""),
    ],
)  # fmt: skip
def test_a_run_ends_with_what_still_waits(text, waits, chinese, tmp_path, capsys) -> None:
    file = tmp_path / "story.scn"
    file.write_text(text, "utf-8")
    for lang, words in (("en", waits), ("zh", chinese)):
        assert main(["run", "--lang", lang, str(file)]) == 0
        said = capsys.readouterr().out
        assert words in said and bool(words) == ("still waits" in said or "仍在等待" in said)
    assert main(["run", "--rewrite", str(file)]) == 0
    assert "still waits" not in file.read_text("utf-8")


# ---- committed stories, damaged -------------------------------------------------------------

ODD = ["", "0", "-1", "²", "9" * 20, "=", "a=", "=b", ",", ";", ":", "'", "orders-0@", "#", "→",
       "⇒", "{}", "nobody", "\x1b[2J", "|", "kill=1", "when=X", "after=3", "answers=app",
       "readers=a,b", "groups=1",
       "producers=app:-,app:x", "partitions=0", "replicas=2", "off=lso"]  # fmt: skip


def damage(lines: list[str], luck: random.Random, words: list[str]) -> str:
    """Some words dropped, doubled, misspelt or replaced, or lines dropped, doubled or moved."""
    for _ in range(luck.choice([1, 1, 2, 3])):
        at = luck.randrange(len(lines))
        line = lines.pop(at)
        parts = line.split(" ")
        word = luck.randrange(len(parts))
        place = luck.randrange(len(parts[word]) + 1)
        match luck.randrange(7):
            case 0:
                parts[word : word + 1] = []
            case 1:
                parts.insert(word, parts[word])
            case 2:
                parts[word] = parts[word][:place] + luck.choice("x0,=-") + parts[word][place + 1 :]
            case 3:
                parts[word] = parts[word][:place] + parts[word][place + 1 :]
            case 4:
                parts[word] = luck.choice([*ODD, *words])
            case 5:
                lines.insert(luck.randrange(len(lines) + 1), line)
        lines.insert(at, " ".join(parts))
    return "\n".join(lines)


def test_a_damaged_story_runs_or_is_refused_in_a_sentence_for_each_line() -> None:
    luck = random.Random(37)
    files = luck.sample(sorted(FOLDER.rglob("*.scn")), 60)
    stories = [
        [line for b in split_blocks(f.read_text("utf-8")) for line in b.source.splitlines()]
        for f in files
    ]
    short = [[line for line in story if line and line[0] != "#"] for story in stories]
    words = [word for story in short for line in story for word in line.split()][::7]
    ran = refused = 0
    for story in [one for one in short if len(one) < 12] * 5:
        try:
            scenario(damage(list(story), luck, words))
            ran += 1
        except ScenarioError as error:
            refused += 1
            for one in str(error).splitlines():
                assert re.match(r"line \d+|no line |and \d+ more", one), one
            assert "invalid literal" not in str(error)
    assert ran > 5 and refused > 50

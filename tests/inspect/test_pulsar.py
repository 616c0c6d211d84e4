"""`mqlab inspect pulsar`: what the admin interface of real brokers has answered, damaged further
here, and from an address. Brokers that run: `running.py`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import pytest

from mqlab.inspect import Ask, Report, Unreadable, inspect

from .damage_pulsar import DATA, VERSIONS

ORDERS = "public/default/orders"
BILLING = f"{ORDERS}/billing"
SLOW = "/admin/v3/transactions/slowTransactions/0"
MINUTES_LATER, DAYS_LATER = 120_000, 3 * 86_400_000


def read(target: Path | str, later_ms: int = 0, topic: str = "", payloads: bool = False) -> Report:
    now = time.time_ns() // 1_000_000 + later_ms
    if Path(target).exists():
        set_age(Path(target), now)
    return inspect("pulsar", Ask(str(target), topic, now_ms=now, payloads=payloads))


def set_age(target: Path, at_ms: int) -> None:
    """As if this file, or these in a folder, had been saved at this time."""
    for file in target.rglob("*.json") if target.is_dir() else [target]:
        os.utime(file, (at_ms / 1000, at_ms / 1000))


def of_scene(name: str, later_ms: int = 0, version: str = VERSIONS[0]) -> Report:
    """As if it had been saved this long after its last transaction had begun."""
    path = DATA / f"pulsar-{version}" / f"{name}.json"
    answers = json.loads(path.read_text())
    slow = answers.get("/admin/v3/transactions/slowTransactions/0", {})
    rows = [row for row in slow.values() if isinstance(row, dict)]
    opened = max((row["openTimestamp"] for row in rows), default=1)
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copy(path, folder))
        set_age(copy, opened + later_ms)
        return inspect("pulsar", Ask(str(copy), now_ms=opened + later_ms + DAYS_LATER))


def found(report: Report) -> dict[str, str]:
    return {finding.kind.name: finding.where for finding in report.findings}


def failed(report: Report) -> list[str]:
    return [f"{gap.what}: {gap.why}" for gap in report.reading.gaps if gap.failed]


def test_an_open_transaction_is_told_when_it_is_long() -> None:
    assert found(of_scene("open")) == {"aborted-share": ORDERS}
    report = of_scene("open", MINUTES_LATER)
    held = {"held-back": ORDERS, "pending-ack": BILLING, "aborted-share": ORDERS}
    assert found(report) == held
    commands = [one for finding in report.findings for one in finding.commands]
    assert "pulsar-admin transactions abort-transaction -m 0 -l 6" in commands
    assert "pulsar-admin transactions abort-transaction -m 0 -l 7" in commands
    overdue = of_scene("open", 601_000)
    assert [f.where for f in overdue.findings if f.kind.name == "open-too-long"] == [
        "(0,6)",
        "(0,7)",
    ]


def test_an_age_is_of_the_time_when_the_answers_were_saved(tmp_path: Path) -> None:
    """Those of an incident are read days later; nothing was too long when they were saved."""
    saved = json.loads((DATA / f"pulsar-{VERSIONS[0]}" / "open.json").read_text())
    rows = saved[SLOW].values()
    opened = max(row["openTimestamp"] for row in rows)
    for n, (path, answer) in enumerate(saved.items()):
        (tmp_path / f"{n}.json").write_text(json.dumps({path: answer}))
        set_age(tmp_path / f"{n}.json", opened - 60_000 * n)
    report = inspect("pulsar", Ask(str(tmp_path), now_ms=opened + DAYS_LATER))
    assert report.reading.at_ms == opened and found(report) == {"aborted-share": ORDERS}


def test_what_is_decided_is_not_called_open_and_not_to_be_aborted(tmp_path: Path) -> None:
    """The broker refuses that with InvalidTxnStatus, and says nowhere when it was decided."""
    saved = load("open")
    for row in saved[SLOW].values():
        row["status"] = "COMMITTING"
    (tmp_path / "open.json").write_text(json.dumps(saved))
    begun = max(row["openTimestamp"] for row in saved[SLOW].values())
    for later_ms, names in ((0, {"aborted-share"}),
                            (MINUTES_LATER, {"aborted-share", "decided-not-ended"})):  # fmt: skip
        set_age(tmp_path / "open.json", begun + later_ms)
        report = inspect("pulsar", Ask(str(tmp_path), now_ms=begun + later_ms))
        assert {one.kind.name for one in report.findings} == names
        assert not [c for one in report.findings for c in one.commands if "abort-tran" in c]
    assert "It is COMMITTING, and began 2 min ago" in str(report)


def test_the_log_around_the_horizon() -> None:
    """The cells are the real topic's: aborted messages with their markers, an open one."""
    (log,) = of_scene("open").reading.logs
    assert [(c.offset, c.label, c.kind, c.readable, c.aborted) for c in log.cells][-4:] == [
        (10, "·", "data", False, True), (11, "A", "control", True, False),
        (12, "·", "data", False, False), (13, "·", "data", False, False),
    ]  # fmt: skip
    (flag,) = log.frontiers
    assert (flag.name, flag.at, flag.inclusive) == ("maxReadPosition", 12, True)
    (position,) = of_scene("open").reading.positions
    assert (position.group, position.log, position.end) == ("billing", ORDERS, 14)


def test_a_late_message_of_an_ended_transaction_hangs() -> None:
    report = of_scene("hanging")
    assert found(report) == {"hanging": ORDERS}
    assert "maxReadPosition 6:1" in report.findings[0].evidence[0].line


def test_a_participant_that_is_not_there() -> None:
    report = of_scene("frozen")
    assert found(report) == {"participant-missing": "public/elsewhere/stock"}
    assert report.findings[0].commands == ("pulsar-admin namespaces create public/elsewhere",)


def test_no_coordinator_is_loaded_after_a_restart() -> None:
    assert found(of_scene("unloaded")).keys() == {"coordinator-not-ready", "held-back"}


def test_a_buffer_that_is_not_ready_and_a_topic_that_does_not_load() -> None:
    first = of_scene("not-ready")
    assert found(first) == {"buffer-not-ready": ORDERS}
    assert "FirstSnapshotting" in first.findings[0].says.en
    lost = of_scene("no-bookies")
    assert found(lost)["buffer-not-ready"] == ORDERS
    assert any("bookies" in e.line for f in lost.findings for e in f.evidence)


@pytest.mark.parametrize("later_ms", [0, MINUTES_LATER])
@pytest.mark.parametrize("name", ["open", "unloaded", "hanging"])
def test_an_older_release_shows_the_same(name: str, later_ms: int) -> None:
    older = of_scene(name, later_ms, "4.0.7")
    assert found(older) == found(of_scene(name, later_ms)) and not failed(older)


def test_an_older_release_has_fewer_words() -> None:
    """4.0.7 has no state for a first snapshot that is being written, and does not list a
    transaction that waits for a participant."""
    waits = {"first-write-waits": ORDERS}
    assert (found(of_scene("not-ready", 0, "4.0.7")), found(of_scene("frozen", 0, "4.0.7"))) == (
        {}, {}
    )  # fmt: skip
    assert found(of_scene("not-ready", MINUTES_LATER, "4.0.7")) == waits
    (line,) = failed(of_scene("frozen", 0, "4.0.7"))
    assert "1 transactions are in progress, and 0 are listed" in line
    assert found(of_scene("no-bookies", 0, "4.0.7"))["buffer-not-ready"] == ORDERS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_of_acknowledgements_that_cannot_be_made(version: str) -> None:
    at_once, later = (of_scene("acks-error", ms, version) for ms in (0, MINUTES_LATER))
    assert BILLING not in {one.where for one in at_once.findings}
    assert {one.kind.name for one in later.findings if one.where == BILLING} == {
        "first-write-waits"
    }


# ---- saved answers -----------------------------------------------------------------------


def load(name: str) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads(
        (DATA / f"pulsar-{VERSIONS[0]}" / f"{name}.json").read_text()
    )
    return answers


def test_answers_in_files_by_their_paths_and_by_their_shapes(tmp_path: Path) -> None:
    """The first as `curl` may save them, the second as pulsar-admin prints them."""
    for path, answer in load("open").items():
        file = tmp_path / "curl" / f"{path.strip('/')}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(answer))
    by_path = read(tmp_path / "curl", MINUTES_LATER)
    assert found(by_path).keys() >= {"held-back", "pending-ack", "aborted-share"}
    base = "/admin/v3/transactions/"
    named = {
        "coordinators": f"{base}coordinatorStats", "slow": f"{base}slowTransactions/0",
        "orders.buffer": f"{base}transactionBufferStats/{ORDERS}",
        "orders.billing": f"{base}pendingAckStats/{BILLING}",
        "orders.stats": f"/admin/v2/persistent/{ORDERS}/stats",
        "orders.internal": f"/admin/v2/persistent/{ORDERS}/internalStats",
    }  # fmt: skip
    (tmp_path / "printed").mkdir()
    for name, path in named.items():
        (tmp_path / "printed" / f"{name}.json").write_text(json.dumps(load("open")[path]))
    by_shape = read(tmp_path / "printed", MINUTES_LATER)
    assert found(by_shape) == found(by_path)


PRINTED = ("coordinatorStats", "slowTransactions/0", f"transactionBufferStats/{ORDERS}",
           f"pendingAckStats/{BILLING}", f"{ORDERS}/stats", f"{ORDERS}/internalStats")  # fmt: skip
LOGGED = "2026-11-28T12:00:00,123+0000 [main] WARN  org.apache.pulsar.PulsarAdmin - slow\n"


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("between", ["", "\n", f"\n{LOGGED}"])
def test_what_several_commands_print_may_be_in_one_file(
    between: str, indent: int | None, tmp_path: Path
) -> None:
    """Also with an empty answer; cut at the end, all but the last are read."""
    answers = [answer for end in PRINTED for path, answer in load("open").items()
               if path.endswith(end)]  # fmt: skip
    file, whole = tmp_path / "orders.billing.json", {"held-back", "pending-ack", "aborted-share"}
    text = between.join(json.dumps(one, indent=indent) for one in (*answers, {}))
    file.write_text(f"{between}{text}")
    assert len(answers) == len(PRINTED)
    assert found(read(file, MINUTES_LATER)).keys() >= whole and not failed(read(file))
    file.write_text(text[: text.rindex("cursors")])
    report = read(file, MINUTES_LATER)
    assert failed(report) == [
        "file orders.billing.json: it ends in the middle of an answer, which was not read: save it "
        "again, whole"
    ]
    assert "aborted-share" in found(report) and report.exit_code == 1


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_as_a_windows_shell_writes_it(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "open.json").write_text(json.dumps(load("open")), encoding)
    assert found(read(tmp_path / "open.json", MINUTES_LATER)).keys() >= {"held-back"}


def test_a_null_is_nothing_and_what_was_not_asked_is_not_counted(tmp_path: Path) -> None:
    answers = load("open")
    for row in answers["/admin/v3/transactions/slowTransactions/0"].values():
        row |= {"producedPartitions": None, "ackedPartitions": None}
    answers[f"/admin/v2/persistent/{ORDERS}/stats"]["subscriptions"] = None
    (tmp_path / "open.json").write_text(json.dumps(answers))
    assert not failed(read(tmp_path / "open.json"))
    (path,) = (path for path in answers if path.endswith("internalStats"))
    (tmp_path / "open.json").write_text(json.dumps({path: answers[path]}))
    (log,) = read(tmp_path / "open.json").reading.logs
    assert (log.end, log.counts) == (14, ()) and "0 … 13" in str(read(tmp_path / "open.json"))


def test_damaged_files_are_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    answers = load("open")
    base = "/admin/v3/transactions/"
    del answers[f"{base}coordinatorStats"]
    answers[f"{base}slowTransactions/0"] = {"(0,6)": {"txnId": "(0,6)"}}
    answers[f"{base}pendingAckStats/{BILLING}"] = [1]
    (tmp_path / "open.json").write_text(json.dumps(answers))
    (tmp_path / "torn.json").write_text(json.dumps(answers)[:200])
    (tmp_path / "other.json").write_text('{"of": "another kind"}')
    report = read(tmp_path)
    assert found(report).keys() == {"held-back", "aborted-share"}
    text = "\n".join(failed(report))
    assert "torn.json" in text and "other.json" in text and "openTimestamp" in text
    (tmp_path / "open.json").unlink()
    with pytest.raises(Unreadable, match=r"not a response of Pulsar.*torn|other"):
        read(tmp_path)


@pytest.mark.parametrize("field", ["lastConfirmedEntry", "ledgers", "cursors"])
@pytest.mark.parametrize("value", [None, "x", 7, [{}], {"a": 1}])
def test_a_field_of_another_shape_costs_its_part(tmp_path: Path, field: str, value: object) -> None:
    answers = load("open")
    answers[f"/admin/v2/persistent/{ORDERS}/internalStats"][field] = value
    (tmp_path / "open.json").write_text(json.dumps(answers))
    report = read(tmp_path, MINUTES_LATER)
    assert "aborted-share" in found(report)


def test_an_error_without_a_number_and_a_name_that_a_shell_would_obey(tmp_path: Path) -> None:
    path, sub = f"/admin/v2/persistent/{ORDERS}/stats", "bill'n $(reboot)"
    (tmp_path / "open.json").write_text(json.dumps({path: {"reason": "no", "status": "x"}}))
    assert any("the broker answers 500: no" in str(gap.why) for gap in read(tmp_path).reading.gaps)
    answers = json.dumps(load("open")).replace("billing", sub)
    (tmp_path / "open.json").write_text(answers)
    lines = [line for one in read(tmp_path, MINUTES_LATER).findings for line in one.commands]
    assert any(sub in shlex.split(line) for line in lines if "pending-ack-stats" in line)


def print_answers(file: Path, *ends: str, name: str = "open", **changed: object) -> None:
    """As pulsar-admin prints the answers to the paths that end like this; `changed`: fields."""
    answers = [answer | changed for end in ends for path, answer in load(name).items()
               if path.endswith(end)]  # fmt: skip
    assert len(answers) == len(ends)
    file.write_text("\n".join(json.dumps(one, indent=2) for one in answers))


def test_what_one_command_has_printed_is_read_or_what_to_add_is_told(tmp_path: Path) -> None:
    """Transactions without coordinators, pending acks without statistics; and statistics alone,
    which do not say what is open."""
    file = tmp_path / "orders.billing.json"
    print_answers(file, "slowTransactions/0")
    assert set(found(read(file, 3_600_000))) == {"open-too-long"}
    print_answers(file, f"pendingAckStats/{BILLING}")
    report = read(file)
    (one,) = report.reading.positions
    assert (one.group, one.state, one.more) == ("billing", "Ready", (("open", "1"),))
    whys = [str(gap.why) for gap in report.reading.gaps]
    for command in ("topics stats`", "topics stats-internal`", "coordinator-stats`"):
        assert any(command in why for why in whys)
    with pytest.raises(Unreadable, match=r"name it TOPIC.SUBSCRIPTION.json"):
        read(file.rename(tmp_path / "pending.json"))
    print_answers(tmp_path / "pending.json", "orders/stats")
    with pytest.raises(Unreadable, match=r"does not say what is open.*transaction-buffer-stats"):
        read(tmp_path / "pending.json")
    print_answers(tmp_path / "pending.json", f"transactionBufferStats/{ORDERS}", state="")
    with pytest.raises(Unreadable, match="does not say what is open"):
        read(tmp_path / "pending.json")
    (tmp_path / "pending.json").write_text('{"txnId": "(0,6)", "status": "OPEN"}')
    with pytest.raises(Unreadable, match=r"is not read here: give what .*slow-transactions"):
        read(tmp_path / "pending.json")


def test_a_list_of_slow_transactions_may_lack_the_young_ones(tmp_path: Path) -> None:
    """So a topic waits for one that is not in it, and not for one that nobody knows; unless the
    coordinators say that there are no others."""
    file, buffer = tmp_path / "orders.json", f"transactionBufferStats/{ORDERS}"
    slow = load("open")["/admin/v3/transactions/slowTransactions/0"]
    (tmp_path / "slow.json").write_text(json.dumps(slow))
    print_answers(file, buffer, "orders/internalStats")
    (held,) = (one for one in read(tmp_path).findings if one.kind.name == "held-back")
    assert "The transaction is (0,6)" in held.says.en
    assert slow.pop("(0,6)")["producedPartitions"]
    (tmp_path / "slow.json").write_text(json.dumps(slow))
    print_answers(file, buffer, "orders/internalStats")
    report = read(tmp_path)
    assert "hanging" not in found(report) and "held-back" in found(report)
    assert any("-t" in str(gap.why) for gap in report.reading.gaps)
    print_answers(file, buffer, "orders/internalStats", "coordinatorStats")
    coordinators = file.read_text()
    assert "hanging" not in found(read(tmp_path)), "two are in progress, and one is listed"
    file.write_text(coordinators.replace('"ongoingTxnSize": 2', '"ongoingTxnSize": 1'))
    assert "hanging" in found(read(tmp_path))
    print_answers(file, buffer)
    (tmp_path / "slow.json").unlink()
    (one,) = read(file).findings
    assert one.says.en.startswith("Entries that wait after 6:11: ?.") and one.commands == ()


def test_partitioned_statistics_and_cursors_of_pulsar_itself(tmp_path: Path) -> None:
    path = f"/admin/v2/persistent/{ORDERS}/internalStats"
    internal, file = load("open")[path], tmp_path / "orders.json"
    billing = internal["cursors"]["billing"]
    internal["cursors"] |= {"pulsar.repl.eu": billing, "pulsar.dedup": billing}
    names = [f"{ORDERS}-partition-{number}" for number in (0, 1)]
    parts = dict.fromkeys([f"persistent://{name}" for name in names], internal)
    parts["persistent://public/default/orders-partition-2"] = None  # it was not loaded
    file.write_text(json.dumps({"metadata": {"partitions": 2}, "partitions": parts}))
    positions = read(file).reading.positions
    assert [(one.log, one.group, one.more) for one in positions] == [
        (name, "billing", ()) for name in names
    ]


def test_an_error_in_place_of_an_answer_and_two_answers_in_one_place(tmp_path: Path) -> None:
    file, buffer = tmp_path / "orders.json", f"transactionBufferStats/{ORDERS}"
    page = "<html>\n<head><title>Error 404</title></head>\n<body>HTTP ERROR 404</body>\n</html>\n"
    refusal = "HTTP 404 Not Found\n\nReason: Topic not found\n"
    for text in (page, refusal, json.dumps({"reason": "no 404"})):
        file.write_text(text)
        with pytest.raises(Unreadable, match=r"contains an error instead of an answer.* 404"):
            read(file)
        print_answers(file, buffer)
        file.write_text(f"{file.read_text()}\n{text}")
        assert any("error instead of an answer" in line for line in failed(read(file)))
    print_answers(file, buffer)
    first = file.read_text()
    print_answers(file, buffer, maxReadPosition="9:9")
    file.write_text(first + file.read_text())
    assert any("several answers" in line for line in failed(read(file)))
    file.write_text(first + first)
    assert not failed(read(file))


def test_nobody_there() -> None:
    with pytest.raises(Unreadable, match="no such file, and no address"):
        read("/no/where.json")
    with pytest.raises(Unreadable, match="no broker answers"):
        read("127.0.0.1:9")
    with pytest.raises(Unreadable, match="no address"):
        read("nowhere:port")


# ---- over HTTP ---------------------------------------------------------------------------


class Guarded(BaseHTTPRequestHandler):
    """Answers from `open.json` to who has the token."""

    def do_GET(self) -> None:
        answers, path = load("open"), self.path.partition("?")[0]
        told = self.headers.get("Authorization") == "Bearer s3cret"
        answer: Any = {"reason": "Unable to authenticate"} if not told else answers.get(path, {})
        if path.endswith("/persistent/public/default") and told:
            answer = ["persistent://public/default/orders"]
        self.send_response(200 if told else 401)
        for key, value in answer.get("headers", {}).items() if isinstance(answer, dict) else ():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args: object) -> None:
        """Nothing is said."""


def test_a_token_opens_what_is_guarded(tmp_path: Path) -> None:
    settings = tmp_path / "client.conf"
    settings.write_text("authParams=token:s3cret\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), Guarded) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        target = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(Unreadable, match="Unable to authenticate"):
            read(target)
        now = time.time_ns() // 1_000_000
        report = inspect("pulsar", Ask(target, "orders", now_ms=now, config=str(settings)))
        server.shutdown()
    assert {"held-back", "pending-ack"} <= found(report).keys()

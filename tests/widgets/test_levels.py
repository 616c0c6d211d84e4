"""One picture, three levels: what each shows, and that a switch keeps the moment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets import Player

from mqlab.kernel import FactKind, Stage, Trace
from mqlab.registry import run_scenario, scenario

from .test_browser import open_page, page, requests, settle  # noqa: F401

ROOT = Path(__file__).parents[2] / "datasets" / "scenarios"
#: an outsider knows none of them
PROTOCOL = re.compile(r"\bepoch|\bLSO\b|\bHW\b|watermark|maxRead|\bpid\b|UNKNOW|PREPARE|\bseq\b")
LOSSY = """
system shop producers=order-service:plain
kill order-service when=Produce#1 after=1
run order-service: send accounts-0 C-316.78, send accounts-1 S+316.78, flush
"""
SAFE = """
system shop
kill order-service when=Produce#1 after=1
run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
restart order-service
fire order-service
"""


def told(trace: Trace) -> list[str]:
    return [fact.story.en for fact in trace if fact.story.en]


@pytest.mark.parametrize("broker", ["kafka", "rocketmq", "pulsar", "patterns"])
def test_every_story_is_told_without_words_of_the_protocol(broker: str) -> None:
    for path in sorted((ROOT / broker).glob("*.scn"))[::4]:
        trace = run_scenario(path.read_text("utf-8")).trace
        said = told(trace)
        assert said or not trace.facts, path.name
        for fact in trace:
            assert not PROTOCOL.search(fact.story.en), (path.name, fact.story.en)
            assert "  " not in fact.story.en, "nobody is without a name"
            assert bool(fact.story.en) <= bool(re.search("[一-鿿]", fact.story.of("zh")))
            if fact.kind in (FactKind.KILL, FactKind.POWER_CUT, FactKind.RECOVERY):
                assert fact.story.en, "a stop is a part of every story"


def test_a_transaction_that_no_fact_names_is_a_transaction() -> None:
    """Its producer was replaced, and nobody fences it."""
    run = ROOT / "kafka/counterexamples/epoch-fencing.scn"
    said = told(run_scenario(run.read_text("utf-8")).trace)
    assert "Readers get what a transaction wrote in the log orders-0." in said


def test_a_request_that_is_repeated_and_a_record_that_is_there_twice_are_told() -> None:
    def retell(name: str) -> list[str]:
        return told(run_scenario((ROOT / f"kafka/{name}.scn").read_text("utf-8")).trace)

    again, there = "app got no answer, and sends the same again.", "It was there before."
    twice, once = retell("idempotence-plain-retry"), retell("idempotence-retry")
    assert twice.count(again) == once.count(again) == 1
    assert [line for line in twice if there in line] == [
        f"The log orders-0 holds b, and all readers get it. {there}"
    ]
    assert not [line for line in (*once, *retell("group-zombie")) if there in line]


def test_an_order_in_a_transaction_passes_all_stages_in_their_order() -> None:
    ways: dict[str, list[str]] = {}
    trace = scenario(SAFE)
    for fact in trace:
        if fact.stage:
            ways.setdefault(fact.txn, []).append(fact.stage)
    firsts = {txn: list(dict.fromkeys(way)) for txn, way in ways.items()}
    assert firsts == {"T1": list(Stage), "T2": list(Stage)}
    assert 6 <= len(told(trace)) <= 12


def test_the_sentence_at_which_the_money_is_lost_says_so() -> None:
    facts = Player(scenario(LOSSY)).payload["meta"]["facts"]
    last = [fact for fact in facts if fact.get("story")][-1]
    assert last["story"] == (
        "The log accounts-0 holds the customer's payment of £316.78, and all readers get it."
    )
    assert last["money"] == (
        "Paid by customers: £316.78. Given to the shop: £0.00. "
        "Nobody will bring the £316.78 that is missing."
    )
    assert last["why"].startswith(last["story"]), "what it means comes before how it works"


def test_a_story_does_not_promise_what_a_safeguard_keeps_while_it_is_off() -> None:
    off = SAFE.replace("system shop", "system shop off=aborted_index")
    said = "Readers of committed data are not shown what T1 wrote in the log accounts-0."
    assert said in told(scenario(SAFE))
    assert said not in told(scenario(off))
    assert "aborted_index is off: readers of committed data are shown what was aborted." in told(
        scenario(off)
    )


def test_a_follower_copies_and_tells_nothing() -> None:
    trace = scenario("system kafka replicas=3\nrun app: init, begin, send orders-0 a, commit")
    holds = [fact for fact in trace if "holds" in fact.story.en]
    assert len(holds) == 1


def test_there_is_no_level_that_is_not_known() -> None:
    with pytest.raises(ValueError, match="there are: story, protocol, everything"):
        Player(scenario(LOSSY), level="tale")


def panels(page: Any) -> set[str]:  # noqa: F811
    return set(
        page.locator(".stage svg.picture").evaluate_all("(all) => all.map((x) => x.dataset.panel)")
    )


@pytest.mark.needs("chromium")
def test_a_switch_changes_what_is_shown_and_keeps_the_moment(
    page: Any,  # noqa: F811
    tmp_path: Path,
) -> None:
    open_page(page, tmp_path, Player(scenario(SAFE), step=23, level="story"))
    assert panels(page) == {"space-time", "readers", "money"}
    line = page.locator(".say .line")
    assert line.text_content().startswith("Readers of committed data are not shown")
    assert not page.locator(".count span").is_visible() and not page.locator(".link").is_visible()
    page.get_by_role("button", name="Protocol").click()
    settle(page)
    assert page.locator(".mqlab").get_attribute("data-step") == "23"
    assert panels(page) == {"space-time", "readers", "money", "logs", "graphs"}
    assert line.text_content() == "accounts-0 ⇨   HW=2 LSO=2"
    page.get_by_role("button", name="Everything").click()
    settle(page)
    assert page.locator(".mqlab").get_attribute("data-step") == "23"
    assert {"lights", "tables"} < panels(page) and page.locator(".link").is_visible()
    pressed = page.locator(".levels [aria-pressed=true]")
    assert [button.text_content() for button in pressed.all()] == ["Everything"]


@pytest.mark.needs("chromium")
def test_at_the_level_of_the_story_keys_go_from_sentence_to_sentence(
    page: Any,  # noqa: F811
    tmp_path: Path,
) -> None:
    run = scenario(SAFE)
    open_page(page, tmp_path, Player(run, step=0, level="story"))
    heard = []
    for _ in told(run):
        page.keyboard.press("ArrowRight")
        settle(page)
        heard.append(page.locator(".say .line").text_content())
    assert heard == told(run)


def test_a_run_without_a_story_has_two_levels() -> None:
    from .sample import sample

    meta = Player(sample(), level="story").payload["meta"]
    assert [name for name, _ in meta["levels"]] == ["protocol", "everything"]
    assert meta["level"] == "protocol"

"""What the labs say that released clients do is what they do."""

from __future__ import annotations

import pytest

pytest.importorskip("confluent_kafka", reason="needs confluent-kafka: run `make setup`")

from mqlab.lessons.kafka import released


def test_only_a_reader_sees_that_a_batch_was_sent_twice() -> None:
    assert released.lose_an_answer(idempotent=False).endswith("told ok, stored 2×")
    assert released.lose_an_answer(idempotent=True).endswith("told ok, stored 1×")


def test_a_zombie_is_fenced_and_its_payment_is_aborted() -> None:
    lines = released.fence_a_zombie().splitlines()
    assert [line for line in lines if not line.endswith(": ok")] == [
        "first   commit_transaction: _FENCED, fatal",
        "read_committed gets 580539",
        "read_uncommitted gets 580538, 580539",
    ]


def test_a_loop_that_is_killed_goes_on_where_it_has_committed() -> None:
    lines = released.kill_the_loop().splitlines()
    assert "first life: kill -9" in lines and "second life: begins at offset 2" in lines
    invoices = [f"invoice {order}" for order in released.ORDERS]
    assert lines[-1] == f"read_committed gets {', '.join(invoices)}"
    assert lines[-2].count("invoice 580540") == 2


def test_where_there_is_no_client_a_lab_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(released, "find_spec", lambda name: None)
    said = released.why_not()
    assert "confluent-kafka is not installed" in said
    held = released.HeldPayment()
    held._ipython_display_()
    assert capsys.readouterr().out.strip() == said == held.finish()
    told = (released.fence_a_zombie(), released.kill_the_loop(), released.lose_an_answer(True))
    assert set(told) == {said}

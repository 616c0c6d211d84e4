"""Where batches end, and what is late, without Spark and without a broker."""

from __future__ import annotations

import pytest

from mqlab.spark import feeder, files, topics
from mqlab.spark.cuts import Cut, Plan, day_plan
from mqlab.spark.errors import IncomeError
from mqlab.spark.files import DAY, read
from mqlab.spark.kills import NEVER, Kill, Killed, Point
from mqlab.spark.orders import (
    CLOSING,
    MINUTE_MS,
    BadLine,
    encode,
    income_of,
    minute_ms,
    minute_text,
    time_ms,
)  # fmt: skip
from mqlab.spark.topics import partition_of
from mqlab.spark.truth import Reconciliation, Replay, truth_of

NINE = minute_ms("2011-12-05 09:00")


def test_offsets_go_there_and_back() -> None:
    cut = Cut(3, NINE, (1402, 1377))
    text = {"batch": 3, "until": "2011-12-05 09:00", "0": 1402, "1": 1377}
    assert cut.to_json() == text
    assert list(cut.to_json()) == list(text), "Spark compares offsets as texts"
    assert Cut.from_json(text) == cut


@pytest.mark.parametrize(("next_minute", "until"), [(0, 10), (9, 10), (10, 20), (35, 40), (-5, 10)])
def test_minutes_are_a_grid_that_steps_over_gaps(next_minute: int, until: int) -> None:
    found = Plan(minutes=10).by_minutes(NINE, NINE + next_minute * MINUTE_MS)
    assert found == NINE + until * MINUTE_MS


def test_orders_end_a_batch_at_a_minute_and_always_move_on() -> None:
    plan = Plan(orders=100)
    assert plan.by_orders(NINE, NINE, NINE + 7 * MINUTE_MS + 30_000) == NINE + 7 * MINUTE_MS
    assert plan.by_orders(NINE, NINE, NINE) == NINE + MINUTE_MS
    late = NINE - 60 * MINUTE_MS
    assert plan.by_orders(NINE, late, late) == NINE + MINUTE_MS


def test_a_plan_is_one_or_the_other() -> None:
    for wrong in ({}, {"minutes": 1, "orders": 1}):
        with pytest.raises(ValueError, match="give one of the two"):
            Plan(**wrong)


def test_the_committed_day_is_cut_into_8() -> None:
    stamps = [record.stamp_ms for record in feeder.records_of(read(DAY))]
    plan = day_plan(min(stamps), max(stamps))
    until, cuts = min(stamps), 0
    while until <= max(stamps):
        until = plan.by_minutes(until, min(stamp for stamp in stamps if stamp >= until))
        cuts += 1
    assert cuts == 8


def lines_at(*times: str) -> list[dict[str, str]]:
    return [
        {"InvoiceNo": f"{number}", "Quantity": "1", "UnitPrice": "1.00", "InvoiceDate": time}
        for number, time in enumerate(times)
    ]


def test_feeder_keys_stamps_and_closes() -> None:
    lines = lines_at("2011-12-05 09:00:30", "nonsense", "2011-12-05 09:05:00")
    found = feeder.records_of(read(lines))
    assert [record.key for record in found] == [b"0", b"1", b"2"]
    assert [record.stamp_ms for record in found] == [NINE + 30_000, NINE + 30_000, NINE + 300_000]
    parts = feeder.split(found, 2)
    assert sorted(record for part in parts for record in part[:-1]) == sorted(found)
    for part in parts:
        assert part[-1] == feeder.Record(None, CLOSING, NINE + 6 * MINUTE_MS)


def test_lines_before_the_first_readable_time_get_that_one() -> None:
    """A stamp of 0 would be taken as "now" by the client, and half of the day never be read."""
    lines = lines_at("05/12/2011 08:10", "", "2011-12-05 09:00:00")
    found = feeder.records_of(read(lines))
    assert [record.stamp_ms for record in found] == [NINE] * 3


def test_orders_without_any_readable_time_are_refused() -> None:
    found = read(lines_at("05/12/2011 08:10", "1969-12-31 23:59:00"))
    wise = "2 lines and none of them is an order; line 1: InvoiceDate '05/12/2011 08:10' is not"
    with pytest.raises(IncomeError, match=wise):
        feeder.records_of(found)


def test_a_time_that_the_broker_refuses_is_a_dead_letter_between_its_neighbours() -> None:
    lines = lines_at("2011-12-05 09:00:00", "2011-12-05 11:00:59", "2011-12-05 08:59:59")
    span = topics.Span(NINE, NINE + 2 * 60 * MINUTE_MS - 1, 5, 3_600_000)
    good, late, early = feeder.records_of(read(lines), span)
    assert [good.stamp_ms, late.stamp_ms, early.stamp_ms] == [NINE] * 3
    for record, why in ((late, "after 2011-12-05 10:59"), (early, "before 2011-12-05 09:00")):
        with pytest.raises(BadLine, match=f"is {why}, .*message.timestamp.*max.ms="):
            income_of(record.value, record.stamp_ms)
    assert truth_of(lines, span).rejected == [1, 2]
    (closing,) = feeder.split([good], 1)[0][1:]
    assert closing.stamp_ms <= span.latest_ms + 1


@pytest.mark.parametrize("row", [0, 1])
def test_a_line_too_long_for_a_message_is_named(row: int) -> None:
    lines = lines_at("2011-12-05 09:00:00", "2011-12-05 09:01:00")
    lines[row]["Description"] = "x" * 1_000_001
    with pytest.raises(
        IncomeError, match=rf"line {row + 1} of these orders is 1,000,1\d\d bytes long"
    ):
        feeder.records_of(read(lines))


def test_what_is_late_is_known_with_its_pounds() -> None:
    found = replay([["09:10:00"], ["09:20:00"], ["09:00:00", "09:30:00"], ["09:40:00"]])
    assert found.expected().missing == {
        "2011-12-05 09:00": (1_000, 1),
        "2011-12-05 09:40": (1_000, 1),
    }


def test_partitioner_is_the_same_everywhere() -> None:
    keys = ("580538", "580543", "C580605")
    assert [partition_of(key, 2) for key in keys] == [0, 1, 0]


def replay(batches: list[list[str]], closing: str | None = None) -> Replay:
    """One partition; each list is a batch of order times."""
    ends, offset, records = [], 0, []
    for batch in batches:
        records += batch
        ends.append(Cut(len(ends) + 1, NINE, (len(records),)))
    found = Replay([*ends, ends[-1]])  # the last batch of Spark is one without data
    for offset, time in enumerate(records):
        stamp = time_ms(f"2011-12-05 {time}")
        value = CLOSING if time == closing else encode(lines_at(f"2011-12-05 {time}")[0])
        found.add(0, [offset], [stamp], [value])
    return found


def test_in_time_nothing_is_late_and_closed_minutes_are_out() -> None:
    found = replay([["09:00:00", "09:01:00"], ["09:10:00", "09:11:00"]], "09:11:00").expected()
    assert (found.read, found.late, found.open) == (3, 0, 0)


def test_without_a_closing_record_the_last_minute_is_open() -> None:
    assert replay([["09:00:00"], ["09:10:00"]]).expected().open == 1


def test_late_is_judged_one_batch_behind() -> None:
    # Batch 1 sees 09:10. Batch 2 still takes an order of 09:00, because Spark closes minutes by
    # that time only at batch 2's end; batch 3 does not.
    taken = replay([["09:10:00"], ["09:00:00", "09:20:00"], ["09:30:00"], ["09:40:00"]])
    assert taken.expected().late == 0
    dropped = replay([["09:10:00"], ["09:20:00"], ["09:00:00", "09:30:00"], ["09:40:00"]])
    assert dropped.expected().late == 1


def test_a_dead_line_stands_where_its_batch_begins() -> None:
    """It can be late no more than its batch, and closes only minutes that are over anyway."""
    good = [encode(lines_at(f"2011-12-05 09:{minute}:00")[0]) for minute in ("00", "00", "15")]
    cuts = [Cut(n + 1, NINE + n * 20 * MINUTE_MS, (n + 1,)) for n in range(5)]
    found = Replay([*cuts, cuts[-1]])
    stamps = [NINE, NINE + 99 * MINUTE_MS, NINE, NINE, NINE + 15 * MINUTE_MS]
    found.add(0, list(range(5)), stamps, [good[0], b"nonsense", b"nonsense", good[1], good[2]])
    found.add(0, [5], [NINE], [b"beyond what was read"])
    expected = found.expected()
    assert (expected.read, expected.dead) == (5, 2)
    assert expected.late == 1, "the batch of the second dead line begins at 09:20"
    assert expected.missing == {"2011-12-05 09:15": (1_000, 1)}


def test_the_account() -> None:
    good = Reconciliation(fed=10, read=10, counted=8, dead=1, late=1, open=0)
    assert good.unaccounted == 1 and good.balanced
    assert "1 late → balanced" in str(good)
    doubled = Reconciliation(fed=10, read=10, counted=12, dead=0, late=0, open=0)
    assert doubled.unaccounted == -2 and not doubled.balanced
    assert "NOT BALANCED" in str(doubled)
    unread = Reconciliation(fed=10, read=9, counted=9, dead=0, late=0, open=0)
    assert not unread.balanced, "a line that was fed and never read"


def test_checkpoint_is_read_as_text(tmp_path) -> None:
    (tmp_path / "offsets").mkdir()
    for batch in (0, 1, 10):
        text = f'v1\n{{}}\n{{"batch":{batch + 1},"until":"{minute_text(NINE)}","0":5}}'
        (tmp_path / "offsets" / str(batch)).write_text(text)
    (tmp_path / "offsets" / ".10.crc").write_text("")
    assert files.batches(tmp_path) == [0, 1, 10]
    assert files.read_commits(tmp_path) == []
    assert files.cut_of(tmp_path, 10) == Cut(11, NINE, (5,))
    with pytest.raises(IncomeError, match="folder that the driver can see"):
        files.cut_of(tmp_path, 2)


def test_a_soft_kill_strikes_once_where_it_should() -> None:
    kill = Kill.from_json(Kill(Point.HALF, 3).to_json())
    kill.at(Point.HALF, 2)
    kill.at(Point.OUT, 3)
    NEVER.at(Point.HALF, 3)
    with pytest.raises(Killed, match="half of the rows out"):
        kill.at(Point.HALF, 3)

"""Lab 11, the two-phase sink: what becomes of a transaction that was open when its job was killed.

The sink writes the rows of a batch into a transaction and leaves it open (*pre-commit*). Spark
notes the batch in its checkpoint. Only then the sink commits. After a kill the new process finds
the transaction open and must end it: `resume(prepared, checkpoint)` says how. `prepared` is the
batch whose rows are in the transaction, `checkpoint` the last batch that the checkpoint knows as
done (-1: none). A checkpoint that is more than one batch behind was set back, or is another one.
Flink's Kafka sink does this by its checkpoint (KafkaSink, EXACTLY_ONCE; flink-connector-kafka,
KafkaCommitter#commit and FlinkKafkaInternalProducer#resumeTransaction).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...kernel import Run, Text, Words, tr
from ...registry import run_scenario
from ..check import Hinted, RuleError, list_beliefs
from ..exercises import read_hints
from ..verdict import NOT_WRITTEN, Verdict
from .decide import (
    GAVE,
    HALF_HOUR,
    KILLED,
    ODD,
    Outcome,
    Remembered,
    amounts_of_batches,
    list_owed,
    records_of,
    remember,
)

Rule = Callable[[int, int], str]
Pair = tuple[int, int]
ANSWERS = ("commit", "abort", "stop")

BELIEFS = list_beliefs(
    "11 resume",
    {
        "a new process aborts what it finds open": lambda prepared, checkpoint: "abort",
        "what is pre-committed is as good as committed": lambda prepared, checkpoint: "commit",
        "an abort is always safe where the batch comes again": lambda prepared, checkpoint: (
            "commit" if prepared <= checkpoint else "abort"
        ),
        "only the next batch comes again": lambda prepared, checkpoint: (
            "abort" if prepared == checkpoint + 1 else "commit"
        ),
        "sink and checkpoint may never differ": lambda prepared, checkpoint: (
            "commit" if prepared <= checkpoint else "stop"
        ),
    },
)


def right_answer(prepared: int, checkpoint: int) -> str:
    """The checkpoint decides: what it has is committed again, the next batch is aborted, and a
    checkpoint that is older still does not belong to this topic."""
    from ...spark.sinks import resume

    return resume(prepared, checkpoint)


@dataclass(frozen=True, slots=True)
class Death:
    """Killed in batch `KILLED`, with this last batch in the checkpoint."""

    title: Text
    checkpoint: int
    why: Text

    @property
    def right(self) -> str:
        return right_answer(KILLED, self.checkpoint)

    def play(self, answer: str) -> Outcome:
        """The sum and the transactions when the open one is ended in this way."""
        outcome = Outcome(sum(amounts_of_batches(HALF_HOUR)[:KILLED]))
        outcome.stopped = answer == "stop"
        if answer == "commit":
            outcome.tenths += amounts_of_batches(HALF_HOUR)[KILLED]
        outcome.hand_over(lambda _, batch: "write", HALF_HOUR, self.checkpoint + 1)
        return outcome

    def run(self, answer: str) -> Run:
        """Play this crash and the restart in the engine, where the learner's rule gave `answer`
        ("commit" or "abort"): the open transaction is ended by a single request, as the process
        that began it is dead. The execution begins with the first batch that the checkpoint lacks,
        at the latest with the killed one."""
        # in the system line, `owed`: the records that must be there in the end, once the process
        # `last` has made so many `calls`: init, then begin, send and commit of each batch
        missing = min(KILLED, self.checkpoint + 1)
        committed = [f"run job: begin, {_sent(batch)}, commit" for batch in range(missing, KILLED)]
        # `left`: the batches that the restarted job writes
        redone = [f"run again: begin, {_sent(batch)}, commit" for batch in self.left]
        return run_scenario(
            "\n".join(
                [
                    f"# {self.title.en}",
                    "system sink producers=job:income-job,hand:raw,again:income-job "
                    f"owed={','.join(list_owed(missing))} last=again calls={1 + 3 * len(redone)}",
                    "run job: init",
                    *committed,
                    f"run job: begin, {_sent(KILLED)}",
                    "kill job",
                    # each commit has raised the epoch by one; v=4: without raising it once more
                    f"run hand: EndTxn {answer} pid=0 epoch={len(committed)} id=income-job v=4",
                    "run again: init",
                    *redone,
                ]
            )
        )

    @property
    def left(self) -> range:
        """The batches that Spark hands over after the kill."""
        return range(self.checkpoint + 1, len(amounts_of_batches(HALF_HOUR)))


def _sent(batch: int) -> str:
    return ", ".join(f"send income-0 {record}" for record in records_of(HALF_HOUR, batch))


DEATHS = (
    Death(tr("killed after the pre-commit of batch 3, before the checkpoint"), KILLED - 1,
          tr("Spark hands batch 3 over again")),
    Death(tr("killed after the checkpoint of batch 3, before its commit"), KILLED,
          tr("Spark continues with batch 4")),
    Death(tr("killed after the pre-commit of batch 3, and the checkpoint was set back to batch 0"),
          0, tr("Spark hands over batches 1 and 2 again, which are committed, and batch 3")),
)  # fmt: skip
PAIRS: tuple[Pair, ...] = (
    (3, 2), (3, 3), (3, 0), (0, -1), (0, 0), (5, 4), (5, 5), (1, -1), (7, 2),
)  # fmt: skip
UNSEEN: tuple[Pair, ...] = ((9, 9), (9, 8), (1, 0), (1, 1), (9, 7), (2, -1))
HINTS = read_hints("11 resume")


DIED = Words('{title}: resume({killed}, {checkpoint}) gave "{answer}", and {why}; {ended}')


@dataclass(frozen=True)
class Resuming(Hinted):
    """The exercise: three deaths with their sums, pairs that tell rules apart, and hints. A
    checkpoint ahead of the open transaction is not asked for: no sink gets there."""

    deaths: tuple[Death, ...]
    pairs: tuple[Pair, ...]
    unseen: tuple[Pair, ...]
    hints: tuple[Text, ...] = HINTS

    def check(self, resume: Rule, graded: bool = False) -> Verdict:
        """Judge a learner's rule, which is given the batch of the open transaction and the newest
        in the checkpoint, and answers one of ANSWERS. Reports the first of: it is not written; it
        answers something else; it is wrong after one of the lab's crashes (shown as an execution,
        with the sum that results); it is wrong for another pair of numbers. A rule that raises an
        error or does not end is reported when that happens. `graded`: pairs that
        the lab does not show are tried too."""
        rule = Remembered(resume)
        try:
            if all(rule(*pair) is None for pair in self.pairs):
                return Verdict(False, NOT_WRITTEN)
            for pair in (*self.pairs, *(self.unseen if graded else ())):
                if (answer := rule(*pair)) not in ANSWERS:
                    answers = ", ".join(f'"{one}"' for one in ANSWERS)
                    message = ODD(call=f"resume{pair}", answer=repr(answer), answers=answers)
                    return Verdict(False, message)
            for death in self.deaths:
                answer = rule(KILLED, death.checkpoint)
                if answer != death.right:
                    return self._wrong(rule, death, answer)
            for pair in (*self.pairs, *(self.unseen if graded else ())):
                if (answer := rule(*pair)) != (right := right_answer(*pair)):
                    message = GAVE(call=f"resume{pair}", answer=answer, right=right)
                    return Verdict(False, message)
        except RuleError as error:
            return Verdict(False, error.args[0])
        return Verdict(
            True,
            tr(
                "both crashes end with each half hour counted once, and the strange checkpoint "
                "stops the job"
            ),
        )

    def _wrong(self, rule: Rule, death: Death, answer: str) -> Verdict:
        outcome = death.play(answer)
        message = DIED(
            title=death.title, killed=KILLED, checkpoint=death.checkpoint, answer=answer,
            why=death.why, ended=outcome.end,
        )  # fmt: skip
        name, message = remember(BELIEFS, rule, self.pairs, message)
        if outcome.stopped:
            return Verdict(False, message, name)
        run = death.run(answer)
        schedule = tuple(map(str, run.choices))
        return Verdict(False, message, name, schedule, run.system, light="money")


RESUME = Resuming(DEATHS, PAIRS, UNSEEN)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"resume": (RESUME, "rule")}

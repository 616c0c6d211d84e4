"""One round of the check, step by step, in the order of the real broker.

    0  read op records: which halves have ended
    1  for each half, from the offset where the last round stopped:
       ended          pass over it; its body is not even read
       asked too often, or older than the files are kept: park it
       fresh          stored since this round began: stop
       young          younger than its immunity: stop; with an immunity of its own: put it back
       undecided      before anyone is asked, all op records are read
                      then put it back, and ask some producer of its group
    2  write down how far the round came

Sources: TransactionalMessageServiceImpl#check, #fillOpRemoveMap, #needDiscard, #needSkip,
#isNeedCheck, #checkPrepareQueueOffset, #calculateOpOffset (4.9.8, 5.5.0). *Left out:* the second
that a round sleeps when there are no more op records, the round's own limit of 60 s, writes that
fail because a disk is full, and the branch in which a slave that acts as master hands a half to
another broker. README.md says what a copy does that has become too long.
"""

from __future__ import annotations

from ...kernel import Disk, Effects, Send, frozen, replace
from ..config import RocketMQConfig
from ..group import Producers
from ..log.store import HALF_QUEUE, OP_QUEUE, Stored, Writer, find_misfit, read_queue
from ..messages import CHECK_IMMUNITY, CHECK_TIMES, PGROUP, PREPARED_QUEUE_OFFSET, Message
from . import halves
from .ops import parse_op

PULL = 32
HOUR_MS = 3_600_000


@frozen
class RoundResult:
    """How far the round came in either queue, and what it did."""

    half_offset: int
    op_offset: int
    producers: Producers
    effects: Effects


def run_round(
    config: RocketMQConfig,
    disk: Disk,
    at_ms: int,
    half_offset: int,
    op_offset: int,
    producers: Producers,
) -> RoundResult:
    """Examine the half topic once."""
    this = _Round(config, disk, at_ms, half_offset, op_offset, producers)
    this.examine_all()
    this.check_invariants()
    return RoundResult(this.at, this.next_op_offset(), this.producers, this.writer.effects)


class _Round:
    """What a round holds while it lasts. `ended`: half offset → the op record that names it;
    `named`: op record → the halves it names and that were not yet passed; `done`: op records of
    which nothing is left."""

    def __init__(
        self,
        config: RocketMQConfig,
        disk: Disk,
        at_ms: int,
        half_offset: int,
        op_offset: int,
        producers: Producers,
    ) -> None:
        self.config, self.disk, self.at_ms, self.producers = config, disk, at_ms, producers
        self.start, self.at = half_offset, half_offset
        self.op_start, self.op_at = op_offset, op_offset
        self.fresh = disk.log(HALF_QUEUE).end
        self.ended: dict[int, int] = {}
        self.named: dict[int, list[int]] = {}
        self.done: list[int] = []
        self.writer = Writer(disk, at_ms)

    def check_invariants(self) -> None:
        """AssertionError where the next round would begin behind an op record that is needed: it
        names a half which no round has passed."""
        passed = range(self.op_start, self.next_op_offset())
        assert not any(self.named.get(op) for op in passed), (passed, self.named)

    # -- op records ----------------------------------------------------------------------

    def read_ops(self) -> list[Stored]:
        """The next op records. What lies before the round's start is of no interest any more: a
        record that names nothing else is done with. One that names a half twice (two ends of it in
        one batch) waits for it once."""
        ops = read_queue(self.disk, OP_QUEUE, self.op_at, PULL)
        for op in ops:
            offset = op.queue_offset
            halves_named = [half for half in dict.fromkeys(parse_op(op)) if half >= self.start]
            for half in halves_named:
                self.ended[half] = offset
            self.named[offset] = halves_named
            if not halves_named and (self.config.batches_ops or parse_op(op)):
                self.done.append(offset)
        self.op_at += len(ops)
        return ops

    def pass_ended(self, half: int) -> None:
        """Its op record is done with once the last half that it names has been passed."""
        op = self.ended.pop(half)
        self.named[op].remove(half)
        if not self.named[op]:
            self.done.append(op)

    def next_op_offset(self) -> int:
        """Behind the longest run of op records that are done."""
        done, offset = set(self.done), self.op_start
        while offset in done:
            offset += 1
        return offset

    # -- halves ----------------------------------------------------------------------------

    def examine_all(self) -> None:
        last_pull = self.read_ops()
        while True:
            if self.at in self.ended:
                self.pass_ended(self.at)
                self.at += 1
                continue
            half = self.read_half()
            if half is None:
                return
            if last_pull and self.would_ask(half):
                # The answer may lie there already: read on among the op records first.
                last_pull = self.read_ops()
                continue
            if not self.examine(half):
                return
            self.at += 1

    def read_half(self) -> Stored | None:
        """The half at the round's position. What this round has put back is seen by it only where
        the store is that quick (`same_round`)."""
        stored = read_queue(self.disk, HALF_QUEUE, self.at, 1)
        if stored:
            return stored[0]
        if self.config.same_round:
            own = [s for s in self.writer.written if s.message.queue == HALF_QUEUE]
            return next((s for s in own if s.queue_offset == self.at), None)
        return None

    def would_ask(self, half: Stored) -> bool:
        """Whether somebody would be asked about this half as things stand."""
        return not (self.is_spent(half) or half.queue_offset >= self.fresh or self.is_young(half))

    def examine(self, half: Stored) -> bool:
        """Deal with a half that no op record names; False: the round stops here. One that is no
        readable record (an old data folder may hold it) is passed over."""
        if find_misfit(half.message, self.config.release):
            return True
        if self.is_spent(half):
            parked = halves.build_parked(self.count_check(half))
            if not find_misfit(parked, self.config.release):
                self.writer.put(parked)
            return True
        if half.queue_offset >= self.fresh:
            return False
        if self.is_young(half):
            return half.message.get(CHECK_IMMUNITY) is not None and self.let_travel(half)
        return self.ask(half)

    def is_spent(self, half: Stored) -> bool:
        """Asked about as often as is allowed, or as old as the files it lies in may become."""
        if "check_limit" not in self.config.on:
            return False
        checked = half.message.get(CHECK_TIMES) is not None
        age = self.at_ms - half.message.born_ms
        too_old = age > self.config.reserved_hours * HOUR_MS
        return too_old or (checked and half.message.check_times >= self.config.check_max)

    def count_check(self, half: Stored) -> Stored:
        """What is parked for its age has one check more than it was asked about: the round counts
        first, unless all checks are spent (needDiscard), and looks at the age then (needSkip)."""
        times = half.message.check_times
        if half.message.get(CHECK_TIMES) is not None and times >= self.config.check_max:
            return half
        return replace(half, message=half.message.put((CHECK_TIMES, str(times + 1))))

    def is_young(self, half: Stored) -> bool:
        """Whether its own immunity, or else transactionTimeOut, has not passed. At exactly that
        age 5.5 still calls it young. An immunity of 0 never holds anything up."""
        if "immunity" not in self.config.on:
            return False
        own = half.message.get(CHECK_IMMUNITY)
        immunity = self.read_immunity(half.message)
        age = self.at_ms - half.message.born_ms
        if immunity == 0 or (own is None and age < 0):
            return False
        return age < immunity or (age == immunity and self.config.release != "4.9")

    def read_immunity(self, message: Message) -> int:
        """In ms; there is no lower bound. None, "-1", or what is no number: transactionTimeOut."""
        own = message.immunity_s
        return self.config.timeout_ms if own is None else own * 1_000

    def let_travel(self, half: Stored) -> bool:
        """A half with an immunity of its own does not hold up the others: it is put back, which
        costs it one of its checks. If its first copy has ended, it is passed over instead."""
        first = half.message.get(PREPARED_QUEUE_OFFSET)
        if first is not None and int(first) in self.ended:
            self.pass_ended(int(first))
            return True
        copy = halves.build_copy(half, half.message.check_times + 1)
        return self.put_back(halves.mark_immune(half, copy)) is not None

    def put_back(self, copy: Message) -> Stored | None:
        """None where the copy does not fit into a record. A real round tries that again until its
        minute is over (#putBackHalfMsgQueue), and so does each one after it: nothing behind that
        half is examined until it has ended, or is too old."""
        return None if find_misfit(copy, self.config.release) else self.writer.put(copy)

    def ask(self, half: Stored) -> bool:
        """Put it back, then ask. Nobody there, or a question that is too long: the copy and its
        number stay as they are. False: it cannot be put back."""
        copy = halves.build_copy(half, half.message.check_times + 1)
        put_back: Stored | None
        if "put_back" in self.config.on:
            put_back = self.put_back(copy)
        else:
            put_back = Stored(half.base, copy, half.queue_offset, half.store_ms)
        if put_back is None:
            return False
        group = half.message.get(PGROUP) or ""
        only = None if "any_producer" in self.config.on else half.message.born_host
        self.producers, client = self.producers.choose(group, only)
        question = halves.build_question(half, put_back)
        if client is not None and not find_misfit(question.message, self.config.release):
            self.writer.add(Send(client, question))
        return True

"""A running cluster, asked with requests that change nothing.

    Metadata, ListOffsets at both isolation levels     which partitions have an open transaction
    DescribeProducers                                  whose it is
    ListTransactions, DescribeTransactions             what its coordinator says
    DescribeProducers, DescribeTransactions again      what was under way is over now
    ListGroups, OffsetFetch                            the groups' positions, pending ones too
    Fetch                                              the records around the frontiers

One request at a time. A right that is missing costs its panel and not the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from io import BytesIO
from types import SimpleNamespace as Row
from typing import Any

from ...kafka.config import partition_for
from ...kernel import Text, Words, replace
from ...kernel.text import tr
from ...real.kafka.wire import read_transactions
from ..reading import Ask, Gap, LogRead, Position, Reading, Unreadable
from .internal import DECIDED, GROUPS, STATES, Own, State, join_states
from .link import BROKEN, Link, read_settings
from .scan import AROUND, Labels, Open, Scan
from .segments import Batch, label_batch, read_batches

AT_ONCE = 200  # partitions in a request
DRAWN = 24  # logs
FETCHED = 1 << 20  # bytes of a partition
TAIL = 500  # offsets at its end, of a partition that is drawn
MOST_IDS = 2_000  # transactional ids that are described
MOST_GROUPS = 500
AGAIN_S = 2.0  # until what was decided is looked at again
NO_GROUP_LAG = 1_000  # so many offsets are read to see that none of them is a record

NO_RIGHT = Words("the broker refuses it ({error}): {right} is needed")
FAILED = Words("{error}")
NOT_OFFERED = tr("this broker does not answer it")
NOT_DRAWN = Words("{n} more partitions: nothing is open in them; name one with --topic")
NO_IDS = tr("no transactional id is shown: without the right DESCRIBE on them, it cannot be said "
            "which transactions hang")  # fmt: skip
TOO_MANY = Words("the first {n} were asked for")
NO_TOPIC = "{address} has no topic {topic}, or does not show it: {known}"
RIGHTS = {3: "DESCRIBE on the topic", 2: "DESCRIBE on the topic", 61: "READ on the topic",
          66: "DESCRIBE on the transactional ids", 65: "DESCRIBE on the transactional ids",
          16: "DESCRIBE on the groups", 9: "DESCRIBE on the groups", 1: "READ on the topic"}  # fmt: skip
Place = tuple[str, int]


class Cluster:
    """What is read of a cluster, step by step."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.settings = read_settings(ask.config)
        self.links: dict[str, Link] = {}
        self.gaps: dict[str, Gap] = {}
        self.labels = Labels()
        self.first = self.link(ask.target.split(",")[0])

    def link(self, address: str) -> Link:
        if address not in self.links:
            self.links[address] = Link(address, self.settings)
        return self.links[address]

    def close(self) -> None:
        for link in self.links.values():
            link.close()

    def tell(self, what: str, why: Text, failed: bool = True) -> None:
        self.gaps.setdefault(what, Gap(Text(what), why, failed))

    def note(self, what: str, api: int, error: Any) -> bool:
        """Whether this error code is one, which is told: a missing right is a gap of its own."""
        if not error.value:
            return False
        denied = "authorization" in error.name
        why = NO_RIGHT(error=error.name, right=RIGHTS[api]) if denied else FAILED(error=error.name)
        self.tell(what, why, failed=not denied)
        return True

    def request(self, node: int, what: str, api: int, version: int, **fields: Any) -> Any:
        """The answer of a broker; None where there is none, which is told."""
        try:
            link = self.link(self.nodes[node])
            if not link.offers(api, version):
                self.tell(what, NOT_OFFERED, failed=False)
                return None
            if api == 65:
                return read_transactions(*link.ask_for_bytes(api, version, **fields))
            return link.ask(api, version, **fields)
        except (Unreadable, KeyError) as error:
            self.tell(what, FAILED(error=error if api else ""))
        except BROKEN as error:
            self.links.pop(self.nodes[node]).close()
            self.tell(what, FAILED(error=error))
        return None

    # ---- partitions ----------------------------------------------------------------------

    def read(self) -> Reading:
        ask = self.ask
        ask.say(f"asking {ask.target} for its partitions")
        leaders = self._find_partitions()
        starts = self._list_offsets(leaders, -2, 0)
        lsos, ends = self._list_offsets(leaders, -1, 1), self._list_offsets(leaders, -1, 0)
        behind = [place for place, end in ends.items() if lsos.get(place, end) < end]
        looked = [place for place in leaders if ask.topic] or behind
        ask.say(f"asking for the producers of {len(looked)} partitions")
        opens = self._list_producers({place: leaders[place] for place in looked})
        states = self._list_states({one.pid for found in opens.values() for one in found})
        if any(opens.values()) or any(state.state in DECIDED for state in states):
            # What a transaction had under way between two questions is over after a while.
            if any(state.state in DECIDED for state in states):
                time.sleep(AGAIN_S)
            again = self._list_producers({place: leaders[place] for place in opens})
            opens = {
                place: [one for one in found if any(_same(one, two) for two in again[place])]
                for place, found in opens.items()
                if place in again
            }
            states = self._describe([s.txn_id for s in states if s.state], states)
        committed = self._list_positions()
        scans, logs = {}, []
        order = dict.fromkeys([*looked, *self._lagging(committed, ends), *sorted(ends)])
        shown = [place for place in order if place[0] != GROUPS]
        drawn = shown[:DRAWN]
        for place in drawn:
            ask.say(f"reading {_name(place)}")
            frontiers = (starts.get(place, 0), lsos.get(place, -1), ends.get(place, -1))
            if min(frontiers) >= 0:
                scan, log = self._read_log(place, leaders[place], frontiers, opens.get(place, []))
                scans[_name(place)] = scan
                logs.append(log)
        if len(shown) > len(drawn):
            self.tell("…", NOT_DRAWN(n=len(shown) - len(drawn)), failed=False)
        rows = [txn for place, found in opens.items() for txn in self._scan_of(place, found)]
        txns = join_states(states, rows, self.labels)
        whole = bool(states) and STATES not in self.gaps
        if rows and not states:
            self.tell(STATES, NO_IDS, failed=False)
        holders: dict[str, list[str]] = {}
        for txn in rows:
            holders.setdefault(txn.seen, []).append(txn.label)
        positions, left = self._positions(committed, ends, scans, holders)
        return Reading(
            "kafka", ask.target, ask.now_ms, tuple(logs), tuple(txns), positions,
            tuple(self.gaps.values()), Own(tuple(states), whole, left, live=True),
        )  # fmt: skip

    def _find_partitions(self) -> dict[Place, int]:
        """The leader of each partition that was asked for, and of the groups' topic."""
        try:
            fields = Link.metadata(()) | {"topics": None}
            answer = self.first.ask(3, 12, **fields)
        except BROKEN as error:
            raise Unreadable(f"{self.ask.target} does not say what it holds: {error}") from error
        self.nodes = {b.node_id: f"{b.host}:{b.port}" for b in answer.brokers}
        self.known = {topic.name: topic for topic in answer.topics if topic.name}
        asked = self.ask.topic
        if asked and asked not in self.known:
            known = ", ".join(sorted(self.known)[:20]) or "it shows none"
            raise Unreadable(NO_TOPIC.format(address=self.ask.target, topic=asked, known=known))
        found = {}
        for name, topic in sorted(self.known.items()):
            if self.note(name, 3, topic.error_code) or (topic.is_internal and name != GROUPS):
                continue
            for part in topic.partitions:
                place = (name, part.partition_index)
                if part.leader_id < 0 and self.ask.wants(*place):
                    self.tell(_name(place), FAILED(error=part.error_code.name))
                elif part.leader_id >= 0 and (self.ask.wants(*place) or name == GROUPS):
                    found[place] = part.leader_id
        return found

    def _by_leader(self, leaders: dict[Place, int]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Requests' topics: (broker, topics with their partitions), so many at once."""
        for node in sorted(set(leaders.values())):
            places = sorted(place for place, leader in leaders.items() if leader == node)
            for at in range(0, len(places), AT_ONCE):
                topics: dict[str, list[int]] = {}
                for topic, number in places[at : at + AT_ONCE]:
                    topics.setdefault(topic, []).append(number)
                yield node, tuple(topics.items())

    def _list_offsets(self, leaders: dict[Place, int], at: int, isolation: int) -> dict[Place, int]:
        """The first offset (-2) or the end (-1) of each."""
        found = {}
        for node, topics in self._by_leader(leaders):
            rows = tuple(
                Row(
                    name=name,
                    partitions=tuple(
                        Row(partition_index=i, current_leader_epoch=-1, timestamp=at)
                        for i in numbers
                    ),
                )
                for name, numbers in topics
            )
            answer = self.request(
                node, "ListOffsets", 2, 7, replica_id=-1, isolation_level=isolation, topics=rows
            )
            for topic in answer.topics if answer else ():
                for part in topic.partitions:
                    place = (topic.name, part.partition_index)
                    if not self.note(_name(place), 2, part.error_code):
                        found[place] = part.offset
        return found

    def _list_producers(self, leaders: dict[Place, int]) -> dict[Place, list[Open]]:
        """What is open in each partition, as its leader knows it."""
        found: dict[Place, list[Open]] = {}
        for node, topics in self._by_leader(leaders):
            rows = tuple(Row(name=name, partition_indexes=tuple(i)) for name, i in topics)
            answer = self.request(node, "DescribeProducers", 61, 0, topics=rows)
            for topic in answer.topics if answer else ():
                for part in topic.partitions:
                    place = (topic.name, part.partition_index)
                    if not self.note(_name(place), 61, part.error_code):
                        found[place] = [
                            Open(p.producer_id, p.producer_epoch, p.current_txn_start_offset,
                                 p.last_timestamp, "DescribeProducers")
                            for p in part.active_producers
                            if p.current_txn_start_offset >= 0
                        ]  # fmt: skip
        return found

    # ---- the coordinators ----------------------------------------------------------------

    def _list_states(self, pids: set[int]) -> list[State]:
        """All transactional ids; those that go on, or whose producer has something open, described."""
        self.ask.say("asking for the transactions")
        states = []
        for node in sorted(self.nodes):
            answer = self.request(node, STATES, 66, 0, state_filters=(), producer_id_filters=())
            if answer and not self.note(STATES, 66, answer.error_code):
                states += [
                    State(t.transactional_id, t.producer_id, state=t.transaction_state,
                          source=f"ListTransactions of broker {node}")
                    for t in answer.transaction_states
                ]  # fmt: skip
        going = [s.txn_id for s in states if s.state in ("Ongoing", *DECIDED) or s.pid in pids]
        if len(going) > MOST_IDS:
            self.tell("DescribeTransactions", TOO_MANY(n=MOST_IDS), failed=False)
        return self._describe(going[:MOST_IDS], states)

    def _describe(self, ids: Iterable[str], states: list[State]) -> list[State]:
        """The same states, with all that DescribeTransactions says of these ids."""
        wanted = {state.txn_id: state for state in states}
        nodes = {state.txn_id: int(state.source.rpartition(" ")[2]) for state in states}
        for node in sorted(self.nodes):
            own = tuple(txn_id for txn_id in ids if nodes.get(txn_id) == node)[:MOST_IDS]
            rows = self.request(node, STATES, 65, 0, transactional_ids=own) if own else ()
            for row in rows or ():
                if not row.error:
                    names = tuple(f"{topic}-{number}" for topic, number in row.partitions)
                    wanted[row.txn_id] = State(
                        row.txn_id, row.pid, row.epoch, row.timeout_ms, row.state,
                        start_ms=row.start_ms, partitions=names,
                        source=f"DescribeTransactions of broker {node}",
                    )  # fmt: skip
        return list(wanted.values())

    def _list_positions(self) -> dict[tuple[str, Place], tuple[int, bool, str]]:
        """Of a group and a partition: its position, whether another one is pending, its state."""
        self.ask.say("asking for the groups")
        found: dict[tuple[str, Place], tuple[int, bool, str]] = {}
        for node in sorted(self.nodes):
            answer = self.request(node, "ListGroups", 16, 4, states_filter=())
            if not answer or self.note("ListGroups", 16, answer.error_code):
                continue
            if len(answer.groups) > MOST_GROUPS:
                self.tell("ListGroups", TOO_MANY(n=MOST_GROUPS), failed=False)
            for group in answer.groups[:MOST_GROUPS]:
                stable, plain = (
                    self._fetch_offsets(node, group.group_id, s) for s in (True, False)
                )
                for place, at in plain.items():
                    pending = stable.get(place) is None
                    if self.ask.wants(*place) and (at >= 0 or pending):
                        found[group.group_id, place] = (at, pending, group.group_state)
        return found

    def _fetch_offsets(self, node: int, group: str, stable: bool) -> dict[Place, int]:
        """Without those of which the coordinator says that they are pending."""
        row = Row(group_id=group, topics=None)
        name = f"OffsetFetch of {group}"
        answer = self.request(node, name, 9, 8, groups=(row,), require_stable=stable)
        if not answer or self.note(name, 9, answer.groups[0].error_code):
            return {}
        return {
            (topic.name, part.partition_index): part.committed_offset
            for topic in answer.groups[0].topics
            for part in topic.partitions
            if not part.error_code.value
        }

    @staticmethod
    def _lagging(
        committed: dict[tuple[str, Place], tuple[int, bool, str]], ends: dict[Place, int]
    ) -> list[Place]:
        """Where a group has something left that is quickly read."""
        return [
            place
            for (_, place), (at, _, _) in sorted(committed.items())
            if 0 <= at < ends.get(place, -1) <= at + NO_GROUP_LAG
        ]

    def _positions(
        self,
        committed: dict[tuple[str, Place], tuple[int, bool, str]],
        ends: dict[Place, int],
        scans: dict[str, Scan],
        holders: dict[str, list[str]],
    ) -> tuple[tuple[Position, ...], dict[tuple[str, str], tuple[int, int]]]:
        found, left = [], {}
        for (group, place), (at, pending, state) in sorted(committed.items()):
            name, end = _name(place), ends.get(place, -1)
            waits: tuple[str, ...] = ()
            if pending:
                keeper = partition_for(group, max(len(self.known[GROUPS].partitions), 1))
                waits = tuple(holders.get(f"{GROUPS}-{keeper}", ["?"]))
            found.append(Position(group, name, at, end, state, waits, "OffsetFetch"))
            scan = scans.get(name)
            if scan and at >= 0 and (count := scan.count_left(at)):
                left[group, name] = count
        return tuple(found), left

    # ---- records -------------------------------------------------------------------------

    def _read_log(
        self, place: Place, leader: int, frontiers: tuple[int, int, int], opens: list[Open]
    ) -> tuple[Scan, LogRead]:
        start, lso, end = frontiers
        name = _name(place)
        scan = Scan(name, "Fetch", start, end)
        for row, _ in self._fetch(place, leader, max(start, end - TAIL), end):
            scan.take(row)
        scan.opens, scan.end = {one.pid: one for one in opens}, max(scan.end, end)
        asked = range(0)
        counted = None
        if self.ask.first or self.ask.last >= 0:
            stop = self.ask.last + 1 if self.ask.last >= 0 else self.ask.first + 2 * AROUND
            asked, counted = range(self.ask.first, stop), Scan(name, "Fetch")
        spans = [range(max(f - AROUND, start), f + AROUND) for f in (lso, end)]
        around = {}
        for span in (*spans, asked):
            for batch in self._fetch(place, leader, span.start, span.stop) if span else ():
                row = label_batch(batch, lambda *_: None) if self.ask.payloads else batch[0]
                around[row.base] = row
                if span is asked and counted is not None:
                    counted.take(row)
        return scan, scan.read(
            self.labels, around.values(), end, lso, asked[: 25 * AROUND], counted
        )

    def _fetch(self, place: Place, leader: int, first: int, stop: int) -> Iterator[Batch]:
        """The batches with offsets from `first` to the one before `stop`, as far as they fit."""
        topic, number = place
        at = first
        for _ in range(4):
            if at >= stop:
                return
            part = Row(partition=number, current_leader_epoch=-1, fetch_offset=at,
                       last_fetched_epoch=-1, log_start_offset=-1, partition_max_bytes=FETCHED)  # fmt: skip
            answer = self.request(
                leader, _name(place), 1, 11, replica_id=-1, max_wait=timedelta(0), min_bytes=0,
                max_bytes=FETCHED, isolation_level=0, session_id=0, session_epoch=-1,
                topics=(Row(topic=topic, partitions=(part,)),), forgotten_topics_data=(),
                rack_id="",
            )  # fmt: skip
            found = answer.responses[0].partitions[0] if answer else None
            if found is None or self.note(_name(place), 1, found.error_code):
                return
            data, before = bytes(found.records or b""), at
            for row, batch in read_batches(
                BytesIO(data), len(data), f"Fetch of {_name(place)}", lambda *_: None
            ):
                if row.base >= stop:
                    return
                at = max(at, row.last + 1)
                if row.last >= first:
                    yield replace(row, file=f"Fetch of {_name(place)}", at=-1), batch
            if at == before:
                return

    def _scan_of(self, place: Place, opens: list[Open]) -> list[Any]:
        scan = Scan(_name(place), "DescribeProducers", opens={one.pid: one for one in opens})
        return scan.list_open(self.labels)


def _same(one: Open, two: Open) -> bool:
    return (one.pid, one.epoch, one.first) == (two.pid, two.epoch, two.first)


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def read_cluster(ask: Ask) -> Reading:
    """Raises Unreadable."""
    cluster = Cluster(ask)
    try:
        return cluster.read()
    finally:
        cluster.close()

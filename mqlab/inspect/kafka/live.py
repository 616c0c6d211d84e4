"""A running cluster, asked with requests that change nothing.

    Metadata, ListOffsets at both isolation levels     which partitions have an open transaction
    DescribeProducers                                  whose it is
    ListTransactions, DescribeTransactions             what its coordinator says
    DescribeProducers, DescribeTransactions again      what was in flight is over now
    ListGroups, OffsetFetch                            the groups' positions, pending ones too
    Fetch                                              the records around the frontiers

One request at a time. A right that is missing costs its panel and not the report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import BytesIO
from types import SimpleNamespace as Row
from typing import Any

from ...kafka.config import partition_for
from ...kernel import Text, Words, replace
from ...kernel.text import tr
from ...real.kafka.wire import read_transactions
from ..reading import Ask, Gap, LogRead, Position, Reading, Txn, Unreadable
from .internal import DECIDED, GROUPS, ONGOING, STATES, Own, State, join_states
from .link import BROKEN, Link, read_settings
from .scan import AHEAD, AROUND, Labels, Open, Scan
from .segments import Batch, label_batch, read_batches

AT_ONCE = 200  # partitions in a request
DRAWN, TAIL = 24, 500  # logs that are drawn, and offsets that are read at the end of each
FETCHED, FETCHES = 1 << 20, 4  # bytes of an answer, and how often a partition is asked
MOST_IDS, MOST_GROUPS, MOST_SHOWN = 2_000, 500, 200
AGAIN_S = 2.0  # until what was decided is looked at again
READ_LAG = 1_000  # so many offsets are read to see that none of them is a record
DESCRIBED, DESCRIBE_TRANSACTIONS = "DescribeProducers", 65
NAMES = {2: "ListOffsets", 61: DESCRIBED, 65: "DescribeTransactions", 16: "ListGroups"}
RIGHTS = {2: "DESCRIBE topic", 3: "DESCRIBE topic", 61: "READ topic", 1: "READ topic",
          66: "DESCRIBE transactional-id", 9: "DESCRIBE group", 16: "DESCRIBE group"}  # fmt: skip

NO_RIGHT = Words("refused ({error}): the right {right} is needed")
NOT_OFFERED = tr("this broker does not answer it")
NOT_DRAWN = Words("{n} more partitions: nothing is open in them; name one with --topic")
NO_IDS = tr("no transactional id is shown: without the right DESCRIBE on them, it cannot be said "
            "which transactions hang")  # fmt: skip
TOO_MANY = Words("only the first {n} were requested")
NO_TOPIC = Words("{address} has no topic {topic}, or does not show it: {known}")
Place = tuple[str, int]
Topic = Callable[[str, tuple[int, ...]], Any]


class Cluster:
    """What is read of a cluster, step by step."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.settings = read_settings(ask.config)
        self.links: dict[str, Link] = {}
        self.gaps: dict[str, Gap] = {}
        self.labels = Labels()
        self.first = self._link(ask.target.split(",")[0])

    def _link(self, address: str) -> Link:
        if address not in self.links:
            self.links[address] = Link(address, self.settings)
        return self.links[address]

    def _add_gap(self, what: str, why: Text, failed: bool = True) -> None:
        self.gaps.setdefault(what, Gap(Text(what), why, failed))

    def _note(self, what: str, api: int, error: Any) -> bool:
        """Whether this code is an error, which becomes a gap; a missing right is named in it."""
        if error.value:
            denied = "authorization" in error.name
            said = NO_RIGHT(error=error.name, right=RIGHTS[api]) if denied else Text(error.name)
            self._add_gap(what, said, failed=not denied)
        return bool(error.value)

    def _request(self, node: int, what: str, api: int, version: int, **fields: Any) -> Any:
        """The answer of a broker; None, and a gap, where there is none."""
        try:
            link = self._link(self.nodes[node])
            if not link.offers(api, version):
                self._add_gap(what, NOT_OFFERED, failed=False)
                return None
            if api == DESCRIBE_TRANSACTIONS:
                return read_transactions(*link.ask_for_bytes(api, version, **fields))
            return link.ask(api, version, **fields)
        except (Unreadable, *BROKEN) as error:
            self._add_gap(what, Text(str(error)))
            if broken := self.links.pop(self.nodes.get(node, ""), None):
                broken.close()
        return None

    def read(self) -> Reading:
        """Read a running cluster: the partitions' offsets at both isolation levels, the producers
        where the LSO is below the end (with a topic asked for: of all its partitions), the
        coordinators' states, the groups' positions, and records of DRAWN partitions at most. A
        transaction counts as open only if it is so at two looks. Raises Unreadable where the
        cluster does not answer, or has no such topic; all else that is refused becomes a gap."""
        ask = self.ask
        ask.say("Metadata, ListOffsets")
        leaders = self._find_partitions()
        # (leaders, timestamp, isolation level): timestamps -2 and -1 mean a log's begin and end,
        # and with level 1, read_committed, the end is the LSO
        starts, ends = self._list_offsets(leaders, -2, 0), self._list_offsets(leaders, -1, 0)
        lsos = self._list_offsets(leaders, -1, 1)
        held_back = [place for place, end in ends.items() if lsos.get(place, end) < end]
        to_describe = list(leaders) if ask.topic else held_back
        ask.say(f"{DESCRIBED} ({len(to_describe)})")
        # by partition (topic, number), the transactions open now; `after`: at a second look
        before = self._list_producers({place: leaders[place] for place in to_describe})
        ask.say("ListTransactions, DescribeTransactions")
        states = self._list_states({one.pid for found in before.values() for one in found})
        # What is in flight between two questions is no finding: it is over at the next look.
        if decided := [state for state in states.values() if state.state in DECIDED]:
            time.sleep(AGAIN_S)
            self._update_states(states, decided)
        after = self._list_producers({place: leaders[place] for place in before if before[place]})
        opens = {place: _stay(found, after.get(place, [])) for place, found in before.items()}
        ask.say("ListGroups, OffsetFetch")
        committed = self._list_positions()
        # groups that have read all but a few records: these may be only markers (`committed`: by
        # (group, partition), the offset, whether another one is pending, the group's state)
        lagging = [p for (_, p), (at, _, _) in sorted(committed.items())
                   if 0 <= at < ends.get(p, -1) <= at + READ_LAG]  # fmt: skip
        by_interest = dict.fromkeys([*to_describe, *lagging, *sorted(ends)])
        shown = [place for place in by_interest if place[0] != GROUPS and place in ends]
        scans, logs = {}, []
        for place in shown[:DRAWN]:
            ask.say(f"Fetch {_name(place)}")
            frontiers = (starts.get(place, 0), lsos.get(place, ends[place]), ends[place])
            scan, log = self._read_log(place, leaders[place], frontiers, opens.get(place, []))
            scans[scan.name] = scan
            logs.append(log)
        if len(shown) > DRAWN:
            self._add_gap("…", NOT_DRAWN(n=len(shown) - DRAWN), failed=False)
        open_txns = [
            txn
            for place, found in opens.items()
            for txn in Scan(_name(place), DESCRIBED, opens=_by_pid(found)).list_open(self.labels)
        ]
        if open_txns and not states:
            self._add_gap(STATES, NO_IDS, failed=False)
        all_states = bool(states) and STATES not in self.gaps
        txns = join_states(states.values(), open_txns, self.labels)
        positions, still_to_read = self._join_positions(committed, ends, scans, open_txns)
        facts = Own(tuple(states.values()), all_states, still_to_read, live=True)
        gaps = tuple(self.gaps.values())
        return Reading(
            "kafka", ask.target, ask.now_ms, tuple(logs), tuple(txns), positions, gaps, facts
        )

    # ---- partitions ----------------------------------------------------------------------

    def _find_partitions(self) -> dict[Place, int]:
        """Return the leader (a node id) of each partition that was asked for, and of those of
        `__consumer_offsets`; one without a leader becomes a gap. Also sets `nodes`, the addresses
        by node id, and `known`, the topics by name. Raises Unreadable where the cluster does not
        answer, or has no such topic."""
        try:
            # request 3: Metadata, in version 12; topics None: all
            answer = self.first.ask(3, 12, **(Link.metadata(()) | {"topics": None}))
        except BROKEN as error:
            raise Unreadable("cannot read what {} holds: {}", self.ask.target, error) from error
        self.nodes = {b.node_id: f"{b.host}:{b.port}" for b in answer.brokers}
        self.known = {topic.name: topic for topic in answer.topics if topic.name}
        if self.ask.topic and self.ask.topic not in self.known:
            known = ", ".join(sorted(self.known)[:20]) or tr("it shows none")
            address, topic = self.ask.target, self.ask.topic
            raise Unreadable(NO_TOPIC(address=address, topic=topic, known=known))
        leaders = {}
        for name, topic in sorted(self.known.items()):
            # (_note: whether there is an error, of which it makes a gap); what is in the other
            # internal topic, __transaction_state, its coordinators are asked (`_list_states`)
            if self._note(name, 3, topic.error_code) or (topic.is_internal and name != GROUPS):
                continue
            for partition in topic.partitions:
                place = (name, partition.partition_index)
                if name == GROUPS or self.ask.wants(*place):
                    if partition.leader_id >= 0:  # -1: it has no leader now
                        leaders[place] = partition.leader_id
                    else:
                        self._add_gap(_name(place), Text(partition.error_code.name))
        return leaders

    def _ask_all(
        self, leaders: dict[Place, int], api: int, version: int, topic: Topic, **fields: Any
    ) -> Iterator[tuple[Place, Any]]:
        """Send request `api` (its number) about partitions to their leaders, AT_ONCE partitions at
        a time, and yield ((topic, partition), its part of the answer). `topic(name, partitions)`
        makes a topic's part of the request; `fields` are its other fields. A partition that is
        answered with an error becomes a gap instead."""
        for node in sorted(set(leaders.values())):
            places = sorted(place for place, leader in leaders.items() if leader == node)
            for start in range(0, len(places), AT_ONCE):
                numbers_of: dict[str, list[int]] = {}
                for name, number in places[start : start + AT_ONCE]:
                    numbers_of.setdefault(name, []).append(number)
                topics = tuple(topic(name, tuple(numbers)) for name, numbers in numbers_of.items())
                answer = self._request(node, NAMES[api], api, version, topics=topics, **fields)
                # None: the broker did not answer, which has become a gap
                for row in answer.topics if answer else ():
                    for answered in row.partitions:
                        place = (row.name, answered.partition_index)
                        if not self._note(_name(place), api, answered.error_code):
                            yield place, answered

    def _list_offsets(self, leaders: dict[Place, int], at: int, isolation: int) -> dict[Place, int]:
        """The first offset (-2) or the end (-1) of each."""

        def topic(name: str, numbers: tuple[int, ...]) -> Any:
            parts = (Row(partition_index=i, current_leader_epoch=-1, timestamp=at) for i in numbers)
            return Row(name=name, partitions=tuple(parts))

        fields = {"replica_id": -1, "isolation_level": isolation}
        return {place: part.offset for place, part in self._ask_all(leaders, 2, 7, topic, **fields)}

    def _list_producers(self, leaders: dict[Place, int]) -> dict[Place, list[Open]]:
        """What is open in each partition, as its leader knows it."""

        def topic(name: str, numbers: tuple[int, ...]) -> Any:
            return Row(name=name, partition_indexes=numbers)

        return {
            place: [
                Open(p.producer_id, p.producer_epoch, p.current_txn_start_offset, p.last_timestamp,
                     DESCRIBED)
                for p in part.active_producers
                if p.current_txn_start_offset >= 0
            ]
            for place, part in self._ask_all(leaders, 61, 0, topic)
        }  # fmt: skip

    # ---- the coordinators ----------------------------------------------------------------

    def _list_states(self, pids: set[int]) -> dict[str, State]:
        """All transactional ids; those that go on, or write what is open, are described."""
        states: dict[str, State] = {}
        for node in sorted(self.nodes):
            answer = self._request(node, STATES, 66, 0, state_filters=(), producer_id_filters=())
            if answer and not self._note(STATES, 66, answer.error_code):
                for row in answer.transaction_states:
                    name, source = row.transactional_id, f"ListTransactions, broker {node}"
                    state = row.transaction_state
                    states[name] = State(name, row.producer_id, state=state, source=source)
        going = [s for s in states.values() if s.state in (ONGOING, *DECIDED) or s.pid in pids]
        if len(going) > MOST_IDS:
            self._add_gap(NAMES[DESCRIBE_TRANSACTIONS], TOO_MANY(n=MOST_IDS), failed=False)
        self._update_states(states, going[:MOST_IDS])
        return states

    def _update_states(self, states: dict[str, State], some: list[State]) -> None:
        """Put what DescribeTransactions says of some of them in their place."""
        for node in sorted(self.nodes):
            ids = tuple(s.txn_id for s in some if s.source.endswith(f" {node}"))
            rows = ids and self._request(node, STATES, 65, 0, transactional_ids=ids)
            for row in rows or ():
                if not row.error:
                    names = tuple(f"{topic}-{number}" for topic, number in row.partitions)
                    states[row.txn_id] = State(
                        row.txn_id, row.pid, row.epoch, row.timeout_ms, row.state, -1, row.start_ms,
                        names, f"DescribeTransactions, broker {node}",
                    )  # fmt: skip

    def _list_positions(self) -> dict[tuple[str, Place], tuple[int, bool, str]]:
        """Return, by (group, (topic, partition)), the group's committed offset (-1: none), whether
        another one is pending in a transaction, and the group's state. Only MOST_GROUPS groups of
        each coordinator are requested."""
        positions: dict[tuple[str, Place], tuple[int, bool, str]] = {}
        for node in sorted(self.nodes):
            answer = self._request(node, NAMES[16], 16, 4, states_filter=())  # ListGroups
            # `_note`: whether the answer is an error, which is then a gap of the report
            if not answer or self._note(NAMES[16], 16, answer.error_code):
                continue
            if len(answer.groups) > MOST_GROUPS:
                self._add_gap(NAMES[16], TOO_MANY(n=MOST_GROUPS), failed=False)
            for group in answer.groups[:MOST_GROUPS]:
                plain = self._fetch_offsets(node, group.group_id, stable=False) or {}
                stable = self._fetch_offsets(node, group.group_id, stable=True) if plain else None
                stable = plain if stable is None else stable  # unanswered: nothing says pending
                for place, offset in plain.items():
                    # what is not stable has an offset pending in a transaction
                    if self.ask.wants(*place) and (offset >= 0 or place not in stable):
                        state = (offset, place not in stable, group.group_state)
                        positions[group.group_id, place] = state
        return positions

    def _fetch_offsets(self, node: int, group: str, stable: bool) -> dict[Place, int] | None:
        """`stable`: without those of which the coordinator says that another one is pending. None
        where it does not answer, which is then a gap of the report."""
        name, row = f"OffsetFetch {group}", Row(group_id=group, topics=None)
        answer = self._request(node, name, 9, 8, groups=(row,), require_stable=stable)
        if not answer or self._note(name, 9, answer.groups[0].error_code):
            return None
        return {
            (topic.name, part.partition_index): part.committed_offset
            for topic in answer.groups[0].topics
            for part in topic.partitions
            if not part.error_code.value
        }

    def _join_positions(
        self,
        committed: dict[tuple[str, Place], tuple[int, bool, str]],
        ends: dict[Place, int],
        scans: dict[str, Scan],
        opens: list[Txn],
    ) -> tuple[tuple[Position, ...], dict[tuple[str, str], tuple[int, int]]]:
        """Return the groups' positions, with the labels of the transactions in which another one is
        pending, and, by (group, log), what the group has still to read, where that is known:
        (records, offsets that hold none for it). `committed`: as `_list_positions` returns it;
        `ends`: the logs' end offsets; `opens`: the open transactions of all partitions."""
        positions, still_to_read = [], {}
        for (group, place), (offset, pending, state) in sorted(committed.items()):
            name, labels = _name(place), tuple[str, ...]()
            if pending:
                # Those open in the partition of `__consumer_offsets` that holds the group. One may
                # be of another group in it: no answer says which.
                number = partition_for(group, max(len(self.known[GROUPS].partitions), 1))
                labels = tuple(txn.label for txn in opens if txn.seen == f"{GROUPS}-{number}")
            end = ends.get(place, -1)
            positions.append(Position(group, name, offset, end, state, labels, "OffsetFetch"))
            if name in scans and offset >= 0 and (count := scans[name].count_left(offset)):
                still_to_read[group, name] = count
        return tuple(positions), still_to_read

    # ---- records -------------------------------------------------------------------------

    def _read_log(
        self, place: Place, leader: int, frontiers: tuple[int, int, int], opens: list[Open]
    ) -> tuple[Scan, LogRead]:
        """Fetch the last TAIL offsets of a partition, which are counted, and, to be shown, the
        records around its LSO and its end, and those that were asked for. `place`: (topic,
        partition); `leader`: a node id; `frontiers`: the log's start, LSO and end; `opens`: its
        open transactions. Returns the scan of the tail and what is shown."""
        start, lso, end = frontiers
        scan = Scan(_name(place), "Fetch", start, end)
        for row, _ in self._fetch(place, leader, range(max(start, end - TAIL), end)):
            scan.take(row)
        scan.opens, scan.end = _by_pid(opens), max(scan.end, end)
        asked, counted = self.ask.span(TAIL), None
        spans = [range(max(frontier - AROUND, start), frontier + AHEAD) for frontier in (lso, end)]
        around = [batch for span in spans for batch in self._fetch(place, leader, span)]
        if asked:  # it is counted by a scan of its own
            # "": of a scan that only counts nobody asks where it was read
            counted, asked_batches = Scan(scan.name, ""), list(self._fetch(place, leader, asked))
            around += asked_batches
            for row, _ in asked_batches:
                counted.take(row)
        rows = [label_batch(batch, say_none) if self.ask.payloads else batch[0] for batch in around]
        shown = asked[:MOST_SHOWN]
        # hw: a log ends for a client where its high watermark is
        return scan, scan.read(self.labels, rows, hw=end, lso=lso, asked=shown, counted=counted)

    def _fetch(self, place: Place, leader: int, wanted: range) -> Iterator[Batch]:
        """Yield the batches that hold the offsets `wanted`, each as (head, bytes), as far as
        FETCHES fetches from the partition's leader bring them. An error becomes a gap, and ends
        it."""
        name, at = _name(place), wanted.start
        for _ in range(FETCHES if wanted else 0):
            position = Row(partition=place[1], current_leader_epoch=-1, fetch_offset=at,
                       last_fetched_epoch=-1, log_start_offset=-1, partition_max_bytes=FETCHED,
            )  # fmt: skip
            answer = self._request(
                # api 1 (Fetch), version 11; session_epoch -1: without a fetch session
                leader, name, 1, 11, replica_id=-1, max_wait=timedelta(0), min_bytes=0,
                max_bytes=FETCHED, isolation_level=0, session_id=0, session_epoch=-1, rack_id="",
                topics=(Row(topic=place[0], partitions=(position,)),), forgotten_topics_data=(),
            )  # fmt: skip
            answered = answer.responses[0].partitions[0] if answer else None
            if answered is None or self._note(name, 1, answered.error_code):
                return
            data, previous, source = bytes(answered.records or b""), at, f"Fetch {name}"
            for row, batch in read_batches(BytesIO(data), len(data), source, say_none):
                at = max(at, row.last + 1)
                if row.base < wanted.stop and row.last >= wanted.start:
                    yield replace(row, at=-1), batch  # a byte of a fetch is no place to name
            if at == previous or at >= wanted.stop:  # nothing came, or all of it
                return


def say_none(file: str, what: Text) -> None:
    """A fetch ends where there is no more room, and that may be within a batch."""


def _stay(before: list[Open], after: list[Open]) -> list[Open]:
    """What was open both times."""
    return [one for one in before if (one.pid, one.first) in {(o.pid, o.first) for o in after}]


def _by_pid(opens: list[Open]) -> dict[int, Open]:
    return {one.pid: one for one in opens}


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def read_cluster(ask: Ask) -> Reading:
    """Raises Unreadable."""
    cluster = Cluster(ask)
    try:
        return cluster.read()
    finally:
        for link in cluster.links.values():
            link.close()

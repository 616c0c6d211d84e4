"""Odd commands: each is answered as a real 4.2.4 has answered it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mqlab.pulsar.unserved import REFUSED
from mqlab.serve import RunningBroker
from mqlab.serve.pulsar.wire import PulsarApi_pb2
from tests.serve.pulsar import commands
from tests.serve.pulsar.administration import read_rows

#: stories of which a real broker refuses nothing: the number of each command that is refused here,
#: with its error (`REFUSED`); what consumers get is then another too
HERE = {
    "batches of no message, and of more than fit in": dict.fromkeys((3, 4, 5), "ChecksumError"),
    "names of topics that are longer": dict.fromkeys((1, 2, 3), "InvalidTopicName"),
    "part of a batch that a transaction holds whole": {3: "TransactionConflict"},
}


def test_odd_commands_are_answered_as_by_a_real_broker(broker: RunningBroker) -> None:
    for ours, real in zip(commands.tell(broker.address), read_rows(commands.RECORDED), strict=True):
        assert ours == real or (ours[0] in HERE and ours[1] == real[1])
        assert not (ours[0] in HERE and "error" in str(real)), "no longer to be listed"


def test_what_only_this_server_refuses_is_listed_with_its_error(broker: RunningBroker) -> None:
    stories = {name: commands.STORIES[name] for name in HERE}
    told = list(commands.tell(broker.address, stories))
    for story, refused in HERE.items():
        answers = [came for name, _, came in told if name == story]
        errors = {n: c[0]["error"] for n, c in enumerate(answers, 1) if c and "error" in c[0]}
        assert errors == refused
    assert {error for some in HERE.values() for error in some.values()} == {
        e for _, e, _ in REFUSED
    }


def test_the_classes_were_made_from_the_file_beside_them() -> None:
    """`make proto` says at the end of what it makes what it was made from."""
    made = Path(PulsarApi_pb2.__file__)
    source = made.with_name("PulsarApi.proto").read_bytes()
    said = made.read_text("utf-8").splitlines()[-1]
    assert said == f"# made from {hashlib.sha256(source).hexdigest()}", "run `make proto`"

"""What the page *Choose* says one should watch was tried on the real brokers.

Each command there stands in a recording of a real broker; `mqlab real NAME compare` asks this
project's server the same and compares every line, with the same tool.
"""

from __future__ import annotations

import re

import pytest

from mqlab.lessons.decision import list_ways
from mqlab.places import RECORDINGS
from mqlab.recordings.recording import load

#: the command on the page → recording, what was asked there, what must be in the answer
TRIED = {
    "kafka-transactions.sh describe-producers": (
        "kafka-4.3.1/tv2/tools-transactions",
        "describe-producers --topic orders --partition 0",
        "CurrentTransactionStartOffset",
    ),
    "AdminClient.list_offsets": (
        "kafka-4.3.1/tv2-legacy/librdkafka-lso-lag",
        "LSO lag",
        "3",
    ),
    "find-hanging": (
        "kafka-4.3.1/tv2/tools-transactions",
        "find-hanging --topic orders",
        "StartOffset",
    ),
    "mqadmin topicStatus -t RMQ_SYS_TRANS_HALF_TOPIC": (
        "rocketmq-5.5.0/5.5/java-mqadmin-watch",
        "topicStatus -t RMQ_SYS_TRANS_HALF_TOPIC",
        "broker-a 0 0 4",
    ),
    "TRANS_CHECK_MAX_TIME_TOPIC": (
        "rocketmq-5.5.0/5.5/java-mqadmin-watch",
        "topicStatus -t TRANS_CHECK_MAX_TIME_TOPIC",
        "broker-a 0 0 1",
    ),
    # what `pulsar-admin` asks for: its own jar is not on Maven
    "pulsar-admin transactions transaction-buffer-stats": (
        "pulsar-4.2.4/4.2/watermark-held-back",
        "transactionBufferStats",
        "maxReadPosition 1, ongoing 1",
    ),
    "slow-transactions": (
        "pulsar-4.2.4/4.2/slow-transactions",
        "slowTransactions 5000",
        "(0,0), (0,1), (0,2)",
    ),
}


def find_commands() -> set[str]:
    """Those in code in what to watch of each way."""
    said = " ".join(one.en for way in list_ways().values() for one in way.lists["watch"])
    return set(re.findall(r"`([^`]+)`", said))


def test_every_command_of_the_page_was_tried():
    assert find_commands() == set(TRIED)


@pytest.mark.parametrize("command", sorted(TRIED))
def test_a_real_broker_shows_it(command):
    name, asked, told = TRIED[command]
    seen = load(RECORDINGS / f"{name}.json").observations
    answers = [one.answered for one in seen if one.asked == asked]
    assert any(told in answer for answer in answers), answers

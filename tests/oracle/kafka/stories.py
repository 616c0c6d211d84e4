"""Kafka's stories in Java."""

from __future__ import annotations

from pathlib import Path

from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.jars import JARS
from mqlab.real.stories import JAVA_FLAGS, play

SOURCES = Path(__file__).parent / "java"
CLIENT = "4.3.1"


def play_java(lab: Lab, source: str, *arguments: str) -> None:
    """Run one of our Java stories.

    Raises RealBrokerError where Java is missing or the story comes to no end.
    """
    path = JARS.class_path(CLIENT)
    lab.clients["kafka-clients"] = CLIENT
    play(lab, ["java", *JAVA_FLAGS, "-cp", path, str(SOURCES / source)], *arguments)

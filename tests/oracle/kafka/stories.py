"""Kafka's stories in Java."""

from __future__ import annotations

from pathlib import Path

from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.jars import JARS
from mqlab.real.stories import JAVA_FLAGS, play

SOURCES = Path(__file__).parent / "java"
CLIENT = "4.3.1"


def play_java(lab: Lab, story: str, *arguments: str) -> None:
    """Run one of our Java stories (`java/Stories.java`).

    Raises RealBrokerError where Java is missing or the story comes to no end.
    """
    path = JARS.class_path(CLIENT)
    lab.clients["kafka-clients"] = CLIENT
    command = ["java", *JAVA_FLAGS, "-cp", path, str(SOURCES / "Stories.java")]
    play(lab, command, story, *arguments)

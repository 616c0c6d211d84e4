"""The messages of `PulsarApi.proto` that the server names.

The file is the protocol's own, shortened; `make proto` makes the classes from it, by the released
compiler. They get their attributes when they are imported, which no type checker sees.
"""

from __future__ import annotations

from typing import Any

from . import PulsarApi_pb2

CLASSES: Any = PulsarApi_pb2
BaseCommand = CLASSES.BaseCommand
MessageMetadata = CLASSES.MessageMetadata
Schema = CLASSES.Schema
#: the enum of commands: names by number, numbers by name
Type = BaseCommand.DESCRIPTOR.enum_types_by_name["Type"]
ERRORS = CLASSES.DESCRIPTOR.enum_types_by_name["ServerError"]

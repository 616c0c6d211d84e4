"""The messages of `PulsarApi.proto` as classes, without a compiler.

The file is the protocol's own, in the language of Protocol Buffers. Whoever compiles such a file
gets classes out of a generator; here it is read when the server starts, and the library makes the
classes from what was read. Only what the file uses is understood: messages, enums, fields with a
default. A line that is none of these is a mistake in the file, and raises ValueError.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

SOURCE = Path(__file__).with_name("PulsarApi.proto")
PACKAGE = "pulsar.proto"
LABELS = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}
TYPES = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "string": FieldDescriptorProto.TYPE_STRING,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
    "uint64": FieldDescriptorProto.TYPE_UINT64,
}
LINE = re.compile(
    r"(?P<block>message|enum) (?P<name>\w+) \{"
    r"|(?P<end>\})"
    r"|(?P<label>optional|required|repeated) (?P<type>\w+) (?P<field>\w+) = (?P<number>\d+)"
    r"(?: \[default = (?P<default>\S+)\])?;"
    r"|(?P<value>\w+) = (?P<at>\d+);"
)


def read_proto(text: str, name: str) -> FileDescriptorProto:
    """What a file in the language of Protocol Buffers describes. Raises ValueError."""
    file = FileDescriptorProto(name=name, package=PACKAGE, syntax="proto2")
    stack: list[Any] = [file]
    for line in text.splitlines():
        words = line.strip()
        if not words or words.startswith(("//", "syntax", "package")):
            continue
        found = LINE.fullmatch(words)
        if found is None:
            raise ValueError(f"{name}: {words!r} is no line of a message")
        if found["block"]:
            stack.append(_open(stack[-1], found["block"], found["name"]))
        elif found["end"]:
            stack.pop()
        elif found["value"]:
            stack[-1].value.add(name=found["value"], number=int(found["at"]))
        else:
            _add_field(stack[-1], found)
    return file


def _open(outer: Any, kind: str, name: str) -> DescriptorProto | EnumDescriptorProto:
    if kind == "enum":
        enum: EnumDescriptorProto = outer.enum_type.add(name=name)
        return enum
    inner = outer.message_type if isinstance(outer, FileDescriptorProto) else outer.nested_type
    message: DescriptorProto = inner.add(name=name)
    return message


def _add_field(message: DescriptorProto, found: re.Match[str]) -> None:
    """A type that is not the language's own is an enum of this message, given before it is used,
    or one of the file's."""
    field = message.field.add(
        name=found["field"], number=int(found["number"]), label=LABELS[found["label"]]
    )
    if found["type"] in TYPES:
        field.type = TYPES[found["type"]]
    else:
        inside = any(enum.name == found["type"] for enum in message.enum_type)
        scope = f".{PACKAGE}.{message.name}" if inside else f".{PACKAGE}"
        field.type_name = f"{scope}.{found['type']}"
    if found["default"]:
        field.default_value = found["default"]


def make_classes() -> dict[str, Any]:
    """Every message of the protocol, by name, as a class of the library's."""
    pool = descriptor_pool.DescriptorPool()
    described = read_proto(SOURCE.read_text("utf-8"), SOURCE.name)
    pool.AddSerializedFile(described.SerializeToString())
    file = pool.FindFileByName(SOURCE.name)
    found = file.message_types_by_name
    return {name: message_factory.GetMessageClass(found[name]) for name in found}


CLASSES = make_classes()
BaseCommand: Any = CLASSES["BaseCommand"]
MessageMetadata: Any = CLASSES["MessageMetadata"]
MessageIdData: Any = CLASSES["MessageIdData"]
Schema: Any = CLASSES["Schema"]
#: the enum of commands: names by number, numbers by name
Type: Any = BaseCommand.DESCRIPTOR.enum_types_by_name["Type"]
ERRORS: Any = MessageMetadata.DESCRIPTOR.file.enum_types_by_name["ServerError"]

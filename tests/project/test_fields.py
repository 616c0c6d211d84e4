"""Each field of a public dataclass is explained: in its class's docstring, in its module's table of
fields, or by a comment. Names that mean the same in every protocol need no words."""

import ast
import re

from .sources import modules

KNOWN = """\
name topic topics partition partitions queue_id subscription group groups pid epoch base
offset offsets txn txns txn_id kind config cluster broker host port address client client_id
caller error error_code error_message message body key value values number version title
text source at_ms start_ms update_ms timeout_ms producer_id producer_epoch transactional_id
topic_id group_id member_id partition_index protocol protocol_type leader_epoch metadata
system trace state status path label index log start end x y width height member members
generation assignment hw lso isr properties subscriptions position positions"""
#: fields that nobody explains: the number only falls
MOST = 263


def list_unexplained(text: str) -> list[str]:
    """`Class.field`, of the public dataclasses of a module."""
    tree, lines, found = ast.parse(text), text.splitlines(), []
    table = set(re.findall(r"^ {4}(\w+) {2}", ast.get_docstring(tree) or "", re.M))
    for node in (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)):
        marks = " ".join(map(ast.unparse, node.decorator_list))
        if node.name.startswith("_") or not re.search(r"\bdataclass\b|\bfrozen\b", marks):
            continue
        known = (
            {*KNOWN.split()}
            | table
            | set(re.findall(r"\w+", (ast.get_docstring(node) or "").lower()))
        )
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and "ClassVar" not in ast.unparse(field):
                name, above = ast.unparse(field.target), lines[field.lineno - 2].lstrip()
                commented = above.startswith("#") or "#" in lines[field.lineno - 1]
                if not (
                    commented or name[0] == "_" or name in known or {*name.split("_")} <= known
                ):
                    found.append(f"{node.name}.{name}")
    return found


def test_the_fields_of_public_dataclasses_are_explained() -> None:
    """What is on the wire has the protocol's own names."""
    ours = {name: path for name, path in modules().items() if ".wire." not in name}
    found = [
        f"{name}: {one}"
        for name, path in ours.items()
        for one in list_unexplained(path.read_text("utf-8"))
    ]
    assert len(found) <= MOST, "explain the new ones:\n" + "\n".join(found)


def test_the_rule_itself() -> None:
    text = (
        '@dataclass\nclass Row:\n    """`a`: one."""\n    a: int\n    b: int\n    c: int  # three\n'
    )
    assert list_unexplained(text) == ["Row.b"]

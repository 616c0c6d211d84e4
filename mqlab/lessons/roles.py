"""What the systems of lessons put in a role's place: a role of another kind, or the pieces of one
step in a chosen order (`order.STEP=` in a system line)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from ..kernel import Effects, NodeSpec
from ..kernel.world import Recover

T = TypeVar("T")


def become(role: Any, kind: type[T], **more: Any) -> T:
    """The same role as one of another kind, with what the two have in common and some more."""
    names = [one.name for one in fields(cast(Any, kind))]
    kept = {name: getattr(role, name) for name in names if hasattr(role, name)}
    return kind(**{**kept, **more})


def recover_as(
    kind: type[T], recover: Callable[..., Any], more: Mapping[str, Any], *given: Any
) -> tuple[T, Effects]:
    """What `recover` gives, its role as one of another kind."""
    role, effects = recover(*given)
    return become(role, kind, **more), effects


def put_roles(specs: Iterable[NodeSpec], roles: Mapping[str, Recover]) -> tuple[NodeSpec, ...]:
    """These nodes, with a role of a lesson on each node that `roles` names."""
    return tuple(
        replace(spec, roles=((spec.name, roles[spec.name]),)) if spec.name in roles else spec
        for spec in specs
    )

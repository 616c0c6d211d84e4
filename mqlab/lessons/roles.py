"""What the systems of lessons put in a role's place: a role of another kind, or the pieces of one
step in a chosen order (`order.STEP=` in a system line)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ..kernel import Effects, NodeSpec
from ..kernel.options import fill
from ..kernel.world import Recover

T = TypeVar("T")


def recover_as(
    kind: type[T], recover: Callable[..., Any], more: Mapping[str, Any], *given: Any
) -> tuple[T, Effects]:
    """What `recover` gives, its role as one of another kind."""
    role, effects = recover(*given)
    return fill(kind, role, **more), effects


def put_roles(specs: Iterable[NodeSpec], roles: Mapping[str, Recover]) -> tuple[NodeSpec, ...]:
    """These nodes, with a role of a lesson on each node that `roles` names."""
    return tuple(
        replace(spec, roles=((spec.name, roles[spec.name]),)) if spec.name in roles else spec
        for spec in specs
    )

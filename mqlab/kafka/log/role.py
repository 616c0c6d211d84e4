"""What the functions of this room need of a role that leads a partition.

`PartitionRole` is no base class: a leader and a group coordinator have these fields anyway,
and whatever is done for both takes either and gives the same kind back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from ...kernel import Map
from .verification import Verifying

if TYPE_CHECKING:
    from ..config import KafkaConfig
    from .partition import Partition
    from .watching import Watchers


class PartitionRole(Protocol):
    """`name`: of the partition and its log. `verifying`: requests that wait for the
    transaction coordinator's word, by number. `watchers`: readers that wait for more."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def config(self) -> KafkaConfig: ...
    @property
    def name(self) -> str: ...
    @property
    def part(self) -> Partition: ...
    @property
    def verifying(self) -> Map[int, Verifying[Any]]: ...
    @property
    def watchers(self) -> Watchers: ...


R = TypeVar("R", bound=PartitionRole)

"""What the functions of this room need of a role that leads a partition.

`PartitionRole` is no base class: a leader and a group coordinator have these fields anyway,
and whatever is done for both takes either and gives the same kind back.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeVar

from ...kernel import Caller, Disk, Effects, Map, Reply, SetTimer, Text, Words, replace
from ..config import KafkaConfig
from ..messages import Fetch, ListOffsets, Unwatch, Watch
from . import fetch, watching
from .messages import DescribeProducers, describe_producers
from .partition import Partition
from .verification import Verifying
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

# ---- readers --------------------------------------------------------------------------

ReaderRequest = Fetch | ListOffsets | DescribeProducers | Watch | Unwatch


def answer_reader(role: R, body: ReaderRequest, caller: Caller, disk: Disk) -> tuple[R, Effects]:
    """The requests of readers: a question to a partition that appends nothing to it.

    A leader and a group coordinator answer them alike. Only a long poll changes the role at all: it
    remembers who waits.

    (role, effects): the answer at once, but for a Watch that finds nothing new.
    """
    match body:
        case Fetch():
            return role, (Reply(caller, fetch.answer_fetch(role.part, role.name, body, disk)),)
        case ListOffsets():
            answer = fetch.answer_list_offsets(role.part, role.name, body, disk)
            return role, (Reply(caller, answer),)
        case DescribeProducers():
            return role, (Reply(caller, describe_producers(role.part)),)
        case Watch(isolation=isolation):
            end = fetch.upper_bound(role.part, isolation)
            watchers, effects = watching.add_watcher(role.watchers, caller, body, end)
            return replace(role, watchers=watchers), effects
        case Unwatch(corr=corr):
            left = watching.remove_watcher(role.watchers, caller, corr)
            return replace(role, watchers=left), ()


# ---- idle producers -------------------------------------------------------------------

EXPIRE = "expire producers"


def schedule_expiry(config: KafkaConfig, old: Partition | None, new: Partition) -> Effects:
    """The timer that looks for idle producers, once there is somebody to forget; `old` None:
    none is running."""
    begins = new.remembers and (old is None or not old.remembers)
    if not config.pid_expiration_ms or not begins:
        return ()
    return (SetTimer(EXPIRE, config.pid_sweep_ms),)


def forget_idle(role: R, at_ms: int) -> tuple[R, Effects]:
    """Producers that nobody hears of any more.

    A leader that remembered every producer for ever would grow for ever. So a timer runs as long as
    there is somebody to forget, and what was idle for `pid_expiration_ms` is dropped, except
    producers whose transaction is open (ProducerStateManager#removeExpiredProducers, Kafka 4.3).

    The timer has fired; it is set again while somebody is left.
    """
    part = role.part.without_expired(at_ms)
    return replace(role, part=part), schedule_expiry(role.config, None, part)


# ---- in words -------------------------------------------------------------------------

FRONTIERS = Words("HW={hw} LSO={lso}")
RECOVERED = Words("recovered, HW={hw} LSO={lso}")


def tell_frontiers(old: Partition | None, new: Partition) -> tuple[Text, ...]:
    """`old` None: the partition was recovered just now."""
    if old is None:
        return (RECOVERED(hw=new.hw, lso=new.read_limit),)
    if (new.hw, new.read_limit) != (old.hw, old.read_limit):
        return (FRONTIERS(hw=new.hw, lso=new.read_limit),)
    return ()

"""Replication: several copies of a log, one leader, and what "safe" means then.

    replica.py      a broker's copy: leads (the role inside decides; what it appends is offered to
                    followers; the high watermark) or follows (fetches, cuts off what the leader
                    never had, appends)
    controller.py   says who leads what and which copies are in sync
    router.py       a client's way to the present leader

A record is *committed* once every replica in sync (ISR) has it: that, and nothing about
transactions, is what moves the high watermark. The roles of this model, partition leader,
transaction coordinator, group coordinator, know nothing of copies: they append, and hear
`Appended` or `AppendFailed`. With one replica the machine says it; with several, this
package does, from what the followers have fetched.

Kafka acknowledges on replication, without fsync. So it survives a process killed anywhere,
and a power cut on all but one of its in-sync replicas.

*Left out:* racks, reassignment, unclean election, tiered storage; the controller's own
quorum (KRaft), which is one node here; and that one broker holds many copies: each copy is
a node of its own, so a fault hits one of them alone.
Read on in ReplicaManager, Partition, ReplicaFetcherThread, UnifiedLog (Kafka 4.3).
"""

from .controller import Controller as Controller
from .controller import Elect as Elect
from .controller import Fence as Fence
from .controller import Leadership as Leadership
from .replica import Replica as Replica
from .replica import ReplicaConfig as ReplicaConfig
from .router import Router as Router
from .router import RouterConfig as RouterConfig

"""A role of a model by itself, on a disk that takes what it writes."""

from mqlab.kernel import MemoryDisk, Reply, Send


def run(role, *events, disk=MemoryDisk()):
    """The role and its disk after these events, and what the last one brought about."""
    effects = ()
    for event in events:
        role, effects = role.step(event, disk)
        for effect in effects:
            disk = disk.apply(effect)
    return role, disk, effects


def bodies(effects):
    """Of what is sent and of what is answered."""
    return [effect.body for effect in effects if isinstance(effect, Send | Reply)]

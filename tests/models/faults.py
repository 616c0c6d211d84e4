"""Faults put into a system's roles on purpose, so that a search has something to find.

A fault is a class derived from the role that it spoils; `started`, where it has one, changes
what a start from the disk gives.
"""

from dataclasses import fields

from mqlab.kernel.system import NodeSpec


def changed(value, kind):
    """The same state as another class."""
    return kind(**{f.name: getattr(value, f.name) for f in fields(value)})


def faulty(plain, fault):
    """The system with every role of a kind replaced by a faulty one."""
    (kind,) = fault.__bases__

    class Faulty(type(plain)):
        def nodes(self):
            return tuple(self._mutated(spec) for spec in super().nodes())

        def _mutated(self, spec):
            roles = tuple((name, starting(recover)) for name, recover in spec.roles)
            return NodeSpec(spec.name, roles, spec.program)

    def starting(recover):
        def start(disk, at_ms):
            role, effects = recover(disk, at_ms)
            if type(role) is not kind:
                return role, effects
            role = changed(role, fault)
            return fault.started(role, effects) if hasattr(fault, "started") else (role, effects)

        return start

    return Faulty(**{f.name: getattr(plain, f.name) for f in fields(plain)})

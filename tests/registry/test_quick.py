"""What `mqlab explore NAME` searches in its plain form: it finds faults, and nothing else.

Here are the quick ones of each broker; `python -m tests.models.faults NAME` tries all of them.
"""

import pytest

from mqlab.registry.searches import exhaust, searches_of
from tests.models.faults import find_quickly, read_faults

FOUND = {
    "kafka": ("one_is_enough", "commits_in_haste", "one_offset_too_far"),
    "rocketmq": (
        "ends_only",
        "one_too_far",
        "drops_the_flag",
        "names_the_original",
        "always_the_first_queue",
    ),
    "pulsar": ("sends_aborted_again", "snapshot_without_aborts", "loses_committed_acks"),
}
SMALL = 5_000  # states


@pytest.mark.parametrize(
    ("broker", "name"), [(broker, name) for broker, names in FOUND.items() for name in names]
)
def test_the_plain_form_finds_a_fault(broker, name):
    (fault,) = (fault for fault in read_faults(broker) if fault.name == name)
    assert find_quickly(fault, searches_of(broker).quick)


@pytest.mark.parametrize("broker", FOUND)
def test_without_a_fault_the_small_ones_among_them_find_nothing(broker):
    systems = searches_of(broker).quick
    assert len({one.name for one in systems}) == len(systems)
    for searched in systems[:4]:
        verdict = exhaust(searched)
        assert verdict.complete
        assert verdict.ok, f"{searched.name}: {verdict}"
        assert verdict.states < SMALL

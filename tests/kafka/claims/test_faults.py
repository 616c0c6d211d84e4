"""Faults put into the roles on purpose: each is found, by the claim that it breaks.

The unchanged system is searched with the same bounds and keeps every claim, so what is
found is the fault and nothing else.
"""

from tests.models.faults import make_tests

(
    test_a_deliberate_fault_is_found,
    test_without_the_fault_nothing_is_found,
    test_every_claim_is_broken_by_a_fault_or_a_case,
) = make_tests("kafka")

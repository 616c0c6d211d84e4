"""Claims of a broker: lit in every picture, or named by a system line, never both."""

import pytest

from mqlab.registry import system
from tests.models.faults import names_of


def find_nameable(line, invariants, unkept):
    """Asserts for the system of a line, and for its broker's module of claims, that a line may
    name every claim without a light, that it is refused what there is not, and that the claim
    with the key `unkept` is checked only where it is named."""
    claims = invariants.CLAIMS
    assert not names_of(invariants.LIT) & names_of(claims.values())
    assert names_of((*invariants.ALWAYS, *invariants.LIVE, *invariants.UNKEPT)) <= names_of(
        claims.values()
    )
    plain = names_of(system(line).properties())
    assert names_of(system(f"{line} claims={unkept}").properties()) - plain == {claims[unkept].name}
    with pytest.raises(ValueError, match=f"no claim 'peace'; there are: {next(iter(claims))}"):
        system(f"{line} claims=peace")

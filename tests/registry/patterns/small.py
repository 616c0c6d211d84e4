"""Systems of the classical models that every test run searches: all but the largest."""

from mqlab.registry.cases.patterns import SEARCHES
from tests.registry.renew import counts

MOST = 30_000  # states
SMALL = tuple(s for s in SEARCHES.systems if counts("patterns").get(s.name, 0) <= MOST)

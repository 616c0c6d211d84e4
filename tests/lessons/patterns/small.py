"""Systems of the classical models that every test run searches: all but the largest."""

from mqlab.lessons.patterns.cases import SEARCHES
from tests.lessons.renew import counts

MOST = 30_000  # states
SMALL = tuple(s for s in SEARCHES.systems if counts("patterns").get(s.name, 0) <= MOST)

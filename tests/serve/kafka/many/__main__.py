"""The figures, for `make bench`."""

import sys

from tests.serve.kafka.many import CASES, prepare
from tests.serve.many import measure_all

print(measure_all(prepare, sys.argv[2:] or CASES, [int(n) for n in sys.argv[1].split(",")]))

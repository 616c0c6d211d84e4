"""The figures, for `mqlab bench`."""

import sys

from tests.serve.kafka.many import measure_all

print(measure_all([int(n) for n in sys.argv[1].split(",")], sys.argv[2:]))

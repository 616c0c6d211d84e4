"""`python -m mqlab` is the command `mqlab`."""

import sys

from mqlab.cli import main

sys.exit(main())

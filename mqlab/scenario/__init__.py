"""Layer 3: scenarios. A script with its expected narration.

    # The coordinator is killed when one of two markers has left.
    system kafka transaction_version=2 partitions=2
    run app: init, begin, send orders-0 a, send orders-1 b, commit
    kill coordinator when=WriteTxnMarkers#1 after=1
    restart coordinator
    ---
    app         → coordinator  InitProducerId order-service
    …

A blank line ends a narration, and more commands may follow, with dashes and a narration of
their own: so each command is above what it caused.

Every line runs until nothing is left to do, oldest message first. A line that names a
message or a step is armed before the first line runs, wherever it is. `language.COMMANDS` says
which commands there are, for errors, the guide (datasets/scenarios/README.md) and a first file
(`mqlab scenario new`). `off SAFEGUARD` belongs to the system.
"""

from .golden import Caption as Caption
from .golden import Golden as Golden
from .golden import load as load
from .golden import perform_in_blocks as perform_in_blocks
from .golden import rewrite as rewrite
from .golden import write_in_blocks as write_in_blocks
from .language import Script as Script
from .language import make_system as make_system
from .language import parse_script as parse_script
from .language import system_of as system_of
from .runner import perform as perform
from .runner import perform_all as perform_all

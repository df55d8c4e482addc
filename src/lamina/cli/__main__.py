"""`python -m lamina.cli` is the command, as `python -m lamina` is."""

import sys

from lamina.cli import main

sys.exit(main())

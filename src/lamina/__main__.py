"""`python -m lamina` is the command, for where its script is not on the path."""

import sys

from lamina.cli import main

sys.exit(main())

"""`python -m gnnbench` is the `gnnbench` command."""

import sys

from .cli.main import main

sys.exit(main())

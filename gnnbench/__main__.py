"""`python -m gnnbench` is the `gnnbench` command."""

import sys

from .engine.cli.main import main

sys.exit(main())

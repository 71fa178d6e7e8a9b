"""Lets benchmarks import the package beside them, from any folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

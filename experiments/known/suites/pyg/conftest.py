"""HIDDEN=torch_scatter makes `import torch_scatter` fail, as where it is not installed."""

import os
import sys

if hidden := os.environ.get("HIDDEN"):
    sys.modules[hidden] = None

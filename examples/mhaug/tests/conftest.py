"""What these tests share with those of gnnbench."""

from tests.graphs import (  # noqa: F401
    _platform_is_installed,
    make_case,
    molecules,
    small_graph,
    typed_graph,
)
from tests.suite.conftest import without_back_end  # noqa: F401

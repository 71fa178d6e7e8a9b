"""What tests of applications share with those of commands."""

from tests.engine.cli.conftest import call, in_process  # noqa: F401

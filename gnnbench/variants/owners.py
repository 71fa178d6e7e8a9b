"""Whose a function in a session of pytest is."""

import os
from types import CodeType
from typing import Any


def owner(config: Any, module: str, code: CodeType) -> str:
    """Return the installed distribution of a plugin, such as `pytest-cov`, or else the file.

    Args:
        config: pytest's.
        module: the name of the function's module.
        code: of the function.
    """
    plugin = _plugin(config, module)
    return str(plugin[1].metadata["name"]) if plugin else os.path.relpath(code.co_filename)


def off(config: Any, module: str) -> str:
    """Return the option of pytest that leaves an installed plugin out; empty: it is none."""
    plugin = _plugin(config, module)
    return f"-p no:{config.pluginmanager.get_name(plugin[0])}" if plugin else ""


def _plugin(config: Any, module: str) -> tuple[Any, Any] | None:
    """Return the installed plugin that a module belongs to, and its distribution."""
    for plugin, distribution in config.pluginmanager.list_plugin_distinfo():
        name = getattr(plugin, "__name__", type(plugin).__module__)
        if name.partition(".")[0] == module.partition(".")[0]:
            return plugin, distribution
    return None

"""Commands that nothing else needs: each folder has a module `command`, as those of `cli`."""

"""Commands that use the rest, and that nothing else needs: a folder less is a command less.

Its module `command` has `add_arguments`, and a docstring for `gnnbench --help`, as those of `cli` have.
"""

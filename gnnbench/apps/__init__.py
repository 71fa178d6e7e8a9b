"""Commands that use the rest, and that nothing else needs: a folder less is a command less.

Its module `command` has HELP, what `gnnbench --help` says, and `add_arguments`, as the modules of `cli` have.
"""

"""The `gnnbench` command: one module for each subcommand."""

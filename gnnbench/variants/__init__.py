"""Other versions of the code, made ready and run in child processes."""

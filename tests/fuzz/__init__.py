"""Changes saved files at random and runs every command that reads them: see `__main__`."""

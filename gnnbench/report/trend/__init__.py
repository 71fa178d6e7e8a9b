"""How a history of runs is shown."""

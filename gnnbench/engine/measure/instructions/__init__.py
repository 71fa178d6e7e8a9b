"""Instructions of one call: how many, in which functions, and whether each call executes as many."""

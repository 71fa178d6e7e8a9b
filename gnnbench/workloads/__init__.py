"""What is run, and whether its result is right."""

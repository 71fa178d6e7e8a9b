"""Changes saved files at random and runs every command that shows their texts to others."""

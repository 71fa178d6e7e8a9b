"""What a call returns and changes, for comparing it with the other side's."""

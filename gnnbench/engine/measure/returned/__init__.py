"""The output of a call and its changes of inputs, for the comparison of base and head."""

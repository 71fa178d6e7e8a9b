"""Which of many candidates changed a benchmark's time: the decision rule, without a clock."""

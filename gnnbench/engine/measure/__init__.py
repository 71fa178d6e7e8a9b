"""What happens in one process: clock, buffer placements, samples, counters."""

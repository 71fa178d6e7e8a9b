"""Decides: verdicts, intervals and schedules, from numbers alone, without files and processes."""

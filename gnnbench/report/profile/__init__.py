"""Profiles as text."""

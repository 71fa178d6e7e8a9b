"""The fingerprint of a call: what code runs, on what, and with which settings."""

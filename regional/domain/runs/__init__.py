"""Runs: how they move, what is metered of them, and how they end."""

"""Joining, identities, and what administrators do about regions, as clients see it."""

"""Regions in columns, and the candidate sets over them: the fast form of filters and weights."""

"""Regions: their links, and what is shown of them."""

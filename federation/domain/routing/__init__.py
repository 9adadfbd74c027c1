"""Routing: filter, weigh, draw, rank (routing.md, docs/routing.md). Pure; changes no task."""

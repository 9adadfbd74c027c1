"""Scripted peers over real links: what a service talks to in its own tests."""

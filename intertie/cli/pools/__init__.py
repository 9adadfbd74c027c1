"""Commands about regions, their nodes and runs."""

"""The agent's way to the world: the region link, the keeper, probes, files."""

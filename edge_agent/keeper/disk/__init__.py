"""What the keeper remembers, and the rule that nothing is told before it is on disk."""

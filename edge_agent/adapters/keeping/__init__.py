"""The link's side of the keeper: starting it, speaking with it, reading what it says."""

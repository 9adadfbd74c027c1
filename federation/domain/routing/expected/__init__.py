"""What the router expects: how long, at what price, and which offer is therefore the best."""

"""What the owner lends: the rules, and the one mechanism that holds guests to them."""

"""Public test support: fake clocks, faulty stores, loopback links, builders, waiting."""

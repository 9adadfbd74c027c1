"""A delay proxy: real round trips between places, on one machine, without privileges."""

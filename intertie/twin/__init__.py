"""Production domains in one process and virtual time: the beginning of the simulator."""

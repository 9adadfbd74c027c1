"""How far other regions are: the beacon that they probe, and our probes of theirs."""

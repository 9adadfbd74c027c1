"""Commands about the federation's residency policy, and where tasks were."""

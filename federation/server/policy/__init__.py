"""PolicyService, and what a replica's egress asks of the policy."""

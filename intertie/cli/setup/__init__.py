"""Commands about this machine: contexts, certificates, services."""

"""Implementations of the Store port (memory, SQL) and the etcd client."""

"""Parents every task of a node. Standard library only, one thread, no gRPC."""

"""What joining and renewal need of the network: knowing a server by its root, renewing in time."""

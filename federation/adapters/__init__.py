"""The federation's way to the world: store, etcd, region links, blobs."""

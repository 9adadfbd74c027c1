"""The region's way to the world: store, etcd, the federation link, blobs."""

"""Generated protobuf stubs: intertie.api.etcd.v3."""

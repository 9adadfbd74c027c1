"""Generated protobuf stubs: intertie.api.etcd."""

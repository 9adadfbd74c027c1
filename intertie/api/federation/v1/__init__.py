"""Generated protobuf stubs: intertie.api.federation.v1."""

"""Generated protobuf stubs: intertie.api.federation."""

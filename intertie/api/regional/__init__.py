"""Generated protobuf stubs: intertie.api.regional."""

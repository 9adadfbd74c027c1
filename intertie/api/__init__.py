"""Generated protobuf stubs: intertie.api."""

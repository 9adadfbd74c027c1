"""Generated protobuf stubs: intertie.api.regional.v1."""

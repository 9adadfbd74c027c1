"""Generated protobuf stubs: intertie.api.metering.v1."""

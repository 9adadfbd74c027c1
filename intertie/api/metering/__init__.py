"""Generated protobuf stubs: intertie.api.metering."""

"""Generated protobuf stubs: intertie.api.agent."""

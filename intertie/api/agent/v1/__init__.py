"""Generated protobuf stubs: intertie.api.agent.v1."""

"""The federation's gRPC services: messages in, events to the domain, committed answers out."""

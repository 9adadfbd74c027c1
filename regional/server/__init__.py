"""The region's gRPC services, for its operator and its agents."""

"""grpc.aio servers and channels: mTLS, identity, deadlines, errors, metrics."""

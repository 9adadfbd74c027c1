"""Protobuf to model and back, one module per area, validation that names the field."""

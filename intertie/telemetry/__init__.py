"""Metrics and logs: every name defined once, and how they leave the process.

Knows nothing of services, gRPC or certificates.
"""

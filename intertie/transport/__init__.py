"""gRPC between processes: mutual TLS, who calls, what they may, how errors travel.

Knows gRPC and certificates; must not know what any service does with a request.
"""

"""Identities: SPIFFE names, certificate authorities, issuing, loading and checking.

Knows X.509 and files; must not know gRPC or any service.
"""

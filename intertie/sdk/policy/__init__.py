"""Residency policies for programs and people: files, test cases, and the client that sets them."""

"""Blobs of clients: who may know of which."""

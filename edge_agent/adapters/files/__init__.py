"""Folders of runs, the cache of blobs, and files that tasks wrote and nobody may trust."""

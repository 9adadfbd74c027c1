"""Metering logs from the reader's side: pulled, kept in a folder, verified."""

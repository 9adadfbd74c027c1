"""Metering logs: mirror, witness, receipts, statements."""

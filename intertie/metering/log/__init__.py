"""The log itself: tree, tiles, notes, checkpoints, witnessing, trust and receipts (C2SP formats).

Leaves are opaque bytes here. Imports nothing else of metering but the words for faults.
"""

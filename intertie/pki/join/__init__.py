"""Joining, as rules: join strings, tokens and how they are redeemed, what was issued.

No input or output but the file of a pending key: `intertie.store.enrollment` keeps the records, the
services' servers use them.
"""

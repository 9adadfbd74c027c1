"""Joining, as pure rules: join strings, tokens and how they are redeemed, what was issued.

No input or output: `intertie.store.enrollment` keeps these records, the services' servers use them.
"""

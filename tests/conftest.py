"""What holds for all tests: property tests judge answers, not speed, and CI repeats its examples.

Two tests run at a time, so a time limit for a single example would fail by chance.
"""

import asyncio
import os

from hypothesis import settings

settings.register_profile(
    "intertie", deadline=None, print_blob=True, derandomize="CI" in os.environ
)
settings.load_profile("intertie")

# Without this pytest-asyncio asks for the present event loop before its first test, which makes one
# that nobody closes; a later asyncio.run drops it, and the warning fails whatever test runs then.
asyncio.set_event_loop(None)

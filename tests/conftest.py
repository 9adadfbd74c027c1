"""What holds for all tests: property tests judge answers, not speed, and CI repeats its examples.

Two tests run at a time, so a time limit for a single example would fail by chance.
"""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile(
    "intertie", deadline=None, print_blob=True, derandomize="CI" in os.environ
)
settings.load_profile("intertie")

# Without this pytest-asyncio asks for the present event loop before its first test, which makes one
# that nobody closes; a later asyncio.run drops it, and the warning fails whatever test runs then.
asyncio.set_event_loop(None)

# A shell starts what it puts into the background with SIGINT ignored, and every process of a test
# would inherit that: Ctrl-C would then end no command.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Public traces and tables, kept beside the checkout and not part of it (their licences)."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the public data sets in ../shared/data, which are not here")
    return SHARED_DATA

"""What holds for all tests: hypothesis judges answers, not speed, since tests share two processors."""

from hypothesis import settings

settings.register_profile("intertie", deadline=None, print_blob=True)
settings.load_profile("intertie")

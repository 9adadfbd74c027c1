"""How Python's collector of cycles runs in a service: among young objects only, and seldom.

A service holds many long-lived values that are free of cycles: with the defaults of Python a third
of a submission goes into looking through them (bench/submit.py), at last in pauses of seconds, in
which leases run out. What has outlived one look is exempt from the next; reference counts still
free it. What this gives up is a cycle that becomes garbage after it has outlived a look: 60,000
calls, half of them refused, leave no more memory behind than without the exemption.
"""

import gc

YOUNG_OBJECTS = 50_000
"""New objects between two looks for cycles: those of about 500 submissions."""


def spare() -> None:
    """Call once, when a service has started: its modules and what it has loaded are exempt too."""

    def exempt(phase: str, _info: dict[str, int]) -> None:
        if phase == "stop":
            gc.freeze()

    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.callbacks.append(exempt)

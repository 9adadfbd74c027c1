"""How a service's process ends once its application has stopped.

gRPC's threads hold the interpreter's own end up for two seconds, when nothing is left to do: every
call is answered or cancelled, the store is closed. So a process leaves without it. Must be called
last, from a program's `__main__` only.
"""

import atexit
import logging
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End this process: what libraries registered for the end runs, all output is flushed."""
    atexit._run_exitfuncs()  # noqa: SLF001 - the only way to run them before leaving
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # whoever read it is gone
            code = code or 1
    os._exit(code)

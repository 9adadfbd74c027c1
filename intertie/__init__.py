"""Intertie: a federation of computing power.

This is the public import surface. It loads nothing heavy: `import intertie` must not import grpc,
so names of the SDK are resolved on first use (PEP 562).
"""

from importlib import import_module
from typing import Any

__all__ = ["Client", "SyncClient", "TaskSpec"]

_HOMES = {
    "Client": "intertie.sdk.client",
    "SyncClient": "intertie.sdk.sync",
    "TaskSpec": "intertie.model.spec",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562: the attribute may be anything
    """Resolve a public name on first use."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    message = f"module 'intertie' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)

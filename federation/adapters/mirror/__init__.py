"""The mirror and witness of all metering logs."""

from federation.adapters.mirror.log import Mirror

__all__ = ["Mirror"]

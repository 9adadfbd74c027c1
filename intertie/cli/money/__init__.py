"""Commands about metering logs and bills."""

"""What the agent serves locally: health and metrics. It accepts no task from here."""

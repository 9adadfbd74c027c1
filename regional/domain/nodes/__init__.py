"""The nodes of a region: what they have, what is sent to them, and what their silence means."""

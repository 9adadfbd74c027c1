"""The agent as a client of its region: the stream of messages, blobs, and logs on demand."""

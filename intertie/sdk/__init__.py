"""The asynchronous client and its thin synchronous facade."""

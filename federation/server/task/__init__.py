"""Tasks: submit, read, list, watch, and the bytes that they leave."""

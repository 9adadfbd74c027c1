"""Edit distance between two strings, and the edits themselves."""

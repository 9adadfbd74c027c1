"""The `intertie` command."""

"""Commands about joining: tokens, `join`, `whoami`, identities."""

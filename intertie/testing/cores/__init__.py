"""Small domains for tests of what lies around a core: drive, pump, stores."""

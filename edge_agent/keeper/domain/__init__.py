"""What the keeper decides, pure: no process, no file, no clock."""

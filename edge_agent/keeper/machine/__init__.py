"""What the keeper does to the machine: processes, groups, /proc, disk use. Decides nothing."""

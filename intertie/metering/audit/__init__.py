"""What the records of a log must keep to, judged one after the other as they are read."""

"""Where a task and its data may be: pure rules over jurisdiction paths."""

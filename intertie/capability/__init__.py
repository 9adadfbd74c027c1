"""What a node can do and what a task asks for: pure rules shared by the services."""

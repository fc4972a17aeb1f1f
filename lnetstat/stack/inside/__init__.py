"""What runs inside the stack's own processes: imports nothing of lnetstat, for their Python may not have it."""

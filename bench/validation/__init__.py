"""What the simulator must show: what `analyze` has to find in each preset's recording, and what the papers claim. See bench/validate.py."""

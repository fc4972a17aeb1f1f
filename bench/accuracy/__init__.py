"""Accuracy of `lnetstat analyze` on synthetic records of known truth, next to other methods."""

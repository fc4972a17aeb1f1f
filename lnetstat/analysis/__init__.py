"""Findings from frames: pure functions, DataFrame in, values out. No clock, file or socket here."""

"""A report from an analysis: one offline HTML page with pictures, or the same as text to mail."""

"""The public surface: one row for each function that has no body of its own, by subject."""

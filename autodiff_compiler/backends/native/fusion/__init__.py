"""Which ops are computed together, in which order, and what the loop over them does."""

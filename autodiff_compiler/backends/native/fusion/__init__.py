"""Loop fusion: the clusters of ops, their order, and the plan of each fused loop."""

"""Where values lie: the plan of buffers, the arena, frames of calls, large blocks, records of loops."""

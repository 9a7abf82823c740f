"""What is measured: each module has `cases()`, which makes them without importing any peer."""

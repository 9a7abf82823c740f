"""What becomes of a module before it is written."""

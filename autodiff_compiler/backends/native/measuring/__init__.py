"""What a program does, what its parts take, and how fast this machine is."""

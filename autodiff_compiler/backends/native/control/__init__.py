"""Control flow: arms, loops, what they carry and collect, sequences, effects."""

"""Control flow: branches, loops with their carries and collected sequences, effects."""

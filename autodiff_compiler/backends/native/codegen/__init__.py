"""LLVM text: instructions, vectors, lanes and arithmetic over them, elementary functions, values."""

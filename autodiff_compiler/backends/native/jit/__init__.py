"""LLVM text becomes object code, which is kept on disk, and functions of this process."""

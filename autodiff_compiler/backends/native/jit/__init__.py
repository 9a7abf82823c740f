"""The JIT: LLVM text to object code, which is cached on disk, and to functions of this process."""

"""The fast path of calls: a function of machine code that checks the guards itself and runs the program.

It takes what machine code can check completely: Tensors or ndarrays of the known types, guards as comparisons of
memory.  Every other call goes the slow path (`compiler.entry`), which alone decides; so the fast path may refuse at any
time.
"""

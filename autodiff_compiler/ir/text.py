r"""The text form of the IR: a printer and its inverse, ``print(parse(print(x))) == print(x)``.

A module lists its states, constants and callables, then its functions; one op stands on a line::

    state @w: f32[4,2]
    constant @c0: i64[3] = [0,2,1]
    callable @report

    func @loss(%x: f32[8,4], %p: bool[]) -> (f32[8,4]) {      @ net.py:10:0
      %k: f32[8,4] = const {value=0.5}
      %h: f32[8,4] = mul %x, %k                                @ net.py:12:8
      return %h
    }

Structured ops open blocks; a block ends in what it yields::

    %r: f32[4] = if %p then { yield %x } else { yield %y }
    %n: i64[], %y: f32[4], %s: seq<f32[4]> = while (%c = %x) cond { ... yield %q } body { ... yield %c2 ; %c }
    %y: f32[4], %s: seq<f32[4]> = scan %n (%c = %x ; %e = %es) {reverse=True} body (%i) { ... yield %c2 ; %z }
    %r: f32[4] = call @f %x, %y {states=["w"]}
    %y: f32[], %l: link<(f32[4]) -> (f32[])> = linearize %x {wrt=[0], seeds=[0]} body (%a: f32[4]) { ... yield %b }
    %r: f32[4] = custom_vjp %x fwd (%a: f32[4]) { ... } bwd (%b: f32[4], %o: f32[4], %g: f32[4]) { ... }

In a loop ``(%c = %x)`` names a carry and its first value (both blocks of a `while` know it by that name),
``; %e = %es`` an element and its sequence, and the ``;`` of `yield` divides the next carries from what is collected.
Of a state that has become a value ``state @w: f32[4,2] {argument=1, result=2}`` says which argument of the first
function it is, and which result is its next version.  An attribute that has its default is left out, as are `type`
and `types` where they repeat the types of the results (or, without results, of the operand).  Literals: ``1``,
``-0.5``, ``nan``, ``True``, ``None``, ``"text"``, ``f32``, ``f32[B,4]``, ``seq<f32[]>``, ``(f32[], i64[])`` (the type
of a tuple), ``[1,[2]]`` (a Python tuple) and ``B`` or, in backquotes, ```3*B+1``` (a symbolic size).

What is known of a symbol stands in front: ``size @n {low=1, high=64}``; without it any number from 0 on may be meant.

A name is its value's hint, made unique within the function; a value without one gets a number (see `ir.naming`).
Reading text back, `;` may stand for a line break, and ``//`` starts a comment.  ``@ file:line:col tag`` ends the first
line of an op; of what lies in a library ``@ file:line:col in file:line:col tag`` says first which line of the user's
called it.  The text keeps no more of a location than that.

Names and strings are those of JSON where they are no plain words, so they hold any character.  Places hold no control
characters: the printer spells them in the name itself, the file ``a<newline>b.py`` as ``"a\\nb.py"``, and a text with a
newline in a place, ``"a\nb.py"``, is refused.  Types and literals are nested at most 200 levels deep, blocks 1000.
"""

from __future__ import annotations

from .parser import ParseError, parse_function, parse_module
from .printer import (
    FunctionPrinter,
    Unbound,
    global_name,
    literal_text,
    print_declarations,
    print_function,
    print_module,
)

__all__ = [
    "FunctionPrinter",
    "ParseError",
    "Unbound",
    "global_name",
    "literal_text",
    "parse_function",
    "parse_module",
    "print_declarations",
    "print_function",
    "print_module",
]

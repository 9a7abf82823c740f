"""Random statements at kinks: values that are infinite there, or whose derivative is, on paths that do not use them."""

from __future__ import annotations

#: Functions of a `vec` a >= 0 that are infinite, or have an infinite derivative, where an element is 0.
KINKS = (
    "ops.log({a})", "ops.sqrt({a})", "(1.0 / {a})", "ops.rsqrt({a})", "({a} ** 0.3)", "ops.exp(0.1 / {a})",
    "ops.sqrt(ops.log({a}) ** 2 + 0.1)", "(ops.sqrt({a}) * ops.cumsum(1.0 / {a}, 0))", "ops.log({a} * {a})",
)  # fmt: skip


class Kinks:
    """A part of `grammar.Writer`, of whose other methods it makes use."""

    def kink(self, scope):
        """A value at a kink, used only on a path that is not taken there: elsewhere its derivative is no NaN."""
        at, value, target = self.new("u"), self.new("w"), self.new("v")
        self.put(f"{at} = {self.choose(['ops.relu', 'ops.abs'])}({self.vec(scope)} - {self.choose(['0.0', '0.3'])})")
        smooth = f"{at}.min() > 0.05"
        if self.chance(3):  # no tangent reaches what is computed from it
            self.cut(at, smooth)
            self.put(f"{value} = {self.choose(KINKS).format(a=at)}")
            apart = self.new("v")
            self.put(f"{apart} = {self.vec(scope, 1)} + ops.tanh({value})")
            scope.add("vec", apart)
        else:
            self.put(f"{value} = {self.choose(KINKS).format(a=at)}")
        if self.chance(3):
            self.put(f"{value} = {value} * {self.vec(scope, 1)}")
        self.put(f"{target} = {self.bounded(self.vec(scope))}")
        if scope.depth < 3 and self.chance(4):
            self.left -= 1
            self.statement(scope.copy(depth=3, static=False))
        used = f"{self.bounded(value)} * {self.vec(scope, 1)}"
        kind = self.rng.randrange(5)
        if kind == 0:
            self.put(f"{target} = {used} if {smooth} else {target}")
        elif kind == 1:
            count = self.new("k")
            self.put(f"{count} = 0")
            with self.inside(f"while {count} < {self.choose(['2', 'n'])} and {smooth}:"):
                self.put(f"{count} += 1; {target} = {target} * 0.5 + {used}")
        elif kind == 2:
            with self.inside(f"if not {smooth}:"):
                self.put(f"{target} = {target} + {at}")
            with self.inside("else:"):
                with self.inside(f"if {self.condition(scope)}:"):
                    self.put(f"{target} = {used}")
        else:
            with self.inside(f"if {smooth}:"):
                self.put(f"{target} = {target} + {used}")
            if kind == 3:
                with self.inside(f"if {smooth} and {self.condition(scope)}:"):
                    self.put(f"{target} = {target} * {self.bounded(value)}")
        scope.add("vec", target)

    def cut(self, at, smooth):
        """Where a value is at a kink, the derivative by it is cut off."""
        self.smooth = False
        detached = f"ops.stop_gradient({at})"
        kind = self.rng.randrange(3)
        if kind == 0:
            self.put(f"{at} = {at} if {smooth} else {detached}")
        elif kind == 1:
            with self.inside(f"if not ({smooth}):"):
                self.put(f"{at} = {detached}")
        else:
            first = self.new("c")
            self.put(f"{first} = {detached}")
            with self.inside(f"for i in range({self.choose(['2', 'n'])}):"):
                with self.inside(f"if {smooth}:"):
                    self.put(f"{first} = {first} * 0.5 + {at}")
            self.put(f"{at} = {first}")

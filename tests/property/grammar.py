"""Random Python programs over vectors, scalars, ints and lists, as text; `draw` makes every choice, so they shrink.

Only names that surely have a value are read, what is carried stays bounded, containers have one structure at every
join, and every loop ends, so that each program runs in every mode.  `x` and `y` are vectors of one length, `n` is a
small int array without dimensions; a program returns a vector, a scalar and two ints.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

UNARY = ("tanh", "sin", "sigmoid", "-", "abs")
BOUNDED = ("tanh", "sin", "sigmoid")


@dataclass
class Scope:
    """Names that have a value here, by kind, and where the statement stands."""

    names: dict[str, list[str]]
    depth: int = 0
    in_loop: bool = False
    static: bool = True  # runs exactly as often as the compiler sees it: lists may grow
    functions: list[str] = field(default_factory=list)

    def copy(self, **changes) -> Scope:
        names = {kind: list(values) for kind, values in self.names.items()}
        return replace(self, names=names, functions=list(self.functions), **changes)

    def add(self, kind, name):
        if name not in self.names[kind]:
            self.names[kind].append(name)

    def meet(self, *others):
        """Keeps what has a value on all the given paths."""
        for kind, values in self.names.items():
            common = [v for v in others[0].names[kind] if all(v in o.names[kind] for o in others)]
            values[:] = common
        self.functions[:] = [f for f in others[0].functions if all(f in o.functions for o in others)]


class Writer:
    def __init__(self, draw, size):
        self.draw = draw
        self.left = size
        self.lines: list[str] = []
        self.indent = 1
        self.count = 0

    # ------------------------------------------------------------------------------------------- text
    def put(self, text):
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def inside(self, head):
        self.put(head)
        self.indent += 1
        yield
        self.indent -= 1

    def new(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def choose(self, options):
        return options[self.draw(st.integers(0, len(options) - 1))]

    def chance(self, one_in):
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    # ------------------------------------------------------------------------------------------- expressions
    def vector(self, scope, depth=2):
        kind = self.draw(st.integers(0, 9 if depth else 0))
        if kind <= 1:
            return self.choose(scope.names["vector"])
        if kind <= 3:
            return self.unary(self.vector(scope, depth - 1))
        if kind <= 6:
            op = self.choose(["+", "*", "-"])
            other = self.vector(scope, depth - 1) if self.chance(2) else self.scalar(scope, depth - 1)
            return f"({self.vector(scope, depth - 1)} {op} {other})"
        if kind == 7:
            return f"({self.vector(scope, depth - 1)} if {self.condition(scope)} else {self.vector(scope, depth - 1)})"
        if kind == 8 and scope.functions:
            return f"{self.choose(scope.functions)}({self.vector(scope, depth - 1)})"
        if kind == 9 and scope.names["list"]:
            return f"{self.choose(scope.names['list'])}[{self.choose([0, 1, -1])}]"
        return f"({self.vector(scope, depth - 1)} / ({self.vector(scope, depth - 1)} ** 2 + 1.5))"

    def scalar(self, scope, depth=2):
        kind = self.draw(st.integers(0, 7 if depth else 2))
        if kind <= 1:
            return self.choose(["0.7", "1.3", "-0.4", "2"])
        if kind == 2 and scope.names["scalar"]:
            return self.choose(scope.names["scalar"])
        if kind == 3 and scope.names["int"]:
            return f"(0.3 * {self.choose(scope.names['int'])})"
        if kind == 4:
            return f"{self.vector(scope, depth - 1)}[{self.choose([0, -1])}]"
        if kind == 5:
            return self.unary(f"{self.vector(scope, depth - 1)}.sum()")
        if kind == 6:
            a, condition, b = self.scalar(scope, depth - 1), self.condition(scope), self.scalar(scope, depth - 1)
            return f"({a} if {condition} else {b} * 1.0)"
        return f"{self.vector(scope, 0)}.sum()"

    def unary(self, text):
        name = self.choose(UNARY)
        return f"(-{text})" if name == "-" else f"{name}({text})"

    def bounded(self, text):
        return f"{self.choose(BOUNDED)}({text})"

    def condition(self, scope, depth=1):
        kind = self.draw(st.integers(0, 6 if depth else 2))
        if kind <= 1:
            bound = self.choose(["0.217", "-0.361", "0.893", "1.739"])
            return f"{self.choose(scope.names['vector'])}.sum() {self.choose(['>', '<'])} {bound}"
        if kind == 2:
            name = self.choose([*scope.names["int"], "n"])
            return f"{name} {self.choose(['>', '<=', '=='])} {self.choose([1, 2, 0])}"
        if kind == 3:
            return f"not ({self.condition(scope, depth - 1)})"
        if kind == 4:
            return f"-0.457 < {self.choose(scope.names['vector'])}[0] < 0.641"
        word = "and" if kind == 5 else "or"
        return f"({self.condition(scope, depth - 1)} {word} {self.condition(scope, depth - 1)})"

    # ------------------------------------------------------------------------------------------- statements
    def block(self, scope):
        """Statements; True if control never reaches their end."""
        start = len(self.lines)
        left = False
        for _ in range(self.draw(st.integers(1, 4))):
            if self.left <= 0:
                break
            self.left -= 1
            if self.statement(scope):
                left = True
                break
        if len(self.lines) == start:
            self.put("pass")
        return left

    def statement(self, scope):
        kinds = [self.assign_vector, self.assign_scalar, self.assign_int]
        if scope.depth < 3:
            kinds += [self.if_, self.if_, self.for_, self.for_, self.while_]
        kinds += [self.augment, self.list_, self.item, self.element, self.function, self.swap]
        if scope.depth:
            kinds += [self.return_]
        if scope.in_loop:
            kinds += [self.leave, self.leave]
        return self.choose(kinds)(scope)

    def assign_vector(self, scope):
        name = self.choose([*[v for v in scope.names["vector"] if v[0] == "v"], self.new("v")])
        value = self.bounded(self.vector(scope)) if not self.chance(5) else self.choose(scope.names["vector"])
        self.put(f"{name} = {value}")
        scope.add("vector", name)

    def assign_scalar(self, scope):
        name = self.choose([*scope.names["scalar"], self.new("s")])
        self.put(f"{name} = {self.bounded(f'x[0] * 0.0 + {self.scalar(scope)}')}")
        scope.add("scalar", name)

    def assign_int(self, scope):
        self.put(self.choose(["c = c * 2 % 7 + 1", "c, d = d, c", "d = c", "d = (c + 3 * d) % 5"]))

    def augment(self, scope):
        names = [v for v in scope.names["vector"] if v[0] == "v"]
        if names:
            self.put(f"{self.choose(names)} {self.choose(['+=', '*=', '-='])} {self.bounded(self.vector(scope))}")
        else:
            self.assign_vector(scope)

    def swap(self, scope):
        names = [v for v in scope.names["vector"] if v[0] == "v"]
        if len(names) > 1:
            a, b = self.choose(names), self.choose(names)
            self.put(f"{a}, {b} = {b}, {a}{self.choose(['', ' * 0.9'])}")

    def list_(self, scope):
        name = self.new("l")
        if scope.names["list"] and self.chance(3):
            self.put(f"{name} = {self.choose(scope.names['list'])}")
            return scope.add("list", name)
        self.put(f"{name} = [{self.vector(scope)}, {self.vector(scope)}]")
        scope.add("list", name)

    def item(self, scope):
        if not scope.names["list"]:
            return self.list_(scope)
        name = self.choose(scope.names["list"])
        if scope.static and self.chance(3):
            self.put(f"{name}.append({self.vector(scope)})")
        else:
            self.put(f"{name}[{self.choose([0, 1])}] = {self.bounded(self.vector(scope))}")

    def element(self, scope):
        """Assigns an element of a fresh Tensor."""
        name = self.new("v")
        self.put(f"{name} = {self.vector(scope)} * 1.0")
        self.put(f"{name}[{self.choose([0, -1])}] = {self.scalar(scope)}")
        scope.add("vector", name)

    def function(self, scope):
        name = self.new("g")
        inner = scope.copy(depth=2, in_loop=False)
        inner.names["vector"].append("u")
        inner.names["list"] = []
        with self.inside(f"def {name}(u, k={self.choose(['0.6', '1.2'])}):"):
            if self.chance(2):
                with self.inside(f"if {self.condition(inner)}:"):
                    self.put(f"return {self.vector(inner)} * k")
            self.put(f"return {self.vector(inner)} + k")
        scope.functions.append(name)

    def if_(self, scope):
        arms = []
        for head in ["if", *(["elif"] if self.chance(4) else [])]:
            arms.append(self.arm(f"{head} {self.condition(scope)}:", scope))
        if self.chance(2):
            arms.append(self.arm("else:", scope))
        else:
            arms.append((scope.copy(), False))
        staying = [inner for inner, left in arms if not left]
        if not staying:
            return True
        scope.meet(*staying)
        return False

    def arm(self, head, scope):
        inner = scope.copy(depth=scope.depth + 1, static=False)
        with self.inside(head):
            left = self.block(inner)
        return inner, left

    def for_(self, scope):
        i = self.new("i")
        kind = self.draw(st.integers(0, 4))
        static = kind in (0, 3)
        target, what = [
            (i, f"range({self.choose([2, 3])})"),
            (i, f"range({self.choose([9, 11])})"),
            (i, f"range({self.choose(['int(n)', 'int(n) + 1', '1, int(n) + 2', 'int(n), 0, -1'])})"),
            (f"e{i}", f"({self.vector(scope)}, {self.vector(scope)})"),
            (f"e{i}", f"({self.vector(scope)} * x.reshape(-1, 1))"),
        ][kind]
        inner = scope.copy(depth=scope.depth + 1, in_loop=True, static=scope.static and static)
        inner.add("int" if target == i else "vector", target)
        with self.inside(f"for {target} in {what}:"):
            if static and self.may_leave():
                inner.static = False
            self.block(inner)
        self.otherwise(scope)

    def may_leave(self):
        """Trips after a `break` that run time decides are guarded, so lists must keep their size in them."""
        return True

    def while_(self, scope):
        k = self.new("k")
        self.put(f"{k} = 0")
        inner = scope.copy(depth=scope.depth + 1, in_loop=True, static=False)
        inner.add("int", k)
        limit = self.choose([3, 12])
        head = f"while {k} < {limit} and {self.condition(scope)}:" if self.chance(3) else f"while {k} < {limit}:"
        with self.inside(head):
            self.put(f"{k} += 1")
            self.block(inner)
        scope.add("int", k)
        self.otherwise(scope)

    def otherwise(self, scope):
        if self.chance(5):
            with self.inside("else:"):
                self.block(scope.copy(depth=scope.depth + 1, static=False))

    def leave(self, scope):
        self.put(self.choose(["break", "continue"]))
        return True

    def return_(self, scope):
        self.put(f"return {self.vector(scope)}, {self.result(scope)}, c, d")
        return True

    def result(self, scope):
        return f"x[0] * 0.0 + {self.scalar(scope)}"


@st.composite
def programs(draw, size=14):
    """The text of a program ``f(x, y, n)``."""
    writer = Writer(draw, size)
    scope = Scope({"vector": ["x", "y"], "scalar": [], "int": ["c", "d"], "list": []})
    writer.put("c, d = 1, 0")
    left = False
    while writer.left > 0 and not left:
        left = writer.block(scope)
        if writer.chance(3):
            break
    if not left:
        final = " + ".join([writer.vector(scope), *scope.names["vector"][2:]])
        scalars = " + ".join([writer.result(scope), *scope.names["scalar"]])
        writer.put(f"return {final}, {scalars}, c, d")
    return "def f(x, y, n):\n" + "\n".join(writer.lines) + "\n"

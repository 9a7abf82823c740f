"""Random Python programs as text, made from a seed.

A program is a Cell (see `modes.Base`): ``construct(self, x, y, ix, n, r, flag)`` with float Tensors `x` and `y` of one
shape, an int Tensor `ix` of indices along the first axis, numbers `n` and `r`, and a bool.  Only names that surely have
a value are read, what is carried stays bounded, containers have one structure at every join and every loop ends, so
that Python runs every program to its end or to an exception that it raises on purpose.  One in three is written for any
number of rows (`sized`), and asks for it.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.property.expressions import Expressions
from tests.property.kinks import Kinks

#: Each program uses a random half of these, so that some are dense in each.
FEATURES = (
    "loops", "while", "jumps", "returns", "lists", "dicts", "elements", "arguments", "closures", "attributes",
    "parameters", "print", "draws", "failures", "numbers", "conversions", "comprehensions", "ops", "methods", "choice",
    "tuples", "integers", "derivatives", "mutators", "kinks",
)  # fmt: skip
SHAPES = ((3,), (2,), (4,), (2, 3), (3, 2), (1,), (1, 2))


@dataclass
class Scope:
    """Names that have a value here, by kind, and where the statement stands."""

    names: dict[str, list[str]]
    depth: int = 0
    in_loop: bool = False
    in_function: bool = False
    static: bool = True  # runs exactly as often as the compiler sees it: containers may grow
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
            values[:] = [v for v in others[0].names[kind] if all(v in o.names[kind] for o in others)]
        self.functions[:] = [f for f in others[0].functions if all(f in o.functions for o in others)]


@dataclass(frozen=True)
class Program:
    """A program's text, and what its arguments are; `smooth` if differences approximate its derivative."""

    seed: int
    source: str
    dtype: str
    shape: tuple[int, ...]
    dynamic: bool  # `n` and `r` are mutable
    smooth: bool
    sized: bool = False  # the first size of the shape may be another one


class Writer(Expressions, Kinks):
    def __init__(self, seed, size):
        super().__init__(random.Random(seed))
        self.features = {f for f in FEATURES if self.rng.random() < 0.5}
        self.shape = self.choose(SHAPES)
        self.dtype = self.choose(["float64", "float64", "float32"])
        self.sized = seed % 3 == 1
        if self.sized:  # they have the size of the first call for all others
            self.features -= {"attributes", "parameters"}
            self.dtype = "float64"
        self.left = size
        self.lines: list[str] = []
        self.indent = 2
        self.results = [
            "vec",
            "s0",
            "int",
            *self.rng.sample(["num", "vec", "dict", "list", "ivec", "bool"], self.rng.randrange(3)),
        ]

    # ------------------------------------------------------------------------------------------- text
    def put(self, text):
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def inside(self, head):
        self.put(head)
        self.indent += 1
        yield
        self.indent -= 1

    # ------------------------------------------------------------------------------------------- statements
    def block(self, scope, most=4):
        """Statements; True if control never reaches their end."""
        start = len(self.lines)
        left = False
        for _ in range(self.rng.randint(1, most)):
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
        kinds = [self.assign_vec, self.assign_vec, self.assign_s0, self.augment, self.assign_int, self.swap]
        if scope.depth < 3:
            kinds += [self.if_] * 3
            for feature, kind in (("loops", self.for_), ("while", self.while_), ("closures", self.function)):
                if feature in self.features:
                    kinds += [kind] * 2
        for feature, found in (
            ("lists", [self.list_, self.item, self.change_list]),
            ("dicts", [self.dict_, self.entry]),
            ("tuples", [self.tuple_, self.unpack]),
            ("integers", [self.assign_ivec, self.assign_bool]),
            ("mutators", [self.mutator, self.mutate]),
            ("elements", [self.element, self.element]),
            ("arguments", [self.argument]),
            ("attributes", [self.attribute, self.attribute]),
            ("parameters", [self.parameter]),
            ("print", [self.print_]),
            ("failures", [self.failure, self.failure]),
            ("numbers", [self.assign_num, self.assign_num]),
            ("kinks", [self.kink, self.kink]),
        ):
            if feature in self.features:
                kinds += found
        if scope.depth and "returns" in self.features and not scope.in_function:
            kinds += [self.return_]
        if scope.in_loop and "jumps" in self.features:
            kinds += [self.leave] * 3
        return self.choose(kinds)(scope)

    def assign_vec(self, scope):
        name = self.choose([*[v for v in scope.names["vec"] if v[0] == "v"], self.new("v")])
        if self.chance(6):
            value = self.choose(scope.names["vec"])
            self.put(f"{name} = {value}" if self.chance(2) else f"{name} = {value} * 1.0")
        elif self.chance(8):
            with self.inside(f"if ({name} := {self.bounded(self.vec(scope))}).sum() > 0.137:"):
                self.put(f"{name} = {name} * 0.5")
        else:
            self.put(f"{name} = {self.bounded(self.vec(scope))}")
        scope.add("vec", name)

    def assign_s0(self, scope):
        name = self.choose([*scope.names["s0"], self.new("s")])
        self.put(f"{name} = {self.bounded(self.s0(scope))}")
        scope.add("s0", name)

    def assign_num(self, scope):
        name = self.choose([*scope.names["num"], self.new("q")])
        if name in ("r",) and self.chance(2):
            name = self.new("q")
        self.put(f"{name} = max(-3.0, min(3.0, {self.num(scope)}))")
        scope.add("num", name)

    def assign_int(self, scope):
        c, d = "c", "d"
        self.put(
            self.choose(
                [f"{c} = {self.int(scope)} % 7 + 1", f"{c}, {d} = {d}, {c}", f"{d} = {c}",
                 f"{d} = ({c} + 3 * {d}) % 5", f"{d} = {self.int(scope)} % 6", f"{c} += 1", f"{d} -= {c}"]
            )
        )  # fmt: skip

    def augment(self, scope):
        names = [v for v in scope.names["vec"] if v[0] == "v"]
        if not names:
            return self.assign_vec(scope)
        self.put(f"{self.choose(names)} {self.choose(['+=', '*=', '-='])} {self.bounded(self.vec(scope))}")

    def swap(self, scope):
        names = [v for v in scope.names["vec"] if v[0] == "v"]
        if len(names) < 2:
            return self.assign_s0(scope)
        a, b = self.choose(names), self.choose(names)
        self.put(f"{a}, {b} = {b}, {a}{self.choose(['', ' * 0.9'])}")

    def assign_ivec(self, scope):
        name = self.choose([*[v for v in scope.names["ivec"] if v != "ix"], self.new("j")])
        self.put(f"{name} = {self.ivec(scope)}")
        scope.add("ivec", name)

    def assign_bool(self, scope):
        name = self.choose([*[b for b in scope.names["bool"] if b != "flag"], self.new("b")])
        self.put(f"{name} = bool({self.condition(scope)})")
        scope.add("bool", name)

    def unpack(self, scope):
        """Several targets at once."""
        a, b = self.new("v"), self.new("v")
        options = [
            f"{a}, *_, {b} = {self.vec(scope)}, {self.num(scope)}, {self.vec(scope)}",
            f"{a} = {b} = {self.bounded(self.vec(scope))}",
            f"({a}, ({b}, _)) = {self.vec(scope)}, ({self.vec(scope)}, c)",
            f"{a}, {b} = ops.stack([{self.vec(scope)}, {self.vec(scope)}])",
            f"{a}, {b} = [u * 0.5 for u in ({self.vec(scope)}, {self.vec(scope)})]",
        ]
        if scope.names["tuple"]:
            options.append(f"{a}, *_ = {self.choose(scope.names['tuple'])}; {b} = {a} * 0.5")
        self.put(self.choose(options))
        scope.add("vec", a)
        scope.add("vec", b)

    # containers
    def tuple_(self, scope):
        name = self.choose([*scope.names["tuple"], self.new("p")])
        tail = f" + ({self.vec(scope)},)" if name not in scope.names["tuple"] and self.chance(3) else ""
        if tail:
            name = self.new("z")
        self.put(f"{name} = ({self.vec(scope)}, {self.s0(scope)}){tail}")
        if not tail:
            scope.add("tuple", name)

    def list_(self, scope):
        name = self.new("l")
        if scope.names["list"] and self.chance(3):
            self.put(f"{name} = {self.choose(scope.names['list'])}")
        elif scope.names["list"] and self.chance(3):
            self.put(f"{name} = {self.choose(scope.names['list'])} + [{self.vec(scope)}]")
        elif "comprehensions" in self.features and self.chance(2):
            self.put(f"{name} = [{self.comprehended(scope)} for e in range({self.choose([2, 3])})]")
        else:
            self.put(f"{name} = [{self.vec(scope)}, {self.vec(scope)}]")
        scope.add("list", name)

    def item(self, scope):
        if not scope.names["list"]:
            return self.list_(scope)
        name, at = self.choose(scope.names["list"]), self.choose([0, 1, -1])
        if self.chance(3):
            self.put(f"{name}[{at}] {self.choose(['+=', '*='])} {self.bounded(self.vec(scope))}")
        elif self.chance(4):
            self.put(f"{name}[{at}][{self.index(scope)}] = {self.s0(scope)}")
        else:
            self.put(f"{name}[{at}] = {self.bounded(self.vec(scope))}")

    def change_list(self, scope):
        if not scope.names["list"] or not scope.static:
            return self.item(scope)
        name, value = self.choose(scope.names["list"]), self.vec(scope, 1)
        self.put(
            self.choose(
                [f"{name}.append({value})", f"{name}.insert(1, {value})", f"{name} += [{value}]", f"{name}.reverse()",
                 f"{name}.extend([{value}, {value}])", f"{name}.append({name}.pop() * 0.5)", f"{name}[1:] = [{value}]"]
            )
        )  # fmt: skip

    def dict_(self, scope):
        name = self.new("m")
        if scope.names["dict"] and self.chance(4):
            self.put(f"{name} = {self.choose(scope.names['dict'])}")
        elif self.chance(3):
            self.put(f"{name} = dict(a={self.vec(scope)}, b={self.s0(scope)})")
        else:
            self.put(f"{name} = {{'a': {self.vec(scope)}, 'b': {self.s0(scope)}}}")
        scope.add("dict", name)

    def entry(self, scope):
        if not scope.names["dict"]:
            return self.dict_(scope)
        name = self.choose(scope.names["dict"])
        options = [
            f"{name}['a'] = {self.bounded(self.vec(scope))}",
            f"{name}['b'] = {self.bounded(self.s0(scope))}",
            f"{name}['a'] += {self.bounded(self.vec(scope))}",
            f"{name}.update(b={self.bounded(self.s0(scope))})",
        ]
        if not scope.in_function:
            options.append(f"{name} = {{**{name}, 'a': {self.bounded(self.vec(scope))}}}")
        if scope.static:
            options.append(f"{name}['k'] = {name}.pop('a') * {name}.get('k', 0.5); {name}['a'] = {name}['k'] * 0.3")
        self.put(self.choose(options))

    # elements
    def element(self, scope):
        """Assigns elements of a fresh Tensor, or of one that other names share."""
        names = [v for v in scope.names["vec"] if v[0] == "v"]
        if names and self.chance(2):
            name = self.choose(names)
        else:
            name = self.new("v")
            self.put(f"{name} = {self.vec(scope)} * 1.0")
            scope.add("vec", name)
        self.put(self.stored(name, scope))

    def stored(self, name, scope):
        kind = self.rng.randrange(7)
        if kind == 6:
            return f"{name}.{self.choose(['add_', 'mul_', 'copy_'])}({self.bounded(self.vec(scope))})"
        if kind == 5:
            return f"{name}[{self.choose(scope.names['ivec'])} % {self.rows()}] = {self.bounded(self.s0(scope))}"
        if kind == 0:
            return f"{name}[{name} > 0.271] = {self.choose(['0.5', self.bounded(self.s0(scope))])}"
        if kind == 1:
            return f"{name}[:] = {self.bounded(self.vec(scope))}"
        if kind == 2:
            return f"{name}[{self.index(scope)}] {self.choose(['+=', '*='])} {self.bounded(self.s0(scope))}"
        return f"{name}[{self.index(scope)}] = {self.bounded(self.s0(scope))}"

    def argument(self, scope):
        name = self.choose(["x", "y", *(["self.z"] if "attributes" in self.features else [])])
        if self.chance(4):
            other = self.new("v")
            self.put(f"{other} = {name}")
            scope.add("vec", other)
            name = other
        self.put(self.stored(name, scope))

    # state
    def attribute(self, scope):
        self.put(
            self.choose(
                [f"self.z = {self.bounded(self.vec(scope))}", f"self.z = {self.bounded(self.vec(scope))}",
                 f"self.z += {self.bounded(self.vec(scope))}", "self.count += 1",
                 f"self.count = {self.int(scope)} % 9", f"self.rate = max(-2.0, min(2.0, {self.num(scope)}))",
                 "self.rate *= 0.75"]
            )
        )  # fmt: skip

    def parameter(self, scope):
        value = self.bounded(self.vec(scope))
        self.put(self.choose([f"self.w = {value}", f"self.w += {value} * 0.1", f"ops.assign(self.w, {value})"]))

    # effects
    def print_(self, scope):
        vec, s0, num, i = self.vec(scope, 1), self.s0(scope, 1), self.num(scope, 1), self.int(scope, 1)
        options = [
            f"print('v', {vec})",
            f"print('s', {s0}, {i}, sep='|')",
            f'print(f"{{{i}}} {{{s0}}} end")',
            f'print(f"{{{num}:.4f}}", {i}, end=";")',
            f"print('{{}} {{:>5}}'.format({num}, {i}))",
            f"print('%d %s' % ({i}, {num}))",
            f"print(str({i}) + ' ' + str({num}))",
            f"print({self.ivec(scope)}, {self.condition(scope)})",
            "print('here')",
        ]
        self.put(self.choose(options))

    def failure(self, scope):
        kind = self.rng.randrange(4)
        if kind == 0:
            message = self.choose([", 'too small'", f', f"bad {{{self.int(scope, 1)}}}"', ""])
            self.put(f"assert {self.likely(scope)}{message}")
        elif kind == 1:
            self.put(f"c = (c + 5) // ({self.int(scope, 1)} % 7 + {self.choose([0, 1, 1])}) % 7")
        elif kind == 2:
            with self.inside(f"if not ({self.likely(scope)}):"):
                error = self.choose(["ValueError", "RuntimeError", "KeyError"])
                told = self.choose(["'no'", "f'at {c} {d}'", f'f"{{{self.num(scope, 1)}:.3f}}"'])
                self.put(f"raise {error}({told})")
        else:
            name = self.new("s")
            self.put(f"{name} = x.reshape(-1)[{self.int(scope, 1)} % ({self.size()} + 1)]")
            scope.add("s0", name)

    # functions
    def function(self, scope):
        name = self.new("g")
        inner = scope.copy(depth=2, in_loop=False, in_function=True, static=False)
        inner.names["vec"].append("u")
        inner.names["list"], inner.names["dict"] = [], []
        default = self.choose(["0.6", "1.2", "s_", "v_"])
        if default == "v_":
            default = self.choose(scope.names["vec"])
        elif default == "s_":
            default = self.num(scope, 1)
        before = self.left
        self.left = min(self.left, 3)
        taken = self.left
        with self.inside(f"def {name}(u, k={default}):"):
            local = inner.copy()
            if self.chance(2):
                value = self.bounded(self.vec(local))
                self.put(f"{name}v = {value}")
                local.add("vec", f"{name}v")
            if self.chance(2):
                with self.inside(f"if {self.condition(local)}:"):
                    self.put(f"return {self.vec(local)} * k")
            if "returns" in self.features and self.chance(2):
                self.search(name, local)
            self.put(f"return {self.vec(local)} + k")
        self.left = before - (taken - self.left) - 1
        scope.functions.append(name)

    def search(self, name, scope):
        """A loop in a function that returns from a trip on which run time decides."""
        value = f"{name}w"
        self.put(f"{value} = {self.choose(['u', self.bounded(self.vec(scope))])}")
        scope.add("vec", value)
        inner = scope.copy(in_loop=True)
        inner.add("int", f"{name}i")
        head = self.choose(["range(2)", "range(3)", "range(9)", "range(n % 3 + 1)", "range(int(ix[0]) % 3 + 1)"])
        with self.inside(f"for {name}i in {head}:"):
            with self.inside(f"if {self.choose([f'{value}.reshape(-1)[0] > 0.273', self.condition(inner)])}:"):
                self.put(f"return {self.choose([value, self.vec(inner)])} * k")
            self.put(f"{value} = {self.bounded(self.vec(inner))} * 0.9")
            if self.chance(3):
                with self.inside(f"if {self.condition(inner)}:"):
                    self.put(self.choose(["break", "continue", f"return {value}"]))

    def mutator(self, scope):
        """A function that changes what it did not make: a list, a dict, elements of Tensors or attributes."""
        name = self.new("h")
        inner = scope.copy(depth=3, in_loop=False, in_function=True, static=False)
        inner.names["vec"].append("u")
        changes = [self.element, self.item, self.entry] if scope.names["list"] and scope.names["dict"] else []
        changes += [self.argument] if "arguments" in self.features else []
        changes += [self.attribute] if "attributes" in self.features else []
        changes += [self.parameter] if "parameters" in self.features else []
        with self.inside(f"def {name}(u, t=None):"):
            with self.inside("if t is not None:"):
                self.put(self.stored("t", inner))
            if changes:
                if self.chance(3):
                    with self.inside(f"if {self.condition(inner)}:"):
                        self.choose(changes)(inner.copy())
                else:
                    self.choose(changes)(inner)
            self.put(f"return {self.vec(inner)}")
        scope.functions.append(name)

    def mutate(self, scope):
        names = [f for f in scope.functions if f[0] == "h"]
        if not names:
            return self.mutator(scope)
        own = [v for v in scope.names["vec"] if v[0] == "v"]
        third = f", {self.choose(own)}" if own and self.chance(2) else ""
        target = self.new("v")
        self.put(f"{target} = {self.bounded(f'{self.choose(names)}({self.vec(scope, 1)}{third})')}")
        scope.add("vec", target)

    # control flow
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
        rows = f"({self.vec(scope)}).reshape({self.flat()})"
        kinds = [
            (i, f"range({self.choose([2, 3])})", True),
            (i, f"range({self.choose([9, 11])})", False),
            (i, f"range({self.choose(['n', 'n % 4 + 1', '1, n + 2', 'n, 0, -1', 'c', 'int(ix[0]) % 4'])})", False),
            (f"e{i}", f"({self.vec(scope)}, {self.vec(scope)})", True),
            (f"e{i}", f"({self.vec(scope)} * ops.ones((3,) + x.shape, x.dtype))", True),
            (f"t{i}", rows, True),
            (f"{i}, e{i}", f"enumerate([{self.vec(scope)}, {self.vec(scope)}])", True),
            (f"t{i}, t_{i}", f"zip({rows}, ({self.vec(scope)}).reshape({self.flat()}))", True),
            (i, self.choose(["(1, 3)", "[2, 0, 1]", "range(0, 12, 5)", "reversed(range(4))"]), True),
        ]
        if self.sized:  # of few trips at any size: rounding grows with them
            count = self.choose(["len(x) % 11", "x.shape[0] // 7", "1, x.size % 13, 2", "len(ix) % 9 - 1, -1, -1"])
            kinds += [(i, f"range({count})", False), (f"t{i}", f"({self.vec(scope)})[:len(x) % 5].reshape(-1)", False)]
        if scope.names["list"]:
            kinds += [(f"e{i}", self.choose(scope.names["list"]), False)] * 2
            kinds += [(f"{i}, e{i}", f"zip(range(5), reversed({self.choose(scope.names['list'])}))", False)]
        if scope.names["dict"]:
            kinds += [(f"k{i}, _{i}", f"{self.choose(scope.names['dict'])}.items()", False)]
        target, what, static = self.choose(kinds)
        inner = scope.copy(depth=scope.depth + 1, in_loop=True, static=scope.static and static and not self.sized)
        for name in target.split(", "):
            kind = {"i": "int", "e": "vec", "t": "s0"}.get(name[0])
            if kind is not None:
                inner.add(kind, name)
        with self.inside(f"for {target} in {what}:"):
            if "jumps" in self.features or "returns" in self.features:
                inner.static = False  # trips after a jump that run time decides are guarded
            self.block(inner)
        self.otherwise(scope)

    def while_(self, scope):
        k = self.new("k")
        self.put(f"{k} = 0")
        inner = scope.copy(depth=scope.depth + 1, in_loop=True, static=False)
        inner.add("int", k)
        limit = self.choose(["3", "12", "n", "c", f"{k} + 1"])
        if self.chance(5):
            with self.inside("while True:"):
                self.put(f"{k} += 1")
                with self.inside(f"if {k} > {self.choose(['2', 'n', '5'])} or {self.condition(scope)}:"):
                    self.put("break")
                self.block(inner)
            scope.add("int", k)
            return
        if limit[0] == "k":
            head = f"while {k} < 5 and {self.condition(scope)}:"
        else:
            head = f"while {k} < {limit} and {self.condition(scope)}:" if self.chance(3) else f"while {k} < {limit}:"
            if limit == "c":
                head = head.replace("< c", "< min(c, 9)")
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
        text = self.choose(["break", "continue"])
        if self.chance(2):
            with self.inside(f"if {self.condition(scope)}:"):
                self.put(text)
            return False
        self.put(text)
        return True

    def return_(self, scope):
        self.put(f"return {self.result(scope)}")
        return True

    def result(self, scope):
        parts = {
            "vec": lambda: f"{self.vec(scope)} * 1.0" if self.chance(2) else self.choose(scope.names["vec"]),
            "s0": lambda: f"{self.s0(scope)} * 1.0",
            "int": lambda: "c + d * 100",
            "num": lambda: f"{self.num(scope)} * 1.0",
            "dict": lambda: f"{{'p': {self.vec(scope)} * 1.0, 'q': {self.int(scope)}}}",
            "ivec": lambda: self.ivec(scope),
            "bool": lambda: f"bool({self.condition(scope)})",
            "list": lambda: f"[{self.vec(scope)} * 1.0, {self.s0(scope)} * 1.0]",
        }
        return ", ".join(parts[kind]() for kind in self.results)

    def total(self):
        """The text of the sum of all floats that a call returns and leaves in `self.z`."""
        parts = {"vec": "out[{}].sum()", "s0": "out[{}]", "dict": "out[{}]['p'].sum()",
                 "list": "out[{0}][0].sum() + out[{0}][1]"}  # fmt: skip
        terms = [parts[kind].format(i) for i, kind in enumerate(self.results) if kind in parts]
        return " + ".join([*terms, "(self.z * 0.7).sum()"])


def program(seed: int, size: int = 14) -> Program:
    """The program of a seed."""
    writer = Writer(seed, size)
    dynamic = writer.chance(2)
    scope = Scope({"vec": ["x", "y"], "s0": [], "int": ["c", "d", "n"], "num": ["r"], "list": [], "dict": [],
                   "tuple": [], "ivec": ["ix"], "bool": ["flag"]})  # fmt: skip
    left = False
    while writer.left > 0 and not left:
        left = writer.block(scope)
        if writer.chance(8):
            break
    if not left:
        writer.put(f"return {writer.result(scope)}")
    lines = [
        *(writer.helpers()),
        "class Net(Base):",
        *(writer.methods()),
        "    def construct(self, x, y, ix, n, r, flag):",
        "        c, d = 1, 0",
        *writer.lines,
        "    def total(self, x, y, ix, n, r, flag):",
        "        out = self.construct(x, y, ix, n, r, flag)",
        f"        return {writer.total()}",
    ]
    return Program(seed, "\n".join(lines) + "\n", writer.dtype, writer.shape, dynamic, writer.smooth, writer.sized)

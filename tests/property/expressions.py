"""Random expressions by kind: `vec` (float Tensor of the program's shape), `s0` (without dimensions), `num`, `int`."""

from __future__ import annotations

import math

BOUNDED = ("ops.tanh", "ops.sin", "ops.sigmoid", "ops.cos")
#: Functions of a `vec` a.
ONE = (
    "ops.softmax({a}, -1)",
    "ops.cumsum({a}, 0)",
    "ops.flip({a}, (0,))",
    "ops.roll({a}, 1, 0)",
    "({a}).clip(-0.53, 0.61)",
    "ops.sort({a})[0]",
    "({a} - ops.mean({a}, -1, True))",
    "ops.relu({a})",
    "ops.exp(-ops.abs({a}))",
    "({a})[ix]",
    "ops.stack([e * 0.5 for e in {a}])",
    "({a}).T.T",
    "ops.masked_fill({a}, {a} > 0.37, 0.25)",
    "(ops.square({a}) * 0.5)",
    "({a} * ({a} > 0.11))",
    "ops.sqrt(ops.square({a}) + 0.5)",
    "(ops.logsumexp({a}, -1, True) * {a})",
    "(ops.max({a})[0] * {a})",
    "ops.gelu({a})",
    "({a}).astype(ms.float32).astype(x.dtype)",
    "({a})[::-1]",
    "ops.cat(({a}[:1], {a}[1:]))",
    "({a} / (1.0 + ops.abs({a})))",
    "({a}).reshape(-1).reshape(x.shape)",
    "ops.gather({a}, ix, 0)",
    "ops.log1p(ops.square({a}))",
    "({a} * ops.var({a}))",
    "(({a}) ** 2)",
    "(ops.prod({a} * 0.5 + 1.0) * {a})",
    "({a} * (ix.sum() % 3))",
    "ops.leaky_relu({a}, 0.2)",
)
#: Functions of a `vec` a and a `vec` b.
TWO = (
    "ops.maximum({a}, {b})",
    "ops.minimum({a}, {b})",
    "ops.where({a} > {b}, {a}, {b} * 0.5)",
    "ops.matmul(({a}).reshape(-1, 1), ({b}).reshape(1, -1)).sum(1).reshape(x.shape)",
    "ops.lerp({a}, {b}, 0.3)",
    "(({a}).reshape(-1) @ ({b}).reshape(-1) * {a})",
    "ops.stack(({a}, {b})).sum(0)",
    "ops.cat(({a}, {b}))[:x.shape[0]]",
    "ops.where(({a} > 0.1) & ({b} < 0.4), {a}, {b})",
    "ops.hypot({a}, {b} + 3.0)",
    "ops.einsum('...i,...i->...i', {a}, {b})",
)
#: Functions of a `vec` a, a `vec` b and a number of rows k, where the number of rows is any one.
SIZED = (
    "ops.cat(({a}[{k}:], {a}[:{k}]))",
    "({a} * {k})",
    "({a} / (1 + x.shape[0]))",
    "ops.zeros(x.shape, x.dtype)",
    "({a}).reshape(x.shape[0], -1).reshape(x.shape)",
    "ops.cat(({a}[:{k}] * 0.5, ops.zeros_like({b})))[:len(x)]",
    "(ops.arange(x.shape[0]).astype(x.dtype).sum() * {a})",
    "ops.where(ops.arange(x.size).reshape(x.shape) < {k}, {a}, {b})",
    "ops.broadcast_to({a}.sum(), x.shape)",
    "({a} * ({b}[:{k}].sum() + 1.0))",
    "ops.stack(({a}, {b}))[(x.shape[0] + 1) % 2]",
    "ops.cumsum({a}, 0)",
    "ops.flip({a}, (0,))",
    "ops.tile({a}, (2,) + (1,) * (x.ndim - 1))[:x.shape[0]]",
    "({a} * ops.ones(({k}, 1), x.dtype).sum())",
    "ops.cat(({a}[{k}::-1], {a}[:{k}:-1]))",
    "({a} * ({b}[{k} - 4 :: -2].sum() + {b}[-3 : {k} : -1].sum()))",
)


class Expressions:
    """Makes expressions that read the names of a scope."""

    features: set[str]
    shape: tuple[int, ...]
    #: whether the first size of the shape is any one, and never written as a number
    sized: bool

    def __init__(self, rng):
        self.rng = rng
        self.count = 0
        self.smooth = True  # no derivative is cut

    def choose(self, options):
        return options[self.rng.randrange(len(options))]

    def chance(self, one_in):
        return self.rng.randrange(one_in) == 0

    def new(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def size(self):
        return "x.size" if self.sized else str(math.prod(self.shape))

    def rows(self):
        return self.choose(["x.shape[0]", "len(x)", "len(ix)"]) if self.sized else str(self.shape[0])

    def flat(self):
        return "-1" if self.chance(2) else self.size()

    def bounded(self, text):
        return f"{self.choose(BOUNDED)}({text})"

    # ------------------------------------------------------------------------------------------- Tensors
    def vec(self, scope, depth=2):
        kind = self.rng.randrange(12 if depth else 2)
        if kind <= 2:
            return self.choose(scope.names["vec"])
        if kind == 3:
            return self.bounded(self.vec(scope, depth - 1))
        if kind <= 6:
            op = self.choose(["+", "*", "-", "*", "/"])
            other = self.choose([self.vec, self.s0, self.num])(scope, depth - 1)
            if op == "/":
                other = f"({other} ** 2 + 1.5)"
            return f"({self.vec(scope, depth - 1)} {op} {other})"
        if kind == 7 and "choice" in self.features:
            return f"({self.vec(scope, depth - 1)} if {self.condition(scope)} else {self.vec(scope, depth - 1)})"
        special = self.special(scope, depth)
        return special if special is not None else self.bounded(self.vec(scope, depth - 1))

    def special(self, scope, depth):
        a = self.vec(scope, depth - 1)
        options = []
        if "ops" in self.features:
            options += [self.choose(ONE).format(a=a)] * 2
            options += [self.choose(TWO).format(a=a, b=self.vec(scope, depth - 1))]
        if scope.functions:
            name = self.choose(scope.functions)
            options += [f"{name}({a})"] * 2
            if name[0] == "g":
                options += [f"{name}({a}, {self.choose(['0.4', 'k=0.8'])})"]
        if scope.names["list"]:
            options += [f"{self.choose(scope.names['list'])}[{self.choose([0, 1, -1])}]"] * 2
        if scope.names["dict"]:
            options += [f"{self.choose(scope.names['dict'])}['a']"] * 2
        if scope.names["tuple"]:
            options += [f"{self.choose(scope.names['tuple'])}[0]", f"({self.choose(scope.names['tuple'])}[1] * {a})"]
        if "integers" in self.features:
            options += [
                f"({a} * ({self.ivec(scope)}).sum()).astype(x.dtype)",
                f"({a})[{self.ivec(scope)} % {self.rows()}]",
                f"({a} * ({self.ivec(scope)} > 1).any())",
            ]
        if "attributes" in self.features:
            options += ["self.z", "(self.z * self.rate)", f"({a} * self.count)"]
        if "parameters" in self.features:
            options += [f"(self.w * {a})", "ops.sin(self.w)"]
        if "derivatives" in self.features:
            options += [
                f"ms.grad(lambda u: ops.sin(u * {a}).sum())({self.vec(scope, 0)})",
                f"ms.grad(lambda u: (helper(u, {self.int(scope, 0)}) * u).sum() * 0.2)({a})",
                f"ms.jvp(lambda u: u * u * {self.vec(scope, 0)}, {a}, {self.vec(scope, 0)})[1]",
            ]
        if self.sized:
            options += [self.choose(SIZED).format(a=a, k=self.part(), b=self.vec(scope, 0))] * 2
        if "draws" in self.features:
            options += [f"ops.dropout({a}, 0.4)", "ops.standard_normal(x.shape).astype(x.dtype)", "ops.rand_like(x)"]
        if "methods" in self.features:
            options += [
                f"self.step({a})",
                f"self.step({a}, by={self.num(scope, 0)})",
                f"helper({a}, {self.int(scope, 0)})",
                f"repeated({a}, 2)",
                f"(lambda u: u * {self.num(scope, 0)})({a})",
            ]
        if "comprehensions" in self.features:
            options += [f"sum([{self.comprehended(scope)} for e in range(3)])",
                        f"sum({self.comprehended(scope)} for e in (1, 2) if e > 1)"]  # fmt: skip
        return self.choose(options) if options else None

    def ivec(self, scope):
        """An int Tensor of the length of `ix`."""
        name, other = self.choose(scope.names["ivec"]), self.choose(scope.names["ivec"])
        return self.choose(
            [
                name,
                f"({name} + {self.int(scope, 1)}) % 9",
                f"({name} * 3 % 4)",
                f"({name} * {other} % 5)",
                f"({name} // 2)",
                f"ops.where({name} > {other}, {name}, 1)",
                f"ops.abs({name} - {other})",
                f"({name} & 1)",
            ]
        )

    def comprehended(self, scope):
        """An element of a comprehension over ints `e`."""
        return f"{self.choose(scope.names['vec'])} * {self.choose(['e', '0.5', '(e + 1)', '(0.3 if e > 0 else 0.4)'])}"

    def s0(self, scope, depth=2):
        kind = self.rng.randrange(8 if depth else 3)
        if kind == 0 and scope.names["s0"]:
            return self.choose(scope.names["s0"])
        if kind <= 2:
            return f"{self.choose(scope.names['vec'])}.{self.choose(['sum()', 'mean()', 'max()'])}"
        if kind == 3:
            return f"({self.vec(scope, depth - 1)})[{self.index(scope)}]"
        if kind == 4:
            return f"({self.vec(scope, depth - 1)} * {self.vec(scope, depth - 1)}).sum()"
        if kind == 5 and scope.names["dict"]:
            return f"{self.choose(scope.names['dict'])}['b']"
        if kind == 6 and "choice" in self.features:
            return f"({self.s0(scope, depth - 1)} if {self.condition(scope)} else {self.s0(scope, depth - 1)})"
        return f"({self.bounded(self.s0(scope, depth - 1))} * {self.num(scope, depth - 1)})"

    def part(self):
        """How many of the rows: a number that the sizes tell."""
        return self.choose(["x.shape[0] // 2", "len(x) // 3", "min(len(x), 3)", "(x.size - 1) % 5", "1"])

    def index(self, scope):
        """Of one element."""
        parts = []
        for axis, size in enumerate(self.shape):
            rows = self.rows() if axis == 0 else str(size)
            known = self.choose(["0", "-1", f"{rows} - 1"])
            parts.append(known if self.chance(2) else f"{self.int(scope, 1)} % {rows}")
        return ", ".join(parts)

    # ------------------------------------------------------------------------------------------- numbers
    def num(self, scope, depth=2):
        kind = self.rng.randrange(8 if depth and "numbers" in self.features else 3)
        if kind <= 1:
            return self.choose(["0.7", "1.3", "-0.4", "2.0"])
        if kind == 2:
            return self.choose(scope.names["num"])
        if kind == 3:
            return f"({self.num(scope, depth - 1)} {self.choose(['+', '-', '*'])} {self.num(scope, depth - 1)})"
        if kind == 4:
            return f"(0.3 * {self.int(scope, depth - 1)})"
        if kind == 5:
            call = self.choose(["abs({})", "max({}, 0.25)", "min({}, 0.75)", "math.cos({})", "-{}", "({} % 1.5)"])
            return call.format(self.num(scope, depth - 1))
        if kind == 6 and "conversions" in self.features:
            self.smooth = False
            return self.choose(["float({})", "({}).item()"]).format(self.s0(scope, depth - 1))
        if kind == 7 and "choice" in self.features:
            return f"({self.num(scope, depth - 1)} if {self.condition(scope)} else {self.num(scope, depth - 1)})"
        return "self.rate" if "attributes" in self.features else "0.9"

    def int(self, scope, depth=2):
        kind = self.rng.randrange(9 if depth and "numbers" in self.features else 3)
        if kind <= 1:
            return self.choose(scope.names["int"])
        if kind == 2:
            return self.choose(["1", "2", "3", "len(x)"])
        if kind == 3:
            op = self.choose(["+", "*", "-"])
            return f"(({self.int(scope, depth - 1)} {op} {self.int(scope, depth - 1)}) % 11)"
        if kind == 4:
            return (
                f"({self.int(scope, depth - 1)} {self.choose(['// 2', '% 3', '// -2', '% -4', '& 3', '^ 1', '<< 1'])})"
            )
        if kind == 5:
            return self.choose(["max({}, 1)", "min({}, 2)", "abs({})"]).format(self.int(scope, depth - 1))
        if kind == 6 and "conversions" in self.features:
            self.smooth = False
            return f"int({self.num(scope, depth - 1)} * 3.7)"
        if kind == 7:
            return f"int(ix[{self.choose([0, -1])}])"
        if self.sized and self.chance(2):
            return self.choose(["x.shape[0]", "(len(x) % 4)", "(x.size // 2)", "y.shape[0] % 3", self.part()])
        if kind == 8 and "choice" in self.features:
            return f"({self.int(scope, depth - 1)} if {self.condition(scope)} else {self.int(scope, depth - 1)})"
        return "self.count" if "attributes" in self.features else "(c + 2)"

    # ------------------------------------------------------------------------------------------- conditions
    def condition(self, scope, depth=1):
        kind = self.rng.randrange(9 if depth else 5)
        bound = self.choose(["0.217", "-0.361", "0.893", "1.739"])
        if kind <= 1:
            return f"{self.choose(scope.names['vec'])}.sum() {self.choose(['>', '<'])} {bound}"
        if self.sized and self.chance(5):
            return f"{self.rows()} {self.choose(['> 2', '% 2 == 0', '== 1', '< 7', '!= 0', '>= x.size'])}"
        if kind == 2:
            return f"{self.choose(scope.names['int'])} {self.choose(['>', '<=', '==', '!='])} {self.choose([1, 2, 0])}"
        if kind == 3:
            return f"{self.choose(scope.names['num'])} > {bound}"
        if kind == 4:
            found = f"({self.choose(scope.names['vec'])} > {bound}).any()"
            return self.choose([found, self.choose(scope.names["bool"]), "c in (1, 3)", "d not in (0, 2)"])
        if kind == 5:
            return f"not ({self.condition(scope, 0)})"
        if kind == 6:
            return f"-0.457 < {self.s0(scope, 1)} < 0.641"
        word = "and" if kind == 7 else "or"
        return f"({self.condition(scope, 0)} {word} {self.condition(scope, 0)})"

    def likely(self, scope):
        """A condition that is true most of the time."""
        return self.choose([f"{self.choose(scope.names['vec'])}.sum() < 1.4", f"{self.choose(scope.names['int'])} < 4",
                            f"{self.choose(scope.names['num'])} > -1.9", "y.sum() > -0.7"])  # fmt: skip

    # ------------------------------------------------------------------------------------------- other functions
    def helpers(self):
        return (
            [
                "def helper(u, times, *, rate=0.5):",
                "    if times % 2:",
                "        return u * rate",
                "    return ops.tanh(u) + rate",
                "def repeated(u, depth):",
                "    return u if depth == 0 else repeated(ops.sin(u), depth - 1)",
            ]
            if {"methods", "derivatives"} & self.features
            else []
        )

    def methods(self):
        if "methods" not in self.features:
            return []
        change = "        self.count += 1\n" if "attributes" in self.features else ""
        return [
            "    def step(self, u, by=0.25):",
            *change.splitlines(),
            "        if u.sum() > by:",
            "            return u * by",
            "        return u - by",
        ]

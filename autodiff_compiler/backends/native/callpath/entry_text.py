"""The LLVM text of the entry, which CPython calls: it checks guards and arguments, makes results and calls main."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.sizes import Size, symbols_of
from ....ir.types import MOST_BYTES
from ....no_memory import on_the_way
from ..codegen.emitter import Context
from ..codegen.size_code import LARGEST, most_without_overflow
from ..memory.frame_pool import GUARD, HEADER, MARK, frame_size
from ..memory.large_alloc import LARGE
from . import abi
from .entry_writer import RARE, EntryWriter
from .memory_guards import BY_VALUE, BYTES
from .results_text import ResultsText
from .signature import Argument, Signature

#: Arguments and results from which on a guarded entry is compiled without optimisation, as others are.
_UNOPTIMISED = 32
#: The most arguments that are checked by inlined code.
_FEW_ARGUMENTS = 8
#: The most pairs of arguments whose aliasing is checked by straight-line code; more are compared in a loop.
_FEW_PAIRS = 32
#: In the description of an argument: a size that only a call knows.
_OPEN = -1


class EntryText(EntryWriter):
    """Writes the entry of one signature."""

    def __init__(self, signature: Signature, context: Context) -> None:
        super().__init__(signature, context)
        #: the names of constants that describe arguments, and functions that check an argument against one
        self._forms: dict[str, str] = {}
        self._checkers: dict[str, str] = {}
        #: whether arrays that arguments hold could be freed during main
        self._holds = signature.tensors and (signature.release_gil or signature.calls_python)

    def written(self) -> str:
        s = self.signature
        # Calls that come often take the guarded entry; of many arguments LLVM would optimise that for too long, too.
        quick = not s.watched or len(s.arguments) + len(s.results) > _UNOPTIMISED
        quickly = " noinline optnone" if quick else ""
        self.do(f"define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %names){quickly} {{")
        self.note("as many arguments as expected, none by name; else Python takes the call (slow)")
        expected = self.let(f"icmp eq i64 %count, {s.count}")
        positional = self.is_("%names", "null")
        self.guard(self.let(f"and i1 {expected}, {positional}"))
        self.note("what the function read from outside is what it was")
        if s.watched:
            self.check_table(self.known("watched"))
        self.note("arguments: class, dtype, layout and shape of each are those compiled for")
        given = iter(range(s.count))
        arguments = [
            self.load("ptr", self.at("%args", 8 * next(given))) if a.captured is None else self.known(a.captured)
            for a in s.arguments
        ]
        arrays = self.arrays(arguments)
        self.read_sizes(arrays)
        data = [self.load("ptr", self.at(x, self.layout.data)) for x in arrays]
        self.check_no_alias(data)
        if s.watched:
            calls = self.context.place("calls")
            count = self.load("i64", calls)
            self.do(f"  store i64 {self.let(f'add i64 {count}, 1')}, ptr {calls}")
        self.note("new arrays for the results")
        made: list[str] = []
        for i in s.fresh:
            made.append(self.new_array(i, len(made)))
        self.note("the computation, with a frame for values in between")
        failed = self.run(arrays, [*data, *[self.load("ptr", self.at(x, self.layout.data)) for x in made]], made)
        self.require(self.let(f"xor i1 {failed}, true"), f"drop{len(made)}")
        self.note("results as Python objects")
        ResultsText(self, arguments, made).write()
        self.note("after an error: the new arrays are dropped, and the exception stays set")
        self.drops(made)
        self.block("slow")
        self.note("another call than those compiled for: what Python does with it")
        call = (("ptr", "%self"), ("ptr", "%args"), ("i64", "%count"), ("ptr", "%names"))
        self.do(f"  ret ptr {self.call('ptr', 'PyObject_Vectorcall', *call)}")
        self.do("}")
        weights = f'{RARE} = !{{!"branch_weights", i32 1, i32 2000}}\n'
        return "\n".join([*self.constants, *self._checkers.values(), *self.lines, weights])

    # ------------------------------------------------------------------------------------------- guards
    def check_table(self, table: str) -> None:
        """Checks the guard table: pairs of an address (with `BY_VALUE` or `BYTES`) and the word that must be there."""
        before, each, look, other, equal, on = (
            self.fresh(x) for x in ("before", "word", "look", "other", "equal", "watched")
        )
        self.do(f"  br label %{before}")
        self.block(before)
        self.do(f"  br label %{each}")
        self.block(each)
        self.do(f"  %{each}.at = phi ptr [{table}, %{before}], [%{each}.next, %{look}], [%{each}.next, %{equal}]")
        marked = self.load("i64", f"%{each}.at")
        self.do(f"  br i1 {self.let(f'icmp eq i64 {marked}, 0')}, label %{on}, label %{look}")
        self.block(look)
        where = self.let(f"inttoptr i64 {self.let(f'and i64 {marked}, {~(BY_VALUE | BYTES)}')} to ptr")
        wanted = self.load("ptr", self.at(f"%{each}.at", 8))
        self.do(f"  %{each}.next = getelementptr i8, ptr %{each}.at, i64 16")
        found = self.load("ptr", where)
        self.do(f"  br i1 {self.is_(found, wanted)}, label %{each}, label %{other}")
        self.block(other)
        kind = self.let(f"and i64 {marked}, {BY_VALUE | BYTES}")
        may_differ = self.let(f"icmp ne i64 {kind}, 0")
        self.guard(self.let(f"and i1 {may_differ}, {self.let(f'icmp ne ptr {found}, null')}"))
        self.constants.append(self.sameness())
        self.do(f"  br label %{equal}")
        self.block(equal)
        same = self.let(f"call i1 @entry.same(ptr {found}, ptr {wanted}, i64 {kind})")
        self.do(f"  br i1 {same}, label %{each}, label %slow")
        self.block(on)

    def sameness(self) -> str:
        """A function for `BY_VALUE`: whether two objects have one class and are equal (floats: the same bits).

        For `BYTES`: whether the first points to the content of the second, a `bytes` object.
        """
        self.declares |= {"declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)", "declare i32 @memcmp(ptr, ptr, i64)"}
        text = _SAME.replace("<type>", str(self.layout.type)).replace("<content>", str(object.__basicsize__))
        text = text.replace("<bytes kind>", str(BYTES)).replace("<bytes>", str(bytes.__basicsize__ - 1))
        return text.replace("<float>", self.context.place("float"))

    # ------------------------------------------------------------------------------------------- arguments
    def arrays(self, arguments: list[str]) -> list[str]:
        """The arrays of all arguments, checked."""
        if len(arguments) <= _FEW_ARGUMENTS:
            return [self.array(i, x) for i, x in enumerate(arguments)]
        arrays = [self.array_by_call(i, x) for i, x in enumerate(arguments)]
        odd = "false"
        for array in arrays:
            odd = self.let(f"or i1 {odd}, {self.is_(array, 'null')}")
        self.guard(self.let(f"xor i1 {odd}, true"))
        return arrays

    def array(self, i: int, x: str) -> str:
        """The array of an argument, checked by inlined code."""
        argument, written = self.signature.arguments[i], i in self.signature.overwritten
        array = self.ready(x, written, argument)
        descr, numbers = (self.context.place(f"{what} {argument.dtype.name}") for what in ("descr", "numbers"))
        self.check_kind(array, written, descr, numbers, str(len(argument.shape)))
        if argument.shape:
            dims = self.load("ptr", self.at(array, self.layout.dims))
            for axis, size in enumerate(argument.shape):
                if isinstance(size, int):
                    found = self.load("i64", self.at(dims, 8 * axis))
                    self.guard(self.let(f"icmp eq i64 {found}, {size}"))
        return array

    def read_sizes(self, arrays: list[str]) -> None:
        """The values of the symbols, and whether sizes and relations are those compiled for."""
        s = self.signature

        def size_of(number: int, axis: int) -> str:
            return self.load("i64", self.at(self.load("ptr", self.at(arrays[number], self.layout.dims)), 8 * axis))

        for symbol, (number, axis, factor, more) in s.shapes.definitions.items():
            value = size_of(number, axis)
            value = self.let(f"sub i64 {value}, {more}") if more else value
            if factor > 1:
                whole = value
                value = self.let(f"sdiv i64 {whole}, {factor}")
                self.guard(self.let(f"icmp eq i64 {self.let(f'mul i64 {value}, {factor}')}, {whole}"))
            if symbol.low or more:
                self.guard(self.let(f"icmp sge i64 {value}, {symbol.low}"))
            self.symbols[symbol] = value
        for symbol, value in self.symbols.items():
            if symbol.high is not None and not (isinstance(symbol.high, int) and symbol.high >= LARGEST):
                self.guard(self.let(f"icmp sle i64 {value}, {self.sizes.of(symbol.high)}"))
        defined = {where[:2] for where in s.shapes.definitions.values()}
        for number, axis, size in s.shapes.formulas:
            if (number, axis) not in defined:
                self.guard(self.let(f"icmp eq i64 {size_of(number, axis)}, {self.sizes.of(size)}"))
        self.check_no_overflow()
        for left, op, right, holds in s.relations:
            test = {"==": "eq" if holds else "ne", "<=": "sle" if holds else "sgt"}[op]
            self.guard(self.let(f"icmp {test} i64 {self.sizes.of(left)}, {self.sizes.of(right)}"))

    def check_no_overflow(self) -> None:
        """Checks that 64 bits hold the two sides of each relation; Python compares those of larger sizes."""
        compared = [size for relation in self.signature.relations for size in (relation.left, relation.right)]
        most = most_without_overflow(compared)
        if most < LARGEST:
            for symbol in dict.fromkeys(x for size in compared for x in symbols_of(size)):
                self.guard(self.let(f"icmp sle i64 {self.symbols[symbol]}, {most}"))

    def array_by_call(self, i: int, x: str) -> str:
        """The same, or null, by a function that compares with a description: less code for many arguments."""
        s = self.signature
        argument, written = s.arguments[i], i in s.overwritten
        places = (self.context.number(f"{what} {argument.dtype.name}") for what in ("descr", "numbers"))
        sizes = [size if isinstance(size, int) else _OPEN for size in argument.shape]
        numbers = (*places, len(argument.shape), *sizes)
        form = f"[{len(numbers)} x i64] [{', '.join(f'i64 {n}' for n in numbers)}]"
        if form not in self._forms:
            self._forms[form] = f"@entry.form.{len(self._forms)}"
            self.constants.append(f"{self._forms[form]} = private unnamed_addr constant {form}")
        checker = f"@entry.array.{int(written)}{int(argument.plain)}{int(argument.array)}"
        if checker not in self._checkers:
            writer = EntryText(s, self.context)
            self._checkers[checker] = writer.checker(checker, written, argument)
        return self.let(f"call ptr {checker}(ptr {x}, ptr {self._forms[form]})")

    def checker(self, name: str, written: bool, argument: Argument) -> str:
        """Such a function: the array of an argument, or null if it does not match the description."""
        self.do(f"define private ptr {name}(ptr %x, ptr %form) noinline {{")
        array = self.ready("%x", written, argument)
        numbers = [self.load("i64", self.at("%form", 8 * k)) for k in range(3)]
        descr, same = (self.let(f"getelementptr ptr, ptr @context, i64 {n}") for n in numbers[:2])
        self.check_kind(array, written, descr, same, self.let(f"trunc i64 {numbers[2]} to i32"))
        dims, sizes = self.load("ptr", self.at(array, self.layout.dims)), self.at("%form", 24)
        self.do("  br label %before")
        self.block("before")
        self.do("  br label %axes")
        self.block("axes")
        self.do("  %axis = phi i64 [0, %before], [%following, %next]")
        more = self.let(f"icmp ult i64 %axis, {numbers[2]}")
        self.do(f"  br i1 {more}, label %compare, label %fine")
        self.block("compare")
        found = self.load("i64", self.let(f"getelementptr i64, ptr {dims}, i64 %axis"))
        size = self.load("i64", self.let(f"getelementptr i64, ptr {sizes}, i64 %axis"))
        fits = self.let(f"or i1 {self.let(f'icmp eq i64 {found}, {size}')}, {self.let(f'icmp eq i64 {size}, {_OPEN}')}")
        self.do(f"  br i1 {fits}, label %next, label %slow")
        self.block("next")
        self.do("  %following = add i64 %axis, 1")
        self.do("  br label %axes")
        self.block("fine")
        self.do(f"  ret ptr {array}")
        self.block("slow")
        self.do("  ret ptr null")
        self.do("}")
        return "\n".join(self.lines)

    def ready(self, x: str, written: bool, argument: Argument) -> str:
        """The ndarray that an argument is or holds."""
        holds = self.signature.tensors and not argument.array
        array = self.unwrapped(x, written, argument.plain) if holds else x
        self.guard(self.is_(self.load("ptr", self.at(array, self.layout.type)), self.known("ndarray")))
        return array

    def unwrapped(self, tensor: str, written: bool, only: bool) -> str:
        """The array of a Tensor (`only`: not of a Parameter) that is on no tape and has no hooks."""
        kind = self.load("ptr", self.at(tensor, self.layout.type))
        other, plain, on = self.fresh("other"), self.fresh("plain"), self.fresh("tensor")
        if only:
            self.guard(self.is_(kind, self.known("tensor")))
            self.do(f"  br label %{plain}")
        else:
            self.do(f"  br i1 {self.is_(kind, self.known('tensor'))}, label %{plain}, label %{other}")
            self.of_parameter(kind, other, on)
        self.block(plain)
        node = self.load("ptr", self.at(tensor, self.slots["_node"]))
        self.do(f"  br i1 {self.is_(node, self.known('none'))}, label %{on}, label %slow")
        self.block(on)
        self.guard(self.is_(self.load("ptr", self.at(tensor, self.slots["_hooks"])), "null"))
        if written:  # a view may show the bytes, or a tape may need them
            held = self.load("ptr", self.at(tensor, self.slots["_held"]))
            self.guard(self.is_(held, self.known("zero")))
        array = self.load("ptr", self.at(tensor, self.slots["_data"]))
        self.guard(self.let(f"icmp ne ptr {array}, null"))
        return array

    def of_parameter(self, kind: str, other: str, on: str) -> None:
        """The block for Parameters: these are on tapes per thread, so no tape may be alive."""
        self.block(other)
        parameter = self.is_(kind, self.known("parameter"))
        live = self.load("ptr", self.known("live"))
        untaped = self.is_(live, self.known("one"))
        self.do(f"  br i1 {self.let(f'and i1 {parameter}, {untaped}')}, label %{on}, label %slow")

    def check_kind(self, array: str, written: bool, descr: str, numbers: str, rank: str) -> None:
        """Checks dtype (`descr` and `numbers`: pointers in the context), flags and rank."""
        at = self.layout
        self.check_dtype(array, descr, numbers)
        wanted = abi.C_CONTIGUOUS | abi.ALIGNED | (abi.WRITEABLE if written else 0)
        flags = self.let(f"and i32 {self.load('i32', self.at(array, at.flags))}, {wanted}")
        self.guard(self.let(f"icmp eq i32 {flags}, {wanted}"))
        self.guard(self.let(f"icmp eq i32 {self.load('i32', self.at(array, at.nd))}, {rank}"))

    def check_dtype(self, array: str, place: str, numbers: str) -> None:
        """Checks the dtype: the usual object, or (after unpickling) another one that is equal."""
        descr = self.load("ptr", self.at(array, self.layout.descr))
        other, on = self.fresh("dtype"), self.fresh("usual")
        differs = self.let(f"icmp ne ptr {descr}, {self.load('ptr', place)}")
        self.do(f"  br i1 {differs}, label %{other}, label %{on}, !prof {RARE}")
        self.block(other)
        number = self.load("i32", self.at(descr, self.layout.number))
        ours = self.load("i64", numbers)
        first = self.let(f"trunc i64 {ours} to i32")
        second = self.let(f"trunc i64 {self.let(f'lshr i64 {ours}, 32')} to i32")
        either = self.let(
            f"or i1 {self.let(f'icmp eq i32 {number}, {first}')}, {self.let(f'icmp eq i32 {number}, {second}')}"
        )
        order = self.load("i8", self.at(descr, self.layout.order))
        same = self.let(f"and i1 {either}, {self.let(f'icmp ne i8 {order}, {abi.SWAPPED}')}")
        self.do(f"  br i1 {same}, label %{on}, label %slow")
        self.block(on)

    def check_no_alias(self, data: list[str]) -> None:
        """Checks that no argument that is overwritten shares memory with another."""
        if len(self.signature.overwritten) * len(data) > _FEW_PAIRS:
            self.check_no_alias_in_loop(data)
            return
        pairs = self.signature.alias_pairs
        numbers: dict[int, str] = {}
        for i in sorted({i for pair in pairs for i in pair}):
            numbers[i] = self.let(f"ptrtoint ptr {data[i]} to i64")
        for i, j in pairs:
            for a, b in ((i, j), (j, i)):  # b begins inside a
                distance = self.let(f"sub i64 {numbers[b]}, {numbers[a]}")
                nbytes = self.sizes.of(self.signature.arguments[a].nbytes)
                self.guard(self.let(f"icmp uge i64 {distance}, {nbytes}"))

    def check_no_alias_in_loop(self, data: list[str]) -> None:
        """The same for many pairs: only arrays that have moved since the last call are compared."""
        s = self.signature
        sized = [i for i, a in enumerate(s.arguments) if a.nbytes]
        if not s.overwritten.intersection(sized):
            return
        # overwritten ones come first: each pair has at least one of them
        order = sorted(sized, key=lambda i: i not in s.overwritten)
        n, written = len(order), len(s.overwritten & set(sized))
        self.constants.append(f"@entry.seen = private global [{n} x i64] zeroinitializer")
        self.constants.append(_NO_ALIAS.replace("<n>", str(n)).replace("<written>", str(written)))
        table = self.on_stack(f"[{n} x i64]")
        for place, i in enumerate(order):
            self.do(f"  store i64 {self.let(f'ptrtoint ptr {data[i]} to i64')}, ptr {self.at(table, 8 * place)}")
        sizes = self.numbers("entry.sizes", [s.arguments[i].nbytes for i in order])
        self.guard(self.let(f"call i1 @entry.no_alias(ptr {table}, ptr {sizes})"))

    def numbers(self, name: str, sizes: Sequence[Size]) -> str:
        """A pointer to some sizes: a constant of this name, or on the stack where only the call knows one."""
        if all(isinstance(size, int) for size in sizes):
            listed = ", ".join(f"i64 {size}" for size in sizes)
            self.constants.append(f"@{name} = private unnamed_addr constant [{len(sizes)} x i64] [{listed}]")
            return f"@{name}"
        table = self.on_stack(f"[{len(sizes)} x i64]")
        for i, size in enumerate(sizes):
            self.do(f"  store i64 {self.at_most_largest(size)}, ptr {self.at(table, 8 * i)}")
        return table

    # ------------------------------------------------------------------------------------------- results
    def new_array(self, i: int, before: int) -> str:
        """A new array for a result; `before`: how many were made, to be dropped if this one fails."""
        result, rank = self.signature.results[i], len(self.signature.results[i].shape)
        dims = self.numbers(f"entry.dims.{i}", result.shape) if rank else "null"
        descr = self.keep(self.known(f"descr {result.dtype.name}"))  # the call takes a reference
        described = (("ptr", self.known("ndarray")), ("ptr", descr), ("i32", str(rank)), ("ptr", dims))
        if not isinstance(result.nbytes, int):
            made = self.array_of_open_size(result.nbytes, described)
        elif result.nbytes >= LARGE:
            made = self.large_array(described)
        else:
            made = self.usual_array(described)
        self.require(self.let(f"icmp ne ptr {made}, null"), f"drop{before}")
        return made

    def large_array(self, described: Sequence[tuple[str, str]]) -> str:
        return self.let(f"call ptr {self.known('array_new')}({', '.join(map(' '.join, described))})")

    def usual_array(self, described: Sequence[tuple[str, str]]) -> str:
        rest = (("ptr", "null"), ("ptr", "null"), ("i32", "0"), ("ptr", "null"))
        return self.call("ptr", "PyArray_NewFromDescr", *described, *rest)

    def array_of_open_size(self, nbytes: Size, described: Sequence[tuple[str, str]]) -> str:
        large, usual, on = (self.fresh(x) for x in ("large", "usual", "made"))
        test = self.let(f"fcmp oge double {self.estimated(nbytes)}, {float(LARGE)}")
        self.do(f"  br i1 {test}, label %{large}, label %{usual}")
        self.block(large)
        found = self.large_array(described)
        self.do(f"  br label %{on}")
        self.block(usual)
        other = self.usual_array(described)
        self.do(f"  br label %{on}")
        self.block(on)
        return self.let(f"phi ptr [{found}, %{large}], [{other}, %{usual}]")

    def drops(self, made: list[str]) -> None:
        """The error path: blocks that drop the new arrays made so far, and return null."""
        for count in reversed(range(len(made) + 1)):
            self.block(f"drop{count}")
            if count:
                self.call("void", "Py_DecRef", ("ptr", made[count - 1]))
                self.do(f"  br label %drop{count - 1}")
            else:
                self.do("  ret ptr null")

    def run(self, arrays: list[str], data: list[str], made: list[str]) -> str:
        """Calls main with a frame; an i1: whether it failed."""
        s = self.signature
        frame = self.take_frame(f"drop{len(made)}") if s.frame_bytes else "null"
        if s.poison:
            for i, place in zip(s.fresh, data[len(s.arguments) :], strict=True):
                self.set_bytes(place, 255, s.results[i].nbytes)
        if self._holds:
            for array in arrays:
                self.keep(array)
        if s.release_gil:
            thread = self.call("ptr", "PyEval_SaveThread")
        given = [*[f"ptr {x}" for x in [frame, *data]], *[f"i64 {x}" for x in self.symbols.values()]]
        code = self.let(f"call i32 @main({', '.join(given)})")
        if s.release_gil:
            self.call("void", "PyEval_RestoreThread", ("ptr", thread))
        failed = self.let(f"icmp ne i32 {code}, 0")
        if s.frame_bytes:
            failed = self.give_frame(frame, failed)
        if self._holds:
            for array in arrays:
                self.call("void", "Py_DecRef", ("ptr", array))
        return failed

    def set_bytes(self, place: str, byte: int, count: Size) -> None:
        self.call("ptr", "memset", ("ptr", place), ("i32", str(byte)), ("i64", self.sizes.of(count)))

    def frames(self) -> str:
        """The list that frames are taken from."""
        return self.known("pool") if self.signature.shares_frames else self.context.place("frames")

    def take_frame(self, otherwise: str) -> str:
        """Takes a frame from the free list."""
        frames, s = self.frames(), self.signature
        pop, take, on, lost = (self.fresh(x) for x in ("pop", "take", "frame", "lost"))
        call = f"(ptr {frames}, i64 {self.frame_size()})"
        if s.shares_frames:
            frame = self.let(f"call ptr {self.known('frame_take')}{call}")
        else:  # all frames of the list have one size
            first = self.load("ptr", frames)
            self.do(f"  br i1 {self.is_(first, 'null')}, label %{take}, label %{pop}, !prof {RARE}")
            self.block(pop)
            self.do(f"  store ptr {self.load('ptr', first)}, ptr {frames}")
            self.do(f"  br label %{on}")
            self.block(take)
            new = self.let(f"call ptr {self.known('frame_take')}{call}")
            self.do(f"  br label %{on}")
            self.block(on)
            frame = self.let(f"phi ptr [{first}, %{pop}], [{new}, %{take}]")
        self.require(self.let(f"icmp ne ptr {frame}, null"), lost)
        on = self.fresh("on")
        self.do(f"  br label %{on}")
        self.block(lost)
        told = on_the_way(s.frame_bytes if isinstance(s.frame_bytes, int) else None)
        constant = f'@entry.memory = private constant [{len(told) + 1} x i8] c"{told}\\00"'
        if constant not in self.constants:
            self.constants.append(constant)
        self.call("void", "PyErr_SetString", ("ptr", self.known("MemoryError")), ("ptr", "@entry.memory"))
        self.do(f"  br label %{otherwise}")
        self.block(on)
        if s.poison:
            self.set_bytes(self.at(frame, HEADER), 255, s.frame_bytes - HEADER)
            self.set_bytes(self.end_of(frame), MARK, GUARD)
        return frame

    def end_of(self, frame: str) -> str:
        return self.let(f"getelementptr i8, ptr {frame}, i64 {self.sizes.of(self.signature.frame_bytes)}")

    def frame_size(self) -> str:
        """The bytes that are asked for; of open sizes too many to be had where their number overflows."""
        s = self.signature
        size = frame_size(s.frame_bytes, s.shares_frames) + GUARD * s.poison
        if isinstance(size, int):
            return str(size)
        fits = self.let(f"fcmp olt double {self.estimated(size)}, {float(MOST_BYTES // 2)}")
        return self.let(f"select i1 {fits}, i64 {self.sizes.of(size)}, i64 {MOST_BYTES // 2}")

    def give_frame(self, frame: str, failed: str) -> str:
        """Gives the frame back; an i1: whether the call failed, or (`poison`) wrote behind its frame."""
        if self.signature.poison:
            whole, broken, on = (self.fresh(x) for x in ("whole", "broken", "on"))
            self.do(f"  br label %{whole}")
            self.block(whole)
            size = self.signature.frame_bytes
            ends = f"i64 {self.sizes.of(size)}, i64 {self.sizes.of(size + GUARD)}"
            intact = self.let(f"call i1 {self.known('frame_intact')}(ptr {frame}, {ends})")
            self.do(f"  br i1 {intact}, label %{on}, label %{broken}")
            self.block(broken)
            text = "compiled code wrote behind its frame"
            self.constants.append(f'@entry.broken = private constant [{len(text) + 1} x i8] c"{text}\\00"')
            self.call("void", "PyErr_SetString", ("ptr", self.known("SystemError")), ("ptr", "@entry.broken"))
            self.do(f"  br label %{on}")
            self.block(on)
            failed = self.let(f"phi i1 [{failed}, %{whole}], [true, %{broken}]")
        frames = self.frames()
        push, give, on = (self.fresh(x) for x in ("push", "give", "on"))
        alone = self.is_(self.load("ptr", frames), "null")
        self.do(f"  br i1 {alone}, label %{push}, label %{give}")
        self.block(push)
        self.do(f"  store ptr null, ptr {frame}")
        self.do(f"  store ptr {frame}, ptr {frames}")
        self.do(f"  br label %{on}")
        self.block(give)
        self.do(f"  call void {self.known('frame_give')}(ptr {frames}, ptr {frame})")
        self.do(f"  br label %{on}")
        self.block(on)
        return failed


_SAME = """
define private i1 @entry.same(ptr %a, ptr %b, i64 %how) noinline {
  %by.bytes = icmp eq i64 %how, <bytes kind>
  br i1 %by.bytes, label %bytes, label %objects
bytes:
  %size.at = getelementptr i8, ptr %b, i64 <content>
  %size = load i64, ptr %size.at
  %content = getelementptr i8, ptr %b, i64 <bytes>
  %order = call i32 @memcmp(ptr %a, ptr %content, i64 %size)
  %alike.bytes = icmp eq i32 %order, 0
  ret i1 %alike.bytes
objects:
  %a.type.at = getelementptr i8, ptr %a, i64 <type>
  %b.type.at = getelementptr i8, ptr %b, i64 <type>
  %a.type = load ptr, ptr %a.type.at
  %b.type = load ptr, ptr %b.type.at
  %alike = icmp eq ptr %a.type, %b.type
  br i1 %alike, label %kind, label %no
kind:
  %float = load ptr, ptr <float>
  %number = icmp eq ptr %a.type, %float
  br i1 %number, label %bits, label %ask
bits:
  %a.at = getelementptr i8, ptr %a, i64 <content>
  %b.at = getelementptr i8, ptr %b, i64 <content>
  %a.bits = load i64, ptr %a.at
  %b.bits = load i64, ptr %b.at
  %same = icmp eq i64 %a.bits, %b.bits
  ret i1 %same
ask:
  %answer = call i32 @PyObject_RichCompareBool(ptr %a, ptr %b, i32 2)
  %equal = icmp eq i32 %answer, 1
  ret i1 %equal
no:
  ret i1 false
}
"""
#: Whether no overwritten argument (they come first) aliases another; only arrays that have moved are compared.
_NO_ALIAS = """
define private i1 @entry.no_alias(ptr %now, ptr %sizes) noinline {
start:
  br label %each
each:
  %i = phi i64 [0, %start], [%i.next, %following]
  %more = icmp ult i64 %i, <n>
  br i1 %more, label %look, label %fine
look:
  %a.at = getelementptr [<n> x i64], ptr %now, i64 0, i64 %i
  %a = load i64, ptr %a.at
  %seen.at = getelementptr [<n> x i64], ptr @entry.seen, i64 0, i64 %i
  %seen = load i64, ptr %seen.at
  %a.size.at = getelementptr [<n> x i64], ptr %sizes, i64 0, i64 %i
  %a.size = load i64, ptr %a.size.at
  %stayed = icmp eq i64 %a, %seen
  %mine = icmp ult i64 %i, <written>
  %stop = select i1 %mine, i64 <n>, i64 <written>
  br i1 %stayed, label %following, label %other
other:
  %j = phi i64 [0, %look], [%j.next, %apart]
  %b.at = getelementptr [<n> x i64], ptr %now, i64 0, i64 %j
  %b = load i64, ptr %b.at
  %b.size.at = getelementptr [<n> x i64], ptr %sizes, i64 0, i64 %j
  %b.size = load i64, ptr %b.size.at
  %ab = sub i64 %b, %a
  %ba = sub i64 %a, %b
  %b.in.a = icmp ult i64 %ab, %a.size
  %a.in.b = icmp ult i64 %ba, %b.size
  %overlap = or i1 %b.in.a, %a.in.b
  %self = icmp eq i64 %i, %j
  %others = xor i1 %self, true
  %clash = and i1 %overlap, %others
  br i1 %clash, label %bad, label %apart
apart:
  %j.next = add i64 %j, 1
  %again = icmp ult i64 %j.next, %stop
  br i1 %again, label %other, label %following
following:
  %i.next = add i64 %i, 1
  br label %each
fine:
  br label %note
note:
  %k = phi i64 [0, %fine], [%k.next, %note]
  %from = getelementptr [<n> x i64], ptr %now, i64 0, i64 %k
  %to = getelementptr [<n> x i64], ptr @entry.seen, i64 0, i64 %k
  %value = load i64, ptr %from
  store i64 %value, ptr %to
  %k.next = add i64 %k, 1
  %rest = icmp ult i64 %k.next, <n>
  br i1 %rest, label %note, label %done
done:
  ret i1 true
bad:
  ret i1 false
}
"""

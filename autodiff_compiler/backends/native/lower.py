"""Lowers a module to one LLVM function: the driver, which calls fused loops and other kernels.

Scalars are registers.  Other values lie in buffers, which are assigned offsets in the frame at the end; views
(`transpose`, slices, `broadcast_to`) emit no code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...ir.build import Builder
from ...ir.core import Block, Module, Op, Value
from ...ir.open_shapes import definitions
from ...ir.primitive import Effect, F
from ...ir.sizes import Size
from ...ir.types import TensorType
from ...runtime.commits import sees_state
from .codegen.emit import LEAVE, Reg, Text, size_register
from .codegen.formulas import apply_formula, has_formula
from .codegen.lanes import NotNativeError
from .codegen.values import HOST, NATIVE, Array, Buffer, Operand, Pack, Spread, Undefined, size_of
from .fusion.clusters import Axes, Cluster
from .fusion.grouping import items
from .fusion.loop_plan import Passes
from .jit.machine import Machine
from .loops.fusing import memory_of, write_cluster, write_copies, write_fused_loop
from .loops.nontemporal import is_nontemporal
from .loops.transposes import is_transposed, transpose
from .memory.arena import place_buffers
from .memory.arms import Arms
from .memory.buffer_plan import BufferPlan, Region, Step
from .memory.frame_pool import HEADER, ROOM
from .memory.last_uses import last_use
from .memory.poison import Apart, Given, guarded_main, poisoned
from .memory.sequences import Room, descriptor_type, enter
from .memory.versions import Versions
from .memory.wishes import Keeping, Place

#: How ops without a formula are written.
OPS: dict[str, Callable[[Lowering, Op], None]] = {}
#: Ops whose result has elements of their first operand and no others: of a splat it is a splat.
_REARRANGE = {
    "broadcast_to", "diagonal", "expand_dims", "gather", "repeat_elements", "reshape", "roll", "slice", "squeeze",
    "take_along_axis", "transpose", "windows",
}  # fmt: skip


#: Calls of kernels from which on a driver without control flow is compiled as it is written.
_MANY_CALLS = 200


def _as_written(low: Lowering) -> str:
    """The attributes of the driver: of many calls in a row there is nothing to optimise, and LLVM takes long for it."""
    if low.trace.called < _MANY_CALLS:
        return ""
    loops = sum(" = phi " in line for line in low.text.lines) - low.inlined
    return "noinline optnone " if loops <= 0 else ""


def _is_empty(op: Op) -> bool:
    """Whether an op is pure and none of its results has an element."""
    if op.defn.effect is not Effect.PURE or op.blocks or not op.results:
        return False
    return all(isinstance(x.type, TensorType) and 0 in x.type.shape for x in op.results)


class Lowering(BufferPlan):
    """Writes the driver; `env` maps each value to its operand: an array, a register, a tuple, a sequence."""

    def __init__(self, module: Module, machine: Machine, *, records: bool = False, timed: bool = False) -> None:
        """`records`: notes what each kernel computes (`trace`); `timed`: writes timers between the steps, too."""
        super().__init__(module, machine, records=records, timed=timed)
        self.poisoned = poisoned()
        self.buffers: list[Buffer] = []
        #: the steps of each block, in the order of the code
        self.steps: dict[Block, list[Step]] = {}
        #: the buffer of each argument
        self.arguments: list[Buffer] = []
        #: by result: the frame's buffer of a next version that may not overwrite its argument before the end
        self.shadows: dict[int, Buffer] = {}
        #: callbacks that run once a value is written
        self.pushes: dict[Value, list[Callable[[], None]]] = {}
        self.arms, self.keeping = Arms(), Keeping()
        #: the commits that were pending at an op that may raise, or at the end of a block: they run there
        self.pending: dict[Op | Block, list[Op]] = {}
        #: how many uses the call's room has (see `memory/sequences.py`)
        self.room_uses = 0
        #: where buffers begin in the frame, where it ends, and where without guards
        self.frame_start = 0
        self.frame_bytes: Size = 0
        self.planned: Size = 0
        #: what `liveness` found, once it was asked
        self.alive: int | None = None
        for i, out in enumerate(self.outs):
            self.results.setdefault(self._before_reshapes(out), i)

    def _before_reshapes(self, x: Value) -> Value:
        """The value that x is a reshaped view of: the same elements in the same order."""
        while isinstance(x.owner, Op) and x.owner.defn.name in ("reshape", "expand_dims", "squeeze", "stop_gradient"):
            x = x.owner.operands[0]
        return x

    # ------------------------------------------------------------------------------------------- buffers
    def buffer(self, nbytes: Size) -> Buffer:
        made = Buffer(f"b{len(self.buffers)}", nbytes, self.tick, self.tick)
        self.buffers.append(made)
        return made

    def array(self, type: TensorType, buffer: Buffer | None = None) -> Array:
        """An array in C order in a buffer of its own."""
        buffer = buffer or self.buffer(size_of(type))
        return self.at_pointer(type, buffer.base, (buffer,))

    def target(self, value: Value, *, over: bool = False) -> Array:
        """The array that a value is to be written to, now its operand: a wanted place, or a new buffer.

        `over`: it is the next version of a carry and may be written in place over this version.
        """
        assert isinstance(value.type, TensorType)
        place = self.wanted.pop(value, None)
        carried = place.carried if place is not None else None
        if carried is not None and carried.one is not None and not (over or last_use(self, carried.arg, ())):
            place = None
        if place is not None:
            self.env[value] = made = place.array
            if place.carried is not None:
                self.carried[value] = place.carried
                if not place.carried.changed and last_use(self, place.carried.arg, ()):
                    place.carried.in_place = True
        else:
            made = self._new(value)
        for root in made.roots:
            root.fill(self.tick)
            root.touches.append(self.tick)
            self.versions.touch(root, self.tick)
        return made

    def _new(self, value: Value) -> Array:
        """An array in a new buffer: that of a result if the value becomes one."""
        assert isinstance(value.type, TensorType)
        self.env[value] = made = self.array(value.type)
        if self.depth == 0 and value in self.results:
            made.roots[0].result = self.results[value]
        return made

    def wish(self, value: Value) -> Place | None:
        """Where control flow is to write an array; None: anywhere."""
        place = self.wanted.pop(value, None)
        if place is not None:
            kept = place.carried is not None and (place.carried.changed or place.carried.one is not None)
            return place if kept else place._replace(carried=None)
        if isinstance(value.type, TensorType) and value.type.shape and self.depth == 0 and value in self.results:
            return Place(self._new(value), fixed=True)
        return None

    @contextmanager
    def inside(self, op: Op | None = None, arm: int | None = None) -> Iterator[None]:
        """The ops within lie in a nested block of `op` (None: of code that is no op); `arm`: the number of the arm."""
        self.depth += 1
        if op is not None:
            self.versions.enter(op, arm)
        try:
            yield
        finally:
            self.depth -= 1
            if op is not None:
                self.versions.leave()

    def open_region(self, records: tuple[Buffer, ...]) -> Region:
        """Starts a loop; `records`: the buffers of the sequences that it collects."""
        region = Region(self.tick, records)
        self.regions.append(region)
        self.versions.enter(region, None)
        return region

    def close_region(self, region: Region) -> None:
        assert self.regions.pop() is region
        self.versions.leave()
        for root in region.touched:
            if root.idle is None:
                self._touch(root)
            else:  # a virtual buffer is live for it
                self._note_outer(root)

    def room(self) -> Room:
        """The memory that sequences of a call are allocated in."""
        self.room_uses += 1
        return Room(self.text, Reg("%room", "ptr"))

    def _touch(self, root: Buffer) -> None:
        root.fill(self.tick)
        root.last = self.tick
        root.touches.append(self.tick)
        self._note_outer(root)

    def _note_outer(self, root: Buffer) -> None:
        """Notes a use in the loop around, if the buffer is older than that."""
        if self.regions and root.first < self.regions[-1].start:
            self.regions[-1].touched.add(root)

    def touch(self, operand: Operand) -> None:
        """The current step reads or writes the operand: its buffers are live."""
        if isinstance(operand, Pack):
            for elem in operand.elems:
                self.touch(elem)
        elif not isinstance(operand, Spread | Undefined):
            joined = operand.joined if isinstance(operand, Array) else None
            for root in operand.roots if joined is None else (joined,):
                self._touch(root)
            for root in operand.roots:
                self.versions.touch(root, self.tick)

    # ------------------------------------------------------------------------------------------- operands
    def ordered(self, operand: Operand, type: TensorType) -> Array:
        """A tensor as an array in C order."""
        return self.in_memory(self.stand_in(type, operand))

    def in_memory(self, value: Value, *, ordered: bool = True) -> Array:
        """A value as an array (`ordered`: in C order), copied to a new buffer if it is none."""
        operand = self.env[value]
        if isinstance(operand, Array) and (operand.contiguous or not (ordered or operand.is_iota)):
            return operand
        assert isinstance(value.type, TensorType)
        made = self.array(value.type)
        self.copy(value, made)
        return made

    def copy(self, value: Value, to: Array) -> None:
        """Writes the elements of a value into an array."""
        operand = self.env[value]
        assert isinstance(value.type, TensorType)
        self.touch(to)
        if 0 in to.shape or isinstance(operand, Undefined):
            return
        if not to.shape:
            self.one.store(self.scalar(value), self.text.at(to.base, to.offset))
            return
        self.touch(operand)
        nontemporal = self.leaving and is_nontemporal(self, to)
        if isinstance(operand, Array) and operand.contiguous and to.contiguous and not nontemporal:
            size = size_of(value.type)
            source = self.text.at(operand.base, operand.offset)
            place = self.text.at(to.base, to.offset)
            self.trace.copy(size)

            def move() -> tuple[()]:
                self.text.copy(place, source, size)
                return ()

            now = self.versions.now_of(to, operand)
            if now is not None:
                to.roots[0].over[now, self.tick] = None
                self.text.branch(self.text.let("i1", f"icmp ne {source}, {place.text}"), move)
            else:
                move()
            return
        if isinstance(operand, Array) and is_transposed(operand, to):
            self.trace.copy(size_of(to.type))
            transpose(self, operand, to)
            return
        write_copies(self, {value: to})

    def copy_defined(self, value: Value, to: Array) -> None:
        """Copies a value, unless it is undefined at run time (a null pointer)."""
        operand, text = self.env[value], self.text
        if isinstance(operand, Array) and self.may_be_nowhere(value, operand):

            def copy() -> tuple[()]:
                self.copy(value, to)
                return ()

            text.branch(text.let("i1", f"icmp ne {operand.base}, null"), copy)
        else:
            self.copy(value, to)

    def copy_unless_there(self, value: Value, operand: Array, to: Array) -> None:
        """Copies a value, an array in C order that may be undefined, unless it lies there already."""
        text = self.text
        here = text.at(to.base, to.offset)
        there = text.let("i1", f"icmp eq {text.at(operand.base, operand.offset)}, {here.text}")

        def copy() -> tuple[()]:
            self.copy_defined(value, to)
            return ()

        text.branch(there, lambda: (), copy)

    def copy_operand(self, operand: Operand, to: Array) -> None:
        """Writes the elements of a tensor into an array."""
        self.copy(self.stand_in(to.type, operand), to)

    def copy_array(self, source: Array, to: Array) -> None:
        """Writes the elements of an array into another one, cast to its dtype."""
        self.touch(source)
        self.touch(to)
        if is_transposed(source, to):
            self.trace.copy(size_of(to.type))
            transpose(self, source, to)
            return
        axes = range(len(to.shape))
        block = Block([source.type])
        value = block.args[0]
        with Builder(block):
            result = F.cast(value, dtype=to.dtype)
        cluster = Cluster(to.shape, Axes((), (), tuple(axes)))
        if isinstance(result.owner, Op):
            cluster.ops.append(result.owner)
            cluster.full.add(result)
        passes = Passes({value: 0, result: 0}, [[]], [[result]])
        write_fused_loop(self, cluster, passes, {value: memory_of(source, axes)}, {result: (to, memory_of(to, axes))})

    def place(self, value: Value) -> Reg:
        """A pointer to the elements of a value in C order; scalars are stored for it."""
        found = self.in_memory(value)
        self.touch(found)
        return self.text.at(found.base, found.offset)

    # ------------------------------------------------------------------------------------------- ops
    def block(self, block: Block) -> None:
        self.steps[block] = steps = list[Step]()
        with self.trace.block(block) as pieces:
            for item in items(block):
                self.tick += 1
                ops = item.ops if isinstance(item, Cluster) else [item]
                steps.append(Step(self.tick, ops, isinstance(item, Cluster)))
                with self.trace.piece(ops, pieces):
                    if isinstance(item, Cluster):
                        write_cluster(self, item)
                    else:
                        self._in_order(item)
                    self.written.update(ops)
                    made = [x for op in ops for x in op.results] if self.pushes else ()
                    for x in made:
                        for push in self.pushes.pop(x, ()):
                            push()
                    self._settle(block, ops)
            if self.commits:
                self.pending[block] = list(self.commits)
            self.flush_commits()

    def _settle(self, block: Block, ops: Sequence[Op]) -> None:
        """Copies next versions of carries home if these ops were the last to read this version."""
        if self.unsettled:
            readers = [*ops, *[commit for op in ops for commit in self.pending.get(op, ())]]
            for x in dict.fromkeys(x for op in readers for x in op.operands):
                carry, value = self.unsettled.get(x, (None, None))
                if carry is not None and value is not None and value.block is block:
                    carry.settle(value)

    def _in_order(self, op: Op) -> None:
        """Lowers an op that is not fused, with the pending `commit`s that must run if it raises."""
        self.loc = op.loc or self.loc
        if not self.commits or not (op.defn.effect is Effect.IO or op.blocks or op.defn.name == "call"):
            self.op(op)
            return
        self.pending[op] = list(self.commits)
        name = op.defn.name
        sees = name == "host_call" and sees_state(self.module.callables.get(op.attr("fn").removeprefix("@")))
        if sees or op.blocks or name in ("call", "raise", "assert"):
            self.flush_commits()
        before = list(self.commits)
        self.noting = before
        self.op(op)
        self.noting = []
        if self.commits == before:  # it is no commit itself
            self.commits.clear()

    def flush_commits(self) -> None:
        """Runs the pending `commit`s here."""
        commits, self.commits = self.commits, []
        for op in commits:
            OPS["commit"](self, op)

    def op(self, op: Op) -> None:
        name = op.defn.name
        if op.loc is not None:
            self.text.note(f"{op.results[0].name or name if op.results else name}: {op.loc}")
        if _is_empty(op):
            for x in op.results:
                self.target(x)
            return
        self.ways.setdefault(name, NATIVE)
        if name in _REARRANGE and isinstance(splat := self.env[op.operands[0]], Spread):
            (result,) = op.results
            self.env[result] = Spread(result.type, splat.number)  # type: ignore[arg-type]
            return
        special = OPS.get(name)
        if special is not None:
            try:
                special(self, op)
                return
            except NotNativeError:
                pass  # before anything was written
        elif len(op.results) == 1 and has_formula(op) and op.results[0].shape == ():
            lanes = [self.scalar(x) for x in op.operands]
            result = op.results[0]
            self.env[result] = Spread(result.type, apply_formula(self.one, op, lanes))  # type: ignore[arg-type]
            return
        self.ways[name] = HOST
        OPS["host"](self, op)

    # ------------------------------------------------------------------------------------------- the whole
    def lower(
        self,
        in_place: dict[int, int],
        leave: Callable[[Lowering, Sequence[Value]], None],
        keeping: Keeping | None = None,
    ) -> None:
        """`in_place`: results, by position, that are written over arguments; `leave` hands out sequences."""
        self.keeping = keeping or self.keeping
        entry = self.module.entry
        shapes = [x.type.shape if isinstance(x.type, TensorType) else () for x in entry.args]
        self.text.symbols = dict.fromkeys(definitions(shapes))
        numbers = [i for i, out in enumerate(entry.outs) if isinstance(out.type, TensorType)]
        self.versions = Versions({i: in_place[j] for i, j in enumerate(numbers) if j in in_place})
        for i, arg in enumerate(entry.args):
            given = descriptor_type(arg.type)
            buffer = Buffer(f"a{i}", size_of(given), -1, -1, argument=i)
            self.arguments.append(buffer)
            array = self.array(given, buffer)
            if not isinstance(arg.type, TensorType):
                enter(self, arg, array)
                continue
            used = self.uses.get(arg)
            self.env[arg] = array
            if arg.type.shape == () and used:
                self.env[arg] = Spread(arg.type, self.one.load(array.base, arg.type.dtype))
        self.block(entry.body)
        self.tick += 1
        self.leaving = True
        self.text.note("results leave")
        others = [out for out in entry.outs if not isinstance(out.type, TensorType)]
        if others:
            leave(self, others)
        for i, out in enumerate(self.outs):
            assert isinstance(out.type, TensorType)
            operand = self.env[out]
            self.touch(operand)
            mine = isinstance(operand, Array) and len(operand.roots) == 1 and operand.roots[0].result == i
            if not (mine and isinstance(operand, Array) and operand.contiguous and operand.offset == 0):
                buffer = self.buffer(size_of(out.type))
                buffer.result = i
                self.copy_defined(out, self.array(out.type, buffer))
        self._commit()
        if self.timers is not None:
            self.timers.end(self.trace.last())
        self.text.ret("i32 0")
        if self.text.leaves:
            self.text.enter(LEAVE)
            if self.timers is not None:
                self.timers.leave()
            self.text.ret("i32 1")
        self._finish()

    def _commit(self) -> None:
        """Copies next versions of states over their arguments: nothing raises any more, and Python has not run yet."""
        by_result: dict[int | None, list[Buffer]] = {}
        for b in self.buffers:
            by_result.setdefault(b.result, []).append(b)
        for result, argument in self.versions.next_of.items():
            made = by_result.get(result, [])
            given = self.arguments[argument]
            if all(self.versions.together(b, given) for b in made):
                continue
            self.shadows[result] = shadow = self.buffer(given.nbytes)
            shadow.first = min(b.first for b in made)
            self.text.copy(given.base, shadow.base, given.nbytes)
            self.trace.copy(given.nbytes)

    def _finish(self) -> None:
        """Plans the arena, and emits the head of the driver: its parameters and the pointer of every buffer."""
        params = [("ptr", "frame")] + [("ptr", f"a{i}") for i in range(len(self.module.entry.args))]
        fresh = [i for i in range(len(self.outs)) if i not in self.versions.next_of]
        params += [("ptr", f"o{i}") for i in fresh]
        listed = ", ".join(f"{t} %{n}" for t, n in params)
        given = ", ".join([listed, *map(str, map(size_register, self.text.symbols))])
        self.text.head = f"define i32 @main({listed}) {_as_written(self)}{{"
        lines = [f"  %room = getelementptr i8, ptr %frame, i64 {ROOM}"] if self.room_uses else []
        apart = Apart(HEADER) if self.poisoned else None
        self.arms.note_unread(self.buffers)
        places, self.planned = place_buffers(self.buffers, HEADER)
        self.frame_bytes = self.planned
        if apart is not None:
            places = apart.buffers(self.buffers)
        if lines or apart is not None:
            self.text.head = f"define internal i32 @program({listed}) {{"
            outer = Text("main", params, "i32")
            outer.symbols = self.text.symbols
            if apart is not None:
                found = guarded_main(outer, self._given(fresh), apart, self.context)
                self.frame_bytes = apart.end
            else:
                found = outer.make("i32", f"call i32 @program({given})")
            if self.room_uses:
                outer.do(lines[0].strip())
                outer.do("call void @room.rest(ptr %room)")
            outer.ret(str(found))
            self.kernels.append(outer)
        if self.frame_bytes == HEADER and not self.room_uses:  # of open sizes it is more
            self.frame_bytes = 0
        self.frame_start = HEADER if self.frame_bytes else 0
        for buffer in self.buffers:
            shadow = None if buffer.result is None else self.shadows.get(buffer.result)
            base = "%frame"
            offset: Size = places.get(shadow or buffer, 0)
            if buffer.result is not None and shadow is None:
                base = (
                    f"%a{self.versions.next_of[buffer.result]}"
                    if buffer.result in self.versions.next_of
                    else f"%o{buffer.result}"
                )
            lines.append(f"  %{buffer.name} = getelementptr i8, ptr {base}, i64 {self.text.whole(offset).text}")
        self.text.lines[1:1] = lines

    def _given(self, fresh: Sequence[int]) -> list[Given]:
        """The parameters of `main` for poisoned memory: arguments are copied, but for those that are overwritten."""
        overwritten = set(self.versions.next_of.values())
        given = [
            Given(f"a{b.argument}", None if i in overwritten else b.nbytes, False) for i, b in enumerate(self.arguments)
        ]
        return given + [Given(f"o{i}", size_of(self.outs[i].type), True) for i in fresh]

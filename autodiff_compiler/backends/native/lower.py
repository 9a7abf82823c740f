"""From the ops of a module to one LLVM function: the driver, which calls the loops of clusters and other kernels.

Values without dimensions are registers.  Others lie in buffers, whose places are found at the end; ops that only look
at elements in another order (`transpose`, slices, `broadcast_to`) make no code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...ir.build import Builder
from ...ir.core import Block, Module, Op, Value
from ...ir.primitive import Effect, F
from ...ir.types import TensorType
from ...runtime.commits import sees_state
from .codegen.emit import LEAVE, Reg, Text
from .codegen.formulas import apply_formula, has_formula
from .codegen.lanes import NotNativeError
from .codegen.values import HOST, NATIVE, Array, Buffer, Operand, Pack, Spread, Undefined, row_major, size_of
from .fusion.clusters import Axes, Cluster
from .fusion.grouping import items
from .fusion.loop_plan import Passes
from .jit.machine import Machine
from .loops.fusing import memory_of, source_of, write_cluster, write_walk
from .loops.nontemporal import streamed
from .loops.transposes import turn, turns
from .memory.arena import place_buffers
from .memory.arms import Arms
from .memory.buffer_plan import BufferPlan, Region, Step
from .memory.last_uses import last_use
from .memory.poison import Apart, Given, guarded_main, poisoned
from .memory.sequences import Room, descriptor_type, enter
from .memory.versions import Versions
from .memory.wishes import Keeping, Place

__all__ = ["FRAME_START", "OPS", "Lowering"]

#: Where the frame begins to be ours: before it lies the entry's header.
FRAME_START = 64
#: How ops without a formula are written.
OPS: dict[str, Callable[[Lowering, Op], None]] = {}


def _nothing(op: Op) -> bool:
    """Whether an op makes no element at all."""
    if op.defn.effect is not Effect.PURE or op.blocks or not op.results:
        return False
    return all(isinstance(x.type, TensorType) and 0 in x.type.shape for x in op.results)


class Lowering(BufferPlan):
    """Writes the driver of a module's entry; `env` says what each value is."""

    def __init__(self, module: Module, machine: Machine, *, records: bool = False, timed: bool = False) -> None:
        """`records`: somebody will ask what the program does (`journal`); `timed`: what it takes, too (`laps`)."""
        super().__init__(module, machine, records=records, timed=timed)
        self.poisoned = poisoned()
        self.buffers: list[Buffer] = []
        #: what was written for each block, in order
        self.steps: dict[Block, list[Step]] = {}
        #: the arguments, and what becomes of them step by step
        self.arguments: list[Buffer] = []
        #: where results lie until the end that are written over arguments
        self.beside: dict[int, Buffer] = {}
        #: what is to be done as soon as values exist
        self.pushes: dict[Value, list[Callable[[], None]]] = {}
        self.arms, self.keeping = Arms(), Keeping()
        #: what is to be noted if the next op that an exception can leave is left by one
        self.commits: list[Op] = []
        #: how often the room of the call is used (see `sequences`)
        self.room_uses = 0
        #: where buffers begin in the frame, where it ends, and where without guards
        self.frame_start = self.frame_bytes = self.planned = 0
        for i, out in enumerate(self.outs):
            self.results.setdefault(self._shown(out), i)

    def _shown(self, x: Value) -> Value:
        """The value whose elements, in the same order, are those of x."""
        while isinstance(x.owner, Op) and x.owner.defn.name in ("reshape", "expand_dims", "squeeze", "stop_gradient"):
            x = x.owner.operands[0]
        return x

    # ------------------------------------------------------------------------------------------- buffers
    def buffer(self, nbytes: int) -> Buffer:
        made = Buffer(f"b{len(self.buffers)}", nbytes, self.tick, self.tick)
        self.buffers.append(made)
        return made

    def array(self, type: TensorType, buffer: Buffer | None = None) -> Array:
        """An array in C order in a buffer of its own."""
        buffer = buffer or self.buffer(size_of(type))
        return Array(type, buffer.base, row_major(type.shape, type.dtype.itemsize), 0, (buffer,))  # type: ignore[arg-type]

    def target(self, value: Value, *, over: bool = False) -> Array:
        """Where a value is to be written: the result that it becomes, if it only becomes that.

        `over`: it may be written over the version now of the carry whose next version it is.
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
        """An array for a value that has no place yet."""
        assert isinstance(value.type, TensorType)
        self.env[value] = made = self.array(value.type)
        if self.depth == 0 and value in self.results:
            made.roots[0].result = self.results[value]
        return made

    def wish(self, value: Value) -> Place | None:
        """Where an array is wanted, for control flow that makes it."""
        place = self.wanted.pop(value, None)
        if place is not None:
            kept = place.carried is not None and (place.carried.changed or place.carried.one is not None)
            return place if kept else place._replace(carried=None)
        if isinstance(value.type, TensorType) and value.type.shape and self.depth == 0 and value in self.results:
            return Place(self._new(value), fixed=True)
        return None

    @contextmanager
    def inside(self, op: Op | None = None, arm: int | None = None) -> Iterator[None]:
        """In a block of another op; in an arm of an `if`."""
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
        """A loop begins; `records` are the places of what it collects."""
        region = Region(self.tick, records)
        self.regions.append(region)
        self.versions.enter(region, None)
        return region

    def close_region(self, region: Region) -> None:
        assert self.regions.pop() is region
        self.versions.leave()
        for root in region.touched:
            self._touch(root)

    def room(self) -> Room:
        """The room of the call."""
        self.room_uses += 1
        return Room(self.text, Reg("%room", "ptr"))

    def _touch(self, root: Buffer) -> None:
        root.fill(self.tick)
        root.last = self.tick
        root.touches.append(self.tick)
        if self.regions and root.first < self.regions[-1].start:
            self.regions[-1].touched.add(root)

    def touch(self, operand: Operand) -> None:
        """The step that is being written reads or writes the operand."""
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
        """A value as an array, in C order if that is asked for."""
        operand = self.env[value]
        if isinstance(operand, Array) and (operand.contiguous or not (ordered or operand.counted)):
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
        past_caches = self.leaving and streamed(self, to)
        if isinstance(operand, Array) and operand.contiguous and to.contiguous and not past_caches:
            size = size_of(value.type)
            source = self.text.at(operand.base, operand.offset)
            place = self.text.at(to.base, to.offset)
            self.journal.copy(size)

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
        if isinstance(operand, Array) and turns(operand, to):
            self.journal.copy(size_of(to.type))
            turn(self, operand, to)
            return
        shape = to.shape
        cluster = Cluster(shape, Axes((), (), tuple(range(len(shape)))))
        passes = Passes({value: 0}, [[]], [[value]])
        write_walk(
            self,
            cluster,
            passes,
            {value: source_of(self, value, cluster)},
            {value: (to, memory_of(to, range(len(shape))))},
        )

    def copy_defined(self, value: Value, to: Array) -> None:
        """Copies a value, unless it is one that nobody reads."""
        operand, text = self.env[value], self.text
        if isinstance(operand, Array) and self.may_be_nowhere(value, operand):

            def copy() -> tuple[()]:
                self.copy(value, to)
                return ()

            text.branch(text.let("i1", f"icmp ne {operand.base}, null"), copy)
        else:
            self.copy(value, to)

    def copy_operand(self, operand: Operand, to: Array) -> None:
        """Writes the elements of a tensor into an array."""
        self.copy(self.stand_in(to.type, operand), to)

    def copy_array(self, source: Array, to: Array) -> None:
        """Writes the elements of an array into another one, as its dtype."""
        self.touch(source)
        self.touch(to)
        if turns(source, to):
            self.journal.copy(size_of(to.type))
            turn(self, source, to)
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
        write_walk(self, cluster, passes, {value: memory_of(source, axes)}, {result: (to, memory_of(to, axes))})

    def place(self, value: Value) -> Reg:
        """A value of this block as a pointer to its elements in C order (of numbers too)."""
        found = self.in_memory(value)
        self.touch(found)
        return self.text.at(found.base, found.offset)

    # ------------------------------------------------------------------------------------------- ops
    def block(self, block: Block) -> None:
        self.steps[block] = steps = list[Step]()
        with self.journal.block(block) as pieces:
            for item in items(block):
                self.tick += 1
                ops = item.ops if isinstance(item, Cluster) else [item]
                steps.append(Step(self.tick, ops, isinstance(item, Cluster)))
                with self.journal.piece(ops, pieces):
                    if isinstance(item, Cluster):
                        write_cluster(self, item)
                    else:
                        self._in_order(item)
                    self.written.update(ops)
                    made = [x for op in ops for x in op.results] if self.pushes else ()
                    for x in made:
                        for push in self.pushes.pop(x, ()):
                            push()
            self.flush_commits()

    def _in_order(self, op: Op) -> None:
        """An op after what is to be noted if an exception leaves it."""
        self.loc = op.loc or self.loc
        if not self.commits or not (op.defn.effect is Effect.IO or op.blocks or op.defn.name == "call"):
            self.op(op)
            return
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
        """Notes what is to be noted, now."""
        commits, self.commits = self.commits, []
        for op in commits:
            OPS["commit"](self, op)

    def op(self, op: Op) -> None:
        name = op.defn.name
        if op.loc is not None:
            self.text.note(f"{op.results[0].name or name if op.results else name}: {op.loc}")
        if _nothing(op):
            for x in op.results:
                self.target(x)
            return
        special = OPS.get(name)
        self.ways.setdefault(name, NATIVE)
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
        if self.laps is not None:
            self.laps.end(self.journal.last())
        self.text.ret("i32 0")
        if self.text.leaves:
            self.text.enter(LEAVE)
            if self.laps is not None:
                self.laps.leave()
            self.text.ret("i32 1")
        self._finish()

    def _commit(self) -> None:
        """Takes next versions that lie beside their arguments there: now that nothing can fail, before Python runs."""
        for result, argument in self.versions.next_of.items():
            made = [b for b in self.buffers if b.result == result]
            given = self.arguments[argument]
            if all(self.versions.together(b, given) for b in made):
                continue
            self.beside[result] = beside = self.buffer(given.nbytes)
            beside.first = min(b.first for b in made)
            self.text.copy(given.base, beside.base, given.nbytes)
            self.journal.copy(given.nbytes)

    def _finish(self) -> None:
        """Gives every buffer its place, at the start of the driver."""
        self.stacks = 1 if self.room_uses else 0
        start = FRAME_START + -(-Room.ENTRY * self.stacks // FRAME_START) * FRAME_START  # aligned as the frame
        params = [("ptr", "frame")] + [("ptr", f"a{i}") for i in range(len(self.module.entry.args))]
        fresh = [i for i in range(len(self.outs)) if i not in self.versions.next_of]
        params += [("ptr", f"o{i}") for i in fresh]
        listed = ", ".join(f"{t} %{n}" for t, n in params)
        self.text.head = f"define i32 @main({listed}) {{"
        lines = [f"  %room = getelementptr i8, ptr %frame, i64 {FRAME_START}"] if self.room_uses else []
        apart = Apart(start) if self.poisoned else None
        self.arms.note_unread(self.buffers)
        places, self.planned = place_buffers(self.buffers, start)
        self.frame_bytes = self.planned
        if apart is not None:
            places = apart.buffers(self.buffers)
        if lines or apart is not None:
            self.text.head = f"define internal i32 @program({listed}) {{"
            outer = Text("main", params, "i32")
            if apart is not None:
                found = guarded_main(outer, self._given(fresh), apart, self.context)
                self.frame_bytes = apart.end
            else:
                found = outer.make("i32", f"call i32 @program({listed})")
            if self.room_uses:
                outer.do(lines[0].strip())
                outer.do("call void @room.rest(ptr %room)")
            outer.ret(str(found))
            self.kernels.append(outer)
        if self.frame_bytes == FRAME_START:
            self.frame_bytes = start = 0
        self.frame_start = start
        for buffer in self.buffers:
            beside = None if buffer.result is None else self.beside.get(buffer.result)
            base, offset = "%frame", places.get(beside or buffer, 0)
            if buffer.result is not None and beside is None:
                base = (
                    f"%a{self.versions.next_of[buffer.result]}"
                    if buffer.result in self.versions.next_of
                    else f"%o{buffer.result}"
                )
            lines.append(f"  %{buffer.name} = getelementptr i8, ptr {base}, i64 {offset}")
        self.text.lines[1:1] = lines

    def _given(self, fresh: Sequence[int]) -> list[Given]:
        """The parameters of main; those that are written over are no copies."""
        overwritten = set(self.versions.next_of.values())
        given = [
            Given(f"a{b.argument}", None if i in overwritten else b.nbytes, False) for i, b in enumerate(self.arguments)
        ]
        return given + [Given(f"o{i}", size_of(self.outs[i].type), True) for i in fresh]

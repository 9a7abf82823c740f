"""`while` and `scan` as loops of the driver.

The plan that emitters share (`LoopPlan`) says what is read.  Carries are in `carries` and `one_place`, collected
sequences in `collecting`, polls for signals in `interrupts`.
"""

from __future__ import annotations

from ....ir.core import Op, Value
from ....ir.loops import Carry as Values
from ....ir.sizes import Size, is_at_most, usual
from ....ir.types import Seq, TensorType
from ...loop_plan import LoopPlan
from ..codegen.emit import Int, Reg, i64, pointer
from ..codegen.lanes import Lane
from ..codegen.values import Buffer, Operand, Sequence, Spread, Undefined, roots_of
from ..kernels.interrupts import burn, cost_of, has_loops, is_short
from ..lower import OPS, Lowering
from ..memory.last_uses import dies, last_read
from ..memory.sequences import element, leaves
from .carries import ArrayCarry, Carry, carry_of
from .collecting import Collected
from .one_place import OnePlace, next_versions, place_of
from .sequence_ops import anchored, require_elements

#: Bytes of records from which on their memory grows by a quarter, not twofold.
_LARGE = 1 << 20
#: Records allocated at first by a loop of an unknown number of trips.
_FIRST = 16


class _Loop:
    """What `while` and `scan` have in common."""

    def __init__(self, low: Lowering, op: Op) -> None:
        self.low, self.op, self.text, self.plan = low, op, low.text, LoopPlan(op, low.uses)
        self.body = self.plan.body
        #: the carries that change, and the values that they are
        self.carries: list[tuple[Carry, Values]] = []
        #: the number of the operand that is the first carry; in a `scan` it is behind the number of trips
        self.first = 1 if self.plan.cond is None else 0
        self.cost = sum(cost_of(block, low.machine.vector_bytes) for block in op.blocks)

    def _open(self, trips: Size | None) -> None:
        """Before the loop."""
        low, carries = self.low, list(enumerate(self.plan.carries, self.first))
        low.tick += 1
        self.collected = Collected(low, self.plan.collected, trips)
        free = {i: None if c.init in low.undefined else dies(low, c.init, (self.op, i)) for i, c in carries}
        for _, values in carries:
            if self._keeps_one(values.arg):
                low.touch(low.env[values.init])  # in the loop, virtual buffers stand for it
        self.region = low.open_region(self.collected.records)
        # A copy may end the live range of its source, so numbers that fill arrays come last.
        for number, values in sorted(carries, key=lambda carry: isinstance(low.env[carry[1].init], Spread)):
            operand = low.env[values.init]
            if isinstance(operand, Spread) and operand.type.shape and self.carries and low.keeping.one:
                low.tick += 1
            if values.next is values.arg:
                low.env[values.result] = operand
                low.touch(operand)
                self._see(values, operand)
                continue
            if isinstance(operand, Sequence):
                operand = anchored(low, operand, escapes=False)
            self.carries.append((self._carry(values, (self.op, number), operand, free[number]), values))
        low.tick += 1  # the virtual buffers of versions begin inside the loop

    def _carry(self, values: Values, use: tuple[Op, int], operand: Operand, free: Buffer | None) -> Carry:
        low, arg = self.low, values.arg
        type = arg.type
        if not isinstance(type, TensorType) or type.shape == ():
            return carry_of(low, type, operand, arg)
        one = self._keeps_one(arg)
        place = place_of(low, values.result, values.init, one)
        if one:
            of_frame = all(root.argument is None and root.result is None for root in roots_of(operand))
            dying = of_frame and last_read(low, values.init, use)
            kept = low.keeping.moves and of_frame and not dying
            return OnePlace(low, operand, place, arg, self.cost, dying=dying, kept=kept)
        return ArrayCarry(low, type, operand, place, arg, free)

    def _keeps_one(self, arg: Value) -> bool:
        """Whether a carry is an array with one buffer."""
        array = isinstance(arg.type, TensorType) and arg.type.shape != ()
        return array and self.low.keeping.one and arg not in self.low.keeping.dear

    def _see(self, values: Values, operand: Operand) -> None:
        self.low.env.update(dict.fromkeys(values.args, operand))

    def _first(self) -> list[Reg]:
        """The registers of the carries for the first trip."""
        return [r for carry, _ in self.carries for r in carry.first]

    def _bind(self, registers: list[Reg]) -> None:
        """Binds the carries to their registers at the start of a trip."""
        for carry, values in self.carries:
            n = len(carry.first)
            self._see(values, carry.begin(registers[:n]))
            registers = registers[n:]

    def _trip(self, index: Int) -> list[Reg]:
        """Emits the body; the registers of the carries for the next trip."""
        low = self.low
        outer, low.written = low.written, set()
        used, spot = low.room_uses, len(low.text.lines)
        for x, arg in self.plan.elements:
            operand = low.env[x]
            low.touch(operand)
            low.env[arg] = Undefined()
            if isinstance(operand, Sequence):
                low.env[arg] = element(low, operand, index, undefined=x in low.undefined)
        self.collected.plan(self.body, index)
        for carry, values in self.carries:
            carry.wish(values.next, self.body)
        with low.inside():
            low.block(self.body)
        low.tick += 1
        mine = [carry.carried for carry, _ in self.carries if isinstance(carry, ArrayCarry | OnePlace)]
        low.wanted = {v: p for v, p in low.wanted.items() if p.carried is None or p.carried not in mine}
        found = next_versions(low, [(carry, values.next) for carry, values in self.carries])
        if low.room_uses != used and not self._keeps_room():
            mark = pointer(low.text.fresh("mark"))
            room = low.room()
            low.text.lines.insert(spot, f"  {mark.text} = call ptr @room.mark({room.entry})")
            room.release(mark)
        low.written = outer
        return found

    def _keeps_room(self) -> bool:
        """Whether memory that a trip takes of the room outlives it: it is part of a carry or a collected element."""
        return any(isinstance(leaf, Seq) for out in self.body.outs for leaf in leaves(out.type))

    def _close(self, registers: list[Reg], length: Reg) -> None:
        """After the loop."""
        low = self.low
        low.tick += 1
        for carry, _ in self.carries:
            if isinstance(carry, OnePlace):
                carry.rest()
        low.close_region(self.region)
        for carry, values in self.carries:
            n = len(carry.first)
            low.env[values.result] = carry.end(registers[:n])
            registers = registers[n:]
        self.collected.bind(length)


class _Scan(_Loop):
    """A loop of a number of trips known when it begins."""

    def write(self) -> None:
        low, text = self.low, self.text
        trips, n = self._count()
        for x, _ in self.plan.elements:
            operand = low.env[x]
            if isinstance(operand, Sequence):
                require_elements(low, operand, n)
        self._open(trips)
        self.collected.take(n)
        polled = not is_short(trips, self.cost)
        fuelled = polled or has_loops(low, self.body)

        def trip(i: Int, registers: list[Reg]) -> list[Reg]:
            if fuelled:
                low.fuel = registers[-1]
            self._bind(registers)
            self._number(i)
            found = self._trip(i)
            if polled:
                burn(low, self.cost)
            return [*found, low.fuel] if fuelled else found

        start, stop, step = (text.sub(n, 1), -1, -1) if self.plan.reverse else (0, n, 1)
        carried = [*self._first(), low.fuel] if fuelled else self._first()
        found = text.loop(start, stop, step, carried, trip)
        if fuelled:
            low.fuel = found.pop()
        self._close(found, text.whole(n))

    def _count(self) -> tuple[Size | None, Int]:
        """The number of trips: a number or a size of the call, or None; and as code."""
        owner = self.plan.count.owner
        if isinstance(owner, Op) and owner.defn.name == "size_value" and is_at_most(0, owner.attr("size")):
            return owner.attr("size"), owner.attr("size")
        operand, n = self.low.env[self.plan.count], self.low.scalar(self.plan.count).reg
        if isinstance(operand, Spread) and not isinstance(operand.number, Lane):
            trips = max(int(operand.number), 0)
            return trips, trips
        self.text.declares.add("declare i64 @llvm.smax.i64(i64, i64)")
        return None, self.text.let("i64", f"call i64 @llvm.smax.i64(i64 0, {n})")

    def _number(self, i: Int) -> None:
        """Binds the number of the trip."""
        index = self.plan.index
        if index is not None:
            assert isinstance(index.type, TensorType)
            number = i if isinstance(i, int) else self.low.one.lane(self.text.whole(i), index.type.dtype)
            self.low.env[index] = Spread(index.type, number)


class _While(_Loop):
    """A loop of an unknown number of trips: its records are reallocated when they are full."""

    def __init__(self, low: Lowering, op: Op) -> None:
        super().__init__(low, op)
        self.trips = self.capacity = i64(0)

    def write(self) -> None:
        low, text, cond, count = self.low, self.text, self.op.blocks[0], self.plan.count
        self._open(None)
        groups, counted = self.collected.growing, self.plan.counted
        state: list[Reg] = [low.fuel]
        if counted:
            state.append(i64(0))
        if groups:
            state += [i64(_FIRST), *self.collected.take(_FIRST)]

        def take(registers: list[Reg]) -> list[Reg]:
            """Takes the state; the carries are left."""
            low.fuel = registers[0]
            if counted:
                self.trips = registers[1]
            if groups:
                self.capacity = registers[2]
                self.collected.begin(registers[3 : len(state)])
            return registers[len(state) :]

        def test(registers: list[Reg]) -> Reg:
            self._bind(take(registers))
            with low.inside():
                low.block(cond)
                return low.scalar(cond.outs[0]).reg

        def trip(registers: list[Reg]) -> list[Reg]:
            if groups:
                self._grow()
            found = self._trip(self.trips)
            burn(low, self.cost)
            after = [low.fuel]
            if counted:
                after.append(text.whole(text.add(self.trips, 1)))
            if groups:
                after += [self.capacity, *[g.base for g in groups]]
            return [*after, *found]

        last = take(text.repeat([*state, *self._first()], test, trip))
        self.collected.trim(self.trips, self.capacity)
        self._close(last, self.trips)
        assert isinstance(count.type, TensorType)
        low.env[count] = Spread(count.type, low.one.lane(self.trips, count.type.dtype))

    def _grow(self) -> None:
        """Emits the reallocation of full records; pointers into them are moved along."""
        text, groups, room = self.text, self.collected.growing, self.collected.room
        assert room is not None
        pointers = [p for carry, _ in self.carries for p in carry.pointers()]

        def grow() -> list[Reg]:
            # Twice as many, of large ones a quarter more.
            limit = _LARGE // max(1, *(usual(g.step) for g in groups))
            large = text.let("i1", f"icmp ugt {self.capacity}, {max(1, limit)}")
            quarter = text.let("i64", f"lshr {self.capacity}, 2")
            more = text.let("i64", f"select {large}, {quarter}, {self.capacity}")
            wanted = text.whole(text.add(self.capacity, more))
            moved = [room.more(g.base, self.trips, self.capacity, wanted, g.step) for g in groups]
            follow = [self._followed(p, moved) for p in pointers]
            return [wanted, *moved, *follow]

        full = text.make("i1", f"icmp eq i64 {self.trips.text}, {self.capacity.text}")
        now = [self.capacity, *[g.base for g in groups], *pointers]
        found = text.branch(full, grow, lambda: now, rare=True)
        self.capacity = found[0]
        self.collected.begin(found[1 : 1 + len(groups)])
        left = iter(found[1 + len(groups) :])
        for carry, values in self.carries:
            self._see(values, carry.moved(left, self.low.env[values.arg]))

    def _followed(self, pointer: Reg, moved: list[Reg]) -> Reg:
        """The pointer, moved along if it points into a record."""
        text = self.text
        place = text.let("i64", f"ptrtoint {pointer} to i64")
        for group, base in zip(self.collected.growing, moved, strict=True):
            start = text.let("i64", f"ptrtoint {group.base} to i64")
            offset = text.let("i64", f"sub i64 {place.text}, {start.text}")
            size = text.whole(text.mul(self.trips, group.step))
            inside = text.let("i1", f"icmp ult {offset}, {size.text}")
            pointer = text.let("ptr", f"select {inside}, {text.at(base, offset)}, {pointer}")
        return pointer


OPS.update({"scan": lambda low, op: _Scan(low, op).write(), "while": lambda low, op: _While(low, op).write()})

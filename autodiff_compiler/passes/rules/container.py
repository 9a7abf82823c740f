"""Tuples and sequences."""

from __future__ import annotations

from ...ir.core import Value
from ...ir.types import TensorType
from .registry import emit, rule


@rule("tuple_get")
def get_of_make(b, op, x):
    """tuple_get(tuple_make(.., x, ..), i) => x"""
    if x.made_by("tuple_make"): return x.op.operands[op.attrs[0]]


@rule("tuple_make")
def make_of_gets(b, op, *elems):
    """tuple_make(tuple_get(t, 0), tuple_get(t, 1), ..) => t when that is all of t"""
    if not elems or not elems[0].made_by("tuple_get"): return None
    whole = elems[0].op.operands[0]
    if whole.type is not op.results[0].type: return None
    for i, x in enumerate(elems):
        if not (x.made_by("tuple_get") and x.op.operands[0] is whole and x.op.attrs[0] == i): return None
    return whole


@rule("from_seq")
def from_to(b, op, xs):
    """from_seq(to_seq(x)) => x"""
    if xs.made_by("to_seq") and xs.op.operands[0].type is op.results[0].type: return xs.op.operands[0]


@rule("to_seq")
def to_from(b, op, x):
    """to_seq(from_seq(xs)) => xs"""
    if x.made_by("from_seq"): return x.op.operands[0]


@rule("seq_len")
def length_known(b, op, xs):
    """seq_len(to_seq(x)) => x.shape[0];  seq_len of what a loop collected => its number of trips"""
    while xs.made_by("seq_add"):
        xs = xs.op.operands[0]
    source = xs.op
    if source is None: return None
    if source.defn.name == "to_seq":
        size = source.operands[0].shape[0]
        return b.const(size, op.results[0].type) if isinstance(size, int) else None
    if source.defn.name == "while": return source.results[0]
    if source.defn.name == "scan": return _trips(b, source.operands[0])


def _trips(b, n: Value):
    """The trips of a scan over `n`, which may be negative: then there are none."""
    if n.constant is not None: return b.const(max(n.constant, 0), n.type)
    if n.made_by("seq_len") or (n.made_by("while") and n.index == 0): return n
    return None


@rule("seq_add")
def add_slices(b, op, xs, ys):
    """seq_add(to_seq(x), to_seq(y)) => to_seq(add(x, y))"""
    if not (xs.made_by("to_seq") and ys.made_by("to_seq")): return None
    x, y = xs.op.operands[0], ys.op.operands[0]
    if isinstance(x.type, TensorType) and x.type is y.type: return emit(b, "to_seq", emit(b, "add", x, y))

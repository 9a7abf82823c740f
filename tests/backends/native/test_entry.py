"""The Python function of a compiled module: what it accepts, what it gives, and what it leaves to Python."""

from __future__ import annotations

import ctypes
import pickle

import numpy as np
import pytest

from autodiff_compiler.backends.native.callpath import abi
from autodiff_compiler.backends.native.callpath.choose import call_path
from autodiff_compiler.backends.native.callpath.entry import MachineEntry
from autodiff_compiler.backends.native.callpath.plain import PlainEntry
from autodiff_compiler.backends.native.callpath.signature import Argument, Result, Signature
from autodiff_compiler.backends.native.codegen.emitter import Context
from autodiff_compiler.backends.native.jit import machine
from autodiff_compiler.dtypes import ALL, float32, int32, int64
from autodiff_compiler.runtime.parameter import Parameter
from autodiff_compiler.runtime.storage import SHARED, holders
from autodiff_compiler.runtime.tensor import Tensor, wrap
from tests.backends.native.entries import ADD, ADD_TO, CALLBACK, ENTRIES, R8, V8, Made, copying, floats, slow

pytestmark = pytest.mark.skipif(machine.why_not() is not None, reason=f"no native code: {machine.why_not()}")

TWO = Signature((V8, V8), (R8,), bare=True)
IN_PLACE = Signature((V8, V8), (Result(float32, (8,), 0),), bare=True)


@pytest.fixture(params=sorted(ENTRIES))
def kind(request):
    return request.param


def is_slow(found, *args, **options):
    """Whether Python got the call, with the very arguments."""
    name, given, named = found
    return name == "slow" and len(given) == len(args) and all(a is b for a, b in zip(given, args)) and named == options


# ------------------------------------------------------------------------------------------------ which entry
def test_the_entry_in_machine_code_is_taken_where_it_works(monkeypatch):
    monkeypatch.delenv("AC_CALLPATH", raising=False)
    assert type(call_path().entry(TWO, Context())) is MachineEntry
    monkeypatch.setattr(abi, "why_not", lambda: "unknown objects")
    assert type(call_path().entry(TWO, Context())) is PlainEntry


def test_the_other_entry_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("AC_CALLPATH", "plain")
    assert type(call_path().entry(TWO, Context())) is PlainEntry


# ------------------------------------------------------------------------------------------------ what it gives
@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 3), (1, 1, 2, 1)], ids=str)
def test_all_dtypes_and_ranks(kind, dtype, shape):
    array = np.arange(60).astype(dtype.numpy)[: int(np.prod(shape))].reshape(shape).copy()
    argument = Argument(dtype, shape)
    found = Made(kind, Signature((argument,), (Result(dtype, shape),)), copying(argument.nbytes))(array)
    assert type(found) is tuple
    assert len(found) == 1
    result = found[0]
    assert type(result) is np.ndarray
    assert result.dtype is array.dtype
    assert result.shape == shape
    assert result.tobytes() == array.tobytes()
    assert result.flags.carray
    assert result.flags.owndata
    assert not np.shares_memory(result, array)


def test_one_result_without_a_tuple(kind):
    found = Made(kind, TWO, ADD)(floats(1, 2), floats(10))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, floats(11, 2))


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_several_results(kind, count):
    params = ", ".join(["ptr %f", *[f"ptr %o{i}" for i in range(count)]])
    stores = "\n".join(f"  store float {i}.0, ptr %o{i}" for i in range(count))
    main = f"define i32 @main({params}) {{\n{stores}\n  ret i32 0\n}}"
    found = Made(kind, Signature((), (Result(float32),) * count), main)()
    assert type(found) is tuple
    assert [float(x) for x in found] == list(range(count))


def test_a_result_that_is_an_argument(kind):
    a, b = floats(1, 2), floats(10, 20)
    assert Made(kind, IN_PLACE, ADD_TO)(a, b) is a
    np.testing.assert_array_equal(a, floats(11, 22))
    both = Signature((V8, V8), (Result(float32, (8,), 1), R8))
    main = ADD.replace("  store", "  store <8 x float> %x, ptr %b, align 4\n  store")  # b = a, o = a + b
    first, second = Made(kind, both, main)(a, b)
    assert first is b
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(second, floats(21, 42))


def test_the_function_knows_its_name_and_python_part():
    function = Made("fast", TWO, ADD).function
    assert function.__name__ == "sample"
    assert function.__self__ is slow


# ------------------------------------------------------------------------------------------------ what it accepts
class Derived(np.ndarray):
    pass


def other(array, **changes):
    """An array like another with a flag or so changed."""
    for name, value in changes.items():
        setattr(array.flags, name, value)
    return array


def unaligned():
    return np.zeros(33, np.uint8)[1:].view(np.float32)


ODD = {
    "list": lambda: [0.0] * 8,
    "number": lambda: 1.0,
    "None": lambda: None,
    "scalar": lambda: np.float32(1),
    "subclass": lambda: floats().view(Derived),
    "Tensor": lambda: Tensor(floats()),
    "double": lambda: np.zeros(8),
    "int32": lambda: np.zeros(8, np.int32),
    "swapped": lambda: np.zeros(8, ">f4"),
    "longer": lambda: np.zeros(9, np.float32),
    "more dimensions": lambda: np.zeros((1, 8), np.float32),
    "fewer dimensions": lambda: np.zeros((), np.float32),
    "strided": lambda: np.zeros(16, np.float32)[::2],
    "reversed": lambda: floats()[::-1],
    "unaligned": unaligned,
}


def adding(kind, count, **options):
    """o = the first argument + the last one of that many: more than a few are checked by other code."""
    params = ", ".join(
        ["ptr %frame", *[f"ptr %{'a' if not i else 'b' if i == count - 1 else i}" for i in range(count)]]
    )
    main = ADD.replace("ptr %frame, ptr %a, ptr %b", params)
    return Made(kind, Signature((V8,) * count, (R8,), bare=True, **options), main)


@pytest.mark.parametrize("count", [2, 9, 40])
def test_python_takes_what_is_unusual(kind, count):
    function = adding(kind, count)
    args = [floats(i) for i in range(count)]
    np.testing.assert_array_equal(function(*args), floats(count - 1))
    for name, make in ODD.items():
        for place in (0, count - 1):
            odd = list(args)
            odd[place] = make()
            assert is_slow(function(*odd), *odd), name
    np.testing.assert_array_equal(function(*[x.astype(x.dtype) for x in args]), floats(count - 1))


def test_python_takes_wrong_numbers_of_arguments_and_keywords(kind):
    function, x = Made(kind, TWO, ADD), floats()
    assert is_slow(function())
    assert is_slow(function(x), x)
    assert is_slow(function(x, x, x), x, x, x)
    assert is_slow(function(x, b=x), x, b=x)
    assert is_slow(function(x, x, b=1), x, x, b=1)
    assert is_slow(function(*(x, x), **{"b": 1}), x, x, b=1)


def test_what_python_raises_for_an_unusual_call_is_raised(kind):
    def refuse(*args):
        raise LookupError(len(args))

    with pytest.raises(LookupError, match="3"):
        Made(kind, TWO, ADD, refuse)(1, 2, 3)


def test_columns_and_rows_are_told_apart(kind):
    argument = Argument(float32, (2, 4))
    function = Made(kind, Signature((argument,), (Result(float32, (2, 4)),), bare=True), copying(32))
    rows = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(function(rows), rows)
    for odd in (np.asfortranarray(rows), rows.T, rows.reshape(4, 2)):
        assert is_slow(function(odd), odd)
    np.testing.assert_array_equal(function(rows[:, :4][0:2]), rows)


def test_read_only_arrays_are_read(kind):
    fixed = other(floats(1), writeable=False)
    np.testing.assert_array_equal(Made(kind, TWO, ADD)(fixed, fixed), floats(2))
    function = Made(kind, IN_PLACE, ADD_TO)
    x = floats()
    assert is_slow(function(fixed, x), fixed, x)
    np.testing.assert_array_equal(function(x, fixed), floats(1))


def test_equal_dtypes_that_are_another_object_are_known(kind):
    noted = np.zeros(8, np.dtype(np.float32, metadata={"unit": "m"}))
    assert noted.dtype is not np.dtype(np.float32)
    unpickled = pickle.loads(pickle.dumps(floats(1, 2)))
    np.testing.assert_array_equal(Made(kind, TWO, ADD)(noted, unpickled), floats(1, 2))


@pytest.mark.skipif(np.dtype("q") != np.int64 or np.dtype("l") != np.int64, reason="C's long is another type here")
@pytest.mark.parametrize("char", ["l", "q"])
def test_both_integers_of_c_with_64_bits_are_known(kind, char):
    function = Made(kind, Signature((Argument(int64, (2,)),), (Result(int64, (2,)),), bare=True), copying(16))
    found = function(np.array([1, -2], char))
    assert found.tolist() == [1, -2]
    assert found.dtype is np.dtype(np.int64)


def test_dtypes_of_the_same_size_are_told_apart(kind):
    function = Made(kind, Signature((Argument(int32, (8,)),), (Result(int32, (8,)),), bare=True), copying(32))
    for dtype in (np.float32, np.uint32, ">i4", [("a", "i4")], "S4", "M8[s]"):
        x = np.zeros(8, dtype)
        assert is_slow(function(x), x)


def test_a_view_that_begins_anywhere_is_read(kind):
    whole = np.arange(20, dtype=np.float32)
    np.testing.assert_array_equal(Made(kind, TWO, ADD)(whole[3:11], whole[5:13]), whole[3:11] + whole[5:13])


# ------------------------------------------------------------------------------------------------ shared memory
def test_what_is_written_over_shares_no_memory(kind):
    function, whole = Made(kind, IN_PLACE, ADD_TO), np.zeros(32, np.float32)
    for start in range(17):
        a, b = whole[8:16], whole[start : start + 8]
        found = function(a, b)
        assert is_slow(found, a, b) if 0 < start < 16 else found is a


@pytest.mark.parametrize("written", [1, 3, 12])
def test_many_arguments_share_no_memory_either(kind, written):
    rng = np.random.default_rng(written)
    sizes = [int(n) for n in rng.integers(0, 4, 24)]
    arguments = tuple(Argument(float32, (n,)) for n in sizes)
    first = rng.permutation(24)[:written].tolist()
    results = tuple(Result(float32, (sizes[i],), i) for i in first)
    main = f"define i32 @main({', '.join(['ptr %f', *[f'ptr %a{i}' for i in range(24)]])}) {{\n  ret i32 0\n}}"
    function = Made(kind, Signature(arguments, results), main)
    whole = np.zeros(300, np.float32)
    places = [8 * i for i in range(24)]
    met = set()
    for _ in range(300):
        trial = list(places)
        for i in rng.integers(0, 24, rng.integers(0, 3)):
            trial[i] = int(rng.integers(0, 296))
        args = [whole[at : at + n] for at, n in zip(trial, sizes)]
        bad = any(np.shares_memory(args[i], args[j]) for i in first for j in range(24) if i != j)
        found = function(*args)
        assert is_slow(found, *args) if bad else [x is args[i] for x, i in zip(found, first)] == [True] * written
        met.add(bad)
        places = places if bad else trial  # places that were seen stay for the next call
    assert met == {False, True}


# ------------------------------------------------------------------------------------------------ exceptions
def test_an_exception_of_main_is_raised(kind):
    def fail():
        raise KeyError("from main")

    made = Made(kind, Signature((V8,), (R8,), frame_bytes=256), CALLBACK, callback=fail)
    for _ in range(3):
        with pytest.raises(KeyError, match="from main"):
            made(floats())


def test_a_main_that_fails_without_an_exception_is_an_error(kind):
    with pytest.raises(SystemError):
        Made(kind, Signature((), ()), "define i32 @main(ptr %f) {\n  ret i32 1\n}")()


@pytest.mark.parametrize("first", [True, False])
def test_results_without_room_are_memory_errors(kind, first):
    huge, small = Result(float32, (1 << 48,)), Result(float32, (4,))
    main = "define i32 @main(ptr %f, ptr %a, ptr %b) {\n  ret i32 0\n}"
    made = Made(kind, Signature((), (huge, small) if first else (small, huge)), main)
    with pytest.raises(MemoryError):
        made()


def test_a_frame_without_room_is_a_memory_error(kind):
    with pytest.raises(MemoryError):
        Made(kind, Signature((V8, V8), (R8,), frame_bytes=1 << 50), ADD)(floats(), floats())


def test_signatures_that_make_no_sense():
    with pytest.raises(ValueError, match="2 results cannot be returned without a tuple"):
        Signature((), (R8, R8), bare=True)
    with pytest.raises(ValueError, match="cannot be argument 0"):
        Signature((V8,), (Result(float32, (4,), 0),))
    with pytest.raises(ValueError, match="no room for its header"):
        Signature((), (), frame_bytes=63)


# ------------------------------------------------------------------------------------------------ Tensors
TENSORS = Signature((V8, V8), (R8,), tensors=True, bare=True)


def test_tensors_give_tensors(kind):
    found = Made(kind, TENSORS, ADD)(wrap(floats(1, 2)), Parameter(floats(10)))
    assert type(found) is Tensor
    assert found._node is None
    assert found._held == 0
    assert not hasattr(found, "_hooks")
    np.testing.assert_array_equal(found.asnumpy(), floats(11, 2))
    assert str(found + found) == str(Tensor(floats(22, 4)))
    pair = Made(kind, Signature((V8, V8), (R8,), tensors=True), ADD)(found, found)
    assert type(pair) is tuple
    assert [type(x) for x in pair] == [Tensor]
    np.testing.assert_array_equal(pair[0].asnumpy(), floats(22, 4))


class DerivedTensor(Tensor):
    pass


ODD_TENSORS = {
    "array": floats,
    "number": lambda: 1,
    "other shape": lambda: Tensor([1.0]),
    "other dtype": lambda: Tensor(np.zeros(8)),
    "derived": lambda: DerivedTensor(floats()),
    "bare": lambda: Tensor.__new__(Tensor),
    "bare Parameter": lambda: Parameter.__new__(Parameter),
    "transposed": lambda: wrap(np.zeros(16, np.float32)[::2]),
    "on a tape": lambda: wrap(floats(), node=object()),
}


@pytest.mark.parametrize("count", [2, 9, 40])
def test_python_takes_unusual_tensors(kind, count):
    function = adding(kind, count, tensors=True)
    args = [Parameter(floats(i)) if i % 2 else wrap(floats(i)) for i in range(count)]
    assert function(*args).tolist() == floats(count - 1).tolist()
    for name, make in ODD_TENSORS.items():
        for place in (0, count - 1):
            odd = list(args)
            odd[place] = make()
            assert is_slow(function(*odd), *odd), name


def test_python_takes_tensors_with_hooks(kind):
    x, function = wrap(floats()), Made(kind, TENSORS, ADD)
    assert type(function(x, x)) is Tensor
    x.register_hook(lambda g: g)
    assert is_slow(function(x, x), x, x)


def test_python_takes_parameters_while_there_is_a_tape(kind):
    x, p, function = wrap(floats()), Parameter(floats()), Made(kind, TENSORS, ADD)
    assert type(function(x, p)) is Tensor
    bit = holders.take()
    try:
        assert is_slow(function(x, p), x, p)
        assert type(function(x, x)) is Tensor
    finally:
        holders.give(bit)
    assert type(function(x, p)) is Tensor


def test_tensors_written_over(kind):
    function = Made(kind, Signature((V8, V8), (Result(float32, (8,), 0),), tensors=True, bare=True), ADD_TO)
    p, x = Parameter(floats(1)), wrap(floats(2))
    assert function(p, x) is p
    np.testing.assert_array_equal(p.asnumpy(), floats(3))
    assert is_slow(function(x, x), x, x)
    x._held = SHARED  # another shows the bytes
    assert is_slow(function(x, p), x, p)
    assert function(p, x) is p


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_tensors_of_all_dtypes(kind, dtype):
    x = Tensor(np.array([[1, 0], [1, 1]]).astype(dtype.numpy))
    argument = Argument(dtype, (2, 2))
    found = Made(
        kind, Signature((argument,), (Result(dtype, (2, 2)),), tensors=True, bare=True), copying(argument.nbytes)
    )
    assert found(x).dtype is dtype
    assert found(x).tolist() == x.tolist()


def test_arrays_of_tensors_live_until_main_ends(kind):
    x = wrap(np.full(1 << 22, 3, np.float32))

    def replace():
        x._data = floats()

    big = Argument(float32, (1 << 22,))
    signature = Signature((big,), (R8,), tensors=True, bare=True, calls_python=True)
    found = Made(kind, signature, CALLBACK, callback=replace)(x)
    assert found.tolist() == [3.0] * 8
    assert x.shape == (8,)


# ------------------------------------------------------------------------------------------------ captures, guards
class Slow:
    """Python's part, which keeps alive what the function captures."""

    def __init__(self, **captured):
        self.captured = captured

    def __call__(self, *args, **options):
        return slow(*args, **options)


def capturing(kind, results, main, **captured):
    """A function of one Tensor, whose other argument it captures."""
    arguments = (V8, Argument(float32, (8,), "captured"))
    signature = Signature(arguments, results, tensors=True, bare=True)
    return Made(kind, signature, main, Slow(**captured), others={name: id(x) for name, x in captured.items()})


def test_captured_parameters_are_read_at_each_call(kind):
    p, x = Parameter(floats(1)), wrap(floats(2))
    function = capturing(kind, (R8,), ADD, captured=p)
    assert function(x).tolist() == floats(3).tolist()
    p.set_data(Tensor(floats(5)))
    assert function(x).tolist() == floats(7).tolist()
    assert is_slow(function(x, p), x, p)
    p.set_dtype("float64")
    assert is_slow(function(x), x)


def test_captured_parameters_are_written_over(kind):
    p, x = Parameter(floats(1)), wrap(floats(2))
    main = ADD.replace(", ptr %o)", ")").replace("ptr %o", "ptr %b")  # b += a
    function = capturing(kind, (Result(float32, (8,), 1),), main, captured=p)
    data, found = p._data, function(x)
    assert found is p
    assert p._data is data
    assert p.tolist() == floats(3).tolist()
    shared = wrap(data)
    assert is_slow(function(shared), shared)


def test_guards_are_words_that_must_stay(kind):
    class Watched:
        __slots__ = ("value",)

    watched, expected = Watched(), object()
    watched.value = expected
    pairs = (ctypes.c_size_t * 3)(id(watched) + abi.slot_offset(Watched, "value"), id(expected), 0)
    others = {"watched": ctypes.addressof(pairs), "calls": 0}
    signature = Signature((V8, V8), (R8,), bare=True, watched=True)
    function, x = Made(kind, signature, ADD, others=others), floats(1)
    np.testing.assert_array_equal(function(x, x), floats(2))
    watched.value = object()
    assert is_slow(function(x, x), x, x)
    watched.value = expected
    np.testing.assert_array_equal(function(x, x), floats(2))

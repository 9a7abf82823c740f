"""Text becomes functions of this process: right ones, freed ones, and errors that say where the text is wrong."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import re
import sys
import threading

import numpy as np
import pytest

from autodiff_compiler.backends.native.jit import engine
from autodiff_compiler.backends.native.jit.engine import assembly, emit, level_for, load
from autodiff_compiler.backends.native.jit.machine import binding, machine, override, why_not
from autodiff_compiler.backends.native.jit.symbols import addresses, symbols
from autodiff_compiler.errors import InternalCompilerError

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no native code here: {why_not()}")

CUBE = """
define double @main(double %x) nounwind {
  %a = fmul double %x, %x
  %b = fmul double %a, %x
  %c = fadd double %b, 2.5
  ret double %c
}
"""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("AC_CACHE_DIR", str(tmp_path))


def function(loaded, name="main", kind=ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)):
    made = kind(loaded.address(name))
    made.owner = loaded  # code is there as long as what was loaded
    return made


# ------------------------------------------------------------------------------------------------ what is loaded
@pytest.mark.parametrize("level", [None, 0, 1, 2, 3])
def test_a_function_computes_what_its_text_says(level):
    for _ in range(2):  # made, then from the cache
        loaded = load(CUBE, level=level)
        assert function(loaded)(3.0) == 29.5


def test_vectors_of_the_host():
    n = machine().lanes(4)
    kind = f"<{n} x float>"
    text = f"""
define void @main(ptr %a, ptr %o) nounwind {{
  %x = load {kind}, ptr %a, align 4
  %y = call {kind} @llvm.fma({kind} %x, {kind} splat (float 3.5), {kind} splat (float -0.25))
  store {kind} %y, ptr %o, align 4
  ret void
}}
declare {kind} @llvm.fma({kind}, {kind}, {kind})
""".replace("@llvm.fma", f"@llvm.fma.v{n}f32")
    loaded = load(text)
    x = np.arange(n, dtype=np.float32)
    out = np.zeros_like(x)
    function(loaded, kind=ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p))(x.ctypes.data, out.ctypes.data)
    np.testing.assert_array_equal(out, x * np.float32(3.5) - np.float32(0.25))  # exact for small integers


def test_pointers_of_the_process_come_through_the_context():
    text = """
define ptr @main(i64 %i) nounwind {
  %p = getelementptr ptr, ptr @context, i64 %i
  %v = load ptr, ptr %p
  ret ptr %v
}
"""
    loaded = load(text, context_size=3)
    other = load(text, context_size=3)
    assert list(loaded.context) == [None] * 3
    loaded.fill([id(loaded), 17, 0])
    other.context[1] = 99
    read = function(loaded, kind=ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64))
    assert [read(i) for i in range(3)] == [id(loaded), 17, None]
    assert ctypes.addressof(loaded.context) == loaded.address("context")
    assert ctypes.addressof(loaded.context) % 64 == 0
    assert other.context[1] == 99  # each has its own
    with pytest.raises(InternalCompilerError, match="2 pointers for a context of 3"):
        loaded.fill([1, 2])


def test_code_calls_python():
    text = """
declare ptr @PyFloat_FromDouble(double)
define ptr @main(double %x) nounwind {
  %y = fadd double %x, 1.0
  %r = call ptr @PyFloat_FromDouble(double %y)
  ret ptr %r
}
"""
    made = function(load(text), kind=ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_double))(41.0)
    assert made == 42.0
    assert sys.getrefcount(made) == 2


@pytest.mark.parametrize("name", sorted(addresses()))
def test_every_symbol_of_the_table_is_reached(name):
    """Its address as the code sees it, through the table of the loader."""
    text = f"declare void @{name}()\ndefine ptr @main() nounwind {{\n  ret ptr @{name}\n}}\n"
    assert function(load(text), kind=ctypes.CFUNCTYPE(ctypes.c_void_p))() == addresses()[name]


def test_the_symbol_of_numpy_makes_arrays():
    dtype = np.dtype(np.float64)
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t),
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
    )  # fmt: skip
    make = kind(addresses()["PyArray_NewFromDescr"])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # which it takes
    array = make(np.ndarray, dtype, 2, (ctypes.c_ssize_t * 2)(3, 5), None, None, 0, None)
    assert (array.shape, array.dtype, array.flags.c_contiguous, array.base) == ((3, 5), dtype, True, None)


def test_assembly_is_that_of_the_machine():
    text = assembly(CUBE)
    assert "main:" in text
    assert ("mulsd" in text) if machine().triple.startswith("x86_64") else ("fmul" in text)


# ------------------------------------------------------------------------------------------------ what is refused
def test_a_wrong_text_is_shown_with_its_line():
    wrong = CUBE.replace("%c = fadd double %b", "%c = fadd double %bb")
    with pytest.raises(InternalCompilerError) as caught:
        load(wrong)
    lines = str(caught.value).split("\n")
    assert "use of undefined value '%bb' (line 5)" in lines[0]
    marked = next(i for i, line in enumerate(lines) if line.strip() == "^")
    assert lines[marked - 1].endswith("%c = fadd double %bb, 2.5")
    assert lines[marked - 1][lines[marked].index("^") :].startswith("%bb")


def test_a_text_that_breaks_ssa_is_refused_not_compiled():
    wrong = """
define i32 @main(i1 %c) {
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 1
  br label %b
b:
  ret i32 %x
}
"""
    with pytest.raises(InternalCompilerError, match="Instruction does not dominate all uses"):
        load(wrong)


def test_names_that_are_not_in_the_table_are_refused():
    with pytest.raises(InternalCompilerError, match=r"asks for system, which it may not call"):
        load("declare i32 @system(ptr)\ndefine i32 @main() {\n  %r = call i32 @system(ptr null)\n  ret i32 %r\n}\n")


def test_calls_that_llvm_adds_are_refused():
    text = "declare double @llvm.sin.f64(double)\ndefine double @main(double %x) {\n"
    text += "  %r = call double @llvm.sin.f64(double %x)\n  ret double %r\n}\n"
    with pytest.raises(InternalCompilerError, match=r"asks for sin, which"):
        load(text)


def test_names_that_are_not_there():
    loaded = load(CUBE)
    with pytest.raises(InternalCompilerError, match="has no 'mian'"):
        loaded.address("mian")
    with pytest.raises(InternalCompilerError, match="has no 'context'"):
        loaded.address("context")


# ------------------------------------------------------------------------------------------------ other processors
HOSTS = [
    ("x86-64-v3", "x86_64-unknown-linux-gnu"),
    ("generic", "aarch64-unknown-linux-gnu"),
    ("apple-m1", "arm64-apple-macosx"),
    ("x86-64-v3", "x86_64-apple-macosx"),
]


@pytest.mark.parametrize(("cpu", "triple"), HOSTS)
def test_open_names_are_read_from_the_objects_of_other_systems(cpu, triple):
    text = """
declare void @PyErr_SetNone(ptr)
declare ptr @malloc(i64)
@table = internal constant [2 x double] [double 1.0, double 2.0]
define internal double @inner(i64 %i) noinline {
  %p = getelementptr double, ptr @table, i64 %i
  %v = load double, ptr %p
  ret double %v
}
define double @main(i64 %i) nounwind {
  %m = call ptr @malloc(i64 %i)
  call void @PyErr_SetNone(ptr %m)
  %c = load ptr, ptr @context
  call void @PyErr_SetNone(ptr %c)
  %v = call double @inner(i64 %i)
  ret double %v
}
"""
    with override(cpu, triple=triple):
        assert symbols(emit(text, context_size=1)) == ({"main", "context"}, {"malloc", "PyErr_SetNone"})
        with pytest.raises(InternalCompilerError, match="asks for cos, which"):
            emit("declare double @llvm.cos.f64(double)\n" + CUBE.replace("%c = fadd double %b, 2.5",
                 "%c = call double @llvm.cos.f64(double %b)"))  # fmt: skip


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", b"MZ" + bytes(200), b"\x7fELF\x02" + b"\xff" * 100])
def test_what_is_no_object_is_refused(damage):
    with pytest.raises(ValueError, match=r"object file|neither ELF"):
        symbols(damage)


def test_an_older_processor_of_the_same_kind():
    if not machine().has("avx2"):
        pytest.skip("this host is not x86-64")
    text = CUBE
    with override("x86-64-v3"):
        assert function(load(text))(2.0) == 10.5
        assert "zmm" not in assembly(text)


# ------------------------------------------------------------------------------------------------ levels
#: Four vectors of AVX2 at a time, through a product and five sums of products, one after the other.
FOUR_AT_A_TIME = """
define void @main(ptr %a, ptr %o) nounwind {
  %x = load <32 x float>, ptr %a, align 4
  %p0 = fmul <32 x float> %x, %x
  CHAIN
  store <32 x float> %p5, ptr %o, align 4
  ret void
}
declare <32 x float> @llvm.fma.v32f32(<32 x float>, <32 x float>, <32 x float>)
""".replace(
    "CHAIN",
    "".join(
        f"%p{i} = call <32 x float> @llvm.fma.v32f32(<32 x float> %p{i - 1}, <32 x float> %x,"
        f" <32 x float> splat (float {i}.5))\n  "
        for i in range(1, 6)
    ),
)


def without_our_option(text):
    """The assembly that others in the process get for the same processor."""
    llvm = binding()
    maker = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu="x86-64-v3", features=machine().features, opt=2
    )
    return maker.emit_assembly(llvm.parse_assembly(text, context=llvm.create_context()))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="it is about processors with AVX2")
@pytest.mark.parametrize("make", [assembly, emit])
def test_with_few_registers_the_order_stays_and_that_of_others_changes_not(make, monkeypatch):
    with override("x86-64-v3"):
        before = without_our_option(FOUR_AT_A_TIME)
        made = assembly(FOUR_AT_A_TIME)
        totals = re.findall(r"vfmadd\w+\s.*%(ymm\d+)$", made, re.MULTILINE)
        assert len(totals) == 20
        for i in range(0, 20, 4):  # no total is written again before the other three were
            assert len(set(totals[i : i + 4])) == 4
        make(FOUR_AT_A_TIME)
        assert without_our_option(FOUR_AT_A_TIME) == before
        monkeypatch.setattr(engine, "_parsed", lambda *_: None)
        monkeypatch.setattr(engine, "_target_machine", lambda *_: object())  # makes nothing
        with pytest.raises(AttributeError):
            make(FOUR_AT_A_TIME)
        assert without_our_option(FOUR_AT_A_TIME) == before


def test_large_modules_are_compiled_faster():
    assert level_for(CUBE) == 2
    assert level_for("\n" * engine.LARGE) == 0


# ------------------------------------------------------------------------------------------------ memory, threads
def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
@pytest.mark.parametrize("kept", [True, False], ids=["from the cache", "made anew"])
def test_400_dropped_engines_leave_memory_flat(monkeypatch, kept):
    if not kept:
        monkeypatch.setenv("AC_CACHE", "0")
    body = "".join(f"  %v{i + 1} = fmul double %v{i}, 1.5\n" for i in range(100))
    text = f"define double @main(double %v0) nounwind {{\n{body}  ret double %v100\n}}\n"

    def rounds(n: int) -> int:
        for _ in range(n):
            assert function(load(text, level=0, context_size=50))(0.0) == 0.0
        gc.collect()
        return resident()

    before = rounds(100)
    assert rounds(400) - before < 4 << 20  # one engine kept alive takes 12 kB, a context of LLVM more


def test_the_code_goes_with_the_object():
    """A dropped engine gives its memory back; what is still held works."""
    first, second = load(CUBE), load(CUBE)
    assert first.address("main") != second.address("main")
    del first
    gc.collect()
    assert function(second)(1.0) == 3.5


def test_threads_compile_at_the_same_time():
    texts = [CUBE.replace("2.5", f"{i}.5") for i in range(24)]
    results: dict[int, list[float]] = {}
    begin = threading.Barrier(4)

    def work(who: int) -> None:
        begin.wait()
        results[who] = [function(load(text))(2.0) for text in texts]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: [8.0 + n + 0.5 for n in range(24)] for i in range(4)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_while_another_thread_compiles(monkeypatch):
    """The child compiles, too: it was not born with LLVM's lock taken."""
    monkeypatch.setenv("AC_CACHE", "0")
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            load(CUBE)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:
                import signal

                signal.alarm(20)
                os._exit(0 if function(load(CUBE))(3.0) == 29.5 else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


def test_code_loaded_before_a_fork_runs_after_it():
    loaded = load(CUBE)
    call = function(loaded)
    child = os.fork()
    if not child:
        os._exit(0 if call(3.0) == 29.5 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_small_code_model():
    """Constants are operands of the instructions that use them, not loads of addresses first."""
    assert machine().triple
    if machine().triple.startswith("x86_64"):
        assert "movabs" not in assembly(CUBE)
    assert binding().get_object_format(machine().triple) in ("ELF", "MachO")

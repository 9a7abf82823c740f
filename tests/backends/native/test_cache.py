"""Object code on disk: found again, and never trusted further than it deserves."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autodiff_compiler import cli
from autodiff_compiler.backends.native.jit import cache, engine, machine
from autodiff_compiler.backends.native.jit.machine import Machine

ROOT = Path(__file__).parents[3]
needs_native = pytest.mark.skipif(machine.why_not() is not None, reason=f"no native code here: {machine.why_not()}")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the cache needs a POSIX system, as native code does")

KEY = "0123456789abcdef" * 4
CODE = bytes(range(256)) * 20
NAMES = frozenset({"memcpy", "PyErr_NoMemory"})
TEXT = "define double @main(double %x) nounwind {\n  %y = fmul double %x, 3.0\n  ret double %y\n}\n"


@pytest.fixture(autouse=True)
def objects(monkeypatch, tmp_path):
    """The folder of the objects, empty and new."""
    for name in ("AC_CACHE", "AC_CACHE_SIZE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_bytes_there", {})
    return tmp_path / "cache" / "objects"


def a_key(n: int) -> str:
    return f"{n:064x}"


def kept(objects: Path) -> Path:
    cache.keep(KEY, CODE, NAMES)
    return objects / f"{KEY}.o"


# ------------------------------------------------------------------------------------------------ found again
def test_what_is_kept_is_found(objects):
    assert cache.cached(KEY) is None
    file = kept(objects)
    assert cache.cached(KEY) == CODE
    assert cache.cached(a_key(1)) is None
    assert stat.S_IMODE(objects.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(objects) == [file.name]  # no temporary file is left


def test_keeping_again_replaces(objects):
    kept(objects)
    cache.keep(KEY, b"other", frozenset())
    assert cache.cached(KEY) == b"other"


@needs_native
def test_the_engine_compiles_once(objects, monkeypatch):
    def value(loaded):
        return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("main"))(5.0)

    first = engine.load(TEXT)
    assert len(os.listdir(objects)) == 1
    monkeypatch.setattr(engine, "_object", None)  # calling it fails
    second = engine.load(TEXT)
    assert value(first) == value(second) == 15.0


@needs_native
def test_a_damaged_object_is_compiled_anew(objects):
    engine.load(TEXT)
    (file,) = objects.iterdir()
    sound = file.read_bytes()
    file.write_bytes(sound[:-100])
    loaded = engine.load(TEXT)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("main"))(5.0) == 15.0
    assert file.read_bytes() == sound


def test_the_key_says_all_that_code_depends_on(monkeypatch):
    host = Machine("x86_64-linux-gnu", "some", "+fma", 32, False)
    monkeypatch.setattr(cache, "versions", lambda: "llvmlite 1, LLVM 2")
    keys = {
        cache.key_of("text", host, 2),
        cache.key_of("other", host, 2),
        cache.key_of("text", host, 0),
        cache.key_of("text", Machine("aarch64-linux-gnu", "some", "+fma", 32, False), 2),
        cache.key_of("text", Machine("x86_64-linux-gnu", "other", "+fma", 32, False), 2),
        cache.key_of("text", Machine("x86_64-linux-gnu", "some", "+fma,+avx2", 32, False), 2),
    }
    assert len(keys) == 6
    assert cache.key_of("text", host, 2) in keys
    for name, value in (("versions", lambda: "llvmlite 1, LLVM 3"), ("__version__", "99.0"), ("_FORMAT", 99)):
        monkeypatch.setattr(cache, name, value)
        keys.add(cache.key_of("text", host, 2))
    assert len(keys) == 9


# ------------------------------------------------------------------------------------------------ damaged, foreign
def test_cut_off_anywhere(objects):
    whole = kept(objects).read_bytes()
    file = objects / f"{KEY}.o"
    for end in (0, 1, 50, cache._HEADER.size - 1, cache._HEADER.size, cache._HEADER.size + 5, len(whole) - 1):
        file.write_bytes(whole[:end])
        assert cache.cached(KEY) is None, end
        assert not file.exists(), end


def test_one_bit_flipped_anywhere(objects):
    whole = bytearray(kept(objects).read_bytes())
    file = objects / f"{KEY}.o"
    header = range(cache._HEADER.size + 30)  # every byte of the header, the names and the first of the code
    for at in (*header, *range(cache._HEADER.size, len(whole), 97), len(whole) - 1):
        whole[at] ^= 1 << at % 8
        file.write_bytes(whole)
        assert cache.cached(KEY) is None, at
        assert not file.exists(), at
        whole[at] ^= 1 << at % 8
    file.write_bytes(whole)
    assert cache.cached(KEY) == CODE


def test_something_behind_the_object(objects):
    file = kept(objects)
    with file.open("ab") as stream:
        stream.write(b"more")
    assert cache.cached(KEY) is None


def test_under_another_name(objects):
    kept(objects).rename(objects / f"{a_key(1)}.o")
    assert cache.cached(a_key(1)) is None
    assert os.listdir(objects) == []


def test_names_that_this_process_does_not_give(objects):
    cache.keep(KEY, CODE, frozenset({"memcpy", "system"}))
    assert cache.cached(KEY) is None
    assert os.listdir(objects) == []


def with_names(names: bytes, code: bytes = CODE) -> bytes:
    """A file of the cache that is right but for the names it asks for."""
    body = names + code
    digest = hashlib.sha256(body).digest()
    return cache._HEADER.pack(b"ACobject", bytes.fromhex(KEY), digest, len(names), len(code)) + body


@pytest.mark.parametrize("names", [b"\xff\xfe", b"memcpy \xc3", b"\xed\xb2\x80"])
def test_names_that_are_no_text(objects, names):
    file = kept(objects)
    file.write_bytes(with_names(b"memcpy"))
    assert cache.cached(KEY) == CODE
    file.write_bytes(with_names(names))
    assert cache.cached(KEY) is None
    assert os.listdir(objects) == []


@pytest.mark.parametrize("said", [False, True], ids=["by nothing", "by its header"])
def test_a_file_that_does_not_fit_in_memory(objects, said):
    """Of holes, so that it takes no place on the disk; `said`: whether its header has that size, too."""
    file, large = kept(objects), 1 << 42
    header = cache._HEADER.pack(b"ACobject", bytes.fromhex(KEY), bytes(32), 0, large - cache._HEADER.size)
    if said:
        file.write_bytes(header)
    os.truncate(file, large)
    assert cache.cached(KEY) is None
    assert os.listdir(objects) == []


def test_a_link_is_not_followed(objects):
    file = kept(objects)
    elsewhere = objects.parent / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert cache.cached(KEY) is None
    assert elsewhere.exists()
    assert not file.is_symlink()


def test_what_is_no_file(objects):
    kept(objects).unlink()
    (objects / f"{KEY}.o").mkdir()
    assert cache.cached(KEY) is None
    cache.keep(KEY, CODE, NAMES)  # cannot, and leaves nothing behind
    assert os.listdir(objects) == [f"{KEY}.o"]
    (objects / f"{KEY}.o").rmdir()
    os.mkfifo(objects / f"{KEY}.o")
    assert cache.cached(KEY) is None  # without waiting for a writer


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user(objects):
    os.chown(kept(objects), 12345, -1)
    assert cache.cached(KEY) is None
    assert os.listdir(objects) == []


# ------------------------------------------------------------------------------------------------ the folder
@pytest.mark.parametrize("mode", [0o701, 0o770, 0o777, 0o755, 0o1777])
def test_a_folder_open_to_others_is_not_used(objects, mode):
    kept(objects)
    objects.chmod(mode)
    assert cache.cached(KEY) is None
    cache.keep(a_key(1), CODE, NAMES)
    assert os.listdir(objects) == [f"{KEY}.o"]
    assert "is open to other users" in cache.why_off()
    objects.chmod(0o700)
    assert cache.cached(KEY) == CODE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_not_used(objects):
    kept(objects)
    os.chown(objects, 12345, -1)
    assert cache.cached(KEY) is None
    assert "belongs to another user" in cache.why_off()


def test_a_folder_below_one_that_everyone_may_write_to(objects, monkeypatch):
    kept(objects)
    objects.parent.chmod(0o777)
    assert cache.cached(KEY) is None
    assert cache.why_off() == f"{objects.parent} can be written to by everyone"
    below = objects.parent / "deep"
    monkeypatch.setenv("AC_CACHE_DIR", str(below))
    cache.keep(KEY, CODE, NAMES)
    assert not below.exists()  # it is not even made
    objects.parent.chmod(0o1777)  # as /tmp: others may not rename what is ours
    cache.keep(KEY, CODE, NAMES)
    assert cache.cached(KEY) == CODE


def test_a_link_to_the_folder_is_looked_through(objects, monkeypatch):
    kept(objects)
    link = objects.parent.parent / "link"
    link.symlink_to(objects.parent)
    monkeypatch.setenv("AC_CACHE_DIR", str(link))
    assert cache.cached(KEY) == CODE
    objects.parent.chmod(0o777)
    assert "can be written to by everyone" in cache.why_off()


def test_where_the_folder_is(monkeypatch, tmp_path):
    monkeypatch.setenv("AC_CACHE_DIR", "here")
    assert cache.folder() == os.path.join(os.getcwd(), "here", "objects")
    monkeypatch.delenv("AC_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == str(tmp_path / ".cache" / "autodiff_compiler" / "objects")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the standard
    assert cache.folder() == str(tmp_path / ".cache" / "autodiff_compiler" / "objects")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == str(tmp_path / "xdg" / "autodiff_compiler" / "objects")


@pytest.mark.parametrize(("name", "value"), [("AC_CACHE", "0"), ("AC_CACHE_DIR", ""), ("AC_CACHE_SIZE", "many")])
def test_switched_off(objects, monkeypatch, name, value):
    kept(objects)
    monkeypatch.setenv(name, value)
    if name != "AC_CACHE_SIZE":  # which is about writing
        assert cache.cached(KEY) is None
    cache.keep(a_key(1), CODE, NAMES)
    assert os.listdir(objects) == [f"{KEY}.o"]
    assert name in cache.why_off()


def test_there_is_no_home(monkeypatch):
    monkeypatch.delenv("AC_CACHE_DIR")
    monkeypatch.setattr(cache.os.path, "expanduser", lambda path: path)
    assert cache.why_off() == "there is no home folder"
    assert cache.cached(KEY) is None


# ------------------------------------------------------------------------------------------------ when writing fails
def test_a_disk_that_is_full(objects):
    """The system refuses the bytes half way; nothing is left of the object, and nothing is raised."""
    cache.keep(a_key(1), b"small", frozenset())
    program = (
        "import resource, signal\n"
        "from autodiff_compiler.backends.native.jit import cache\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"cache.keep({KEY!r}, bytes(5000), frozenset())\n"
        f"assert cache.cached({KEY!r}) is None\n"
        f"assert cache.cached({a_key(1)!r}) == b'small'\n"
    )
    assert resource.RLIMIT_FSIZE is not None
    run(program)
    assert os.listdir(objects) == [f"{a_key(1)}.o"]


def test_a_folder_that_is_read_only(objects, monkeypatch):
    file = kept(objects)
    whole = file.read_bytes()
    really = os.open

    def refusing(path, flags, *rest, **options):  # as a read-only file system does, for root as well
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(30, "Read-only file system", path)
        return really(path, flags, *rest, **options)

    def refused(*arguments, **options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(cache.os, "open", refusing)
    monkeypatch.setattr(cache.os, "supports_dir_fd", {refusing})
    for name in ("utime", "unlink", "rename", "mkdir"):
        monkeypatch.setattr(cache.os, name, refused)
    monkeypatch.setattr(cache.os, "access", lambda path, mode: False)
    assert cache.cached(KEY) == CODE  # what is there is used
    cache.keep(a_key(1), CODE, NAMES)
    assert os.listdir(objects) == [file.name]
    assert cache.info()["state"] == f"read only: {objects} cannot be written to"
    monkeypatch.undo()
    assert file.read_bytes() == whole


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_whose_mode_is_read_only(objects):
    kept(objects)
    objects.chmod(0o500)
    try:
        cache.keep(a_key(1), CODE, NAMES)
        assert cache.cached(KEY) == CODE
        assert cache.cached(a_key(1)) is None
    finally:
        objects.chmod(0o700)


def test_a_rename_that_fails_leaves_no_temporary_file(objects, monkeypatch):
    def refused(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "rename", refused)
    kept(objects)
    assert os.listdir(objects) == []


# ------------------------------------------------------------------------------------------------ its size
def test_what_was_not_used_for_longest_goes_first(objects, monkeypatch):
    size = kept(objects).stat().st_size
    (objects / f"{KEY}.o").unlink()
    monkeypatch.setenv("AC_CACHE_SIZE", str(10 * size))
    for n in range(10):
        cache.keep(a_key(n), CODE, NAMES)
        os.utime(objects / f"{a_key(n)}.o", (n, n))
    assert len(os.listdir(objects)) == 10
    assert cache.cached(a_key(0)) == CODE  # used just now
    cache.keep(a_key(10), CODE, NAMES)
    there = {n for n in range(11) if (objects / f"{a_key(n)}.o").exists()}
    assert there == {0, 4, 5, 6, 7, 8, 9, 10}  # four fifths


def test_what_others_wrote_counts(objects, monkeypatch):
    size = kept(objects).stat().st_size
    for n in range(9):
        cache.keep(a_key(n), CODE, NAMES)
    monkeypatch.setattr(cache, "_bytes_there", {})  # as another process
    monkeypatch.setenv("AC_CACHE_SIZE", str(5 * size))
    cache.keep(a_key(20), CODE, NAMES)
    assert sum(file.stat().st_size for file in objects.iterdir()) <= 4 * size
    assert cache.cached(a_key(20)) == CODE


def test_an_object_larger_than_the_cache(objects, monkeypatch):
    kept(objects)
    monkeypatch.setenv("AC_CACHE_SIZE", "1K")
    cache.keep(a_key(1), CODE, NAMES)
    assert os.listdir(objects) == [f"{KEY}.o"]


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("2K", 2048), ("500M", 500 << 20), ("3 GiB", 3 << 30), ("1g", 1 << 30), ("0", 0)]
)
def test_sizes(monkeypatch, text, size):
    monkeypatch.setenv("AC_CACHE_SIZE", text)
    assert cache._limit() == size


def test_abandoned_temporary_files_are_removed(objects, monkeypatch):
    size = kept(objects).stat().st_size
    old, new = (objects / f"{KEY}.o.{n:016x}" for n in (1, 2))
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    (objects / "README").write_text("not ours")
    monkeypatch.setenv("AC_CACHE_SIZE", str(size + 100))
    cache.keep(a_key(1), CODE, NAMES)
    assert {file.name for file in objects.iterdir()} >= {new.name, "README"}
    assert not old.exists()


# ------------------------------------------------------------------------------------------------ several processes
def run(*programs: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    started = [subprocess.Popen([sys.executable, "-c", program], env=environment) for program in programs]
    assert [process.wait(120) for process in started] == [0] * len(programs)


def test_processes_that_write_and_read_the_same_objects(objects):
    """Each sees an object whole or not at all, while the limit removes some all the time."""
    program = """
import os, random
from autodiff_compiler.backends.native.jit import cache
os.environ["AC_CACHE_SIZE"] = "60K"
draw = random.Random(os.getpid())
found = 0
for _ in range(400):
    n = draw.randrange(20)
    code = bytes([n]) * (4000 + n)
    if draw.random() < 0.5:
        cache.keep(f"{n:064x}", code, frozenset({"memcpy"}))
    else:
        read = cache.cached(f"{n:064x}")
        assert read in (None, code), (n, len(read))
        found += read is not None
assert found > 20, found
"""
    run(program, program, program)
    assert all(cache._NAME.match(name) for name in os.listdir(objects))  # no temporary file is left
    assert sum(file.stat().st_size for file in objects.iterdir()) <= 3 * (60 << 10)


@needs_native
def test_another_process_finds_what_this_one_compiled(objects):
    engine.load(TEXT, level=2)
    run(
        "from autodiff_compiler.backends.native.jit import engine\n"
        "engine._object = None\n"
        f"assert engine.load({TEXT!r}, level=2).address('main')\n"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_write_under_names_of_their_own(objects):
    children = []
    for n in range(4):
        child = os.fork()
        if not child:
            for _ in range(50):
                cache.keep(KEY, CODE, NAMES)
            os._exit(0 if cache.cached(KEY) == CODE else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert os.listdir(objects) == [f"{KEY}.o"]


# ------------------------------------------------------------------------------------------------ the command
def told(capsys, *arguments: str, status: int = 0) -> dict:
    assert cli.main(["cache", *arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_info_and_clear(objects, capsys):
    none = {"state": "on", "folder": str(objects), "limit": 1 << 30, "objects": 0, "bytes": 0}
    assert told(capsys, "info") == none
    assert not objects.parent.exists()  # looking makes nothing
    size = kept(objects).stat().st_size
    cache.keep(a_key(1), CODE, NAMES)
    (objects / "README").write_text("not ours")
    assert told(capsys, "info") == {**none, "objects": 2, "bytes": 2 * size}
    assert told(capsys, "clear") == {**none, "removed": 2, "removed bytes": 2 * size}
    assert os.listdir(objects) == ["README"]
    assert told(capsys, "clear")["removed"] == 0


def test_info_and_clear_where_it_is_off(objects, capsys, monkeypatch):
    kept(objects)
    objects.chmod(0o777)
    assert "chmod 700" in told(capsys, "info")["state"]
    assert told(capsys, "clear", status=1)["removed"] == 0
    monkeypatch.setenv("AC_CACHE", "0")
    assert told(capsys, "info") == {
        "state": "off: the environment variable AC_CACHE is 0", "objects": 0, "bytes": 0,
    }  # fmt: skip


def test_info_is_readable(objects, capsys):
    assert cli.main(["cache", "info"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == ["state: on", f"folder: {objects}"]


@pytest.mark.parametrize("arguments", [["cache"], ["cache", "burn"]])
def test_wrong_usage(arguments, capsys):
    assert cli.main(arguments) == 2
    assert capsys.readouterr().err.startswith("autodiff_compiler: ")

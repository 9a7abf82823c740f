"""Files are there whole or not at all, and what belongs to an earlier one goes with it."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, TensorSpec, nn, whole_files
from autodiff_compiler.inspection.derivative_source.python_source import PythonSource
from autodiff_compiler.whole_files import beside, has_arrays, replacing, write_text, write_with_arrays


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_what_fails_half_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.html"
    write_text(path, "old")

    def fail():
        with replacing(path) as file:
            file.write(b"ne")
            1 / 0

    with pytest.raises(ZeroDivisionError):
        fail()
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half of a pair: \ud800")
    assert (path.read_text(), names(tmp_path)) == ("old", ["report.html"])


def test_what_fails_half_way_leaves_no_new_file(tmp_path):
    with pytest.raises(ValueError, match="Object arrays"):
        write_with_arrays(tmp_path / "f.ir", "text", {"a": np.ones(3), "b": np.array([{}])})
    assert names(tmp_path) == []


def test_permissions_are_those_of_other_files(tmp_path):
    path = tmp_path / "f.txt"
    before = os.umask(0o027)
    try:
        write_text(path, "one")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write_text(path, "two")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (0o604, "two")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "there" / "file.txt")
    for text in ("new", "newer"):  # of a file that is not there yet, too
        write_text(link, text)
        assert link.is_symlink()
        assert (tmp_path / "there" / "file.txt").read_text() == text


def test_what_is_no_file_is_written_as_it_is(tmp_path):
    write_text(os.devnull, "text")
    assert not os.path.isfile(os.devnull)
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        write_text(tmp_path, "text")


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "nowhere" / "f.txt"
    with pytest.raises(FileNotFoundError) as raised:
        write_text(path, "text")
    assert raised.value.filename == str(path)


# ------------------------------------------------------------------------------------------------ what was begun
def run(code, *arguments, **more):
    """A process that runs a text of Python."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, **more)


WRITES = """
    import sys
    from autodiff_compiler.whole_files import replacing
    with replacing(sys.argv[1]) as file:
        file.write(b"x" * 100_000)
        file.flush()
        print("begun", flush=True)
        sys.stdin.readline()
"""


def killed(path):
    """A process that had begun to write a file, and was killed."""
    with run(WRITES, path) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGKILL)


def test_what_a_killed_process_had_begun_is_removed_by_the_next(tmp_path):
    path, other = tmp_path / "net.ckpt", tmp_path / "net.ckpt.2"
    for target in (path, other):
        killed(target)
    left = names(tmp_path)
    assert len(left) == 2
    assert all(name.startswith(".net.ckpt.") for name in left)  # who finds one sees whose it is
    write_text(path, "whole")
    assert len(names(tmp_path)) == 2  # this one; that of the other file is not ours
    write_text(other, "whole")
    assert names(tmp_path) == ["net.ckpt", "net.ckpt.2"]


def test_what_another_process_writes_is_not_abandoned(tmp_path):
    path = tmp_path / "net.ckpt"
    with run(WRITES, path) as process:
        assert process.stdout.readline() == "begun\n"
        write_text(path, "this one")
        assert path.read_text() == "this one"
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait() == 0
    assert (path.read_bytes(), names(tmp_path)) == (b"x" * 100_000, ["net.ckpt"])


def test_many_processes_save_one_file(tmp_path):
    path = tmp_path / "net.ckpt"
    code = """
        import sys
        from autodiff_compiler.whole_files import write_text
        for i in range(100):
            write_text(sys.argv[1], sys.argv[2] * 1000)
    """
    running = [run(code, path, letter) for letter in "abc"]
    for process in running:
        with process:
            assert process.wait() == 0
    assert path.read_text() in {letter * 1000 for letter in "abc"}
    assert names(tmp_path) == ["net.ckpt"]


def test_what_is_abandoned_is_removed_under_its_lock(tmp_path, monkeypatch):
    """Else another process could begin it between the look at the lock and the removal, and lose what it writes."""
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "net.ckpt"
    killed(path)
    removed, unlink = [], os.unlink

    def locked_unlink(name, **more):
        with open(name, "rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        removed.append(name)
        unlink(name, **more)

    monkeypatch.setattr(whole_files.os, "unlink", locked_unlink)
    write_text(path, "whole")
    assert len(removed) == 1
    assert names(tmp_path) == ["net.ckpt"]


def test_without_locks_what_is_old_is_abandoned(tmp_path, monkeypatch):
    path = tmp_path / "net.ckpt"
    monkeypatch.setattr(whole_files, "fcntl", None)
    killed(path)
    (left,) = names(tmp_path)
    write_text(path, "one")
    assert names(tmp_path) == [left, "net.ckpt"]
    os.utime(tmp_path / left, (0, 0))
    write_text(path, "two")
    assert names(tmp_path) == ["net.ckpt"]


@pytest.mark.parametrize("name", ["\u00e9" * 127, "n" * 255, ".", "a b\nc", "[x]*"])
def test_names_of_any_kind(tmp_path, name):
    path = tmp_path / (name if name != "." else "..x")
    killed(path)
    assert len(names(tmp_path)) == 1
    write_text(path, "text")
    assert names(tmp_path) == [path.name]


SAVES = {
    "a text": "from autodiff_compiler.whole_files import write_text; write_text(path, 'x' * 100_000)",
    "a text with arrays": "from autodiff_compiler.whole_files import write_with_arrays\n"
    "write_with_arrays(path, 'x', {'a': np.ones(10_000)})",
    **{
        f"a checkpoint .{kind}": f"path += '.{kind}'\n"
        f"ms.save_checkpoint([{{'name': 'w', 'data': ms.Tensor(np.ones(10_000))}}], path, format='{kind}')"
        for kind in ("ckpt", "safetensors", "npz")
    },
}


@pytest.mark.parametrize("what", SAVES)
def test_the_error_of_a_full_disk_names_the_file(tmp_path, what):
    """A limit to the size of files stands for the disk."""
    code = f"""
import resource, signal, sys
import numpy as np
import autodiff_compiler as ms
path = sys.argv[1]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
{textwrap.indent(SAVES[what], "    ")}
except OSError as error:
    print(error.filename, error)
"""
    with run(code, tmp_path / "net", stderr=subprocess.STDOUT) as process:
        told, _ = process.communicate()
    assert told.startswith(str(tmp_path / "net")), told
    assert "File too large" in told or "requested" in told, told
    assert names(tmp_path) == []


# ------------------------------------------------------------------------------------------------ arrays beside text
def test_texts_of_one_stem_have_arrays_of_their_own(tmp_path):
    for name, number in (("net.ir", 1), ("net.py", 2), ("net", 3)):
        written = write_with_arrays(tmp_path / name, name, {"file": np.float32(number), "self/a": np.arange(number)})
        assert written == [str(tmp_path / name), beside(tmp_path / name)]
    assert names(tmp_path) == ["net", "net.ir", "net.ir.npz", "net.npz", "net.py", "net.py.npz"]
    for name, number in (("net.ir", 1), ("net.py", 2), ("net", 3)):
        with np.load(beside(tmp_path / name)) as found:
            assert (float(found["file"]), found["self/a"].tolist()) == (number, list(range(number)))


def test_arrays_of_an_earlier_text_are_taken_away(tmp_path):
    write_with_arrays(tmp_path / "f.ir", "old", {"a": np.ones(3)})
    (tmp_path / "f.npz").write_bytes(b"somebody's")
    assert write_with_arrays(tmp_path / "f.ir", "new", {}) == [str(tmp_path / "f.ir")]
    assert names(tmp_path) == ["f.ir", "f.npz"]


def test_a_file_of_somebody_else_is_not_replaced(tmp_path):
    path, foreign = tmp_path / "r2", tmp_path / "r2.npz"
    np.savez(foreign, mine=np.arange(3))
    before = foreign.read_bytes()
    assert write_with_arrays(path, "old", {}) == [str(path)]  # nothing is to be written there
    with pytest.raises(FileExistsError, match=r"r2\.npz, which does not belong to it: '.*r2'$"):
        write_with_arrays(path, "new", {"a": np.ones(3)})
    assert (path.read_text(), foreign.read_bytes(), names(tmp_path)) == ("old", before, ["r2", "r2.npz"])
    assert not has_arrays(path)
    foreign.unlink()
    for text in ("new", "newer"):
        write_with_arrays(path, text, {"a": np.ones(3)})
        assert (path.read_text(), has_arrays(path)) == (text, True)


def test_a_folder_of_that_name_stays(tmp_path):
    path = tmp_path / "f.ir"
    (tmp_path / "f.ir.npz").mkdir()
    write_with_arrays(path, "old", {})
    with pytest.raises(IsADirectoryError, match=r"f\.ir\.npz"):
        write_with_arrays(path, "new", {"a": np.ones(3)})
    assert (path.read_text(), names(tmp_path)) == ("old", ["f.ir", "f.ir.npz"])


def test_what_cannot_be_taken_away_keeps_its_text(tmp_path, monkeypatch):
    write_with_arrays(tmp_path / "f.ir", "old", {"a": np.ones(3)})

    def refused(path):
        raise PermissionError(errno.EPERM, "not allowed", path)

    with monkeypatch.context() as patched:
        real = os.unlink
        patched.setattr(os, "unlink", lambda path: (refused if str(path).endswith(".npz") else real)(path))
        with pytest.raises(PermissionError, match=r"f\.ir\.npz"):
            write_with_arrays(tmp_path / "f.ir", "new", {})
    assert ((tmp_path / "f.ir").read_text(), names(tmp_path)) == ("old", ["f.ir", "f.ir.npz"])


# ------------------------------------------------------------------------------------------------ who writes files
def test_ir_is_saved_beside_an_archive_of_the_user(tmp_path):
    np.savez(tmp_path / "r2.npz", mine=np.arange(3))
    ms.jit(plain).lower(TensorSpec("f32[2]")).ir("opt").save(tmp_path / "r2")
    with np.load(tmp_path / "r2.npz") as found:
        assert found["mine"].tolist() == [0, 1, 2]


def plain(x):
    return x * 2


def test_a_source_without_arrays_takes_the_place_of_one_with_them(tmp_path):
    path, dense = tmp_path / "net.py", nn.Dense(3, 2)
    dense.source(Tensor(np.ones((1, 3), np.float32))).save(path)
    dense.source(Tensor(np.ones((1, 3), np.float32))).save(tmp_path / "net.ir")
    assert set(PythonSource.load(path).given) == {"parameters"}
    ms.jit(plain).source(TensorSpec("f32[2]")).save(path)
    assert PythonSource.load(path).given == {}
    assert set(PythonSource.load(tmp_path / "net.ir").given) == {"parameters"}


def test_ir_is_saved_with_what_it_names(tmp_path):
    w, table = Parameter(Tensor([3.0, 4.0]), name="w"), np.arange(300.0)
    artifact = ms.jit(lambda x: (x * w).sum() + Tensor(table)).lower(TensorSpec("f32[2]"))
    artifact.ir("opt").save(tmp_path / "f.ir")
    with np.load(tmp_path / "f.ir.npz") as found:
        assert {key.partition("/")[0] for key in found} == {"constant", "state"}
        assert found["state/w"].tolist() == [3, 4]
        np.testing.assert_array_equal(next(found[key] for key in found if key.startswith("constant/")), table)
    ms.jit(plain).lower(TensorSpec("f32[2]")).ir("opt").save(tmp_path / "f.ir")
    assert names(tmp_path) == ["f.ir"]


def test_a_report_that_cannot_be_made_leaves_the_old_one(tmp_path):
    artifact, path = ms.jit(plain).lower(TensorSpec("f32[2]")), tmp_path / "keep.html"
    artifact.to_html(path)
    before = path.read_bytes()
    assert b"plain" in before
    with pytest.raises(AttributeError):
        artifact.to_html(path, timing="wrong")
    assert (path.read_bytes(), names(tmp_path)) == (before, ["keep.html"])

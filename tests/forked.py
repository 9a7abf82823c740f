"""Programs in a process of their own that begins where the package is imported.

A new interpreter takes half a second until it has imported NumPy, the package and what compiles; `run` asks a server
instead, a process that has imported all of these, compiled nothing and runs no thread.  It forks for each program: the
child has the arguments, variables and folder that it is given, an empty ``__main__``, and ends as any interpreter does.

Tests of an import or of the start of a command start an interpreter.  So does `run` for flags but ``-W``, and where a
variable that is read at import or by the interpreter is another one than in this process.
"""

from __future__ import annotations

import array
import atexit
import functools
import gc
import importlib
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["run"]

#: Variables that the package reads when it is imported, and those of the interpreter.
READ_AT_IMPORT = ("AC_BACKEND", "AC_CHECK_NONFINITE", "AC_DISABLE_JIT", "AC_DISABLE_NATIVE", "AC_LOG")
READ_AT_START = (
    "PYTHONHASHSEED", "PYTHONMALLOC", "PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONIOENCODING", "LD_LIBRARY_PATH",
    "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
)  # fmt: skip
_AT_START = dict(os.environ)  # not what one test sets
#: What compiling imports, beside the package.
IMPORTED = (
    "autodiff_compiler.backends.native.backend",
    "autodiff_compiler.backends.native.callpath.choose",
    "autodiff_compiler.compiler.cache.call_index",
    "autodiff_compiler.compiler.cache.programs",
    "autodiff_compiler.compiler.fastcall.direct_call",
    "autodiff_compiler.compiler.fastcall.guard_table",
    "autodiff_compiler.nn",
    "autodiff_compiler.ops",
    "llvmlite.binding",
)


def run(
    *words: object,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float = 300,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """What the interpreter prints for such arguments: ``-c`` and a text, ``-m`` and a module, or a file, and words.

    ``-W`` and a filter of warnings may come first."""
    arguments = list(map(str, words))
    variables = dict(os.environ if env is None else env)
    first = next(word for word, before in zip(arguments, ["", *arguments], strict=False) if "-W" not in (word, before))
    changed = [n for n in READ_AT_IMPORT + READ_AT_START if variables.get(n, "") != _AT_START.get(n, "")]
    if changed or (first.startswith("-") and first not in ("-c", "-m")):
        return subprocess.run(
            [sys.executable, *arguments],
            env=variables, cwd=cwd, timeout=timeout, check=check, capture_output=True, text=True,
        )  # fmt: skip
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        status = _server().status_of(arguments, variables, os.fspath(cwd or os.getcwd()), (out, err), timeout)
        out.seek(0)
        err.seek(0)
        done = subprocess.CompletedProcess([sys.executable, *arguments], status, out.read(), err.read())
    if check:
        done.check_returncode()
    return done


# ------------------------------------------------------------------------------------------------ the side of tests
class _Server:
    """The process that forks, and the socket to it: a line with a request and two files, then two lines of answer."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.owner = os.getpid()
        self.socket, self.answers = ours, ours.makefile("r")
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**_AT_START, "PYTHONPATH": str(Path(__file__).parents[1])},
            )

    def status_of(
        self, words: list[str], variables: dict[str, str], folder: str, files: Sequence[IO[str]], timeout: float
    ) -> int:
        request = json.dumps([words, variables, folder]).encode()
        descriptors = array.array("i", [file.fileno() for file in files])
        size = len(request).to_bytes(8, "little")
        self.socket.sendmsg([size], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        self.socket.sendall(request)
        child = int(self.answers.readline())
        watch = threading.Timer(timeout, os.kill, (child, signal.SIGKILL))
        watch.start()
        status = int(self.answers.readline())
        if not watch.is_alive():
            raise subprocess.TimeoutExpired(words, timeout)
        watch.cancel()
        watch.join()
        return status

    def close(self) -> None:
        if os.getpid() == self.owner:
            self.answers.close()
            self.socket.close()
            self.process.wait()


@functools.cache
def _server() -> _Server:
    server = _Server()
    atexit.register(server.close)
    return server


# ------------------------------------------------------------------------------------------------ the server's side
def _serve(descriptor: int) -> Callable[[], None]:
    """Answers requests; returns in each child, with what is to run there."""
    site = sys.path[2:]  # behind this file's folder and PYTHONPATH
    for name in IMPORTED:
        try:
            importlib.import_module(name)
        except ImportError:  # no machine code here
            continue
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    with socket.socket(fileno=descriptor) as asked:
        while True:
            size, files, *_ = asked.recvmsg(8, socket.CMSG_SPACE(2 * array.array("i").itemsize))
            if not size:
                raise SystemExit  # the tests are over
            descriptors = array.array("i")
            descriptors.frombytes(files[0][2])
            request = asked.makefile("rb").read(int.from_bytes(size, "little"))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of threads that NumPy's BLAS may have
                child = os.fork()
            if not child:
                break
            asked.sendall(b"%d\n" % child)
            for file in descriptors:
                os.close(file)
            asked.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return functools.partial(_become, *json.loads(request), descriptors, site)


def _become(
    words: list[str], variables: dict[str, str], folder: str, descriptors: Sequence[int], site: list[str]
) -> None:
    """Makes of this process one that runs these words, and runs them."""
    for new, file in zip((1, 2), descriptors, strict=True):
        os.dup2(file, new)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    sys.modules["numpy"].random.seed()
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    paths = [os.path.abspath(p) for p in variables.get("PYTHONPATH", "").split(os.pathsep) if p]
    while words[0] == "-W":
        warnings.simplefilter(words[1])
        words = words[2:]
    main = types.ModuleType("__main__")
    if words[0] == "-m":
        sys.argv, sys.path[:] = words[1:], [folder, *paths, *site]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    if words[0] == "-c":
        sys.argv, sys.path[:] = ["-c", *words[2:]], ["", *paths, *site]
        text, name = words[1], "<string>"
    else:
        sys.argv, sys.path[:] = words, [os.path.dirname(os.path.abspath(words[0])), *paths, *site]
        with open(words[0], encoding="utf-8") as file:
            text, name = file.read(), words[0]
        main.__file__ = os.path.abspath(name)
    sys.modules["__main__"] = main
    exec(compile(text, name, "exec", dont_inherit=True), main.__dict__)


def _fail(error: BaseException) -> None:
    """Ends the process as an exception that nobody catches does; the frames of this file are not shown."""
    place: Any = error.__traceback__
    while place is not None and place.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        place = place.tb_next
    sys.excepthook(type(error), error.with_traceback(place), place)
    if isinstance(error, KeyboardInterrupt):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    raise SystemExit(1)


if __name__ == "__main__":
    _program = _serve(int(sys.argv[1]))
    try:
        _program()
    except SystemExit:
        raise
    except BaseException as _error:
        _fail(_error)

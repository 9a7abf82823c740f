"""The disk cache: object code, so that a module is compiled once for each machine, and records about programs.

What lies there is executed.  So the folder must be one that nobody else can write to, and length, digest and undefined
symbols of a file must be right; any other file is ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .... import progress
from ....data_forms import fits
from ....environment import amount, flag
from ....version import __version__
from .machine import Machine, versions
from .symbols import addresses

#: The version of code generation and of the files: changed when the code for the same text changes.
_FORMAT = 3
#: Kinds of files, by the ends of their names, and how their content begins.
_OBJECT, _RECORD = "o", "r"
_MAGIC = {_OBJECT: b"ACobject", _RECORD: b"ACrecord"}
_HEADER = struct.Struct("<8s32s32sQQ")  # magic, key, digest of the rest, bytes of the names, bytes of the code
_COMMENTS = re.compile(r"^ *;.*\n", re.MULTILINE)
_NAME = re.compile(r"[0-9a-f]{64}\.[or]$")
_TEMPORARY = re.compile(r"[0-9a-f]{64}\.[or]\.[0-9a-f]{16}$")
_ABANDONED = 3600.0  # seconds after which nobody is still writing a temporary file
_DEFAULT_SIZE = 1 << 30

#: Bytes in a folder as far as this process knows; it does not see what others write meanwhile.
_bytes_there: dict[str, int] = {}


class _OffError(Exception):
    """The reason why the cache is not used."""


_bypassing = 0


@contextmanager
def bypassed() -> Iterator[None]:
    """Within it the cache is off, in all threads: for measurements of compilation."""
    global _bypassing
    _bypassing += 1
    try:
        yield
    finally:
        _bypassing -= 1


# ------------------------------------------------------------------------------------------------ objects
def key_of(text: str, target: Machine, level: int) -> str:
    """The key of the object code of a text: a digest of all that the code depends on; comment lines do not count."""
    parts = (str(_FORMAT), __version__, versions(), target.triple, target.cpu, target.features, str(level))
    return hashlib.sha256("\n".join((*parts, _COMMENTS.sub("", text))).encode()).hexdigest()


def cached(key: str) -> bytes | None:
    """The object code of a key, or None.  A damaged or foreign file is removed."""
    return _found(key, _OBJECT)


def record(key: str, form: Any) -> Any:
    """The record of a key if it has that form (`fits`), or None."""
    found = _found(key, _RECORD)
    if found is None:
        return None
    try:
        data = json.loads(found)
        return data if fits(data, form) else None
    except (ValueError, RecursionError):  # not ours
        return None


def _found(key: str, kind: str) -> bytes | None:
    name = f"{key}.{kind}"
    try:
        with _opened() as here:
            try:
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
            except FileNotFoundError:
                return None
            except OSError:  # a link, or unreadable
                code = None
            else:
                try:
                    code = _read(file, key, kind)
                    with suppress(OSError):  # where nothing can be written
                        os.utime(file)  # the objects that were not used for longest go first
                finally:
                    os.close(file)
            if code is None:
                _remove(here, name)
            return code
    except (OSError, _OffError):
        return None


def _read(file: int, key: str, kind: str) -> bytes | None:
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        return None
    with open(file, "rb", closefd=False) as stream:
        head = stream.read(_HEADER.size)
        if len(head) < _HEADER.size:
            return None
        magic, of, digest, names, size = _HEADER.unpack(head)
        if magic != _MAGIC[kind] or of.hex() != key or len(head) + names + size != status.st_size:
            return None
        try:
            body = stream.read()
        except MemoryError:  # a sparse file may be larger than memory
            return None
    if len(body) != names + size or hashlib.sha256(body).digest() != digest:
        return None
    if not set(body[:names].decode(errors="replace").split()) <= addresses().keys():
        return None
    return body[names:]


def keep(key: str, code: bytes, names: frozenset[str]) -> None:
    """Writes an object with its undefined symbols (`names`); does nothing where it cannot."""
    if _keep(key, _OBJECT, " ".join(sorted(names)).encode(), code):
        progress.kept(folder())


def keep_record(key: str, content: Any) -> None:
    """Writes a record, which JSON can hold, as `keep` writes objects."""
    _keep(key, _RECORD, b"", json.dumps(content).encode())


def _keep(key: str, kind: str, listed: bytes, code: bytes) -> bool:
    """Writes a file; whether it is there now."""
    body = listed + code
    header = _HEADER.pack(_MAGIC[kind], bytes.fromhex(key), hashlib.sha256(body).digest(), len(listed), len(code))
    try:
        limit = _limit()
        size = len(header) + len(body)
        if size > limit:
            return False
        with _opened(create=True) as here:
            _write(here, f"{key}.{kind}", header + body)
            place = folder()
            there = _bytes_there.get(place)
            there = sum(status.st_size for _, status in _files(here)) if there is None else there + size
            _bytes_there[place] = there if there <= limit else _trim(here, limit)
    except (OSError, _OffError):
        return False
    return True


def _write(here: int, name: str, data: bytes) -> None:
    """Writes a file atomically: other processes see all of it or nothing."""
    temporary = f"{name}.{secrets.token_hex(8)}"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=here)
    try:
        with open(file, "wb") as stream:
            stream.write(data)
        os.rename(temporary, name, src_dir_fd=here, dst_dir_fd=here)
    except BaseException:
        os.unlink(temporary, dir_fd=here)
        raise


def _trim(here: int, limit: int) -> int:
    """If there are more bytes than `limit`, removes least recently used files until a fifth is free; the bytes left."""
    files = sorted(_files(here), key=lambda found: found[1].st_mtime)
    there = sum(status.st_size for _, status in files)
    if there <= limit:
        return there
    now = time.time()
    for name, status in files:
        if there > limit * 4 // 5 if _NAME.match(name) else now - status.st_mtime > _ABANDONED:
            _remove(here, name)
            there -= status.st_size
    return there


# ------------------------------------------------------------------------------------------------ for the command line
def info() -> dict[str, Any]:
    """The cache's folder, state, limit, and number and bytes of files, for the command line."""
    reason = why_off()
    if reason is not None:
        return {"state": f"off: {reason}", "objects": 0, "bytes": 0}
    path = nearest = folder()
    while not os.path.exists(nearest):
        nearest = os.path.dirname(nearest)
    state = "on" if os.access(nearest, os.W_OK | os.X_OK) else f"read only: {nearest} cannot be written to"
    count, size = _each(lambda here, name: None)
    return {"state": state, "folder": path, "limit": _limit(), "objects": count, "bytes": size}


def clear() -> tuple[int, int]:
    """Removes all files; returns how many there were, and their bytes."""
    _bytes_there.clear()
    return _each(_remove)


def why_off() -> str | None:
    """Why the cache is off, or None where it is on."""
    try:
        _limit()
        with _opened():
            pass
    except FileNotFoundError:  # made with the first object
        return None
    except (OSError, _OffError) as error:
        return str(error)
    return None


def _each(action: Callable[[int, str], None]) -> tuple[int, int]:
    count = size = 0
    try:
        with _opened() as here:
            for name, status in _files(here):
                action(here, name)
                count, size = count + 1, size + status.st_size
    except (OSError, _OffError):
        pass
    return count, size


def _files(here: int) -> Iterator[tuple[str, os.stat_result]]:
    for name in os.listdir(here):
        if _NAME.match(name) or _TEMPORARY.match(name):
            try:
                yield name, os.stat(name, dir_fd=here, follow_symlinks=False)
            except FileNotFoundError:  # another process has removed it
                continue


def _remove(here: int, name: str) -> None:
    with suppress(OSError):  # gone already, or the folder cannot be written to
        os.unlink(name, dir_fd=here)


# ------------------------------------------------------------------------------------------------ the folder
def folder() -> str:
    """The cache's folder, which may not exist yet: AC_CACHE_DIR, or by the XDG rules."""
    if os.open not in os.supports_dir_fd:
        raise _OffError("this system cannot open files relative to an open folder")
    if not flag("AC_CACHE", unset=True):
        raise _OffError("the environment variable AC_CACHE is 0")
    named = os.environ.get("AC_CACHE_DIR")
    if named is not None:
        if not named:
            raise _OffError("the environment variable AC_CACHE_DIR is empty")
        named = os.path.expanduser(named)  # shells do not expand a quoted ~
        if named.startswith("~"):
            raise _OffError(f"there is no home folder for {named}")
        return os.path.join(os.path.abspath(named), "objects")
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # a relative one is to be ignored
        base = os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(base):
        raise _OffError("there is no home folder")
    return os.path.join(base, "autodiff_compiler", "objects")


def _limit() -> int:
    try:
        found = amount("AC_CACHE_SIZE")
    except ValueError as error:  # set after the import
        raise _OffError(str(error)) from None
    return _DEFAULT_SIZE if found is None else found


@contextmanager
def _opened(create: bool = False) -> Iterator[int]:
    """The folder, open, after checks of owner and modes; files are opened relative to it, so it cannot be swapped."""
    if _bypassing:
        raise _OffError("it is bypassed, to measure compilation")
    path = folder()
    for place in _parents(os.path.realpath(path)):
        mode = os.stat(place).st_mode if os.path.exists(place) else 0
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise _OffError(f"{place} can be written to by everyone")
    if create:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
    here = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        status = os.fstat(here)
        if status.st_uid != os.geteuid():
            raise _OffError(f"{path} belongs to another user")
        if status.st_mode & 0o077:
            raise _OffError(f"{path} is open to other users; chmod 700 it, if nobody can have written there")
        yield here
    finally:
        os.close(here)


def _parents(path: str) -> Iterator[str]:
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        yield path

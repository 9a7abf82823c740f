"""Object code on disk, so that a module is compiled once for each machine, and records of what programs are besides.

What lies there is executed.  So it is used only from a folder that nobody else can write to, and only where length,
digest and the names that it asks for are right; everything else is as if it were not there.
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

from ....data_forms import fits
from ....environment import amount, flag
from ....version import __version__
from .machine import Machine, versions
from .symbols import addresses

__all__ = ["bypassed", "cached", "clear", "folder", "info", "keep", "keep_record", "key_of", "record", "why_off"]

#: What changes when code for the same text does: the way it is generated, and the file.
_FORMAT = 3
#: Kinds of files by how their names end: how they begin.
_OBJECT, _RECORD = "o", "r"
_MAGIC = {_OBJECT: b"ACobject", _RECORD: b"ACrecord"}
_HEADER = struct.Struct("<8s32s32sQQ")  # magic, key, digest of the rest, bytes of the names, bytes of the code
_COMMENTS = re.compile(r"^ *;.*\n", re.MULTILINE)
_NAME = re.compile(r"[0-9a-f]{64}\.[or]$")
_TEMPORARY = re.compile(r"[0-9a-f]{64}\.[or]\.[0-9a-f]{16}$")
_ABANDONED = 3600.0  # seconds after which nobody is still writing a temporary file
_DEFAULT_SIZE = 1 << 30

#: What this process believes to lie there; another process may have written more, which the next one counts.
_bytes_there: dict[str, int] = {}


class _OffError(Exception):
    """The cache is not used, and why."""


_bypassing = 0


@contextmanager
def bypassed() -> Iterator[None]:
    """Within it nothing is found and nothing kept, in no thread: for those who measure compilation."""
    global _bypassing
    _bypassing += 1
    try:
        yield
    finally:
        _bypassing -= 1


# ------------------------------------------------------------------------------------------------ objects
def key_of(text: str, target: Machine, level: int) -> str:
    """The name of what is made of a text: a digest of all that decides over it, which lines of comments do not."""
    parts = (str(_FORMAT), __version__, versions(), target.triple, target.cpu, target.features, str(level))
    return hashlib.sha256("\n".join((*parts, _COMMENTS.sub("", text))).encode()).hexdigest()


def cached(key: str) -> bytes | None:
    """The object of that key, or None where there is no sound one.  A damaged or foreign file is removed."""
    return _found(key, _OBJECT)


def record(key: str, form: Any) -> Any:
    """The record of that key, found as `cached` finds objects, or None; also where it has not that form (`fits`)."""
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
        except MemoryError:  # its holes take no place on the disk, but they would here
            return None
    if len(body) != names + size or hashlib.sha256(body).digest() != digest:
        return None
    if not set(body[:names].decode(errors="replace").split()) <= addresses().keys():
        return None
    return body[names:]


def keep(key: str, code: bytes, names: frozenset[str]) -> None:
    """Writes an object that asks for those names; where that cannot be, it is not written."""
    _keep(key, _OBJECT, " ".join(sorted(names)).encode(), code)


def keep_record(key: str, content: Any) -> None:
    """Writes a record, of what JSON can hold, as `keep` writes objects."""
    _keep(key, _RECORD, b"", json.dumps(content).encode())


def _keep(key: str, kind: str, listed: bytes, code: bytes) -> None:
    body = listed + code
    header = _HEADER.pack(_MAGIC[kind], bytes.fromhex(key), hashlib.sha256(body).digest(), len(listed), len(code))
    try:
        limit = _limit()
        size = len(header) + len(body)
        if size > limit:
            return
        with _opened(create=True) as here:
            _write(here, f"{key}.{kind}", header + body)
            place = folder()
            there = _bytes_there.get(place)
            there = sum(status.st_size for _, status in _files(here)) if there is None else there + size
            _bytes_there[place] = there if there <= limit else _trim(here, limit)
    except (OSError, _OffError):
        pass


def _write(here: int, name: str, data: bytes) -> None:
    """Whole or not at all, whoever else writes or reads."""
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
    """Where more is there, removes what was not used for longest until a fifth is free; the bytes that stay."""
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
    """Where the cache is, whether it is used and why not, and what lies in it."""
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
    """Removes all objects; how many they were, and their bytes."""
    _bytes_there.clear()
    return _each(_remove)


def why_off() -> str | None:
    """Why objects are not kept, or None where they are."""
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
    """The folder of the objects, whether or not it is there.  AC_CACHE_DIR, or by the rules for such folders."""
    if os.open not in os.supports_dir_fd:
        raise _OffError("this system cannot open files relative to an open folder")
    if not flag("AC_CACHE", unset=True):
        raise _OffError("the environment variable AC_CACHE is 0")
    named = os.environ.get("AC_CACHE_DIR")
    if named is not None:
        if not named:
            raise _OffError("the environment variable AC_CACHE_DIR is empty")
        named = os.path.expanduser(named)  # a shell leaves a ~ alone where the name is quoted, and in files of settings
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
    """The folder, open: files are reached through it, so that it is the one that was looked at."""
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

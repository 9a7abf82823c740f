"""The environment variables of this package: their values, checked at import and read where they are used.

Also NO_COLOR and FORCE_COLOR, which many programs share.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from typing import Any

from .command_line import is_ours

__all__ = [
    "amount",
    "check_at_import",
    "check_environment",
    "choice",
    "colours_wanted",
    "environment_set",
    "flag",
    "parse_size",
    "seconds",
    "words",
    "wrong_usage",
]

_FLAGS = ("AC_CACHE", "AC_CHECK_COLLECTIVES", "AC_DISABLE_JIT", "AC_DISABLE_NATIVE", "AC_FULL_TRACEBACK", "AC_POISON")
_CHOICES = {
    "AC_BACKEND": ("auto", "native", "numpy"),
    "AC_CHECK_NONFINITE": ("0", "1", "nan"),
    "AC_CALLPATH": ("plain",),
}
#: Words divided by commas.
_LISTS = {"AC_LOG": ("recompiles", "fusion", "passes", "gradients", "progress", "all")}
_SIZES = ("AC_BUCKET_SIZE", "AC_CACHE_SIZE", "AC_POOL_SIZE")
_SECONDS = ("AC_TIMEOUT",)
_PATHS = ("AC_CACHE_DIR",)
#: All variables that there are.
_NAMES = (*_FLAGS, *_CHOICES, *_LISTS, *_SIZES, *_SECONDS, *_PATHS)
#: More bytes than any machine has; machine code counts them in 64 bits with a sign.
_MOST = (1 << 63) - 1
#: The least likeness (of 1) at which an unknown name is taken for a misspelling of one of them.
_NEAR = 0.8
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def check_at_import() -> None:
    """Tells a mistake at once, and not where the setting is used first: the command line with a line and status 2.

    The package is imported before its command line begins, which could not catch what is raised here.  A name that
    looks like one of ours is a warning: it may be somebody else's.
    """
    for told in misspelt_names():
        if is_ours():
            print(f"autodiff_compiler: {told}", file=sys.stderr)
        else:
            warnings.warn(told, UserWarning, stacklevel=3)  # at the line that imports the package
    try:
        check_environment()
    except ValueError as error:
        if not is_ours():
            if not flag("AC_FULL_TRACEBACK"):
                error.__traceback__ = None
            raise
        if "--json" in sys.argv[1:]:
            import json

            print(json.dumps({"error": wrong_usage(str(error))}, indent=2))
        else:
            print(f"autodiff_compiler: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def wrong_usage(message: str) -> dict[str, Any]:
    """What the command line says with ``--json`` of a mistake in itself or in a variable; its status is 2 then."""
    return {"code": None, "class": "Usage", "message": message}


def check_environment() -> None:
    """Raises ValueError for the first variable that has a value it cannot have, with those that it can."""
    for name in _FLAGS:
        if os.environ.get(name, "") not in ("", "0", "1"):
            raise _refused(name, "it can be 0, 1")
    for name in _CHOICES:
        choice(name)
    for name in _LISTS:
        words(name)
    for name in _SIZES:
        amount(name)
    for name in _SECONDS:
        seconds(name)


def flag(name: str, unset: bool = False) -> bool:
    """Whether a switch is on; where it is not set, it is as `unset`.  Never raises, so errors may ask it, too."""
    text = os.environ.get(name, "")
    return text != "0" if text else unset


def choice(name: str) -> str:
    """One of a few words, or "" where it is not set; ValueError for another one."""
    text = os.environ.get(name, "")
    if text and text not in _CHOICES[name]:
        raise _refused(name, f"it can be {', '.join(_CHOICES[name])}")
    return text


def words(name: str) -> tuple[str, ...]:
    """The words of a list divided by commas; ValueError for one that it cannot hold."""
    found = tuple([word for part in os.environ.get(name, "").split(",") if (word := part.strip())])
    if not set(found) <= set(_LISTS[name]):
        raise _refused(name, f"it can be a list of {', '.join(_LISTS[name])}")
    return found


def amount(name: str) -> int | None:
    """An amount of memory in bytes, or None where it is not set; ValueError for what is no amount, or far too much."""
    text = os.environ.get(name, "")
    found = parse_size(text) if text else None
    if text and found is None:
        raise _refused(name, "write bytes, or 500M, or 2G")
    if found is not None and found > _MOST:
        raise _refused(name, f"it can be {_MOST} bytes at most")
    return found


def seconds(name: str) -> float | None:
    """A time in seconds, or None where it is not set; ValueError for what is none."""
    text = os.environ.get(name, "")
    if not text:
        return None
    if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text) is None:
        raise _refused(name, "write seconds, such as 30 or 0.5")
    return float(text)


def misspelt_names() -> list[str]:
    """What to say of variables that are set, are none of this package, and look like one that is."""
    found = []
    for name in sorted(environment_set().keys() - set(_NAMES)):
        import difflib  # which takes a while, and is not needed where all is right

        near = difflib.get_close_matches(name.upper(), _NAMES, 1, _NEAR)
        if near:
            found.append(f"the environment variable {name} means nothing; did you mean {near[0]}?")
    return found


def environment_set() -> dict[str, str]:
    """The variables of this package that are set, by their names; those it does not know are among them."""
    return {name: text for name, text in sorted(os.environ.items()) if name.startswith("AC_")}


def parse_size(text: str) -> int | None:
    """The bytes that a text names, or None where it names none.

    >>> parse_size("500M"), parse_size("2 GiB"), parse_size("4096"), parse_size("many")
    (524288000, 2147483648, 4096, None)
    """
    found = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    return None if found is None else int(found[1]) * _UNITS[found[2].upper()]


def colours_wanted(stream: Any) -> bool:
    """Whether a stream gets colours: NO_COLOR says no, else FORCE_COLOR yes; else only a terminal does.

    By their convention these variables count where they are not empty.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and bool(getattr(stream, "isatty", lambda: False)())


def _refused(name: str, choices: str) -> ValueError:
    return ValueError(f"the environment variable {name} is {os.environ[name]!r}; {choices}")

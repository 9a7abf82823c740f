"""MindSpore's module `log`: messages of programs on standard error, from a level on that the environment names.

``GLOG_v`` is 0 (debug), 1 (info), 2 (warning, as if it were not set), 3 (error) or 4 (critical).  Anything else is 2.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from .config import called_outside

__all__ = ["critical", "debug", "error", "get_level", "get_log_config", "info", "warning"]

_LEVELS = {"0": logging.DEBUG, "1": logging.INFO, "2": logging.WARNING, "3": logging.ERROR, "4": logging.CRITICAL}
_FORMAT = "[%(levelname)s] ME(%(process)d,%(processName)s):%(asctime)s [%(pathname)s:%(lineno)d] %(message)s"


def _logger() -> logging.Logger:
    logger = logging.getLogger(__name__)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(_LEVELS[get_level()])
    return logger


def get_level() -> str:
    """The level of messages that are written, as the text that ``GLOG_v`` has for it.

    >>> get_level() in "01234"
    True
    """
    level = os.environ.get("GLOG_v", "2")  # noqa: SIM112  # MindSpore's name
    return level if level in _LEVELS else "2"


def get_log_config() -> dict[str, str]:
    """The settings: the level, and that messages go to standard error."""
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}


def _writer(name: str) -> Any:
    def write(msg: object, *args: object, **kwargs: Any) -> None:
        _logged(getattr(logging, name.upper()), msg, *args, **kwargs)

    write.__name__ = write.__qualname__ = name
    write.__doc__ = f"""Writes a message of the level {name}; `args` fill its %-places, as in Python's `logging`."""
    return called_outside(write)


_known: list[logging.Logger] = []


def _logged(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    if not _known:
        _known.append(_logger())
    _known[0].log(level, msg, *args, stacklevel=kwargs.pop("stacklevel", 1) + 2, **kwargs)


debug, info, warning = _writer("debug"), _writer("info"), _writer("warning")
error, critical = _writer("error"), _writer("critical")

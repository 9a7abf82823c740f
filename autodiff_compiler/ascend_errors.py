"""Errors of an Ascend device and its library."""

from __future__ import annotations

__all__ = ["AscendError", "AscendMemoryError"]


class AscendError(RuntimeError):
    """A function of CANN failed: `function`, its `status` with the `name` of that number, and what the library said.

    `text` stands for what failed before a function could.
    """

    def __init__(
        self,
        function: str = "",
        status: int = 0,
        name: str = "",
        advice: str = "",
        detail: str = "",
        loc: str = "",
        text: str = "",
    ) -> None:
        self.function, self.status, self.name, self.detail, self.loc = function, status, name, detail, loc
        text = text or f"{function} failed" + (f" with {status}" if status else "") + (f" ({name})" if name else "")
        super().__init__(text + (f": {advice}" if advice else "") + (f" at {loc}" if loc else ""))
        if detail:
            self.add_note(f"CANN says: {detail}")


class AscendMemoryError(AscendError, MemoryError):
    """The device has too little memory; the notes name its largest tenants."""

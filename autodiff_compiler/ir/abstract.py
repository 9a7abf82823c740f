"""What stands in compiled code for an object of Python's."""

from __future__ import annotations

from typing import Any

from ..errors import CompileError


class Abstract:
    """A value of compiled code that is no object of Python's, and what can be asked of every value.

    The attributes are what most kinds of values answer; a kind that answers otherwise has its own.
    """

    __slots__ = ()
    #: whether it is a Tensor, an array or a number, known only at run time
    is_dynamic: bool = False
    #: whether it is a Tensor or Parameter
    is_tensor: bool = False
    #: whether it is a Parameter, which is read where it is used
    is_parameter: bool = False
    #: whether it is an array or scalar of NumPy's that is known only at run time
    is_array: bool = False
    #: whether it changes, and all names and elements that are this very object see that
    is_aliased: bool = False
    #: whether it is a Tensor of one of several ranks
    is_union: bool = False
    #: whether it stands for the elements of a list whose length is known only at run time
    is_rows: bool = False
    #: whether it is an iterator, of which every element comes once
    is_iterator: bool = False
    #: whether it is a variable of a function that functions inside it assign
    is_variable: bool = False
    #: why compiled code cannot change it: somebody who is not known here may hold it, too
    locked: str = ""
    #: whether it was marked with `mutable`
    marked: bool = False
    #: why it is not known here what it holds, where paths disagree about that
    broken: CompileError | None = None

    @property
    def python_class(self) -> type:
        """The class of the object it stands for."""
        return type(self)

    @property
    def outlives_call(self) -> bool:
        """Whether an object from outside may be given it."""
        return False

    def describe(self) -> str:
        """It in the words of an error message."""
        return f"{type(self).__name__} object"

    def refuse(self, what: str) -> None:
        """Refuses to look into what is made at run time, and only printed or raised; `what` says how."""

    def check_usable(self) -> None:
        """Raises if what it holds is not known here."""
        if self.broken is not None:
            raise self.broken.again(None, "")

    def check_length(self, message: str, hint: str) -> None:
        """Raises with this message if only run time knows how many elements it has."""


_OBJECT = Abstract()


def abstract(x: Any) -> Abstract:
    """What answers for a value: itself, or for an object of Python's one that answers as most kinds do."""
    return x if isinstance(x, Abstract) else _OBJECT

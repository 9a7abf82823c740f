"""How the site colours `console` blocks: commands as such, and what they print not at all.

The lexer of Pygments takes "%" for a prompt, with which the names of values in IR begin.
"""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups, using
from pygments.lexers import LEXERS
from pygments.lexers.shell import BashLexer
from pygments.token import Generic

__all__ = ["ConsoleLexer"]


class ConsoleLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Lines that begin with a dollar are commands, up to the end of the last one that a backslash continues."""

    name = "Console"
    url = ""
    aliases = ("console",)
    filenames = ()
    mimetypes = ()
    tokens = {  # noqa: RUF012  (as Pygments has it)
        "root": [(r"^(\$ )((?:.*\\\n)*.*\n)", bygroups(Generic.Prompt, using(BashLexer))), (r"^.*\n", Generic.Output)]
    }


# In place of that of Pygments, which is found by the same name.
LEXERS["BashSessionLexer"] = (__name__, ConsoleLexer.name, ConsoleLexer.aliases, (), ())

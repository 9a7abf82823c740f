"""A stage of a compiled call as a picture: dot, mermaid and svg."""

from .picture import FORMATS, Picture, picture

__all__ = ["FORMATS", "Picture", "picture"]

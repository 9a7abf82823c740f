"""A stage of a compiled call as a picture: dot, mermaid and svg."""

from .picture import FORMATS, Picture, folded_pictures, picture

__all__ = ["FORMATS", "Picture", "folded_pictures", "picture"]

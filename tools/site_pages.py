"""A hook of MkDocs: the pages of the site that are not files of docs/.

README.md becomes the home page, `api_pages.py` makes the API reference, and a file of the project that a page links to
becomes a page that shows it. `nav` in mkdocs.yml says `api/` and `decisions/` for all pages there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

import console_lexer  # noqa: F401  (takes the place of a lexer of Pygments)
from api_pages import pages

ROOT = Path(__file__).resolve().parents[1]
HOME = "index.md"
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)(?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages of whole folders into the navigation."""
    api = [{title: path} for path, title, _ in pages()]
    notes = sorted((ROOT / "docs" / "decisions").glob("*.md"), key=lambda path: (path.name != "README.md", path.name))
    folders = {"api/": api, "decisions/": [f"decisions/{note.name}" for note in notes]}

    def filled(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {title: filled(inside) for title, inside in entry.items()}
        return [filled(item) for item in entry] if isinstance(entry, list) else folders.get(entry, entry)

    config.nav = filled(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    files.append(File.generated(config, HOME, content=home((ROOT / "README.md").read_text("utf-8"))))
    for path, _, text in pages():
        files.append(File.generated(config, path, content=text))
    linked = {t for file in files.documentation_pages() for t in outside(file.content_string, file.src_uri)}
    for target in sorted(linked):
        page = File.generated(
            config, page_of_source(target), content=source(target), inclusion=InclusionLevel.NOT_IN_NAV
        )
        files.append(page)
    return files


def home(readme: str) -> str:
    """The README, with its pictures also small below its first paragraph; each leads to its section."""
    pictures, section = [], ""
    for line in readme.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").lower().replace(" ", "-")
        elif found := PICTURE.fullmatch(line):
            pictures.append(f"[{found[0]}{{ width=32% }}](#{section})")
    title, first, rest = readme.split("\n\n", 2)
    return "\n\n".join([title, first, "\n".join(pictures), rest])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to files of the project go to their pages, and those of the README start from docs/."""
    here = page.file.src_uri

    def placed(link: re.Match[str]) -> str:
        target = resolved(link["path"], here)
        if not (ROOT / target).exists():
            return link[0]
        inside = target.startswith("docs/")
        uri = target.removeprefix("docs/") if inside else page_of_source(target)
        return posixpath.relpath(uri, posixpath.dirname(here) or ".") + (link["anchor"] or "" if inside else "")

    return markdown if here.startswith(("source/", "api/")) else LINK.sub(placed, markdown)


def resolved(link: str, page: str) -> str:
    """The path of what a link names, from the root of the project."""
    folder = "." if page == HOME else posixpath.dirname(f"docs/{page}")
    return posixpath.normpath(posixpath.join(folder, link))


def outside(markdown: str, page: str) -> Iterator[str]:
    """The files and folders of the project, outside of docs/, that a page links to."""
    for link in LINK.finditer("" if page.startswith("api/") else markdown):
        target = resolved(link["path"], page)
        if not target.startswith(("docs/", "..")) and (ROOT / target).exists():
            yield target


def page_of_source(path: str) -> str:
    return f"source/{path.rstrip('/')}.md"


def source(path: str) -> str:
    """The page of a file, or of a folder: what is in it."""
    found = ROOT / path
    if found.is_dir():
        listed = [f"- `{f.name}`" for f in sorted(found.iterdir()) if not f.name.startswith((".", "__"))]
        return f"{NOT_SEARCHED}# {path}\n\n" + "\n".join(listed) + "\n"
    language = {".py": "python", ".toml": "toml", ".json": "json"}.get(found.suffix, "text")
    return f"{NOT_SEARCHED}# {path}\n\n``````{language}\n{found.read_text('utf-8')}``````\n"

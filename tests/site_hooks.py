"""What ``mkdocs.yml`` adds to the pages of docs/: pages and files of other folders, and the reference from docstrings.

Links are those of the repository. A link to a page or a file of the site becomes the link there; of any other, such as
one to a folder of tests, the words stay.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from pathlib import Path
from typing import Any

import warpfold as wf

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "benchmarks/README.md": "benchmarks.md"} | {
    name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "CITATION.cff")
}
"""The files from outside of docs/, by their places in the site; examples are there, too, as they are."""
_LINK = re.compile(r"(!?)\[([^\]\[]*(?:\[[^\]]*\][^\]\[]*)?)\]\((?!\w+:|#)([^)\s]+)\)")
LONG = 80
"""Characters of a signature that is one line."""
_EXAMPLE = re.compile(r"(?m)(?:^>>> .*\n(?:^(?!\s*$|>>>).*\n)*)+")
_SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Yields")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages from other folders, the examples, and the reference."""
    from mkdocs.structure.files import File

    for source, place in _others().items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    files.append(File.generated(config, "api.md", content=reference()))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """A page with its links as they are in the site."""
    places = _others()
    own = next((source for source, place in places.items() if place == page.file.src_uri), f"docs/{page.file.src_uri}")
    known = {file.src_uri for file in files}

    def link(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        path, hash_, anchor = target.partition("#")
        source = posixpath.normpath(posixpath.join(posixpath.dirname(own), path))
        place = places.get(source, source.removeprefix("docs/"))
        if (ROOT / source).is_dir() and f"{place}/README.md" in known:
            place += "/README.md"
        if place not in known:
            return words
        there = posixpath.relpath(place, posixpath.dirname(page.file.src_uri) or ".")
        return f"{mark}[{words}]({there}{hash_}{anchor})"

    return _outside_code(markdown, lambda text: _LINK.sub(link, text))


def _others() -> dict[str, str]:
    """Each file from outside of docs/ with its place in the site."""
    examples = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").glob("*.*"))
    return PAGES | {name: name for name in examples}


def _outside_code(markdown: str, change: Any) -> str:
    """The text with everything changed that stands in no block of code."""
    parts = re.split(r"(?ms)(^```.*?^```$)", markdown)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))


def reference() -> str:
    """The public names with their signatures and docstrings."""
    names = sorted((name for name in wf.__all__ if name != "__version__"), key=lambda n: (n.lower(), n))
    head = (
        "# Reference\n\nEvery public name, from its docstring. [Functions](functions.md) sorts them by what they do.\n"
    )
    return "\n".join([head, *map(_entry, names)])


def _entry(name: str) -> str:
    """A name: its signature and its docstring, whose sections become lists."""
    value = getattr(wf, name)
    return "\n".join(
        [f"## {name}\n", f"```python\nwf.{name}{_signature(value)}\n```\n", _text(inspect.getdoc(value) or "")]
    )


def _signature(value: Any) -> str:
    """The parameters of a function, one a line where they are many."""
    try:
        found = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return ""
    parts: list[str] = []
    for before, p in zip([None, *found], found, strict=False):
        if p.kind is p.KEYWORD_ONLY and (before is None or before.kind not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)):
            parts.append("*")
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
        typed = f"{stars}{p.name}: {kind}" if kind and p.annotation is not p.empty else f"{stars}{p.name}"
        parts.append(typed if p.default is p.empty else f"{typed} = {_default(p.default)}")
    line = f"({', '.join(parts)})"
    return line if len(line) < LONG else "(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _default(value: object) -> str:
    """A default as one writes it; one that has no such form as dots."""
    text = repr(value)
    return "..." if text.startswith("<") else text


def _text(doc: str) -> str:
    """A docstring as Markdown: code in single marks, examples in blocks, sections as lists."""
    doc = re.sub(r"``([^`]+)``", r"`\1`", doc + "\n")
    doc = re.sub(_EXAMPLE, lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", doc)
    for title in _SECTIONS:
        section = rf"(?ms)^{title}:\n(.*?)(?=^\S|\Z)"
        doc = re.sub(section, lambda m, title=title: f"\n**{title}**\n\n{_items(m[1])}\n", doc)
    return doc


def _items(section: str) -> str:
    """The entries of a section, each with the lines that continue it."""
    lines = inspect.cleandoc(section).splitlines()
    return "\n".join(
        re.sub(r"^(\S[^:]*?):", r"- `\1`:", line) if line[:1].strip() else f"  {line.strip()}" for line in lines
    )

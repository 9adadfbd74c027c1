"""What the documentation names exists: tests, files, links, headings. And it names no machine."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
)
TOP = frozenset(path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != ".")

_TEST_ID = re.compile(r"tests/[\w/]+\.py::test_\w+")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def _prose(page: str) -> str:
    return _FENCED.sub("", _text(page))


@cache
def _tests_in(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return frozenset(
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def _anchors(file: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = _HEADING.findall(_FENCED.sub("", file.read_text(encoding="utf-8")))
    kept = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return frozenset(title.replace(" ", "-") for title in kept)


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_exists(page: str) -> None:
    named = {tuple(found.split("::")) for found in _TEST_ID.findall(_text(page))}
    missing = [f"{path}::{name}" for path, name in sorted(named) if name not in _tests_in(path)]
    assert not missing, f"{page} names tests that do not exist: {missing}"


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_leads_somewhere(page: str) -> None:
    broken = []
    for target in _LINK.findall(_prose(page)):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            broken.append(target)
    assert not broken, f"{page} has links to nowhere: {broken}"


@pytest.mark.parametrize("page", PAGES)
def test_every_path_of_the_repository_that_a_page_names_exists(page: str) -> None:
    missing = []
    for code in _CODE.findall(_prose(page)):
        path = code.partition("::")[0]
        if _PATH.fullmatch(path) is None or path.partition("/")[0] not in TOP or "/" not in path:
            continue
        if not (ROOT / path).exists():
            missing.append(path)
    assert not missing, f"{page} names files that do not exist: {missing}"


@pytest.mark.parametrize("page", PAGES)
def test_no_page_names_a_path_of_one_machine(page: str) -> None:
    found = re.findall(r"(?<![\w/])/(?:work|tmp|root|home)/\S*", _text(page))
    assert not found, f"{page} names {found}"


def test_every_page_is_reached_from_the_index() -> None:
    reached, todo = set[str](), ["docs/README.md"]
    while todo:
        page = todo.pop()
        if page in reached or not page.endswith(".md"):
            continue
        reached.add(page)
        for target in _LINK.findall(_prose(page)):
            path = target.partition("#")[0]
            if path and "://" not in path:
                file = ((ROOT / page).parent / path).resolve()
                if file.is_file() and file.is_relative_to(ROOT):
                    todo.append(file.relative_to(ROOT).as_posix())
    unreached = [page for page in PAGES if page.startswith("docs/") and page not in reached]
    assert not unreached, f"no link leads from docs/README.md to {unreached}"

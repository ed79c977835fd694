"""Skills in folders: what is read, and a sentence with file and remedy for each folder that is refused."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.errors import ConfigurationError
from runtime.skills import (
    list_skills_in_dir,
    list_skills_in_dir_async,
    load_skill_from_dir,
    load_skill_from_dir_async,
    load_skills_from_dir,
    load_skills_from_dir_async,
)
from runtime.skills.load import MAX_FILE_BYTES, MAX_FILES, MAX_INSTRUCTIONS_BYTES

HEAD = "---\nname: invoices\ndescription: Adds up --- invoices.\n{}---\n"
BOMB = "metadata:\n  a: &a [1, 1, 1, 1]\n" + "".join(
    f"  {after}: &{after} [*{name}, *{name}, *{name}, *{name}, *{name}, *{name}]\n"
    for name, after in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "skills" / "invoices"
    found.mkdir(parents=True)
    (found / "SKILL.md").write_text(HEAD.format("") + "Add up.\n---\nRound.\n")
    return found


def test_all_of_a_skill_is_read(folder: Path) -> None:
    more = "license: MIT\nallowed-tools: a b\nmetadata: {version: '1'}\nauthor: Ada\n"
    (folder / "SKILL.md").write_bytes(
        b"\xef\xbb\xbf" + (HEAD.format(more) + "Ü\n").replace("\n", "\r\n").encode()
    )
    files = {
        "references/a/b.md": b"B",
        "assets/logo.png": b"\x89PNG",
        "scripts/a.py": b"1",
        "scripts/x.so": b"\xff",
    }
    files |= {"assets/nul.txt": b"a\0b", "references/__pycache__/c.pyc": b"c"}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    skill = load_skill_from_dir(folder)
    assert (skill.name, skill.description, skill.instructions) == ("invoices", "Adds up --- invoices.", "Ü")
    assert skill.frontmatter.model_dump(by_alias=True) == {
        "name": "invoices",
        "description": "Adds up --- invoices.",
        "license": "MIT",
        "compatibility": None,
        "allowed-tools": "a b",
        "metadata": {"version": "1"},
        "author": "Ada",
    }
    resources = skill.resources
    assert resources.references == {"a/b.md": "B"}
    assert resources.assets == {"logo.png": b"\x89PNG", "nul.txt": b"a\0b"}
    assert resources.list_scripts() == ["a.py"] and str(resources.get_script("a.py")) == "1"
    assert (resources.get_reference("a/b.md"), resources.get_asset("none")) == ("B", None)


def rewrite(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "SKILL.md").write_bytes(text.encode("utf-8", "surrogatepass"))


def add(name: str, data: bytes = b"a") -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        path = os.path.join(os.fsencode(folder), b"references", name.encode("utf-8", "surrogateescape"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    return write


def link(name: str, target: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        (folder / "references").mkdir(exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return make


def many(folder: Path) -> None:
    for number in range(MAX_FILES + 1):
        add(f"{number}.md", b"")(folder)


def large(folder: Path) -> None:
    for number in range(3):
        add(f"{number}.md", b"a" * 6 * 1024**2)(folder)


def pipe(folder: Path) -> None:
    (folder / "assets").mkdir()
    os.mkfifo(folder / "assets" / "pipe")


def text(head: str) -> Callable[[Path], object]:
    return rewrite(f"---\n{head}\n---\nBody")


DESCRIBED = "name: invoices\ndescription: "
BROKEN: list[tuple[Callable[[Path], object], str]] = [
    (
        rewrite("No front matter"),
        r"SKILL.md: the file begins with no YAML .* Write `name` and `description` there.",
    ),
    (rewrite("---\nname: a\n"), "begins with no YAML"),
    (text("name: [\n"), "SKILL.md: while parsing"),
    (text("- a"), "SKILL.md: the front matter: Input should be a valid dictionary"),
    (text(""), "SKILL.md: the front matter: Input should be"),
    (text("1: 2\n" + DESCRIBED + "a"), "should be"),
    (text("name: invoices"), "SKILL.md: description: Field required."),
    (text(DESCRIBED + "''"), "description: String should have at least 1 character"),
    (text(DESCRIBED + "a" * 1025), "description: String should have at most 1024"),
    (text("name: Invoices\ndescription: a"), "name: write lower-case letters, digits and single hyphens"),
    (text("name: a--b\ndescription: a"), "name: write lower-case"),
    (text('name: "a\\u202eb"\ndescription: a'), "name: write lower-case"),
    (text(f"name: {'a' * 65}\ndescription: a"), "name: String should have at most 64"),
    (
        text("name: others\ndescription: a"),
        "the name 'others' is not that of the folder. Rename one of them.",
    ),
    (text(DESCRIBED + "a\u202eb"), r"the character U\+202E is hidden from readers; delete it."),
    (text(DESCRIBED + '"a\\u202eb"'), r"description: the character U\+202E is hidden"),
    (text(DESCRIBED + '"a\\0b"'), r"description: the character U\+0000 is hidden"),
    (rewrite(HEAD.format("") + "a\0b"), r"the character U\+0000 is hidden"),
    (rewrite(HEAD.format("") + "\ud800"), "the text is not UTF-8. Save it as UTF-8."),
    (text(DESCRIBED + "a\nmetadata: {adk_additional_tools: pay}"), "is a list of tool names"),
    (text(DESCRIBED + "a\nmetadata: {adk_additional_tools: [{a: b}]}"), "is a list of tool names"),
    (text(DESCRIBED + "a\nmetadata: {adk_inject_state: 1}"), "is true or false"),
    (text(DESCRIBED + "a\n" + BOMB), "the front matter has more than 1000 values"),
    (text(DESCRIBED + "a\nmetadata: &m {m: *m}"), "the front matter has more than 1000 values"),
    (text(DESCRIBED + "a\nmetadata: {a: !!binary //8=}"), "SKILL.md: "),
    (text(DESCRIBED + "a\nmetadata: " + "[" * 5000 + "]" * 5000), "SKILL.md: "),
    (text(DESCRIBED + "a\nmetadata: {a: !!python/object:os.system {}}"), "could not determine a constructor"),
    (
        rewrite(HEAD.format("") + "a" * MAX_INSTRUCTIONS_BYTES),
        "SKILL.md: the file is larger than 256 kB. Shorten it.",
    ),
    (
        link("SKILL.md", "/etc/passwd"),
        "SKILL.md: this link leads out of the skill. Copy the file into the skill.",
    ),
    (link("references/a.md", "/etc/passwd"), "references/a.md: this link leads out of the skill"),
    (link("references/a", "/etc"), "references/a: this link leads out of the skill"),
    (link("assets", "/etc"), "assets.*: this link leads out of the skill"),
    (link("references/a.md", "a.md"), "references/a.md: this is no regular file. Remove it."),
    (pipe, "assets/pipe: this is no regular file. Remove it."),
    (add("big.csv", b"a" * (MAX_FILE_BYTES + 1)), "references/big.csv: the file is larger than 8,192 kB."),
    (many, "a skill has at most 500 files and 16 MB. Remove files, or make two skills of it."),
    (large, "a skill has at most 500 files and 16 MB"),
    (add("a\u202e.md"), r"references: 'a\\u202e.md' is no path below the skill; rename the file."),
    (add("a\udcff.md"), r"'a\\udcff.md' is no path below the skill"),
    (add("a\\b.md"), "is no path below the skill"),
]


@pytest.mark.parametrize(("make", "reason"), BROKEN)
def test_a_broken_skill_is_named_with_file_and_remedy(
    folder: Path, make: Callable[[Path], object], reason: str
) -> None:
    make(folder)
    with pytest.raises(ConfigurationError, match=reason) as raised:
        load_skill_from_dir(folder)
    assert str(folder) in str(raised.value)


def test_a_link_within_the_skill_is_read(folder: Path) -> None:
    add("a.md")(folder)
    link("references/b.md", "a.md")(folder)
    assert load_skill_from_dir(folder).resources.references == {"a.md": "a", "b.md": "a"}


async def test_a_folder_of_skills_is_read_or_all_its_broken_skills_are_named(folder: Path) -> None:
    (folder.parent / "notes").mkdir()
    (folder.parent / "README.md").touch()
    assert [skill.name for skill in load_skills_from_dir(folder.parent)] == ["invoices"]
    for name in ("b", "c"):
        (folder.parent / name).mkdir()
        (folder.parent / name / "SKILL.md").touch()
    with pytest.raises(ConfigurationError, match=r"skills/b/SKILL\.md.*skills/c/SKILL\.md"):
        load_skills_from_dir(folder.parent)
    problems: list[str] = []
    found = list_skills_in_dir(folder.parent, lambda name, error: problems.append(name))
    assert ([*found], problems) == (["invoices"], ["b", "c", "notes"])
    assert await list_skills_in_dir_async(folder.parent) == found
    assert await load_skill_from_dir_async(folder) == load_skill_from_dir(folder)


async def test_a_folder_without_a_skill_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"has no SKILL\.md\. Write one, or name the folder of a skill"
    ):
        load_skill_from_dir(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        load_skill_from_dir(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        await load_skills_from_dir_async(tmp_path / "none")
    assert list_skills_in_dir(tmp_path / "none") == {}


def test_without_pyyaml_the_remedy_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ConfigurationError, match=r"pip install -r requirements-yaml\.txt"):
        load_skill_from_dir(folder)

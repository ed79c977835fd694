"""Read skills from folders.

A folder may come from strangers: its size is limited, and links out of it are refused. Errors name the file and the
remedy.
"""

import asyncio
import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from runtime.errors import ConfigurationError
from runtime.skills.models import (
    Frontmatter,
    Resources,
    Script,
    Skill,
    check_number_of_values,
    without_hidden_characters,
)
from runtime.utils.yaml_utils import parse_yaml

logger = logging.getLogger(__name__)

MAX_INSTRUCTIONS_BYTES = 256 * 1024
MAX_FILE_BYTES = 8 * 1024**2
MAX_SKILL_BYTES = 16 * 1024**2
MAX_FILES = 500
_SKILL_FILES = ("SKILL.md", "skill.md")
_PARTS = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)(.*)", re.DOTALL | re.MULTILINE)


def load_skill_from_dir(skill_dir: str | Path) -> Skill:
    """Return the skill in a folder.

    Raises:
        FileNotFoundError: there is no such folder, or no SKILL.md in it.
        ConfigurationError: a file of the skill is not valid, too large or outside of the folder; or PyYAML is missing.
    """
    folder = Path(skill_dir).resolve()
    frontmatter, instructions = _read_skill_file(folder)
    reader = _FileReader(folder)
    references = dict(reader.read_all("references"))
    assets = dict(reader.read_all("assets"))
    scripts = {}
    for path, content in reader.read_all("scripts"):
        if isinstance(content, bytes):
            logger.warning("%s is left out: a script is a text in UTF-8.", folder / "scripts" / path)
        else:
            scripts[path] = Script(src=content)
    try:
        resources = Resources(references=references, assets=assets, scripts=scripts)
    except ValidationError as error:
        raise _error(folder, _problems_in(error)) from error
    return Skill(frontmatter=frontmatter, instructions=instructions, resources=resources)


def load_skills_from_dir(skills_dir: str | Path) -> list[Skill]:
    """Return the skills in the subfolders of a folder, by name. Subfolders without a SKILL.md are left out.

    Raises:
        FileNotFoundError: there is no such folder.
        ConfigurationError: some skills are not valid; the message names all of them.
    """
    base = Path(skills_dir).resolve()
    if not base.exists():
        raise FileNotFoundError(f"There is no folder {base}.")
    if not base.is_dir():
        raise ConfigurationError(f"{base} is no folder. Name the folder with the skills.")
    skills: list[Skill] = []
    problems: list[str] = []
    for folder in sorted(base.iterdir()):
        if _skill_file(folder):
            try:
                skills.append(load_skill_from_dir(folder))
            except ConfigurationError as error:
                problems.append(str(error))
    if problems:
        raise ConfigurationError(" ".join(problems))
    return skills


def list_skills_in_dir(
    skills_base_path: str | Path, on_error: Callable[[str, Exception], None] | None = None
) -> dict[str, Frontmatter]:
    """Return the front matter of each skill in the subfolders of a folder, without reading the skills.

    Args:
        on_error: called with the name of a folder and the error, in place of a warning in the log.
    """
    found: dict[str, Frontmatter] = {}
    base = Path(skills_base_path).resolve()
    if not base.is_dir():
        logger.warning("%s is no folder, so there are no skills in it.", base)
        return found
    for folder in sorted(path for path in base.iterdir() if path.is_dir()):
        try:
            found[folder.name] = _read_skill_file(folder.resolve())[0]
        except (FileNotFoundError, ConfigurationError) as error:
            if on_error:
                on_error(folder.name, error)
            else:
                logger.warning("A skill is left out: %s", error)
    return found


async def load_skill_from_dir_async(skill_dir: str | Path) -> Skill:
    """As `load_skill_from_dir`, in a thread."""
    return await asyncio.to_thread(load_skill_from_dir, skill_dir)


async def load_skills_from_dir_async(skills_dir: str | Path) -> list[Skill]:
    """As `load_skills_from_dir`, in a thread."""
    return await asyncio.to_thread(load_skills_from_dir, skills_dir)


async def list_skills_in_dir_async(
    skills_base_path: str | Path, on_error: Callable[[str, Exception], None] | None = None
) -> dict[str, Frontmatter]:
    """As `list_skills_in_dir`, in a thread, which also calls `on_error`."""
    return await asyncio.to_thread(list_skills_in_dir, skills_base_path, on_error)


def _skill_file(folder: Path) -> Path | None:
    return next((folder / name for name in _SKILL_FILES if os.path.lexists(folder / name)), None)


def _read_skill_file(folder: Path) -> tuple[Frontmatter, str]:
    """Return the front matter and the instructions of a SKILL.md."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    file = _skill_file(folder)
    if file is None:
        raise FileNotFoundError(f"{folder} has no SKILL.md. Write one, or name the folder of a skill.")
    data = _read(file, folder, MAX_INSTRUCTIONS_BYTES)
    try:
        text = without_hidden_characters(data.decode("utf-8-sig").replace("\r\n", "\n"))
        frontmatter, instructions = _parse(text)
    except UnicodeDecodeError as error:
        raise _error(file, "the text is not UTF-8. Save it as UTF-8") from error
    except ValidationError as error:
        raise _error(file, _problems_in(error)) from error
    except ConfigurationError:
        raise
    except (ValueError, RecursionError) as error:
        raise _error(file, str(error)) from error
    if frontmatter.name != folder.name:
        raise _error(file, f"the name {frontmatter.name!r} is not that of the folder. Rename one of them")
    return frontmatter, instructions


def _parse(text: str) -> tuple[Frontmatter, str]:
    parts = _PARTS.match(text)
    if parts is None:
        raise ValueError(
            "the file begins with no YAML between two lines of ---. Write `name` and `description` there"
        )
    values = parse_yaml(parts[1])
    check_number_of_values(values)
    frontmatter = Frontmatter.model_validate(values)
    # A tool sends it as JSON, which cannot hold every value of YAML.
    frontmatter.model_dump_json()
    return frontmatter, parts[2].strip()


class _FileReader:
    """Reads the files of one skill, and counts them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bytes_left = MAX_SKILL_BYTES
        self._files_left = MAX_FILES

    def read_all(self, kind: str) -> Iterator[tuple[str, str | bytes]]:
        """Yield path and content of the files of a kind. Texts in UTF-8 without NUL are texts, all others bytes."""
        top = self._folder / kind
        for directory, subdirectories, names in os.walk(top):
            subdirectories[:] = sorted(set(subdirectories) - {"__pycache__"})
            for name in (*subdirectories, "."):
                _refuse_link(Path(directory, name), self._folder)
            for name in sorted(names):
                path = Path(directory, name)
                yield path.relative_to(top).as_posix(), _as_text(self._read(path))

    def _read(self, path: Path) -> bytes:
        data = _read(path, self._folder, MAX_FILE_BYTES)
        self._bytes_left -= len(data)
        self._files_left -= 1
        if self._bytes_left < 0 or self._files_left < 0:
            size = f"{MAX_FILES} files and {MAX_SKILL_BYTES // 1024**2} MB"
            raise _error(self._folder, f"a skill has at most {size}. Remove files, or make two skills of it")
        return data


def _read(path: Path, folder: Path, limit: int) -> bytes:
    _refuse_link(path, folder)
    if not path.is_file():
        raise _error(path, "this is no regular file. Remove it")
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise _error(path, f"the file cannot be read: {error.strerror}. Change its rights") from error
    if len(data) > limit:
        raise _error(path, f"the file is larger than {limit // 1024:,} kB. Shorten it")
    return data


def _refuse_link(path: Path, folder: Path) -> None:
    # Not `Path.resolve`, which fails for a link to itself.
    if not Path(os.path.realpath(path)).is_relative_to(folder):
        raise _error(path, "this link leads out of the skill. Copy the file into the skill")


def _as_text(data: bytes) -> str | bytes:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    return data if "\0" in text else text


def _problems_in(error: ValidationError) -> str:
    problems = []
    for found in error.errors():
        place = ".".join(map(str, found["loc"])) or "the front matter"
        problems.append(f"{place}: {found['msg'].removeprefix('Value error, ')}")
    return "; ".join(problems)


def _error(path: Path, problem: str) -> ConfigurationError:
    return ConfigurationError(f"{path}: {problem}.")

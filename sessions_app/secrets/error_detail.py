"""Error details for staff: the text or traceback of an error, with secrets masked and of limited length."""

import re
import sysconfig
import traceback
from dataclasses import dataclass
from pathlib import Path

import runtime
from runtime.valid_text import storable
from sessions_app.conf import conf
from sessions_app.secrets.masking import mask_text

FOREIGN = (
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    f"{Path(runtime.__file__).parent}/",
    f"{Path(__file__).parents[1]}/",
    "<",
)
"""Beginnings of the names of files that are not an agent's: Python, libraries, this site, and generated code."""
_FRAME = re.compile(r'^ +File "([^"\n]+)", line (\d+)(?:, in (.+))?$', re.MULTILINE)
_CLASS = re.compile(r"[\w.]+(?=:|$)", re.MULTILINE)
_UNINDENTED = re.compile(r"^\S", re.MULTILINE)


@dataclass(frozen=True)
class Cause:
    """The parts of a detail that help the author of an agent.

    Attributes:
        sentence: class and text of the last exception, or the whole detail when it is no traceback.
        exception: class of the last exception; empty when the detail is no traceback.
        frames: places in the agent's own code, outermost first, such as `/srv/agents/shop.py:12 in weigh`.
    """

    sentence: str
    exception: str
    frames: list[str]

    @property
    def place(self) -> str:
        """Class of the exception and innermost place in the agent's own code. The text of the exception is left out."""
        return ", ".join(filter(None, (self.exception, *self.frames[-1:])))


def describe(error: BaseException) -> str:
    """Return the traceback of an error, masked and cut by `masked`."""
    return masked("".join(traceback.format_exception(error)))


def masked(text: str) -> str:
    """Return the end of a text, at most `ADK["error_detail_limit"]` characters, with secrets masked."""
    hidden = mask_text(storable(text))
    return hidden[-conf().error_detail_limit :] if conf().error_detail_limit > 0 else ""


def is_own_code(filename: str) -> bool:
    """Return True for a source file of an agent or its project."""
    return not filename.startswith(FOREIGN)


def cause_in(detail: str) -> Cause:
    """Return the cause in an error's detail, as `describe` or `masked` returned it."""
    frames = list(_FRAME.finditer(detail))
    own = [_place(frame) for frame in frames if is_own_code(frame[1])]
    # The lines of source code below the last frame are indented; the exception is not.
    beginning = _UNINDENTED.search(detail, frames[-1].end()) if frames else None
    if beginning is None:
        return Cause(detail.strip(), "", own)
    sentence = detail[beginning.start() :].strip()
    named = _CLASS.match(sentence)
    return Cause(sentence, named[0] if named else "", own)


def _place(frame: re.Match[str]) -> str:
    filename, line, function = frame.groups()
    place = f"{filename}:{line}"
    return f"{place} in {function}" if function else place

"""Input and result of a code execution."""

import base64
from dataclasses import dataclass, field


@dataclass(frozen=True)
class File:
    """A file; `content` is bytes, or the bytes as base64 text."""

    name: str
    content: str | bytes
    mime_type: str = "text/plain"

    def as_bytes(self) -> bytes:
        """Return the content decoded."""
        if isinstance(self.content, bytes):
            return self.content
        return base64.b64decode(self.content)


@dataclass
class CodeExecutionInput:
    """Code, its input files, and the id under which a stateful executor keeps its variables."""

    code: str
    input_files: list[File] = field(default_factory=list)
    execution_id: str | None = None


@dataclass
class CodeExecutionResult:
    """Output of code. Text in `stderr` means that the code failed."""

    stdout: str = ""
    stderr: str = ""
    output_files: list[File] = field(default_factory=list)
    exit_code: int | None = None

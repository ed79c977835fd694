"""Display of a conversation on a screen.

A terminal cannot take text back. A streamed text is written as it arrives, and its event later adds only the part
that is not on the screen yet. While a text is being written, everything else waits (`_held_back`), and a second
agent's text comes with its event.
"""

from runtime.events.event import Event as RuntimeEvent
from sessions_app.contrib.terminal.screen import Screen
from sessions_app.data_protection.transcripts.entries import Entry, EntryBuilder, Piece
from sessions_app.live.notices import JobNotice
from sessions_app.live.streamed_text import TextChunk, utf16_length
from sessions_app.live.updates import EventUpdate, NoticeUpdate, StatusUpdate, TextUpdate, Update
from sessions_app.rendering.faces import face_of
from sessions_app.rendering.outline import as_words, one_line
from sessions_app.rendering.session_view import SessionView
from sessions_app.sessions.ownership import User

COLOURS = {"note": "cyan", "file": "cyan", "picture": "cyan", "error": "red"}


class Display:
    """Show the updates of one session.

    Attributes:
        jobs: last notices of open jobs, by id.
    """

    def __init__(self, screen: Screen, view: SessionView, user: User) -> None:
        self._screen = screen
        self.view = view
        self._entries = EntryBuilder(self.view, user.get_username(), jobs={}, answered=set())
        self._streamed: dict[str, str] = {}
        self._on_screen = ""
        self._held_back: list[str] = []
        self._stored: set[str] = set()
        self._own_messages: set[str] = set()
        self.jobs: dict[str, JobNotice] = {}

    def leave_out_message(self, invocation_id: str) -> None:
        """Do not show the message of an invocation: the user has just typed it."""
        self._own_messages.add(invocation_id)

    async def show(self, update: Update) -> None:
        """Show an update, if there is something to see. Thoughts are shown once they are complete."""
        match update:
            case TextUpdate() if not update.chunk.stream.thought:
                await self._show_text(update.chunk)
            case EventUpdate():
                await self.show_event(update.event)
            case NoticeUpdate(notice=JobNotice() as job):
                await self._show_job(job)
            case _:  # The other notices, and the status, are for the caller.
                pass

    async def show_event(self, event: RuntimeEvent) -> None:
        """Show a committed event, except for text that was streamed to the screen before."""
        self._stored.add(event.id)
        # The event of an interrupted text has another id than the text.
        on_screen_as = self._on_screen if event.interrupted else event.id
        streamed = self._streamed.pop(on_screen_as, "")
        is_typed_here = event.author == "user" and event.invocation_id in self._own_messages
        with self.view.reader.reading():
            entry = self._entries.build(event)
        if entry is None or (is_typed_here and not event.get_function_responses()):
            return
        if self._on_screen != on_screen_as:
            streamed = ""
            await self._screen.end_line()
        for piece in entry.pieces:
            streamed = await self._show_piece(entry, piece, streamed)
        self._on_screen = ""
        held_back = self._held_back
        self._held_back = []
        for text in held_back:
            await self._show_note(text)
        await self._screen.end_line()

    async def _show_piece(self, entry: Entry, piece: Piece, streamed: str) -> str:
        """Show a piece of an event; return the part of the streamed text that later pieces repeat."""
        if piece.kind in ("said", "prose"):
            common = min(len(streamed), len(piece.text))
            if common and piece.text[:common] == streamed[:common]:
                await self._screen.write(piece.text[common:])
                return streamed[common:]
            await self._screen.end_line()
            await self._name_speaker(entry.author)
            await self._screen.write(piece.text)
            return ""
        text = piece.text
        if piece.kind == "verbatim":
            text = f"{piece.label}:\n{text}"
        elif piece.kind == "error":
            text = f"Error: {text}"
        await self._screen.line(_indented(text), colour=COLOURS.get(piece.kind, ""))
        return streamed

    async def _show_text(self, chunk: TextChunk) -> None:
        """Show the next part of a streamed text. The text of a second agent waits for its event."""
        event_id = chunk.stream.event_id
        if event_id in self._stored or self._on_screen not in ("", event_id):
            return
        known = self._streamed.get(event_id, "")
        if chunk.offset == utf16_length(known):
            added = chunk.text
        elif chunk.offset == 0 and chunk.text.startswith(known):
            added = chunk.text[len(known) :]
        else:
            return  # The event shows what is missing.
        if not self._on_screen:
            self._on_screen = event_id
            await self._screen.end_line()
            await self._name_speaker(face_of(self.view.app_name, chunk.stream.author).name)
        self._streamed[event_id] = known + added
        await self._screen.write(added)

    async def _name_speaker(self, name: str) -> None:
        if name:
            await self._screen.write(f"{one_line(name)}: ", "bold")

    async def _show_job(self, job: JobNotice) -> None:
        """Show a job whose status has changed."""
        before = self.jobs.pop(job.id, None)
        if job.is_active or job.question:
            self.jobs[job.id] = job
        if before is None or before.status != job.status:
            await self._show_note(in_a_line(job))

    async def _show_note(self, text: str) -> None:
        """Show a separate line. While a text is streamed, the line waits for the event of the text."""
        if self._on_screen:
            self._held_back.append(text)
        else:
            await self._screen.line(_indented(text), colour="cyan")

    def running_jobs(self) -> str:
        """Return the active jobs on one line; empty if there are none."""
        return " · ".join(in_a_line(job) for job in self.jobs.values() if job.is_active)


def in_a_line(job: JobNotice) -> str:
    """Return tool, status and progress of a job on one line."""
    text = f"{as_words(job.tool_name)}: {job.status}"
    words = job.error
    if job.is_active:
        words = words or job.progress_message
        if job.percent is not None:
            text += f", {job.percent} %"
    return one_line(f"{text} ({words})" if words else text)


def is_end(update: Update) -> bool:
    """True for an update after which the session may be idle, so its status should be read."""
    match update:
        case NoticeUpdate():
            return not update.notice.is_active
        case _:
            return isinstance(update, StatusUpdate)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))

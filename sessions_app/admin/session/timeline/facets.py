"""Tools and branches of a session for the filters of its page, and the events in which its files were saved."""

from dataclasses import dataclass, field
from typing import Any

from sessions_app.models import Session
from sessions_app.process.replica import reading_connection

MAX_BYTES = 100_000
"""Stored size of the largest event to read. Larger events are left out: a session may have many of them."""
MAX_NAMES = 300


@dataclass(frozen=True)
class Facets:
    """Tools and branches of a session, in alphabetical order.

    Attributes:
        files: `seq` of the event in which a file was saved, by name and version of the file.
    """

    tools: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    files: dict[tuple[str, int], int] = field(default_factory=dict)


def load_facets(session: Session) -> Facets:
    """Load the names and the files of a session in one query."""
    facets = Facets()
    parameters: dict[str, Any] = {"session": session.pk, "bytes": MAX_BYTES, "names": MAX_NAMES}
    with reading_connection().cursor() as cursor:
        cursor.execute(_FACETS, parameters)
        for kind, name, version, seq in cursor.fetchall():
            match kind:
                case "tool":
                    facets.tools.append(name)
                case "branch":
                    facets.branches.append(name)
                case _:
                    facets.files[name, int(version)] = seq
    return facets


_FACETS = r"""
WITH small AS MATERIALIZED (
    SELECT seq, body ->> 'branch' AS branch, body #> '{actions,artifactDelta}' AS files,
        jsonb_path_query_array(body, '$.content.parts[*].functionCall.name ? (@.type() == "string")') AS tools
    FROM sessions_app_event WHERE session_id = %(session)s AND pg_column_size(body) <= %(bytes)s
)
(SELECT DISTINCT 'tool', name, '', 0::bigint FROM small, jsonb_array_elements_text(tools) name
    ORDER BY name LIMIT %(names)s)
UNION ALL
(SELECT DISTINCT 'branch', branch, '', 0 FROM small WHERE branch IS NOT NULL ORDER BY branch LIMIT %(names)s)
UNION ALL
(SELECT 'file', file.key, file.value, max(seq) FROM small, jsonb_each_text(
    CASE jsonb_typeof(files) WHEN 'object' THEN files END
) file WHERE file.value ~ '^\d{1,9}$' GROUP BY file.key, file.value ORDER BY max(seq) DESC LIMIT %(names)s)
"""

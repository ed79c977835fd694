"""`make bench-compare BASE=<commit>`: turns at another commit and in this tree, alternately in one run.

Each commit has its own PostgreSQL, Redis and web process. The benchmark's own modules are those of this tree.
`python -m tests.benchmarks.compare BASE ROUNDS` compares; without arguments it is one commit's side.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.servers import bench_site
from tests.benchmarks.work import Measurements, Work

ROOT = Path(__file__).parents[2]
WORKS = (
    Work(50),
    Work(50, has_call=False),
    Work(50, has_call=False, is_markdown=True),
    Work(20, turns=20, seconds_between=0.0),
)


def compare(base: str, rounds: int) -> None:
    """Print the CPU of a turn at the commit and here, and the median of the ratios of the rounds."""
    with _tree_of(base) as tree, _side(tree) as old, _side(ROOT) as new:
        for work in WORKS:
            pairs = [(_ask(old, work), _ask(new, work)) for _ in range(rounds)]
            print(f"{work}:")
            for name, values in (
                ("web process", [(before.web_ms, now.web_ms) for before, now in pairs]),
                ("PostgreSQL", [(before.postgres_ms, now.postgres_ms) for before, now in pairs]),
            ):
                before, now = (statistics.median(side) for side in zip(*values, strict=True))
                ratio = statistics.median(new / old for old, new in values)
                print(
                    f"  CPU a turn, {name}: {before:.2f} ms at {base}, {now:.2f} ms here: {ratio:.2f} times",
                    flush=True,
                )


@contextmanager
def _tree_of(commit: str) -> Iterator[Path]:
    """Check the commit out, with the benchmarks of this tree."""
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            shutil.rmtree(tree / "tests" / "benchmarks")
            shutil.copytree(ROOT / "tests" / "benchmarks", tree / "tests" / "benchmarks")
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


@contextmanager
def _side(tree: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.benchmarks.compare"]
    side = subprocess.Popen(command, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield side
    finally:
        assert side.stdin
        side.stdin.close()
        side.wait()


def _ask(side: subprocess.Popen[str], work: Work) -> Measurements:
    assert side.stdin and side.stdout
    print(json.dumps(asdict(work)), file=side.stdin, flush=True)
    return Measurements(**json.loads(side.stdout.readline()))


async def _answer() -> None:
    """Do the work of each line of the standard input at one web process, and write the measurements."""
    from sessions_app.process.threads import in_thread
    from tests.benchmarks.crowd import crowd
    from tests.benchmarks.daphne import daphne
    from tests.benchmarks.doors import make_doors

    doors = await in_thread(make_doors, max(work.people for work in WORKS), "paced")
    with daphne("adk_site.asgi:application", "tests.benchmarks.settings") as (port, process):
        async with crowd(port, process, doors) as people:
            while line := await asyncio.to_thread(sys.stdin.readline):
                print(json.dumps(asdict(await people.do(Work(**json.loads(line))))), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compare(sys.argv[1], int(sys.argv[2]))
    else:
        with bench_site():
            asyncio.run(_answer())

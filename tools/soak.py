"""Run random commands on good and bad files, kill some, fill disks, and count what was lost.

Nothing may be lost: inputs stay as they are, an output is the old file or a whole new one, no
draft is left unless the process was killed outright, and only a verdict ends with 1.

SOAK_MINUTES (20) or SOAK_SECONDS say how long, SOAK_SEED (0) which commands and faults;
`python tools/soak.py 17` repeats the trial of that number.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from calibrant._base.writing import DRAFT
from commands import Ended, ended, start_forked  # beside the tests, as a fork must find it too

OLD = b"the old file, which must stay whole\n" * 8
ROWS = (200, 5_000, 60_000)
PATIENCE = 120.0
SMALL_DISK = 96 * 1024
# Commands with {rows} to read, {calibrator} and {task} beside it, and {out} with an end to write.
COMMANDS = {
    "audit": "audit {rows} --by g --html {out}.html --json {out}.json --markdown {out}.md",
    "audit over time": "audit {rows} --time t --cluster g --json {out}.json",
    "check": "check {rows} --by g --json {out}.json --markdown {out}.md",
    "check against": "check {rows} --baseline {rows} --json {out}.json",
    "monitor": "monitor {rows} --time t --json {out}.json",
    "recalibrate": "recalibrate {rows} --out {out}.csv --calibrator {out}.json --python {out}.py "
    "--force",
    "recalibrate by group": (
        "recalibrate {rows} --by g --methods platt,beta --out {out}.parquet --force"
    ),
    "apply": "apply {calibrator} {rows} --out {out}.jsonl --force",
    "online": "online foster {rows} --rounds 200 --picture {out}.png",
    "measures": "measures",
}
VERDICTS = {"check": {0, 1, 3}, "check against": {0, 1, 3}, "monitor": {0, 1}}
GOOD = ("csv", "csv.gz", "parquet", "jsonl")
BAD = (
    "empty",
    "header",
    "garbage",
    "cut",
    "words",
    "beyond",
    "renamed",
    "folder",
    "loop",
    "absent",
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@dataclass(frozen=True)
class Trial:
    """One command, what it reads, and what goes wrong."""

    number: int
    command: str
    source: str
    signal: int | None
    after: float
    full: bool
    before: str
    """What is where the outputs will be: "nothing", "a file" or "a link"."""

    @classmethod
    def drawn(cls, seed: int, number: int) -> Trial:
        """Draw a trial: the same for the same seed and number."""
        rng = np.random.default_rng([seed, number])
        sources = [f"{kind} {rows}" for kind in GOOD for rows in ROWS]
        source = str(rng.choice(sources if rng.random() < 0.7 else BAD))
        fault = rng.random()
        return cls(
            number,
            str(rng.choice(list(COMMANDS))),
            source,
            int(rng.choice(SIGNALS)) if fault < 0.5 else None,
            float(rng.exponential(0.7)),
            0.5 <= fault < 0.75,
            str(rng.choice(["nothing", "a file", "a link"])),
        )

    @property
    def good(self) -> bool:
        """Whether the file can be read."""
        return self.source not in BAD

    @property
    def rows(self) -> int:
        """Rows of the file; none of a bad one can be copied, but a header can."""
        if self.source == "header":
            return 0
        return int(self.source.split()[-1]) if self.good else -1

    @property
    def copies_header(self) -> bool:
        """Whether the command copies a file without rows: a calibrator needs none to be applied."""
        return self.source == "header" and self.command == "apply"

    def allowed(self) -> set[int]:
        """Exit codes that say the truth."""
        codes = set(VERDICTS.get(self.command, {0})) if self.good else {2}
        if self.command == "measures" or self.copies_header:
            codes = {0}
        if self.signal is not None:
            codes |= {-self.signal, 128 + self.signal}
        return codes | {74} if self.full else codes


def main() -> None:
    seed = int(os.environ.get("SOAK_SEED", "0"))
    minutes = float(os.environ.get("SOAK_MINUTES", "20"))
    seconds = float(os.environ.get("SOAK_SECONDS", str(60 * minutes)))
    tried: Counter[tuple[str, str]] = Counter()
    lost: list[str] = []
    with tempfile.TemporaryDirectory(prefix="soak") as folder, small_disk(folder) as disk:
        sources = make_sources(Path(folder, "sources"))
        until = time.monotonic() + seconds
        numbers = iter(map(int, sys.argv[1:])) if sys.argv[1:] else iter(range(10**9))
        for number in numbers:
            if time.monotonic() >= until:
                break
            trial = Trial.drawn(seed, number)
            outcome, wrong = run_trial(trial, sources, Path(folder, "work"), disk)
            tried[fault_of(trial), outcome] += 1
            for one in wrong:
                lost.append(f"trial {number} ({trial}): {one}")
                print("LOST", lost[-1], flush=True)
    show(tried, seed)
    print(f"lost: {len(lost)}")
    sys.exit(bool(lost))


def run_trial(
    trial: Trial, sources: dict[str, Path], work: Path, disk: Path | None
) -> tuple[str, list[str]]:
    """Run a command, let something go wrong, and say what was lost."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "said").mkdir(parents=True)
    place = disk if trial.full and disk is not None else work / "out"
    empty(place)
    source = sources[trial.source]
    words = {"rows": source, "calibrator": sources["calibrator"], "out": place / "new"}
    arguments = [word.format(**words) for word in COMMANDS[trial.command].split()]
    outputs = [Path(word) for word in arguments if word.startswith(f"{place}/new.")]
    prepare(outputs, trial.before)
    before = contents(sources)
    fault = partial(limit_files, SMALL_DISK) if trial.full and disk is None else None
    process = start_forked(arguments, str(work / "said"), fault)
    if trial.signal is not None:
        wait_for(work / "said" / "stderr")
        process.join(trial.after)
        if process.is_alive() and process.pid is not None:
            os.kill(process.pid, trial.signal)
    process.join(PATIENCE)
    hangs = process.is_alive()
    end = ended(process, str(work / "said"))
    wrong = ["it hangs"] if hangs else []
    wrong += lost_in(trial, end, outputs, place)
    if contents(sources) != before:
        wrong.append("an input changed")
    return f"exit {end.code}", wrong


def wait_for(path: Path) -> None:
    """Wait until a fork has its own streams: before, signals meet the test and not the command."""
    until = time.monotonic() + PATIENCE
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.001)


def lost_in(trial: Trial, end: Ended, outputs: list[Path], place: Path) -> Iterator[str]:
    """Name what a command lost."""
    if end.code not in trial.allowed():
        yield f"exit code {end.code}: {end.stderr[-400:]}"
    if "Traceback" in end.stderr:
        yield f"a traceback: {end.stderr[-400:]}"
    drafts = list(place.glob(f"{DRAFT}*"))
    if drafts and end.code != -signal.SIGKILL:
        yield f"a draft is left: {drafts}"
    for path in outputs:
        if trial.before == "a link" and not path.is_symlink():
            yield f"{path.name} is no link any more"
        content = path.read_bytes() if path.exists() else None
        if content == (None if trial.before == "nothing" else OLD):
            if end.code in {0, 1, 3}:
                yield f"{path.name} was not written"
        elif not is_whole(path, trial.rows):
            yield f"{path.name} is not whole"


def is_whole(path: Path, rows: int) -> bool:
    """Whether a new file is complete."""
    content = path.read_bytes()
    try:
        if path.suffix in TABLES:
            return TABLES[path.suffix](content) == rows
        return PAGES[path.suffix](content)
    except (ValueError, SyntaxError):
        return False


TABLES: dict[str, Callable[[bytes], int]] = {
    ".csv": lambda content: len(list(csv.reader(io.StringIO(content.decode())))) - 1,
    ".jsonl": lambda content: len([json.loads(line) for line in content.splitlines()]),
    ".parquet": lambda content: pq.read_table(io.BytesIO(content)).num_rows,
}
PAGES: dict[str, Callable[[bytes], bool]] = {
    ".html": lambda content: content.rstrip().endswith(b"</html>"),
    ".json": lambda content: bool(json.loads(content)),
    ".md": lambda content: content.startswith(b"## ") and content.endswith(b"\n"),
    ".png": lambda content: content[-8:-4] == b"IEND",
    ".py": lambda content: bool(compile(content, "calibrator", "exec")),
}


def make_sources(folder: Path) -> dict[str, Path]:
    """Write files to read, good and bad."""
    import pandas as pd

    from calibrant.recalibration import PlattScaling

    folder.mkdir()
    rng = np.random.default_rng(0)
    found: dict[str, Path] = {}
    for rows in ROWS:
        p = rng.uniform(0.01, 0.99, rows)
        y = (rng.uniform(size=rows) < p ** rng.uniform(0.8, 1.6)).astype(int)
        columns = {"prediction": p, "outcome": y, "t": np.arange(rows)}
        frame = pd.DataFrame({**columns, "g": rng.choice(["a", "b", "c,\n'd"], rows)})
        paths = {kind: folder / f"rows{rows}.{kind}" for kind in GOOD}
        frame.to_csv(paths["csv"], index=False)
        frame.to_parquet(paths["parquet"])
        frame.to_json(paths["jsonl"], orient="records", lines=True)
        paths["csv.gz"].write_bytes(gzip.compress(paths["csv"].read_bytes()))
        found |= {f"{kind} {rows}": path for kind, path in paths.items()}
    found["calibrator"] = folder / "calibrator.json"
    found["calibrator"].write_text(PlattScaling().fit(p, y).to_json())
    whole = found["parquet 200"].read_bytes()
    bad = {
        "empty": ("empty.csv", b""),
        "header": ("header.csv", b"prediction,outcome,t,g\n"),
        "garbage": ("garbage.csv", rng.bytes(3000)),
        "cut": ("cut.parquet", whole[: len(whole) // 2]),
        "words": ("words.csv", b"prediction,outcome,t,g\n" + b"high,maybe,1,a\n" * 50),
        "beyond": ("beyond.csv", b"prediction,outcome,t,g\n" + b"7e300,5,1,a\n" * 50),
        "renamed": ("renamed.csv", b"forecast,event\n0.5,1\n0.5,0\n"),
    }
    for name, (file, content) in bad.items():
        found[name] = folder / file
        found[name].write_bytes(content)
    for name in ("folder", "loop", "absent"):
        found[name] = folder / f"{name}.csv"
    found["folder"].mkdir()
    found["loop"].symlink_to(found["loop"])
    return found


def prepare(outputs: list[Path], before: str) -> None:
    """Put old files, or links to them, where the new ones will be."""
    for path in outputs:
        if before == "a file":
            path.write_bytes(OLD)
        elif before == "a link":
            path.with_suffix(f".target{path.suffix}").write_bytes(OLD)
            path.symlink_to(path.with_suffix(f".target{path.suffix}"))


def contents(sources: dict[str, Path]) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in sources.items() if path.is_file()}


def empty(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def limit_files(size: int) -> None:
    """Let no file grow beyond a size, as on a disk that is almost full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@contextmanager
def small_disk(folder: str) -> Iterator[Path | None]:
    """Mount a disk that is soon full, where one may be mounted."""
    place = Path(folder, "disk")
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, check=False, timeout=PATIENCE)  # noqa: S603
    mounted = done.returncode == 0
    try:
        yield place if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True, timeout=PATIENCE)  # noqa: S603, S607


def fault_of(trial: Trial) -> str:
    kind = "good file" if trial.good else "bad file"
    if trial.signal is not None:
        return f"{kind}, {signal.Signals(trial.signal).name}"
    return f"{kind}, full disk" if trial.full else kind


def show(tried: Counter[tuple[str, str]], seed: int) -> None:
    print(f"{sum(tried.values())} commands tried (seed {seed})")
    for (fault, outcome), count in sorted(tried.items()):
        print(f"{count:>6}  {fault:<22}  {outcome}")


if __name__ == "__main__":
    main()

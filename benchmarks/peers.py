"""Compare with peer libraries on the same rows: time, memory, value, and where they are wrong.

Each peer is installed with this checkout into an environment of its own under build/peers, and a
worker in that environment times both in turns, so that no peer's dependencies bind another's.
A peer that cannot be installed is listed with the reason. Prints Markdown.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shapes import SHAPES, forecasts

HERE = Path(__file__).parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "peers"
ROWS = BUILD / "rows"
WORKER = HERE / "peers" / "worker.py"
SIZES = (10**4, 10**5, 10**6)
SHOWN = "waves"
ONE_CORE = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
TORCH = "torch==2.13.0"

HOW = """\
Written by `make bench-peers`. Each peer has an environment of its own that also holds calibrant;
both are timed in turns in one process on one core, best of several, on the same rows. *Time* is the
peer's time divided by ours, from the smallest to the largest over six shapes of data (`shapes.py`):
above 1 the peer takes longer. *Memory* is the peak beyond the input at the largest size, theirs and
ours. *Value* and *ours* are for the shape "waves" at the largest size. *Right* compares the peer's
value on every shape and size with plain numpy (`peers/plain.py`), to 1e-6."""
WRONG = """\
Each sentence was produced by running the case (`peers/faults.py`) with the versions above. *By
definition* is the value of the measure that the call names, which calibrant returns."""
CONVENTIONS = """\
Choices of a library that give other values than ours, right by its own definition."""
BAD = """\
A few rows (or none) that are not forecasts and outcomes. A cell is the value that the call
returned, or the exception that it raised. torchmetrics documents that it takes forecasts for
logits when one of them is outside [0, 1]."""


@dataclass(frozen=True)
class Peer:
    name: str
    needs: tuple[str, ...] = ()
    torch: bool = False
    about: str = ""
    python: str = ""
    """Interpreter that its newest version needs, if this one is too old."""


@dataclass
class Found:
    """What the run of one peer gave."""

    version: str = ""
    left_out: str = ""
    times: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)


PEERS = (
    Peer("relplot", ("relplot",), about="smooth ECE and diagrams"),
    Peer("probcal", ("probcal",), about="measures and recalibration"),
    Peer("netcal", ("netcal",), torch=True, about="measures and recalibration"),
    Peer("torchmetrics", ("torchmetrics",), torch=True, about="metrics for torch"),
    Peer("mapie", ("mapie",), about="conformal prediction, with calibration tests"),
    Peer("mcgrad", ("mcgrad",), torch=True, about="multicalibration"),
    Peer("uncertainty-calibration", ("uncertainty-calibration",), about="debiased binned errors"),
    Peer(
        "calibre",
        ("calibre>=0.14",),
        about="recalibration of probabilities, with measures; on Python 3.12, which it needs",
        python="python3.12",
    ),
    Peer("scikit-learn", ("scikit-learn",), about="`calibration_curve`"),
    Peer("scipy", about="HiGHS as `linprog`; comes with calibrant"),
)


def run(*command: str | Path) -> str:
    """Run and give what was printed; raise with the last line of the complaint."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | ONE_CORE,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        complaint = next((line for line in lines if line.startswith("ERROR")), (lines or ["?"])[-1])
        raise RuntimeError(complaint.removeprefix("ERROR: ")[:200])
    return done.stdout


def python_of(peer: Peer) -> Path:
    return BUILD / peer.name / "bin" / "python"


def install(peer: Peer, wheel: Path) -> str:
    """Prepare the peer's environment; give the reason if that fails."""
    python = python_of(peer)
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    stamp = BUILD / peer.name / "installed"
    try:
        ours = ROOT if peer.python else wheel  # a wheel is for one version of Python
        if not stamp.exists():
            run(peer.python or sys.executable, "-m", "venv", "--clear", BUILD / peer.name)
            run(*pip, ours, *peer.needs, *([TORCH] if peer.torch else []))
            stamp.touch()
        run(*pip, "--force-reinstall", "--no-deps", ours)
    except (RuntimeError, FileNotFoundError) as error:
        return f"cannot be installed: {error}"
    return ""


def build_wheel() -> Path:
    folder = BUILD / "wheel"
    for old in folder.glob("*.whl"):
        old.unlink()
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT)
    return next(folder.glob("*.whl"))


def write_rows() -> None:
    for size in SIZES:
        folder = ROWS / str(size)
        folder.mkdir(parents=True, exist_ok=True)
        for shape in SHAPES:
            y, p = forecasts(shape, size)
            np.savez(folder / f"{shape}.npz", y=y, p=p)


def worker(peer: Peer, *arguments: str | Path) -> list[Any]:
    return [json.loads(line) for line in run(python_of(peer), WORKER, *arguments).splitlines()]


def measure(peer: Peer) -> Found:
    found = Found()
    asked = f"import importlib.metadata as m; print(m.version({peer.name!r}))"
    try:
        found.version = run(python_of(peer), "-c", asked).strip()
        found.times = worker(peer, "times", peer.name, ROWS)
        found.faults = worker(peer, "faults", peer.name)
    except RuntimeError as error:
        found.left_out = f"does not run: {error}"
        return found
    for row in largest_rows(found.times):
        if row["shape"] == SHOWN and "failed" not in row:
            row.update(memory(peer, row))
    return found


def largest_rows(times: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep the rows of the largest size that each comparison finished."""
    done = [row for row in times if "failed" not in row]
    largest: dict[int, int] = {}
    for row in done:
        largest[row["index"]] = max(row["rows"], largest.get(row["index"], 0))
    return [row for row in done if row["rows"] == largest[row["index"]]]


def memory(peer: Peer, row: dict[str, Any]) -> dict[str, float]:
    file = ROWS / str(row["rows"]) / f"{SHOWN}.npz"
    try:
        return {
            f"memory_{side}": worker(peer, "memory", str(row["index"]), side, file)[0]
            for side in ("theirs", "ours")
        }
    except RuntimeError:
        return {}


def megabytes(row: dict[str, Any]) -> str:
    if "memory_theirs" not in row:
        return "not measured"
    both = (row[f"memory_{side}"] / 1e6 for side in ("theirs", "ours"))
    return " / ".join("< 0.1" if room < 0.1 else two_figures(room) for room in both)


def span(ratios: list[float]) -> str:
    """Smallest and largest, to two figures."""
    if not ratios:
        return "-"
    low, high = (two_figures(of(ratios)) for of in (min, max))
    return low if low == high else f"{low} to {high}"


def two_figures(number: float) -> str:
    short = float(f"{number:.1e}")
    return f"{short:,.{max(0, 1 - math.floor(math.log10(short)))}f}".replace(",", " ")


def verdict(rows: list[dict[str, Any]]) -> str:
    if not rows or "right" not in rows[0]:
        return "-"
    wrong = [row for row in rows if "reason" in row]
    if not wrong:
        return "yes"
    worst = max(wrong, key=lambda row: abs(row["value"] - row["right"]))
    shapes = sorted({row["shape"] for row in wrong})
    where = "every shape" if len(shapes) == len(SHAPES) else ", ".join(shapes)
    reasons = sorted({row["reason"] for row in wrong} - {""})
    place = f"{worst['shape']}, {power(worst['rows'])}"
    number = f"{worst['value']:.6f} for {worst['right']:.6f} ({place})"
    return f"no, on {where}: at worst {number}" + "".join(f"; {reason}" for reason in reasons)


def power(rows: int) -> str:
    return f"10^{round(math.log10(rows))}"


def comparison_tables(found: dict[str, Found]) -> Iterator[str]:
    """One table per measure, in the order in which they first appear."""
    times = [row | {"peer": name} for name, one in found.items() for row in one.times]
    for title in dict.fromkeys(row["measure"] for row in times):
        yield f"\n## {title}\n"
        sizes = " | ".join(f"time, {power(n)}" for n in SIZES)
        yield f"| peer and call | {sizes} | memory, MB | value | ours | right | note |"
        yield f"|---|{'---|' * len(SIZES)}---|---|---|---|---|"
        here = [row for row in times if row["measure"] == title]
        for index in dict.fromkeys(row["index"] for row in here):
            yield comparison_line([row for row in here if row["index"] == index])


def comparison_line(rows: list[dict[str, Any]]) -> str:
    done = [row for row in rows if "failed" not in row]
    failed = [f"{row['shape']}: {row['failed']}" for row in rows if "failed" in row]
    cells = [span([r["theirs"] / r["ours"] for r in done if r["rows"] == n]) for n in SIZES]
    shown = [row for row in largest_rows(done) if row["shape"] == SHOWN]
    values = [f"{shown[0][key]:.6f}" for key in ("value", "our_value")] if shown else ["-", "-"]
    notes = "; ".join(filter(None, [rows[0]["note"], *failed]))
    peer = f"{rows[0]['peer']}: `{rows[0]['call']}`"
    room = megabytes(shown[0]) if shown else "-"
    return table_line([peer, *cells, room, *values, verdict(done), notes])


def table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def peer_table(found: dict[str, Found]) -> Iterator[str]:
    yield "\n| peer | version | about |"
    yield "|---|---|---|"
    for peer in PEERS:
        one = found[peer.name]
        yield table_line([peer.name, one.version or "-", one.left_out or peer.about])


def fault_list(found: dict[str, Found]) -> Iterator[str]:
    sections = (
        ("Where values contradict their definition", WRONG),
        ("Other conventions", CONVENTIONS),
    )
    for convention, (title, text) in enumerate(sections):
        yield f"\n## {title}\n\n{text}\n"
        for name, one in found.items():
            for fault in one.faults:
                if "title" in fault and fault["convention"] == convention:
                    said = fault["said"] or f"not so in version {one.version}"
                    yield f"- **{name}, {fault['title']}**: {said}."


def bad_input_table(found: dict[str, Found]) -> Iterator[str]:
    rows = [(name, row) for name, one in found.items() for row in one.faults if "answers" in row]
    if not rows:
        return
    kinds = list(rows[0][1]["answers"])
    yield f"\n## Input without an answer\n\n{BAD}\n"
    yield table_line(["peer and call", *kinds])
    yield f"|---|{'---|' * len(kinds)}"
    for name, row in rows:
        peer = "calibrant" if name == "scipy" else name
        yield table_line([f"{peer}: `{row['call']}`", *(row["answers"][kind] for kind in kinds)])


def report(found: dict[str, Found], version: str) -> Iterator[str]:
    today = dt.datetime.now(dt.UTC).date()
    machine = f"Python {platform.python_version()}, {platform.machine()}"
    yield f"# Beside peer libraries\n\ncalibrant {version}, {machine}, {today}.\n{HOW}"
    yield from peer_table(found)
    yield from comparison_tables(found)
    yield from fault_list(found)
    yield from bad_input_table(found)


def look(peer: Peer, wheel: Path, skipped: Iterable[str], *, torch: bool) -> Found:
    if peer.name in skipped:
        return Found(left_out="skipped by hand")
    if peer.torch and not torch:
        return Found(left_out="needs torch, which is gigabytes: add --torch")
    return Found(left_out=install(peer, wheel))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="also write PEERS.md")
    names = [peer.name for peer in PEERS]
    parser.add_argument("--skip", nargs="*", default=[], choices=names, help="peers to leave out")
    parser.add_argument("--torch", action="store_true", help="also peers that need torch")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    wheel = build_wheel()
    write_rows()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(
            zip(
                names,
                pool.map(lambda p: look(p, wheel, options.skip, torch=options.torch), PEERS),
                strict=True,
            )
        )
    for peer in PEERS:
        if not found[peer.name].left_out:
            print(f"measuring beside {peer.name}", file=sys.stderr, flush=True)
            found[peer.name] = measure(peer)
    text = "\n".join(report(found, wheel.name.split("-")[1])) + "\n"
    print(text)
    if options.write:
        HERE.joinpath("PEERS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

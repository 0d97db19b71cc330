"""Break the kernels on purpose, one line at a time, and see whether `make test` would notice.

Each mutant is built from a copy of the sources and judged by tests of the rooms that use its
kernel. A mutant that survives is a test that is missing; the exit code is then 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "mutants"
# Sound tests of one kernel take a minute or two; where a broken loop never ends, none has noticed.
MOST_SECONDS = 900
BUILT_FROM = ("cpp", "src", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True)
class Mutant:
    """A line of a kernel, what it becomes, and the tests that must notice."""

    kernel: str
    line: str
    broken: str
    tests: tuple[str, ...]


MEASURES = ("tests/measures/test_measures.py", "tests/laws/test_laws.py")
MUTANTS = (
    Mutant("smooth_sweep", "remaining[rank] = 2.0 * d;", "remaining[rank] = d;", MEASURES),
    Mutant("smooth", ">= 2.0 + d;", ">= 2.0;",
           ("tests/test_kernels.py",)),
    Mutant("bins", "prediction >= ends[guess]", "prediction > ends[guess]",
           ("tests/measures/test_binned.py", "tests/binning")),
    Mutant("levels", "positives += keys[i] & 1;", "positives += keys[first] & 1;",
           ("tests/joint/test_joint.py",)),
    Mutant("levels", "table_[slot].bits != bits", "table_[slot].bits < bits",
           ("tests/joint/test_joint.py",)),
    Mutant("sort", "key_of(item) < key_of(items[j - 1])", "key_of(item) > key_of(items[j - 1])",
           ("tests/joint/test_joint.py",)),
    Mutant("laplace", "form.add(lost * (2.0 - lost) * tail * tail);",
           "form.add(lost * 2.0 * tail * tail);", ("tests/measures/test_kernel.py",)),
    Mutant("cutoff", "if (value < range.lowest) {", "if (value > range.lowest) {", MEASURES),
    Mutant("intervals", "level[j - 1] - level[first] > width",
           "level[j - 1] - level[first] > 2.0 * width",
           ("tests/measures/test_interval_definitions.py::test_cheapest_runs_of_every_width",)),
    Mutant("raised", "sums[i].weight - 1.0, sums[i].positives - 1.0",
           "sums[i].weight - 1.0, sums[i].positives",
           ("tests/recalibration/test_calibrator_definitions.py",)),
    Mutant("decisions", "const double loss = std::max(left, right);", "const double loss = left;",
           ("tests/decisions",)),
    Mutant("isotonic", "pools_.back().mean >= pool.mean", "pools_.back().mean > 1.001 * pool.mean",
           ("tests/binning", "tests/inference/test_slope_and_shape.py",
            "tests/inference/test_bands.py")),
    Mutant("binomials", "(count_ - k) / (k + 1.0) * odds", "(count_ - k) / (k + 2.0) * odds",
           ("tests/joint/test_draws.py",)),
    Mutant("logistic", "spread[i] = w * rarer * (1.0 - rarer);", "spread[i] = w * rarer;",
           ("tests/regression",)),
    Mutant("nodes", "charge[node] += mass[i] - upper;", "charge[node] += mass[i];",
           ("tests/measures/test_kernel_smoothed.py",)),
    Mutant("lipschitz", "std::clamp(fit[i], fit[i + 1] - gap, fit[i + 1] + gap)",
           "std::clamp(fit[i], fit[i + 1] - gap, fit[i + 1] + 2.0 * gap)",
           ("tests/decisions", "tests/test_families.py")),
)  # fmt: skip


def copy_sources() -> Path:
    """Copy what a wheel is built from."""
    place = PLACE / "source"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in BUILT_FROM:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, place / name)
    return place


def install(source: Path) -> None:
    """Build the package into a folder of its own; only what changed is compiled."""
    package = PLACE / "package"
    shutil.rmtree(package, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    where = ["--no-deps", "--target", str(package), "-C", f"build-dir={PLACE / 'objects'}"]
    command = [*pip, *where, str(source)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # noqa: S603  # our own


def tests_pass(tests: tuple[str, ...]) -> bool:
    """Run tests against the package that was built last."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(  # noqa: S603  # our own
            [*command, *tests],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(PLACE / "package")},
            capture_output=True,
            check=False,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True  # tests that never end name nothing
    return done.returncode == 0


def survives(mutant: Mutant, source: Path) -> bool:
    """Break a kernel, build it, and run its tests."""
    header = source / "cpp" / "calibrant" / f"{mutant.kernel}.hpp"
    sound = header.read_text(encoding="utf-8")
    if sound.count(mutant.line) != 1:
        sys.exit(f"{mutant.kernel}: {mutant.line!r} must stand there once")
    header.write_text(sound.replace(mutant.line, mutant.broken), encoding="utf-8")
    try:
        install(source)
        return tests_pass(mutant.tests)
    finally:
        header.write_text(sound, encoding="utf-8")


def main() -> None:
    """Try every mutant, or those of the kernels that are named."""
    asked = sys.argv[1:]
    source, survivors = copy_sources(), []
    for mutant in MUTANTS:
        if asked and mutant.kernel not in asked:
            continue
        start = time.monotonic()
        alive = survives(mutant, source)
        survivors += [mutant.kernel] if alive else []
        took = time.monotonic() - start
        print(
            f"{'SURVIVES' if alive else 'caught'}  {mutant.kernel}: {mutant.broken}  {took:.0f} s"
        )
    if survivors:
        sys.exit(f"no test notices: {', '.join(survivors)}")


if __name__ == "__main__":
    main()

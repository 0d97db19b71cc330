"""The end of each `--help`: commands to type, and what they are for."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "demo": (("calibrant demo --html demo.html", "Look at a report before you have data."),),
    "audit": (
        ("calibrant audit forecasts.csv", "Columns prediction and outcome, 0 or 1."),
        (
            "calibrant audit forecasts.csv --prediction p --outcome rain --html report.html",
            "Columns of other names, and a page to send around.",
        ),
        (
            "calibrant audit log.parquet --by site,ward --cluster patient --tolerance 5%",
            "Groups, rows that depend on each other, and a tolerance relative to the events.",
        ),
        (
            "calibrant audit cells.csv --count n --positives clicks --prediction-sum expected",
            "Aggregates: a line for many forecasts.",
        ),
        (
            "calibrant audit animals.csv --classes cat,dog,cow",
            "More than two outcomes: a column of probabilities for each.",
        ),
        (
            "calibrant audit delays.csv --kind quantile=0.9 --prediction p90 --outcome minutes",
            "Real outcomes: forecasts of a mean, a quantile, or intervals.",
        ),
        (
            "calibrant audit t.csv --kind survival --horizon 365 --duration days --outcome dead",
            "Risks by a horizon, where some rows were not followed for so long.",
        ),
        (
            "calibrant audit run.jsonl --by model,difficulty",
            "Logs of language models, by model and by how hard questions are.",
        ),
    ),
    "check": (
        ("calibrant check forecasts.csv --tolerance 0.02", "A gate for a build: see the codes."),
        (
            "calibrant check forecasts.csv --by site --oe-tolerance 50% --markdown summary.md",
            "Every site at once, events counted, and a summary for the build.",
        ),
        (
            "calibrant check new.csv --baseline old.csv --key id --max-worse 0.01",
            "Not worse than the release before, row by row.",
        ),
    ),
    "compare": (
        ("calibrant compare old.csv new.csv --key id", "Two files, joined by a column."),
        (
            "calibrant compare forecasts.csv --prediction p,q --outcome rain",
            "Two columns of one file.",
        ),
        (
            "calibrant compare old.csv new.csv --key id --max-worse 0.01 --json comparison.json",
            "With a limit, the exit code says whether the second is worse.",
        ),
        (
            "calibrant compare run.jsonl --models small,large",
            "Two language models, on the questions that both answered.",
        ),
    ),
    "llm": (("calibrant llm run.jsonl --out rows.parquet", "What a log holds and was taken for."),),
    "explain": (
        ("calibrant explain forecasts.csv", "What other programs call the calibration error."),
    ),
    "monitor": (
        ("calibrant monitor log.parquet --time due", "An alarm with a bound on false alarms."),
        (
            "calibrant monitor log.parquet --time due --by site --window 7d --html monitor.html",
            "A monitor for each site, and a page.",
        ),
        (
            "calibrant monitor log.parquet --time due --state monitor.json",
            "Carry on where the last run ended, for a job that runs every day.",
        ),
    ),
    "recalibrate": (
        (
            "calibrant recalibrate forecasts.csv --out fixed.parquet --calibrator calibrator.json",
            "Choose a calibrator on rows it has not seen, and apply it.",
        ),
        (
            "calibrant recalibrate forecasts.csv --by site --sql calibrator.sql --dialect postgres",
            "Groups that differ get patches; the calibrator as SQL.",
        ),
        (
            (
                "calibrant recalibrate cells.csv --count n --positives clicks "
                "--prediction-sum expected"
            ),
            "Aggregates: a line for many rows.",
        ),
    ),
    "apply": (
        (
            "calibrant apply calibrator.json forecasts.csv --out recalibrated.csv",
            "Recalibrate other rows with a calibrator that was stored.",
        ),
    ),
    "measures": (("calibrant measures", "What can be measured, and its known flaws."),),
    "online": (
        ("calibrant online foster breaker --rounds 1000", "A forecaster against a nature."),
        ("calibrant online defensive forecasts.csv --outcome outcome", "Replay recorded outcomes."),
    ),
    "show_versions": (("calibrant show-versions", "Paste this into a report of a problem."),),
    "completion": (
        ("calibrant completion bash >> ~/.bashrc", "Then start a new shell."),
        ("calibrant completion zsh >> ~/.zshrc", "The same for zsh, after compinit."),
        ("calibrant completion fish > ~/.config/fish/completions/calibrant.fish", "For fish."),
    ),
}


def examples_of(command: str) -> str:
    """Write the examples of a command for the end of its help; two blanks keep lines apart."""
    pairs = (f"# {why}  \n{line}" for line, why in EXAMPLES[command])
    return "\n\n".join(["Examples:", *pairs])

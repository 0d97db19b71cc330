"""`calibrant audit FILE...`: how far the forecasts in files can be trusted."""

from __future__ import annotations

from calibrant.cli.options import (
    ByOption,
    ClusterOption,
    ConfidenceOption,
    FilesArgument,
    Missing,
    MissingOption,
    OutcomeOption,
    PosLabelOption,
    PredictionOption,
    Scale,
    ScaleOption,
    SeedOption,
    ToleranceOption,
    WeightOption,
    names_of,
)


def audit(
    files: FilesArgument,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    weight: WeightOption = None,
    by: ByOption = None,
    cluster: ClusterOption = None,
    tolerance: ToleranceOption = None,
    confidence: ConfidenceOption = 0.95,
    pos_label: PosLabelOption = None,
    scale: ScaleOption = Scale.UNIT,
    na: MissingOption = Missing.REFUSE,
    seed: SeedOption = 0,
) -> None:
    """Tell how far the forecasts in a file can be trusted."""
    import typer

    from calibrant.report.audit import DRAWS, audit_source
    from calibrant.report.source import Roles, read

    source = read(
        files,
        None,
        Roles(prediction, outcome, weight, cluster, names_of(by)),
        pos_label=pos_label,
        percent=scale is Scale.PERCENT,
        drop_missing=na is Missing.DROP,
    )
    typer.echo(str(audit_source(source, tolerance, confidence, DRAWS, seed)))

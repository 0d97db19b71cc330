"""Risks by a horizon with censored outcomes: tests, verdicts, O/E and observed risks."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import brentq

import calibrant as cal
from calibrant.inference import Evidence, Settings, find_classical, find_interval, find_verdict
from calibrant.inference.statistic import Statistic
from calibrant.inputs import Roles
from calibrant.survival import SurvivalForecasts, observed_risk
from promises.core import Promise
from promises.samples import FAULTS, FORECASTS, SMOOTH, true_error

RISKS = FORECASTS | {"high": lambda rng, n: 1 - rng.beta(1, 9, n)}


def survival(rng, n, lost, risks="uniform", fault="right", *, by=False, compete=False):
    """Exponential times by a horizon of 1; so large a share of the rows is lost before it.

    By group: those of the one are lost five times as fast as those of the other, and their risks
    are higher, so that one curve of censoring for all would be wrong.
    """
    risk = np.clip(RISKS[risks](rng, n), 1e-3, 1 - 1e-3)
    chance = np.clip(FAULTS[fault](risk), 1e-4, 1 - 1e-4)
    rate = -np.log1p(-chance)
    time = rng.exponential(1, n) / rate
    group = (rng.random(n) < 0.2 + 0.6 * risk).astype(int) if by else np.zeros(n, int)
    speed = np.where(group == 1, 1.0, 0.2) if by else np.ones(n)

    def share(factor):
        loss = factor * speed
        return np.mean(loss / (loss + rate) * (1 - np.exp(-loss - rate))) - lost

    end = rng.exponential(1, n) / (brentq(share, 1e-6, 1e3) * speed)
    event = np.where(time <= end, 1, 0)
    if compete:  # a second cause takes part of those who would have no event
        other = (rng.random(n) < 0.3) & (time > 1)
        time = np.where(other, rng.random(n), time)
        event = np.where(time <= end, np.where(other, 2, 1), 0)
    duration = np.minimum(time, end)
    return duration, event, risk, chance, group


def read(drawn, by):
    """Forecasts that were read, and the chances behind them; None where they are refused."""
    duration, event, risk, _, group = drawn
    try:
        return SurvivalForecasts.read(duration, event, risk, 1.0, by=group if by else None)
    except cal.errors.InvalidForecastsError:
        return None


def evidence_of(found):
    return Evidence.of_source(found.as_source(Roles()))


def right_risks_are_rejected(n, lost, risks, by, compete, rng):
    found = read(survival(rng, n, lost, risks, by=by, compete=compete), by)
    if found is None:
        return False
    source = found.as_source(Roles())
    rows = source.rows
    test = cal.calibration_test(
        rows.outcome,
        rows.prediction,
        sample_weight=rows.weight,
        clusters=source.clusters,
        draws=199,
        rng=rng,
    )
    return test.pvalue <= 0.05


def right_risks_are_called_wrong(n, lost, risks, by, compete, rng):
    found = read(survival(rng, n, lost, risks, by=by, compete=compete), by)
    settings = Settings.read(draws=299, rng=rng)
    return found is not None and (
        find_verdict(evidence_of(found), Statistic.of(SMOOTH), settings).state == "miscalibrated"
    )


def error_is_missed(n, lost, risks, fault, by, rng):
    drawn = survival(rng, n, lost, risks, fault, by=by)
    found = read(drawn, by)
    if found is None:
        return False
    settings = Settings.read(draws=499, rng=rng)
    interval = find_interval(evidence_of(found), Statistic.of(SMOOTH), settings)
    return not interval.low - 1e-9 <= true_error(drawn[2], drawn[3]) <= interval.high + 1e-9


def number_is_missed(name, n, lost, risks, by, rng):
    """Whether the interval of O/E or of the slope of right risks misses one."""
    found = read(survival(rng, n, lost, risks, by=by), by)
    if found is None:
        return False
    estimate = getattr(find_classical(evidence_of(found), Settings.read(draws=1, rng=rng)), name)
    return estimate.low > 1 or estimate.high < 1


def observed_is_missed(n, lost, risks, compete, rng):
    drawn = survival(rng, n, lost, risks, compete=compete)
    found = read(drawn, by=False)
    if found is None:
        return False
    overall = observed_risk(found, bins=1).overall
    # The chance of the drawn rows is not the target: other rows would have other risks.
    truth = MEAN_RISK[risks]
    return overall.low > truth or overall.high < truth


MEAN_RISK = {"low": 0.1, "uniform": 0.5, "high": 0.9}


def promises():
    cases = [
        (n, lost, risks, False, False)
        for n in (200, 2000)
        for lost in (0.1, 0.3, 0.6)
        for risks in ("low", "uniform")
    ]
    cases += [(50, 0.3, "uniform", False, False), (200, 0.1, "high", False, False)]
    cases += [(2000, 0.3, "high", False, False), (200, 0.3, "uniform", False, True)]
    cases += [(200, 0.3, "uniform", True, False), (2000, 0.6, "low", True, False)]
    for case in cases:
        n, lost, risks, by, compete = case
        words = f"{n} rows, {risks} risks, {lost:.0%} lost".replace("%", " %")
        words += ", by group" if by else ""
        words += ", competing events" if compete else ""
        runs = 400 if n < 2000 else 200
        yield Promise(
            "default test of risks by a horizon at level 0.05",
            words,
            partial(right_risks_are_rejected, *case),
            runs,
        )
        yield Promise(
            "right risks by a horizon are not called miscalibrated",
            words,
            partial(right_risks_are_called_wrong, *case),
            100,
        )
    for n, lost, risks, fault, by in (
        (200, 0.3, "uniform", "slope 0.4", False),
        (200, 0.6, "uniform", "slope 0.4", False),
        (2000, 0.3, "low", "half the truth", False),
        (2000, 0.6, "uniform", "too low by 0.1", False),
        (2000, 0.6, "uniform", "slope 0.7", True),
        (200, 0.3, "uniform", "right", True),
    ):
        yield Promise(
            "interval of the error of risks by a horizon",
            f"{n} rows, {risks} risks, {lost:.0%} lost, {fault}".replace("%", " %")
            + (", by group" if by else ""),
            partial(error_is_missed, n, lost, risks, fault, by),
            200,
        )
    for name, words in (("ratio", "observed over expected"), ("slope", "slope")):
        for n, lost, risks, by in (
            (200, 0.1, "low", False),
            (200, 0.6, "uniform", False),
            (2000, 0.3, "low", False),
            (2000, 0.6, "uniform", True),
        ):
            yield Promise(
                f"interval of {words} by a horizon",
                f"{n} rows, {risks} risks, {lost:.0%} lost".replace("%", " %")
                + (", by group" if by else ""),
                partial(number_is_missed, name, n, lost, risks, by),
            )
    for n, lost, risks, compete in (
        (50, 0.3, "low", False),
        (200, 0.1, "low", False),
        (200, 0.6, "uniform", False),
        (200, 0.3, "low", True),
        (2000, 0.6, "low", False),
    ):
        yield Promise(
            "interval of the observed risk",
            f"{n} rows, {risks} risks, {lost:.0%} lost".replace("%", " %")
            + (", competing events" if compete else ""),
            partial(observed_is_missed, n, lost, risks, compete),
        )

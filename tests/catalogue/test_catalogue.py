"""What the catalogue says of every measure, of whatever domain, is so."""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.catalogue import CATALOGUE, DOMAINS, JOINT_MEASURES, find_measure
from calibrant.inference.statistic import Statistic, residual_mass_of
from calibrant.measures.measurement import Measurement
from calibrant.multiclass import ClassWise, MulticlassDecisionTask
from oracles.class_definitions import random_forecasts

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

SIZE = 120
COMMON = {"y_true", "y_proba", "sample_weight", "pos_label"}
BINARY = {"task": cal.DecisionTask({"carry": {0: -0.1, 1: 0}, "leave": {0: 0, 1: -0.9}})}
CLASSES = {"task": MulticlassDecisionTask.guess([0, 1, 2])}
every_measure = pytest.mark.parametrize("measure", CATALOGUE.values(), ids=CATALOGUE)
further = pytest.mark.parametrize(
    "measure", [m for m in CATALOGUE.values() if m.name not in JOINT_MEASURES], ids=lambda m: m.name
)
batched = pytest.mark.parametrize(
    "measure", [m for m in CATALOGUE.values() if m.batch is not None], ids=lambda m: m.name
)


def forecasts(domain, seed=0):
    """Outcomes, predictions, and what else a measure of the domain is told of each row."""
    rng = np.random.default_rng(seed)
    if domain == "classes":
        return (*random_forecasts(rng, SIZE, 3, ties=True), {})
    p = rng.integers(0, 9, SIZE) / 8
    columns = {
        "joint": {},
        "rows": {"individuals": np.arange(SIZE)},
        "groups": {"by": rng.integers(0, 3, SIZE)},
    }
    return (rng.random(SIZE) < p**1.5) * 1, p, columns[domain]


def measured(measure, y, p, columns, rows=slice(None), **options):
    """Measure some rows; of a measure class by class, the mean."""
    tasks = CLASSES if measure.domain == "classes" else BINARY
    required = {name: tasks[name] for name in measure.requires}
    of_rows = {name: column[rows] for name, column in columns.items()}
    if "by" in of_rows:
        of_rows["by"] = {"side": of_rows["by"]}
    value = measure.function(y[rows], p[rows], **of_rows, **required, **options)
    return value.mean if isinstance(value, ClassWise) else value


@every_measure
def test_the_function_is_the_public_one_of_that_name(measure):
    package, _, name = measure.name.rpartition(".")
    home = getattr(cal, package) if package else cal
    assert measure.function is getattr(home, name)
    assert name in home.__all__
    assert measure.domain in DOMAINS
    assert measure.title == name.replace("_", " ")


@every_measure
def test_what_it_requires_is_what_has_no_default(measure):
    options = inspect.signature(measure.function).parameters.values()
    without = {option.name for option in options if option.default is option.empty}
    assert without - COMMON == set(measure.requires)


@every_measure
def test_it_answers_with_a_measurement_in_its_range(measure):
    y, p, columns = forecasts(measure.domain)
    value = measured(measure, y, p, columns)
    low, high = measure.range
    assert low <= value <= high
    if measure.name != "multiclass.class_wise":  # one number for each class
        assert isinstance(value, Measurement)
        assert value.name == measure.name.rpartition(".")[2]
        assert value.witness.sentence


@every_measure
def test_its_function_for_classes_is_in_the_catalogue(measure):
    if measure.multiclass:
        assert CATALOGUE[measure.multiclass].domain == "classes"


@further
@pytest.mark.parametrize("seed", range(3))
def test_order_of_rows_and_scale_of_weights_do_not_matter(measure, seed):
    y, p, columns = forecasts(measure.domain, seed)
    plain = pytest.approx(float(measured(measure, y, p, columns)), rel=1e-12, abs=1e-13)
    order = np.random.default_rng(seed).permutation(SIZE)
    assert measured(measure, y, p, columns, order) == plain
    assert measured(measure, y, p, columns, sample_weight=np.full(SIZE, 7.0)) == plain


@further
@pytest.mark.parametrize("seed", range(3))
def test_weight_k_means_k_repeats(measure, seed):
    if measure.name == "distance_to_calibration":
        pytest.skip("rows of one individual move together, so a repeat is another question")
    y, p, columns = forecasts(measure.domain, seed)
    weight = np.random.default_rng(seed).integers(0, 3, SIZE)
    weighed = measured(measure, y, p, columns, sample_weight=weight)
    repeated = measured(measure, y, p, columns, np.repeat(np.arange(SIZE), weight))
    assert weighed == pytest.approx(float(repeated), rel=1e-12, abs=1e-13)


@further
@pytest.mark.parametrize("seed", range(3))
def test_it_moves_no_further_than_its_modulus(measure, seed):
    if not measure.continuous:
        pytest.skip("it jumps")
    y, p, columns = forecasts(measure.domain, seed)
    rng = np.random.default_rng(seed)
    for share in (1e-6, 1e-2, 0.3):
        if measure.domain == "classes":
            q = (1 - share) * p + share * rng.dirichlet(np.ones(3), SIZE)
            distance = np.abs(q - p).sum(axis=1).mean()
        else:
            q = np.clip(p + share * rng.normal(size=SIZE), 0, 1)
            distance = np.abs(q - p).mean()
        near, far = (measured(measure, y, each, columns) for each in (p, q))
        low, high = far.bounds[0] - near.bounds[1], far.bounds[1] - near.bounds[0]
        assert max(low, -high) <= measure.modulus(distance) + 1e-12


@further
@pytest.mark.parametrize("seed", range(3))
def test_a_symmetric_measure_does_not_know_which_outcome_is_which(measure, seed):
    if not measure.symmetric:
        pytest.skip("it is not symmetric")
    y, p, columns = forecasts(measure.domain, seed)
    turned = (2 - y, p[:, ::-1]) if measure.domain == "classes" else (1 - y, 1 - p)
    expected = float(measured(measure, y, p, columns))
    assert measured(measure, *turned, columns) == pytest.approx(expected, abs=1e-12)


@batched
def test_every_option_of_a_batch_is_declared(measure):
    batch = measure.batch
    options = set(inspect.signature(measure.function).parameters) - COMMON
    assert set(batch.options) | set(batch.one_by_one) == options
    assert not set(batch.options) & set(batch.one_by_one)
    taken = inspect.signature(batch.function).parameters.values()
    assert {each.name for each in taken if each.kind is each.KEYWORD_ONLY} == set(batch.options)


VALUES = {
    "lipschitz": [0.5, 3.0],
    "kernel": ["gaussian", "polynomial"],
    "bandwidth": [0.3],
    "degree": [1, 4],
    "squared": [True],
    "unbiased": [True],
    "norm": ["l2"],
    "sets": ["thresholds", "lower", "monotone"],
    "order": [2, np.inf],
    "n_bins": [7],
    "strategy": ["quantile"],
    "closed": ["right"],
    "debias": [True],
    "form": ["midpoint"],
    "mean": ["bins"],
    "direction": ["over", "high"],
    "family": [cal.weight_functions.Thresholds()],
}
OTHER_VALUES = {("averaged_two_bin_error", "order"): [1]}


@batched
def test_with_every_option_draws_measured_together_are_those_measured_one_by_one(measure):
    y, p, _ = forecasts("joint")
    joint = cal.Joint.from_samples(y, p)
    rng = np.random.default_rng(1)
    drawn = [joint.simulated(rng) for _ in range(3)]
    residual_masses = np.array([residual_mass_of(each) for each in drawn])
    for name in (*measure.batch.options, *measure.batch.one_by_one):
        for value in OTHER_VALUES.get((measure.name, name), VALUES[name]):
            statistic = Statistic.of(partial(measure.function, **{name: value}))
            assert (statistic.batch() is None) == (name in measure.batch.one_by_one)
            expected = [float(measure.function(each, **{name: value})) for each in drawn]
            assert statistic.values(joint, residual_masses) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["fixed_decision_loss", "groups.multiaccuracy_error", "no_such"])
def test_only_measures_of_a_joint_alone_are_found_by_name(name):
    with pytest.raises(cal.errors.InvalidOptionError, match="smooth_calibration_error"):
        find_measure(name)


FORECAST = np.random.default_rng(0).integers(1, 10, 400) / 10
OUTCOME = (np.random.default_rng(1).random(400) < FORECAST).astype(int)


@pytest.mark.parametrize("measure", JOINT_MEASURES.values(), ids=lambda measure: measure.name)
def test_an_interval_is_offered_where_the_catalogue_says_so(measure):
    isotonic = measure.name == "calibration_decision_loss"
    measure_with_options = partial(
        measure.function, **({"pooling": "isotonic"} if isotonic else {})
    )
    if measure.interval or measure.interval_if:
        found = cal.confidence_interval(
            OUTCOME, FORECAST, measure=measure_with_options, draws=39, rng=0
        )
        assert found.low <= found.value <= found.high
    else:
        with pytest.raises(cal.errors.InferenceRefusedError):
            cal.confidence_interval(
                OUTCOME, FORECAST, measure=measure_with_options, draws=39, rng=0
            )


def test_an_interval_for_some_cases_is_refused_in_others():
    spread = np.random.default_rng(2).random(400)
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.confidence_interval(OUTCOME, spread, measure=cal.exact_calibration_error, draws=39)
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.confidence_interval(OUTCOME, FORECAST, measure=cal.calibration_decision_loss, draws=39)

"""Lower, upper and true distance against linear programs and enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.measures import partitions
from oracles import definitions, distances as by_definition
from oracles.definitions import Law
from oracles.strategies import ADVERSARIES, MAKERS, generic, joint_of, laws, tied

EVERYONE = tuple(dict.fromkeys((*MAKERS, *ADVERSARIES)))
every_maker = pytest.mark.parametrize("maker", EVERYONE, ids=lambda maker: maker.__name__)
four_makers = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)


# The lower distance


@four_makers
def test_lower_distance_is_within_the_grid_error_of_the_coupling_program(maker):
    """LP_U - spacing / 2 <= lower distance <= LP_U for grids that hold 0, 1 and the levels."""
    for law in laws(maker, 25, most=6, seed=61):
        value = cal.lower_distance_to_calibration(joint_of(law))
        on_grid = by_definition.lower_distance_on_grid(*law, by_definition.grid_for(law[0], 0.02))
        assert on_grid - 0.01 - 1e-8 <= value <= on_grid + 1e-8


@four_makers
def test_lower_distance_is_the_coupling_program_on_the_points_it_uses(maker):
    """A grid that holds the support of the law found leaves no error at all."""
    for law in laws(maker, 25, most=7, seed=62):
        value = cal.lower_distance_to_calibration(joint_of(law))
        grid = by_definition.grid_for(law[0], 0.1, value.witness.calibrated.prediction)
        on_grid = by_definition.lower_distance_on_grid(*law, grid)
        assert on_grid == pytest.approx(float(value), abs=1e-8)


def test_lower_distance_is_the_earth_mover_distance_to_calibrated_laws():
    """Changing outcomes at cost one never helps."""
    for law in laws(generic, 15, most=4, seed=63):
        grid = by_definition.grid_for(law[0], 0.05)
        moved = by_definition.lower_distance_on_grid(*law, grid)
        assert by_definition.earth_mover_to_calibrated(*law, grid) == pytest.approx(moved, abs=1e-8)


@pytest.mark.parametrize("lipschitz", [0.3, 1.0, 4.0])
def test_the_smooth_error_is_the_transport_to_the_calibrated_law_of_the_same_predictions(lipschitz):
    """A unit of prediction costs half of the Lipschitz constant, a change of outcome one."""
    for law in laws(generic, 15, most=7, seed=66):
        error = cal.smooth_calibration_error(joint_of(law), lipschitz=lipschitz)
        transport = definitions.earth_mover_distance(*law, per_unit=lipschitz / 2)
        assert error == pytest.approx(transport, abs=1e-8)


def test_the_smooth_error_is_no_transport_to_the_nearest_calibrated_law():
    """Not with any cost a |p - p'| + b |y - y'|: one law needs min(a, b) = 1, another 1/2.

    One forecast .3 of what happens with chance .6 is calibrated by moving it or by changing
    outcomes: at most .3 min(a, b). Forecasts .4 and .6 of what never and always happens are at
    least .08 min(a, b) away, the lower distance. Their smooth errors are .3 and .04.
    """
    one = Law(np.array([0.3]), np.array([1.0]), np.array([0.6]))
    two = Law(np.array([0.4, 0.6]), np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    assert cal.smooth_calibration_error(joint_of(one)) == pytest.approx(0.3)
    assert cal.smooth_calibration_error(joint_of(two)) == pytest.approx(0.04)
    assert cal.lower_distance_to_calibration(joint_of(two)) == pytest.approx(0.08)
    grid = np.linspace(0, 1, 41)
    for a, b in ((0.5, 0.5), (0.5, 1.0), (1.0, 0.5), (1.0, 1.0), (2.0, 1.0), (1.0, 3.0)):
        far = [
            by_definition.earth_mover_to_calibrated(*law, grid, per_unit=a, per_flip=b)
            for law in (one, two)
        ]
        assert far[0] <= 0.3 * min(a, b) + 1e-9
        assert far[1] >= 0.08 * min(a, b) - 1e-9
        assert far != pytest.approx([0.3, 0.04], rel=0.1)


def assert_certificate(joint: cal.Joint, value: cal.Measurement) -> None:
    """Check both ends of the bounds without the library: a game, and a calibrated law."""
    low, high = value.bounds
    witness, nearest = value.witness, value.witness.calibrated
    assert np.abs(nearest.residual).max() <= 1e-12
    assert nearest.base_rate == pytest.approx(joint.base_rate, abs=1e-12)
    cost = by_definition.cost_of_law(
        joint.prediction, joint.mass, joint.outcome, nearest.prediction, nearest.mass
    )
    assert cost == pytest.approx(high, abs=1e-11)
    assert witness.advantage(joint) == pytest.approx(low, abs=1e-12)
    points = np.unique(np.concatenate([np.linspace(0, 1, 4001), witness.knot, joint.prediction]))
    one, zero = witness.payment(points, 1), witness.payment(points, 0)
    # Between two points the payment is a parabola that rises by at most half the square of a step.
    assert (points * one + (1 - points) * zero).max() <= 1e-12
    for payment in (one, zero):
        assert (np.abs(np.diff(payment)) <= np.diff(points) + 1e-14).all()


@every_maker
def test_certificates_of_the_lower_distance_hold_and_meet_for_few_levels(maker):
    for law in laws(maker, 40, most=60, seed=64):
        joint = joint_of(law)
        value = cal.lower_distance_to_calibration(joint)
        assert_certificate(joint, value)
        assert value.bounds[1] - value.bounds[0] <= 1e-10


@four_makers
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5])
def test_certificates_of_the_lower_distance_hold_for_many_levels(maker, tolerance):
    rng = np.random.default_rng(65)
    for _ in range(2):
        joint = joint_of(maker(rng, 900))
        value = cal.lower_distance_to_calibration(joint, tolerance=tolerance)
        assert_certificate(joint, value)
        assert value.bounds[1] - value.bounds[0] <= tolerance


@pytest.mark.parametrize("levels", [129, 300, 700])
def test_brackets_of_many_levels_hold_the_exact_value(levels, monkeypatch):
    """The exact method for few levels is asked to take them all."""
    rng = np.random.default_rng(levels)
    p = rng.random(levels)
    joint = cal.Joint.from_samples((rng.random(levels) < p**1.3).astype(int), p)
    coarse = cal.lower_distance_to_calibration(joint, tolerance=1e-3)
    fine = cal.lower_distance_to_calibration(joint, tolerance=1e-5)
    monkeypatch.setattr("calibrant.measures.lower_distance.FEW", levels)
    exact = cal.lower_distance_to_calibration(joint)
    for bracket in (coarse, fine):
        low, high = bracket.bounds
        assert low - 1e-12 <= exact <= high + 1e-12


def test_blocks_of_levels_do_not_show(monkeypatch):
    """Sums over the levels go in blocks; their length must not matter."""
    rng = np.random.default_rng(66)
    p = rng.beta(0.5, 0.5, 1000)
    joint = cal.Joint.from_samples((rng.random(1000) < p).astype(int), p)
    whole = cal.lower_distance_to_calibration(joint, tolerance=1e-4)
    for block in (1, 7, 400):
        monkeypatch.setattr("calibrant.measures.potentials.BLOCK", block)
        pieces = cal.lower_distance_to_calibration(joint, tolerance=1e-4)
        assert pieces.bounds == pytest.approx(whole.bounds, abs=1e-12)


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 0], [0.2, 0.4]),
        ([1, 1], [0.2, 0.4]),
        ([0, 1], [0.0, 1.0]),
        ([1, 0], [0.0, 1.0]),
        ([0, 1, 1], [0.5, np.nextafter(0.5, 1), np.nextafter(0.5, 0)]),
        ([0, 1, 0], [5e-324, 1e-300, 1 - 1e-16]),
    ],
)
def test_lower_distance_of_extreme_rows(y, p):
    joint = cal.Joint.from_samples(y, p)
    assert_certificate(joint, cal.lower_distance_to_calibration(joint))


# The upper distance


@four_makers
def test_upper_distance_tries_every_partition(maker):
    for law in laws(maker, 40, most=7, seed=71):
        value = cal.upper_distance_to_calibration(joint_of(law))
        assert value == pytest.approx(by_definition.nearest_partition(*law), abs=1e-12)
        assert value.bounds == (value, value)


@every_maker
def test_upper_distance_of_some_more_levels_is_the_best_of_all_subsets(maker):
    for law in laws(maker, 4, most=11, seed=70):
        value = cal.upper_distance_to_calibration(joint_of(law))
        assert value == pytest.approx(by_definition.nearest_by_subsets(*law), abs=1e-12)
        assert value.bounds == (value, value)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [12, 13, 14])
def test_upper_distance_of_many_subsets(levels):
    rng = np.random.default_rng(levels)
    for rate in (rng.random(levels), rng.integers(0, 2, levels), np.linspace(1, 0, levels)):
        v, m = np.sort(rng.random(levels)), rng.dirichlet(np.ones(levels))
        atoms = partitions.PointMasses(v, m, m * rate)
        exact = atoms.cost(partitions.best_of_all(atoms))
        assert exact == pytest.approx(by_definition.nearest_by_subsets(v, m, rate), abs=1e-12)


def test_upper_distance_of_eighteen_levels_is_exact():
    """No partition found in another way is better, and errors of one sign cannot be pooled away."""
    rng = np.random.default_rng(77)
    for case in range(12):
        v, m = np.sort(rng.random(18)), rng.dirichlet(np.ones(18))
        ones = m * (np.minimum(1, v + 0.2 * rng.random(18)) if case % 3 == 0 else rng.random(18))
        atoms = partitions.PointMasses(v, m, ones)
        joint = cal.Joint.from_samples(ones / m, v, sample_weight=m)
        value = cal.upper_distance_to_calibration(joint)
        assert value.bounds == (value, value)
        moved = partitions.improved_one_by_one(atoms, partitions.best_of_neighbours(atoms))
        assert cal.lower_distance_to_calibration(joint) - 1e-9 <= value <= atoms.cost(moved) + 1e-12
        assert np.abs(joint.apply(value.witness).residual).max() <= 1e-9
        if case % 3 == 0:
            assert value == pytest.approx(float((ones - m * v).sum()), abs=1e-12)


def test_items_that_can_be_divided_evenly_need_two_groups():
    """Two heavy levels are right once each takes half of the light ones: a partition problem."""
    light, share = 1e-4, np.array([1.0, 2, 2, 3, 3, 4, 4, 5, 6, 7, 7, 8, 9, 9, 10, 10])
    half = share.sum() / 2
    v = np.concatenate([[0.25], 0.5 + 1e-9 * np.arange(16), [0.75]])
    m = np.concatenate([[1.0], light * share, [1.0]])
    ones = np.concatenate([[0.25 - 0.75 * half * light], m[1:-1], [0.75 - 0.25 * half * light]])
    scale = m.sum()
    atoms = partitions.PointMasses(v, m / scale, ones / scale)
    group = partitions.best_of_all(atoms)
    assert np.unique(group).size == 2
    assert share[group[1:-1] == group[0]].sum() == half
    assert atoms.cost(group) == pytest.approx(light * half / 2 / scale, rel=1e-6)


@every_maker
def test_upper_distance_is_attained_by_a_calibrated_map(maker):
    for most in (18, 40):
        for law in laws(maker, 15, most=most, seed=72):
            joint = joint_of(law)
            value = cal.upper_distance_to_calibration(joint)
            low, high = value.bounds
            moved = joint.apply(value.witness)
            assert np.abs(moved.residual).max() <= 1e-9
            distance = np.abs(value.witness(joint.prediction) - joint.prediction) @ joint.mass
            assert high == value == pytest.approx(distance, abs=1e-12)
            assert low <= high
            assert low <= cal.lower_distance_to_calibration(joint) + 1e-12 or len(joint) <= 18


@four_makers
def test_groups_of_neighbours_are_the_best_of_all_runs(maker):
    for law in laws(maker, 40, most=9, seed=73):
        atoms = partitions.PointMasses(*_atoms(law))
        best = atoms.cost(partitions.best_of_neighbours(atoms))
        assert best == pytest.approx(by_definition.nearest_runs(*law), abs=1e-12)


def _atoms(law: Law):
    v, m, r = law
    return v, m, m * r


def test_many_levels_may_be_cut_more_finely_than_at_places_of_equal_mass(monkeypatch):
    """The coarse search stays above the exact one and close to it."""
    rng = np.random.default_rng(74)
    p = np.sort(rng.random(600))
    mass = np.full(600, 1 / 600)
    atoms = partitions.PointMasses(p, mass, mass * (rng.random(600) < p))
    exact = atoms.cost(partitions.best_of_neighbours(atoms))
    monkeypatch.setattr(partitions, "MOST_CUTS", 64)
    coarse = atoms.cost(partitions.best_of_neighbours(atoms))
    assert exact - 1e-12 <= coarse <= 1.25 * exact


@four_makers
def test_moving_levels_one_by_one_never_makes_it_worse(maker):
    for law in laws(maker, 40, most=30, seed=75):
        atoms = partitions.PointMasses(*_atoms(law))
        start = partitions.best_of_neighbours(atoms)
        assert atoms.cost(partitions.improved_one_by_one(atoms, start)) <= atoms.cost(start) + 1e-12


def test_gain_of_a_move_is_the_difference_of_the_costs():
    rng = np.random.default_rng(76)
    for law in laws(generic, 10, most=8, seed=76):
        atoms = partitions.PointMasses(*_atoms(law))
        group = np.unique(rng.integers(0, 4, len(atoms)), return_inverse=True)[1]
        gain = partitions._gains(atoms, group)
        for atom, target in np.ndindex(gain.shape):
            if target != group[atom]:
                moved = group.copy()
                moved[atom] = target
                found = atoms.cost(group) - atoms.cost(np.unique(moved, return_inverse=True)[1])
                assert gain[atom, target] == pytest.approx(found, abs=1e-12)


# The true distance


def individuals(rng: np.random.Generator, size: int):
    """Individuals of any mass and chance, some with equal predictions."""
    return rng.integers(0, 5, size) / 4, rng.dirichlet(np.ones(size)), rng.random(size)


def test_true_distance_tries_every_partition_of_individuals():
    rng = np.random.default_rng(81)
    for _ in range(30):
        v, m, r = individuals(rng, int(rng.integers(2, 8)))
        value = cal.distance_to_calibration(
            np.append(r, 0.5), np.append(v, 0.5), sample_weight=[*m, 0]
        )
        assert value == pytest.approx(by_definition.nearest_partition(v, m, r), abs=1e-12)
        assert value.bounds == (value, value)


def test_rows_of_one_individual_move_together():
    rng = np.random.default_rng(82)
    for _ in range(20):
        size = int(rng.integers(2, 6))
        who = np.append(np.arange(size), rng.integers(0, size, 20))
        level = rng.integers(1, 4, size) / 4
        y = (rng.random(who.size) < 0.4).astype(int)
        names = np.array([f"no {k}" for k in range(size)])[who]
        value = cal.distance_to_calibration(y, level[who], individuals=names)
        mass = np.bincount(who) / who.size
        rate = np.bincount(who, y) / np.bincount(who)
        assert value == pytest.approx(by_definition.nearest_partition(level, mass, rate), abs=1e-12)


def test_sequences_are_solved_as_all_partitions_are(monkeypatch):
    """Unit atoms with binary outcomes: runs of zeros and runs of ones against every partition."""
    monkeypatch.setattr("calibrant.measures.true_distance.MOST_FOR_SUBSETS", 0)
    rng = np.random.default_rng(83)
    for _ in range(40):
        size = int(rng.integers(1, 9))
        p = rng.integers(0, 9, size) / 8 if rng.random() < 0.5 else rng.random(size)
        y = (rng.random(size) < rng.random()).astype(float)
        value = cal.distance_to_calibration(y.astype(int), p)
        best = by_definition.nearest_partition(p, np.full(size, 1 / size), y)
        assert value == pytest.approx(best, abs=1e-12)
        assert value.bounds == (value, value)


@pytest.mark.parametrize("rows", [150, 400, 3000])
def test_true_distance_of_longer_sequences_is_bracketed_and_attained(rows):
    rng = np.random.default_rng(rows)
    p = np.round(rng.random(rows), 2)
    y = (rng.random(rows) < np.clip(p + 0.1, 0, 1)).astype(int)
    value = cal.distance_to_calibration(y, p)
    low, high = value.bounds
    assert low <= value == high
    assert low >= cal.smooth_calibration_error(y, p) / 2 - 1e-12
    assert high <= cal.upper_distance_to_calibration(y, p) + 1e-12
    witness = value.witness
    q = np.empty(rows)
    q[witness.individual] = witness.value
    assert np.abs(q - p).mean() == pytest.approx(float(value), abs=1e-12)
    assert np.abs(cal.Joint.from_samples(y, q).residual).max() <= 1e-9


def test_whole_rows_come_close_to_the_lower_distance():
    """Rounding a plan to n rows costs no more than a multiple of 1 / sqrt(n)."""
    rng = np.random.default_rng(84)
    p = rng.random(20_000)
    y = (rng.random(p.size) < p**1.5).astype(int)
    low, high = cal.distance_to_calibration(y, p).bounds
    assert high - low <= 2 / math.sqrt(p.size)


def test_upper_distance_of_tied_rows_exceeds_the_true_one():
    for law in laws(tied, 10, most=6, seed=85):
        joint = joint_of(law)
        rows = np.rint(1 / law.mass.min() * law.mass).astype(int)
        ones = np.rint(rows * law.outcome).astype(int)
        y = np.concatenate([np.arange(k) < j for k, j in zip(rows, ones, strict=True)]).astype(int)
        p = np.repeat(law.prediction, rows)
        assert cal.distance_to_calibration(y, p) <= cal.upper_distance_to_calibration(y, p) + 1e-12
        assert len(joint) == len(law.mass)

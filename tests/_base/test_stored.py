"""Stored state that somebody changed: our error, or something that works."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import calibrant as cal
import loaders
from calibrant.errors import InvalidStateError
from calibrant.recalibration import load

every_loader = pytest.mark.parametrize("name", loaders.LOADERS)


@every_loader
def test_what_was_written_loads_and_works(name):
    text, loader, use = loaders.LOADERS[name]
    made = loader(text)
    assert made.to_json() == text
    use(made)


@every_loader
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_what_was_changed_loads_or_is_refused(name, data):
    text = data.draw(loaders.broken(loaders.LOADERS[name][0]))
    loaders.loads_or_refuses(name, text)


@every_loader
@pytest.mark.parametrize(
    "text", ['{"a":' * 100_000, "[" * 100_000, "{}", "[]", "1", '{"schema": NaN}', "{" + "9" * 5000]
)
def test_what_is_no_state_is_refused(name, text):
    loader = loaders.LOADERS[name][1]
    with pytest.raises(InvalidStateError):
        loader(text)


@settings(max_examples=60, deadline=None)
@given(loaders.broken_table())
def test_tables_that_were_changed_load_or_are_refused(table):
    loaders.joint_loads_or_is_refused(table)


@pytest.mark.parametrize("joint", loaders.JOINTS)
def test_joints_load(joint):
    assert cal.Joint.from_arrow(joint.to_arrow()) == joint
    loaders.use_joint(joint)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("resolution", "-4"), ("resolution", "3"), ("inherited_rounding", "-5"),
        ("inherited_rounding", "nan"), ("rows", "7"), ("clipped", "9999"), ("binary", "2"),
    ],
)  # fmt: skip
def test_metadata_that_cannot_be_is_refused(field, value):
    table = loaders.JOINTS[0].to_arrow()
    metadata = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
    with pytest.raises(InvalidStateError, match="stored Joint"):
        cal.Joint.from_arrow(
            table.replace_schema_metadata(metadata | {f"calibrant.{field}": value})
        )


@pytest.mark.parametrize("least", [2, 0.5, -0.1, "0", None, True])
def test_a_group_map_keeps_a_margin_below_a_half(least):
    stored = json.loads(loaders.LOADERS["labels"][0]) | {"least": least}
    with pytest.raises(InvalidStateError, match="least"):
        load(stored)


def test_a_monitor_has_no_debts():
    stored = json.loads(loaders.LOADERS["monitor"][0])
    stored["bets"]["wealth"][0] = -1.0
    with pytest.raises(InvalidStateError, match="wealth"):
        cal.CalibrationMonitor.from_json(json.dumps(stored))


def test_a_generator_is_a_generator():
    """Its name is looked up in numpy: it must not call anything else there."""
    name = next(name for name in loaders.LOADERS if name.startswith("Foster"))
    stored = json.loads(loaders.LOADERS[name][0])
    stored["coin"]["bit_generator"] = "seed"
    with pytest.raises(InvalidStateError, match="bit_generator"):
        loaders.LOADERS[name][1](json.dumps(stored))

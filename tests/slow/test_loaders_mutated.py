"""Every loader against thousands of mutations of what is stored: our error, or what works."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import loaders

pytestmark = pytest.mark.slow

thoroughly = settings(
    max_examples=2000, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("name", loaders.LOADERS)
@thoroughly
@given(data=st.data())
def test_stored_json(name, data):
    loaders.loads_or_refuses(name, data.draw(loaders.broken(loaders.LOADERS[name][0])))


@thoroughly
@given(loaders.broken_table())
def test_stored_tables(table):
    loaders.joint_loads_or_is_refused(table)

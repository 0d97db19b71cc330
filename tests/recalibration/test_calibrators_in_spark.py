"""Exported calibrators in Spark's SQL; other databases are with the calibrators themselves."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.recalibration import CALIBRATORS

RNG = np.random.default_rng(3)
P = np.round(RNG.random(300), 2)
Y = RNG.random(300) < P**1.4
AT = [0.0, 5e-324, 1e-12, 0.005, *RNG.random(200), 0.5, 1 - 1e-12, 1.0]


@pytest.mark.needs("java")
def test_sql_agrees_in_spark(spark):
    frame = spark.createDataFrame([(float(value),) for value in AT], ["p"])
    methods = {name: kind().fit(P, Y) for name, kind in CALIBRATORS.items()}
    columns = [f"{one.to_sql('p', dialect='spark')} as {name}" for name, one in methods.items()]
    found = np.array([tuple(row) for row in frame.selectExpr(*columns).collect()])
    wanted = np.column_stack([one.transform(AT) for one in methods.values()])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)

"""A model with a calibrator after it: what it learns from, what it says, what it refuses."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, LinearSVC

import calibrant as cal
from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidOptionError
from calibrant.models import CalibratedClassifier
from calibrant.models.rows import take
from calibrant.recalibration import PlattScaling, load, recalibrate

RNG = np.random.default_rng(0)
N = 1200
X = RNG.normal(size=(N, 4))
X = np.c_[X, X[:, :2] + 0.1 * RNG.normal(size=(N, 2))]  # repeated evidence: naive Bayes is too sure
CHANCE = 1 / (1 + np.exp(-X[:, 0] - 0.7 * X[:, 1]))
Y = (RNG.random(N) < CHANCE).astype(int)
WORDS = np.array(["ill", "well"])[1 - Y]
THREE = np.digitize(X[:, 0] + RNG.normal(size=N), [-0.7, 0.7])


def log_loss(y, p):
    return -np.mean(np.log(np.where(y == 1, p, 1 - p)))


class Recorder(LogisticRegression):
    """A model that remembers the rows it was fitted to."""

    def fit(self, X, y, sample_weight=None):
        self.rows_ = set(np.asarray(X)[:, -1].tolist())
        self.weight_ = sample_weight
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_model_that_is_too_sure_is_repaired(ensemble):
    half = N // 2
    plain = GaussianNB().fit(X[:half], Y[:half])
    model = CalibratedClassifier(GaussianNB(), ensemble=ensemble).fit(X[:half], Y[:half])
    assert not model.report_.unchanged
    assert model.report_.gain.low > 0
    assert model.report_.rows == half
    assert model.report_.folds == 5
    assert model.report_.taught == pytest.approx(0.8, abs=0.01)
    less = "" if ensemble else "; the model of all rows may gain less"
    assert model.report_.sentence.endswith(
        f"by a model that had not seen it and had learned from 80 % of the rows{less}."
    )
    assert len(model.estimators_) == (5 if ensemble else 1)
    before, after = (m.predict_proba(X[half:])[:, 1] for m in (plain, model))
    assert log_loss(Y[half:], after) < log_loss(Y[half:], before) - 0.02
    json.dumps(model.report_.as_dict())


def test_a_sound_model_is_left_alone_and_says_so():
    model = CalibratedClassifier(LogisticRegression()).fit(X, Y)
    assert model.report_.unchanged
    assert model.report_.sentence.startswith("Leave it alone")
    plain = LogisticRegression().fit(X, Y)
    assert np.allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-15)


def test_every_row_is_forecast_by_a_model_that_has_not_seen_it():
    with_number = np.c_[X, np.arange(N)]
    model = CalibratedClassifier(Recorder(max_iter=1000), ensemble=True, cv=4).fit(with_number, Y)
    seen = [one.rows_ for one in model.estimators_]
    for number in range(N):
        assert sum(number in rows for rows in seen) == 3


def test_the_map_is_that_of_choose_on_those_forecasts():
    pairs = list(KFold(4, shuffle=True, random_state=0).split(X))
    held_out = np.empty(N)
    for training, judged in pairs:
        model = GaussianNB().fit(X[training], Y[training])
        held_out[judged] = model.predict_proba(X[judged])[:, 1]
    model = CalibratedClassifier(GaussianNB(), cv=pairs).fit(X, Y)
    assert model.calibrator_.to_json() == recalibrate(Y, held_out, rng=0).calibrator.to_json()


def test_row_order_does_not_matter():
    order = RNG.permutation(N)
    first = CalibratedClassifier(GaussianNB()).fit(X, Y)
    second = CalibratedClassifier(GaussianNB()).fit(X[order], Y[order])
    assert first.report_.sentence == second.report_.sentence
    assert np.allclose(first.predict_proba(X), second.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("kind", ["frame", "sparse", "words", "list"])
def test_folds_follow_the_content_in_every_container(kind):
    order = RNG.permutation(200)
    given = {
        "frame": pd.DataFrame({"a": X[:200, 0], "b": pd.Categorical(WORDS[:200])}),
        "sparse": sparse.csr_array(np.c_[np.where(X[:200] > 0, X[:200], 0), CHANCE[:200]]),
        "words": np.array([f"text {i}" for i in range(200)], dtype=object),
        "list": X[:200].tolist(),
    }[kind]
    from calibrant.models.folds import SplitColumns, fold_pairs
    from calibrant.models.rows import content_of

    code = Y[:200].astype(np.intp)
    plain = fold_pairs(3, code, SplitColumns(content_of(given)), np.random.default_rng(1))
    reordered = fold_pairs(
        3, code[order], SplitColumns(content_of(take(given, order))), np.random.default_rng(1)
    )
    assert [set(j.tolist()) for _, j in plain] == [set(order[j].tolist()) for _, j in reordered]


def test_labels_may_be_words_in_any_order():
    model = CalibratedClassifier(GaussianNB()).fit(X, WORDS)
    coded = CalibratedClassifier(GaussianNB()).fit(X, (WORDS == "well").astype(int))
    assert model.classes_.tolist() == ["ill", "well"]
    assert np.array_equal(model.predict_proba(X), coded.predict_proba(X))
    assert set(model.predict(X)) == {"ill", "well"}
    assert 0.6 < model.score(X, WORDS) < 1


def test_a_named_map_is_taken_whatever_it_gains():
    named = CalibratedClassifier(LogisticRegression(), "platt").fit(X, Y)
    given = CalibratedClassifier(LogisticRegression(), PlattScaling()).fit(X, Y)
    assert type(named.calibrator_) is PlattScaling
    assert named.calibrator_.to_json() == given.calibrator_.to_json()
    assert named.report_.sentence.startswith("Platt scaling was asked for and ")
    some = CalibratedClassifier(GaussianNB(), ["temperature", "platt"]).fit(X, Y)
    assert some.report_.table["calibrator"] == ["identity", "temperature", "platt"]
    for wrong in ("Plat", 3, ["Plat"]):
        with pytest.raises(InvalidOptionError, match="calibrator"):
            CalibratedClassifier(LogisticRegression(), wrong).fit(X, Y)


def test_an_asked_map_that_harms_is_said_to():
    p = RNG.random(3000)
    y = RNG.random(3000) < p
    choice = recalibrate(
        y, p, methods=[cal.recalibration.PriorCorrection(base_rate=0.9)], always=True, rng=0
    )
    assert choice.gain.high < 0
    assert "was asked for and harms" in choice.sentence
    with pytest.raises(InvalidOptionError, match="one calibrator"):
        recalibrate(y, p, always=True)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_model_that_came_fitted_is_not_fitted_again(frozen):
    half = N // 2
    fitted = GaussianNB().fit(X[:half], WORDS[:half])
    inner = FrozenEstimator(fitted) if frozen else fitted
    model = CalibratedClassifier(inner, cv=5 if frozen else "prefit")
    model = clone(model).fit(X[half:], WORDS[half:])
    assert model.report_.folds == 0
    assert "must be new to the model" in model.report_.sentence
    assert model.estimators_ == [model.estimator]
    assert not model.report_.unchanged
    with pytest.raises(InvalidForecastsError, match="classes that the model knows"):
        CalibratedClassifier(fitted, cv="prefit").fit(X, np.where(Y == 1, "dead", WORDS))


def test_models_of_scores_are_read_as_log_odds():
    model = CalibratedClassifier(LinearSVC(), "platt").fit(X, Y)
    assert model.shrink_ == 1.0
    assert log_loss(Y, model.predict_proba(X)[:, 1]) < 0.62
    far = CalibratedClassifier(LinearSVC(), "platt").fit(1e-3 * X, Y)
    assert np.isfinite(far.predict_proba(X)).all()
    with pytest.raises(InvalidOptionError, match="calibrator of probabilities"):
        model.to_json()
    many = CalibratedClassifier(SVC(), "temperature", cv=2).fit(X[:300], THREE[:300])
    assert np.allclose(many.predict_proba(X[:9]).sum(axis=1), 1)


def test_scores_without_end_stay_apart():
    class Far(LinearSVC):
        def decision_function(self, X):
            return 1e6 * super().decision_function(X)

    model = CalibratedClassifier(Far(), "platt").fit(X, Y)
    near = CalibratedClassifier(LinearSVC(), "platt").fit(X, Y)
    assert model.shrink_ > 1e4
    assert np.allclose(model.predict_proba(X), near.predict_proba(X), atol=1e-3)


def test_many_classes():
    model = CalibratedClassifier(GaussianNB()).fit(X, np.array(["low", "mid", "top"])[THREE])
    table = model.predict_proba(X)
    assert table.shape == (N, 3)
    assert np.allclose(table.sum(axis=1), 1)
    assert model.classes_.tolist() == ["low", "mid", "top"]
    assert len(model.calibrator_.classes_) == 3
    assert load(model.to_json()).transform(table).shape == table.shape
    with pytest.raises(InvalidOptionError, match="two classes"):
        CalibratedClassifier(GaussianNB(), by=0).fit(X, THREE)


def test_rare_classes_are_dealt_to_different_folds():
    y = np.where(np.arange(N) < 2, 2, Y)
    assert CalibratedClassifier(LogisticRegression(), cv=5).fit(X, y).predict_proba(X).shape == (
        N,
        3,
    )
    with pytest.raises(InvalidForecastsError, match="a class of one sample"):
        CalibratedClassifier(LogisticRegression()).fit(X, np.where(np.arange(N) < 1, 2, Y))
    with pytest.raises(InvalidForecastsError, match="a fold without a class"):
        CalibratedClassifier(LogisticRegression(), cv=KFold(2)).fit(X[:40], np.repeat([0, 1], 20))


def test_clusters_stay_whole():
    clusters = np.repeat(np.arange(N // 4), 4)
    with_cluster = np.c_[X, clusters]
    model = CalibratedClassifier(Recorder(max_iter=1000), ensemble=True).fit(
        with_cluster, Y, clusters=clusters
    )
    seen = [one.rows_ for one in model.estimators_]
    for cluster in range(N // 4):
        assert sum(cluster in rows for rows in seen) == 4
    again = CalibratedClassifier(GaussianNB(), cv=GroupKFold(4)).fit(X, Y, clusters=clusters)
    assert again.report_.folds == 4
    with pytest.raises(InvalidForecastsError, match="at least two"):
        CalibratedClassifier(GaussianNB()).fit(X, Y, clusters=np.zeros(N))
    with pytest.raises(InvalidForecastsError, match="two clusters or more"):
        CalibratedClassifier(GaussianNB()).fit(X, Y, clusters=Y)


def test_models_learn_from_earlier_rows_only():
    time = RNG.permutation(N)
    with_time = np.c_[X, time]
    model = CalibratedClassifier(Recorder(max_iter=10000), "platt", ensemble=True)
    model.fit(with_time, Y, time=time)
    ends = [max(one.rows_) for one in model.estimators_]
    assert ends == sorted(ends)
    assert ends[-1] < N - 1
    assert model.report_.rows < N
    split = CalibratedClassifier(GaussianNB(), cv=TimeSeriesSplit(4)).fit(X, Y)
    assert split.report_.rows == 4 * (N // 5)
    with pytest.raises(InvalidForecastsError, match="earlier rows must hold every class"):
        CalibratedClassifier(GaussianNB()).fit(X, Y, time=Y)


def test_weights_reach_the_model_and_the_map_and_zero_means_not_there():
    weight = RNG.integers(0, 3, N).astype(float)
    kept = weight > 0
    first = CalibratedClassifier(Recorder(), "platt").fit(X, Y, weight)
    second = CalibratedClassifier(Recorder(), "platt").fit(X[kept], Y[kept], weight[kept])
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    assert np.array_equal(first.estimators_[0].weight_, weight[kept])
    with pytest.raises(ValueError, match="zero"):
        CalibratedClassifier(Recorder()).fit(X, Y, np.zeros(N))
    with pytest.warns(CalibrantWarning, match="weights are used for the calibrator alone"):
        CalibratedClassifier(make_pipeline(LogisticRegression()), "platt").fit(X, Y, weight)
    hidden = np.where(Y == 1, 0.0, 1.0)
    with pytest.raises(InvalidForecastsError, match="two classes"):
        CalibratedClassifier(GaussianNB()).fit(X, Y, hidden)


def test_groups_get_patches_of_their_own():
    site = np.array(["a", "b"] * 3000)
    x = RNG.normal(size=6000)
    y = (RNG.random(6000) < 1 / (1 + np.exp(-x - np.where(site == "a", 1.2, -1.2)))).astype(int)
    frame = pd.DataFrame({"x": x, "site": pd.Categorical(site)})
    blind = make_pipeline(make_column_transformer(("passthrough", ["x"])), LogisticRegression())
    plain = CalibratedClassifier(blind).fit(frame, y)
    model = CalibratedClassifier(blind, by="site").fit(frame, y)
    assert "patch" in model.report_.calibrator
    for name in "ab":
        inside = site == name
        gaps = [
            abs(m.predict_proba(frame)[inside, 1].mean() - y[inside].mean()) for m in (plain, model)
        ]
        assert gaps[1] < 0.03 < gaps[0]
    assert "site" in model.to_sql(table="t")
    array = CalibratedClassifier(LogisticRegression(), by=[1]).fit(np.c_[x, site == "a"], y)
    assert array.predict_proba(np.c_[x, site == "a"]).shape == (6000, 2)
    with pytest.raises(InvalidOptionError, match="by must name columns of X"):
        CalibratedClassifier(blind, by="town").fit(frame, y)


def test_a_pipeline_of_a_frame_with_missing_and_categorical_columns():
    frame = pd.DataFrame(
        {
            "age": pd.array(RNG.integers(20, 80, N), dtype="Int64"),
            "x": X[:, 0],
            "word": pd.Categorical(WORDS),
        }
    )
    frame.loc[:9, "x"] = np.nan
    pipe = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["word"]), remainder="passthrough"
        ),
        HistGradientBoostingClassifier(max_iter=10),
    )
    y = pd.Series(Y, dtype="boolean")
    model = CalibratedClassifier(pipe, "platt", cv=2).fit(frame, THREE > 0)
    assert model.predict_proba(frame).shape == (N, 2)
    assert model.feature_names_in_.tolist() == ["age", "x", "word"]
    nullable = CalibratedClassifier(GaussianNB(), "platt").fit(X, y)
    plain = CalibratedClassifier(GaussianNB(), "platt").fit(X, Y == 1)
    assert np.array_equal(nullable.predict_proba(X), plain.predict_proba(X))


def test_sparse_features():
    features = sparse.csr_matrix(np.where(X > 0, X, 0))
    model = CalibratedClassifier(LogisticRegression(), "platt", cv=3).fit(features, Y)
    assert model.predict_proba(features.tocsc()).shape == (N, 2)


def test_metadata_is_routed():
    clusters, weight = np.repeat(np.arange(N // 4), 4), RNG.integers(1, 3, N)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Recorder().set_fit_request(sample_weight=True)
        model = CalibratedClassifier(inner, "platt", cv=3).set_fit_request(
            sample_weight=True, clusters=True, time=False
        )
        model.set_score_request(sample_weight=True)
        found = cross_validate(
            clone(model),
            X,
            Y,
            cv=GroupKFold(3),
            params={"sample_weight": weight, "clusters": clusters, "groups": clusters},
            return_estimator=True,
        )
        for one in found["estimator"]:
            assert one.estimators_[0].weight_ is not None
        pipe = make_pipeline(LogisticRegression().set_fit_request(sample_weight=True))
        weighed = CalibratedClassifier(pipe, "platt").fit(X, Y, sample_weight=weight)
        direct = CalibratedClassifier(LogisticRegression(), "platt")
    direct.fit(X, Y, sample_weight=weight)
    assert np.allclose(weighed.predict_proba(X), direct.predict_proba(X))


def test_the_map_is_exported_and_the_model_pickled():
    model = CalibratedClassifier(GaussianNB(), "isotonic").fit(X, Y)
    raw = model.estimators_[0].predict_proba(X)[:, 1]
    expected = model.predict_proba(X)[:, 1]
    assert np.array_equal(load(model.to_json()).transform(raw), expected)
    assert "CASE" in model.to_sql("p").upper()
    assert "def recalibrate" in model.to_python()
    assert model.to_onnx().graph.input[0].name == "prediction"
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("estimator", "y", "what"),
    [
        (None, Y, "classifier with fit"),
        (OneHotEncoder(), Y, "predict_proba or decision_function"),
        (GaussianNB(), np.ones(N), "two classes"),
        (GaussianNB(), Y[:-1], "same number of rows"),
        (GaussianNB(), CHANCE, "Unknown label type"),
        (GaussianNB(), np.where(Y == 1, np.nan, 0.0), "missing values"),
    ],
)
def test_what_cannot_be_learned_is_refused(estimator, y, what):
    with pytest.raises(ValueError, match=what):
        CalibratedClassifier(estimator).fit(X, y)


def test_folds_that_make_no_sense_are_refused():
    for cv in (1, 2.5, "five", [(np.arange(N), np.arange(3)), (np.arange(N), np.arange(3))], []):
        with pytest.raises(InvalidOptionError, match="cv"):
            CalibratedClassifier(GaussianNB(), cv=cv).fit(X, Y)

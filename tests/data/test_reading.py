"""Files are read to the letter, and what cannot be read is explained."""

from __future__ import annotations

import json
import time

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import calibrant as cal
from calibrant.data.files import queried
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.groups import recalibrate_by_group
from calibrant.inputs import Roles, read as read_source
from calibrant.recalibration import PlattScaling
from calibrant.recalibration.files import apply_to_files
from commands import run
from small_files import KINDS, WRITERS, csv, written

# More rows than DuckDB looks at before it chooses types.
FIRST = 20_480
HALF = 25_000


@pytest.mark.parametrize(("name", "text"), WRITERS.items(), ids=WRITERS)
def test_decimals_after_many_whole_numbers_stay_decimals(tmp_path, name, text):
    rows = [(i % 2, i % 2) for i in range(HALF)] + [(0.25, int(i % 4 == 0)) for i in range(HALF)]
    whole = cal.Joint.from_samples([y for _, y in rows], [p for p, _ in rows])
    for order in (rows, rows[::-1]):
        path = written(tmp_path / name, text("prediction,outcome", order))
        assert cal.Joint.from_files(path) == whole
        assert cal.audit(path, draws=19).summary.joint == whole


@pytest.mark.parametrize(("name", "text"), WRITERS.items(), ids=WRITERS)
def test_weights_that_turn_decimal_keep_their_weight(tmp_path, name, text):
    rows = [(0.5, i % 2, 1) for i in range(HALF)] + [(0.9, i % 2, 0.4) for i in range(HALF)]
    path = written(tmp_path / name, text("prediction,outcome,weight", rows))
    assert cal.Joint.from_files(path, weight="weight").total == pytest.approx(1.4 * HALF)
    assert cal.audit(path, sample_weight="weight", draws=19).verdict.state == "miscalibrated"


def test_groups_that_turn_into_words_are_words(tmp_path):
    rows = [(0.5, i % 2, 1 + i % 2) for i in range(HALF)] + [(0.5, i % 2, "x") for i in range(9)]
    path = written(tmp_path / "rows.csv", csv("prediction,outcome,g", rows))
    assert list(cal.joints_by(path, by="g")) == [("1",), ("2",), ("x",)]


def test_codes_with_leading_zeros_are_words(tmp_path):
    rows = [(0.5, i % 2, code) for i in range(4) for code in ("007", "7", "20251231235959123456")]
    path = written(tmp_path / "rows.csv", csv("prediction,outcome,g", rows))
    assert list(cal.joints_by(path, by="g")) == [("007",), ("20251231235959123456",), ("7",)]


def passed_through(tmp_path, name, text, out):
    source = written(tmp_path / name, text)
    fitted = PlattScaling().fit([0.1, 0.4, 0.6, 0.9] * 9, [0, 0, 1, 1] * 8 + [1, 0, 1, 0])
    apply_to_files(fitted, source, tmp_path / out)
    return tmp_path / out


PRECIOUS = [
    ("0.10", "007", "5", "", "true", "2024-1-5"),
    ("0.2", "x", "5", '""', "TRUE", '"a, b"'),
] + [("0.30", "1", "12.750", "n/a", "false", "31/12/2024")] * 3


def test_every_other_column_passes_to_the_letter(tmp_path):
    names = "prediction,code,price,hole,flag,when"
    rows = PRECIOUS[2:3] * FIRST + PRECIOUS
    text = csv(names, [(*row[:2], "5", *row[3:]) for row in rows[:FIRST]] + rows[FIRST:])
    out = passed_through(tmp_path, "rows.csv", text, "out.csv")
    kept = [line.rsplit(",", 1)[0] for line in out.read_text().splitlines()]
    assert kept == text.splitlines()


ALIKE = "prediction,a,a,A,,a_1\n0.1,1,2,3,4,5\n0.2,6,7,8,9,10\n"


def test_names_that_are_alike_pass_to_the_letter_or_are_refused(tmp_path):
    out = passed_through(tmp_path, "rows.csv", ALIKE, "out.csv")
    kept = [line.rsplit(",", 1) for line in out.read_text().splitlines()]
    assert [line for line, _ in kept] == ALIKE.splitlines()
    assert kept[0][1] == "recalibrated"
    out = passed_through(tmp_path, "rows.csv", ALIKE, "out.tsv")
    assert out.read_text().splitlines()[0] == "prediction\ta\ta\tA\t\ta_1\trecalibrated"
    for name in ("out.parquet", "out.jsonl"):
        with pytest.raises(InvalidForecastsError, match=r"different names, got 'a', 'a', 'A'.*CSV"):
            passed_through(tmp_path, "rows.csv", ALIKE, name)
    capitals = pa.table({"prediction": [0.5], "ID": [1], "id": [2]})
    pyarrow.parquet.write_table(capitals, tmp_path / "rows.parquet")
    fitted = PlattScaling().fit([0.1, 0.4, 0.6, 0.9] * 9, [0, 0, 1, 1] * 8 + [1, 0, 1, 0])
    with pytest.raises(InvalidForecastsError, match="different names, got 'ID', 'id'"):
        apply_to_files(fitted, tmp_path / "rows.parquet", tmp_path / "out.parquet")
    apply_to_files(fitted, tmp_path / "rows.parquet", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith("prediction,ID,id,recalibrated\n0.5,1,2,")
    for text in ('{"prediction": 0.5, "a": 1, "A": 2}\n', '{"prediction": 0.5, "a": 1, "a": 2}\n'):
        with pytest.raises(InvalidForecastsError, match=r"'A', 'a'|duplicate key"):
            passed_through(tmp_path, "rows.jsonl", text, "out.jsonl")


def test_a_name_means_the_column_of_the_header_and_no_other(tmp_path):
    rows = "0.1,0,x,y,u,v,w\n0.2,1,x,z,u,v,w\n"
    path = written(tmp_path / "rows.csv", "prediction,outcome,a,a,A,,a_1\n" + rows)
    assert list(cal.joints_by(path, by="a_1")) == [("w",)]  # DuckDB calls the second one a_1
    for name in ("a", "A"):
        with pytest.raises(InvalidForecastsError, match=f"one column '{name}'"):
            cal.joints_by(path, by=name)
    for name in ("a_2", "column_1"):
        with pytest.raises(InvalidForecastsError, match=f"there must be a column '{name}'"):
            cal.joints_by(path, by=name)


HASHED = [(f"{'#' if i % 2 else ''}{i}", 0.5, i % 2) for i in range(60)]


@pytest.mark.parametrize("names", ["id,prediction,outcome", ",prediction,outcome"])
def test_no_row_is_taken_for_a_comment(tmp_path, names):
    path = written(tmp_path / "rows.csv", csv(names, HASHED))
    plain = written(tmp_path / "plain.csv", csv(names, [(i, 0.5, i % 2) for i in range(60)]))
    assert cal.Joint.from_files(path).row_count == 60
    for both in ([path, plain], [plain, path]):
        assert cal.Joint.from_files(both).row_count == 120


def test_no_row_is_taken_for_a_line_before_the_header(tmp_path):
    rows = [(0.5, i % 2, "a") for i in range(60)]
    further = csv("prediction,outcome,g,h", [(0.1, 0, "a", "b")] * 7)
    path = written(tmp_path / "rows.csv", csv("prediction,outcome,g", rows) + further)
    with pytest.raises(InvalidForecastsError, match=r"rows.csv, line 62: 4 columns, expected 3"):
        cal.Joint.from_files(path)
    with pytest.raises(InvalidForecastsError, match="there must be a column 'h'"):
        cal.joints_by(path, by="h")
    titled = written(tmp_path / "titled.csv", "Report\n" + csv("prediction,outcome,g", rows))
    with pytest.raises(InvalidForecastsError, match="'outcome', got columns Report"):
        cal.Joint.from_files(titled)


def test_files_may_differ_in_order_and_marks_of_their_columns(tmp_path):
    rows = [(i, f"0.{i % 10}", i % 2) for i in range(60)]
    first = written(tmp_path / "a.csv", csv("id,prediction,outcome", rows))
    turned = csv("outcome,prediction,id", [row[::-1] for row in rows]).replace(",", ";")
    second = written(tmp_path / "b.csv", turned)
    alone = cal.Joint.from_files(first)
    assert cal.Joint.from_files([first, second]) == alone + alone
    fitted = PlattScaling().fit([0.1, 0.4, 0.6, 0.9] * 9, [0, 0, 1, 1] * 8 + [1, 0, 1, 0])
    apply_to_files(fitted, [first, second], tmp_path / "out.csv")
    kept = [line.rsplit(",", 1)[0] for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert kept[1:] == [",".join(map(str, row)) for row in rows * 2]


def test_a_header_may_hold_marks_and_lines(tmp_path):
    text = 'prediction,"a;b;c;d",outcome,"two\nlines"\n' + "0.5,x,1,y\n0.5,x,0,y\n" * 9
    path = written(tmp_path / "rows.csv", text)
    assert cal.Joint.from_files(path).row_count == 18
    assert list(cal.joints_by(path, by="two\nlines")) == [("y",)]
    out = passed_through(tmp_path, "rows.csv", text, "out.csv")
    again = pd.read_csv(out)
    assert list(again) == ["prediction", "a;b;c;d", "outcome", "two\nlines", "recalibrated"]


def test_files_with_other_columns_are_not_written_without_them(tmp_path):
    fitted = PlattScaling().fit([0.1, 0.4, 0.6, 0.9] * 9, [0, 0, 1, 1] * 8 + [1, 0, 1, 0])
    pd.DataFrame({"prediction": [0.5]}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"z": [1], "prediction": [0.5]}).to_csv(tmp_path / "b.csv", index=False)
    for kind in ("csv", "parquet"):
        pd.DataFrame({"prediction": [0.5]}).to_parquet(tmp_path / "a.parquet")
        pd.DataFrame({"z": [1], "prediction": [0.5]}).to_parquet(tmp_path / "b.parquet")
        names = [tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"]
        with pytest.raises(InvalidForecastsError, match=f"the same columns, got 'z' in b.{kind}"):
            apply_to_files(fitted, names, tmp_path / "out.csv")


def test_letters_become_types_only_where_all_rows_agree(tmp_path):
    names = "prediction,code,price,whole,flag"
    rows = [("0.1", "007", "5", "1", "true")] * FIRST + [("0.2", "8", "12.75", "-3", "false")]
    text = csv(names, rows)
    for out in ("out.parquet", "out.jsonl"):
        path = passed_through(tmp_path, "rows.csv", text, out)
        table = duckdb.from_query(f"from '{path}'").fetchall()
        assert table[-1][:5] == (0.2, "8", 12.75, -3, False)
        assert table[0][1] == "007"


def test_json_lines_pass_to_the_letter(tmp_path):
    rows = [{"prediction": 0.5, "id": "007", "n": 1, "deep": {"a": [1, "2"]}, "none": None}]
    rows = rows * FIRST + [{"prediction": 0.25, "id": "8", "n": 2.5, "deep": [], "none": True}]
    text = "\n".join(map(json.dumps, rows)) + "\n"
    out = passed_through(tmp_path, "rows.jsonl", text, "out.jsonl")
    again = [json.loads(line) for line in out.read_text().splitlines()]
    assert all(line.pop("recalibrated") is not None for line in again)
    assert again == rows


def test_a_map_by_group_reads_the_types_that_it_was_fitted_to(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(4000).round(3)
    g = rng.choice(["007", "08", "a"], p.size)
    y = (rng.random(p.size) < np.where(g == "007", p**2, p)).astype(int)
    choice = recalibrate_by_group(y, p, by={"g": g}, rng=0)
    path = written(tmp_path / "rows.csv", csv("prediction,g", zip(p, g, strict=True)))
    apply_to_files(choice.calibrator, path, tmp_path / "out.csv")
    out = pd.read_csv(tmp_path / "out.csv", dtype={"g": str})
    assert out["g"].tolist() == g.tolist()
    expected = choice.calibrator.transform(p, {"g": g})
    assert out["recalibrated"].tolist() == pytest.approx(expected.tolist())
    few = written(tmp_path / "few.csv", "prediction,g\n0.5,8\n0.5,9\n")
    assert apply_to_files(choice.calibrator, few, tmp_path / "few.jsonl").strange == 2


BAD = {
    "percent": ("a.csv", "prediction,outcome\n0.5,1\n63.7%,0\n", "'63.7%' in row 2.*percent sign"),
    "word": ("a.csv", "prediction,outcome\n0.5,1\nNA,0\n", "'NA' in row 2.*missing value empty"),
    "ends": ("a.csv", "prediction,outcome\n0.5,1\r\n0.6,0\n", "line ends of more than one kind"),
    "quote": ("a.csv", 'prediction,outcome\n0.5,"1\n', "line 2 with a quote that does not end"),
    "case": ("a.csv", "PREDICTION,outcome\n0.5,1\n", "did you mean 'PREDICTION'"),
    "twice": ("a.csv", "prediction,prediction,outcome\n0.5,0.6,1\n", "one column 'prediction'"),
    "empty": ("a.csv", "", "a.csv: empty"),
    "ending": ("rows", "prediction,outcome\n0.5,1\n", "'rows' without an ending"),
    "list": ("a.jsonl", '{"prediction": [0.5], "outcome": 1}\n', "must hold numbers.*one number"),
    "struct": ("a.jsonl", '{"prediction": 0.5, "outcome": {"a": 1}}\n', "pos_label"),
}


@pytest.mark.parametrize(("name", "text", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_explained(tmp_path, name, text, message):
    path = written(tmp_path / name, text)
    for read in (cal.audit, cal.Joint.from_files):
        with pytest.raises(InvalidForecastsError, match=message):
            read(path)


def test_letters_of_another_alphabet_are_explained(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("prediction,outcome,town\n0.5,1,Zürich\n".encode("latin-1"))
    with pytest.raises(InvalidForecastsError, match=r"not UTF-8.*save it as UTF-8"):
        cal.audit(path)


@pytest.mark.parametrize("path", ["https://a.example/rows.csv", "s3://bucket/rows.parquet"])
def test_remote_files_are_refused_without_a_try(path):
    with pytest.raises(InvalidForecastsError, match="must lie on this machine"):
        cal.Joint.from_files(path)


NESTED = {"list": [1, 2], "structure": {"a": 1}, "bytes": b"x"}


@pytest.mark.parametrize("value", NESTED.values(), ids=NESTED)
def test_columns_without_single_values_are_refused(tmp_path, value):
    frame = pd.DataFrame({"prediction": [0.5, 0.5], "outcome": [0, 1], "odd": [value, value]})
    frame.to_parquet(tmp_path / "rows.parquet")
    kinds = ["rows.parquet"]
    if not isinstance(value, bytes):
        frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
        kinds.append("rows.jsonl")
    for kind in kinds:
        for role in ({"by": ["odd"]}, {"clusters": "odd"}, {"time": "odd"}):
            with pytest.raises(InvalidForecastsError, match="'odd' must hold one value"):
                cal.audit(tmp_path / kind, **role)
        for role in ({"prediction": "odd"}, {"sample_weight": "odd"}, {"outcome": "odd"}):
            with pytest.raises(InvalidForecastsError, match="odd"):
                cal.audit(tmp_path / kind, **role)


def test_options_are_not_ignored(tmp_path):
    rows = [(0.5, i % 2, "ab"[i % 2], "cd"[i // 2 % 2]) for i in range(80)]
    path = str(written(tmp_path / "rows.csv", csv("prediction,outcome,a,b", rows)))
    both = json.loads(run("audit", path, "--by", "a", "--by", "b", "--json", "-").stdout)
    same = json.loads(run("audit", path, "--by", "a,b", "--json", "-").stdout)
    assert both["groups"] == same["groups"]
    assert len(both["groups"]["groups"]) == 4
    for options in (["--by", ""], ["--by", "a,"]):
        done = run("check", path, *options)
        assert (done.returncode, "--by must name" in done.stderr) == (2, True)
    done = run("check", path, "--key", "a")
    assert (done.returncode, "--key needs --baseline" in done.stderr) == (2, True)


def test_a_baseline_is_joined_with_scale_and_missing_values(tmp_path):
    rng = np.random.default_rng(3)
    p = rng.random(400).round(2)
    y = (rng.random(400) < p).astype(int)
    new = [(i, 100 * q, o) for i, (q, o) in enumerate(zip(p, y, strict=True))]
    old = [(f"{i}", q, o) for i, q, o in new[100:]] + [("a", 50, 1), ("b", "", 0)]
    names = "id,prediction,outcome"
    file = str(written(tmp_path / "new.csv", csv(names, [*new, (999, "", 1)])))
    baseline = str(written(tmp_path / "old.csv", csv(names, old)))
    done = run("check", file, "--baseline", baseline, "--key", "id", "--scale", "percent",
               "--na", "drop", "--tolerance", "0.3")  # fmt: skip
    assert done.returncode in {0, 3}, done.stderr
    assert "300 keys in both; 1 row of the baseline and 100 rows of the file" in done.stdout


def test_a_key_with_missing_values_is_refused(tmp_path):
    path = written(tmp_path / "rows.csv", csv("id,prediction,outcome", [("", 0.5, 1), (2, 0.5, 0)]))
    done = run("check", str(path), "--baseline", str(path), "--key", "id")
    assert done.returncode == 2
    assert "key must name each row" in done.stderr


def test_wide_files_are_read_at_once(tmp_path):
    names = ",".join(["prediction", "outcome", *(f"f{i}" for i in range(1000))])
    rows = [(0.5, i % 2, *[0.25] * 1000) for i in range(500)]
    path = written(tmp_path / "rows.csv", csv(names, rows))
    assert cal.Joint.from_files(path).row_count == 500


def test_messages_name_no_type_of_numpy(tmp_path):
    with pytest.raises(InvalidForecastsError) as refusal:
        cal.smooth_calibration_error(np.array([0, 1, 1]), [0.5] * 3, pos_label=np.int64(2))
    assert "np." not in str(refusal.value)
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"prediction": [0.5] * 3, "outcome": [0, 1, 1]}).to_parquet(path)
    with pytest.raises(InvalidForecastsError, match=r"pos_label 2 must.*labels 0, 1") as refusal:
        cal.audit(path, pos_label=np.int64(2))
    assert "np." not in str(refusal.value)


def test_times_with_a_zone_are_groups_of_the_same_name_everywhere(tmp_path, monkeypatch):
    times = pd.to_datetime(["2024-07-01 23:30", "2024-07-02 00:30"] * 60, utc=True)
    frame = pd.DataFrame({"prediction": 0.5, "outcome": [0, 1, 1, 0] * 30, "t": times})
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    found = set()
    for zone in ("UTC", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        report = json.loads(cal.audit(path, by=["t"], draws=9).to_json())
        with queried(f"select strftime(t, '%H') as hour from '{path}'") as relation:  # noqa: S608
            hours = sorted(set(relation.fetchall()))
        found.add(str([*cal.joints_by(path, by="t"), report["groups"]["groups"], hours]))
    monkeypatch.undo()
    time.tzset()
    assert len(found) == 1, found
    assert "('00',), ('23',)" in found.pop()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:no explicit representation of timezones")
def test_times_with_other_offsets_are_compared_as_moments(tmp_path, kind):
    # The hour that comes twice when summer time ends: 00:30, 01:30 and 02:30 in UTC.
    times = ["2024-10-27T02:30:00+02:00", "2024-10-27T02:30:00+01:00", "2024-10-27T03:30:00+01:00"]
    frame = pd.DataFrame({"prediction": 0.5, "outcome": [0, 1, 1], "t": times})
    KINDS[kind](frame, tmp_path / f"rows.{kind}")
    roles = Roles(time="t")
    for data in (tmp_path / f"rows.{kind}", frame):
        source = read_source(data, None, roles)
        assert source.times.astype("datetime64[m]").astype(str).tolist() == [
            f"2024-10-27T0{hour}:30" for hour in range(3)
        ]


COLUMNS_NAMED = {
    "won": (dict.fromkeys(["w"], 1.0) | {"p": 0.5, "won": None}, "column 'won' must not hold miss"),
    "p": ({"p": None, "won": 1, "w": 1.0}, "column 'p' must not hold missing"),
    "w": ({"p": 0.5, "won": 1, "w": -1.0}, "column 'w' must be finite and not negative"),
    "labels": ({"p": 0.5, "won": 7, "w": 1.0}, "column 'won' must hold 0 and 1"),
    "range": ({"p": 3.5, "won": 1, "w": 1.0}, "column 'p' must be probabilities"),
}


@pytest.mark.parametrize(("row", "message"), COLUMNS_NAMED.values(), ids=COLUMNS_NAMED)
def test_refusals_name_the_column_that_was_named(tmp_path, row, message):
    frame = pd.DataFrame([{"p": 0.5, "won": 0, "w": 1.0}] * 5 + [row])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for data in (frame, tmp_path / "rows.csv"):
        with pytest.raises(InvalidForecastsError) as refusal:
            cal.audit(data, prediction="p", outcome="won", sample_weight="w")
        assert message in str(refusal.value)
        assert "y_true" not in str(refusal.value)
        assert "y_proba" not in str(refusal.value)


def test_outcomes_are_no_predictions_and_no_weights(tmp_path):
    path = written(tmp_path / "rows.csv", csv("p,y", [(0.5, i % 2) for i in range(60)]))
    for roles in ({"prediction": "y", "outcome": "y"}, {"prediction": "p", "sample_weight": "y"}):
        for data in (path, pd.read_csv(path)):
            with pytest.raises(InvalidOptionError, match=r"'y' must not be .* as well"):
                cal.audit(data, **{"outcome": "y"} | roles)
    for command in ("check", "recalibrate"):
        done = run(command, str(path), "--prediction", "y", "--outcome", "y")
        assert (done.returncode, "must not be" in done.stderr) == (2, True)


def test_segments_of_counts_say_what_needs_rows(tmp_path):
    path = written(tmp_path / "rows.csv", csv("prediction,n,k,g", [(0.5, 10, 5, "a")]))
    with pytest.raises(InvalidForecastsError, match="rows are needed for find_segments"):
        cal.audit(path, count="n", positives="k", by=["g"], find_segments=True)


def test_rows_are_counted_from_one_in_every_refusal(tmp_path):
    """The second row is row 2, whether text, a missing value or a number is wrong with it."""
    path = tmp_path / "rows.csv"
    for bad in ("x", "", "1.5"):
        path.write_text(f"prediction,outcome\n0.5,1\n{bad},0\n")
        with pytest.raises(InvalidForecastsError, match=r"rows? 2\b"):
            cal.audit(path)

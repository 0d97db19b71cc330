"""Numbers and plurals in text."""

from __future__ import annotations

import pytest

from calibrant._base import words


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (0.5, "0.50"), (0.034, "0.03"), (0.0042, "0.0042"),
     (0.9981, "0.9981"), (1e-9, "1.0e-09"), (1 - 2.0**-30, "above 0.99999"),
     (1e-30, "below 1e-09"), (5e-324, "below 1e-09"), (0.999988, "0.99999")],
)  # fmt: skip
def test_probabilities_get_the_digits_they_need(value, text):
    assert words.probability_text(value) == text


def test_two_numbers_are_written_so_that_they_differ():
    assert words.distinct_texts(0.2587, 0.2332) == ("0.26", "0.23")
    assert words.distinct_texts(0.2511, 0.2514) == ("0.2511", "0.2514")
    assert words.distinct_texts(0.14, 0.14 + 1e-9) == ("0.14", "0.14")
    assert words.distinct_texts(0.00996, 0.0142) == ("0.0100", "0.0142")
    assert words.distinct_texts(0.00012, 0.31) == ("0.00012", "0.31000")
    assert words.count_text(1, "row") == "1 row"
    assert words.count_text(1234567, "row") == "1 234 567 rows"


def test_what_is_less_than_all_is_not_written_as_all():
    texts = [words.percent_text(share) for share in (0.95, 0.9994, 0.9996, 0.999999, 1.0, 1.2345)]
    assert texts == ["95 %", "99.9 %", "99.96 %", "more than 99.999 %", "100 %", "123 %"]


@pytest.mark.parametrize(
    ("values", "texts"),
    [((0.387, 0.328), ("39 %", "33 %")), ((0.2511, 0.2514), ("25.11 %", "25.14 %")),
     ((0.034, 0.21), ("3.4 %", "21.0 %")), ((0.00012, 0.000131), ("1 in 8 300", "1 in 7 600")),
     ((0.0001, 0.000101), ("1 in 10 000", "1 in 9 900")), ((0.0, 0.0002), ("0", "1 in 5 000")),
     ((0.5, 0.5), ("50 %", "50 %")), ((1.0, 0.9), ("100 %", "90 %")),
     ((0.05, 0.35), ("5 %", "35 %")),
     ((0.9996, 0.9998), ("99.960 %", "99.980 %"))],
)  # fmt: skip
def test_rates_are_written_for_laymen(values, texts):
    assert words.rate_texts(*values) == texts


def test_differences_are_written_in_points():
    assert words.points_text(0.0587) == "5.9 points"
    assert words.points_text(0.01) == "1 point"
    assert words.points_text(0.123) == "12 points"
    assert words.points_text(0.000042) == "0.0042 points"
    assert words.points_text(1.0) == "100 points"


@pytest.mark.parametrize(
    ("values", "texts"),
    [((0.02578, 0.0238, 0.0277, 0.0009), ("0.0258", "0.0238", "0.0277", "0.0009")),
     ((0.0000159, 0.0000152), ("0.0000159", "0.0000152")),
     ((0.01238, 0.01241), ("0.01238", "0.01241")), ((0.2, 0.2), ("0.200", "0.200")),
     ((0.0, 0.0123), ("0", "0.0123")), ((0.109, 0.00031), ("0.109", "0.0003")),
     ((12.3, 11.0), ("12.3", "11.0")),
     ((float("nan"), 0.5), ("not defined", "0.500")), ((float("inf"), 1.0), ("infinite", "1.00"))],
)  # fmt: skip
def test_numbers_that_are_compared_share_their_decimals(values, texts):
    assert words.comparable_texts(*values) == texts


def test_a_terminal_gets_thin_spaces_and_a_pipe_plain_ones():
    plain = "in 2013 166 668 forecasts, 95 % of 1 000; 1 in 8 000; zip 1234 567"
    thin = words.typeset(plain)
    assert thin == (
        "in 2013 166\u202f668 forecasts, 95\u202f% of 1\u202f000; 1 in 8\u202f000; zip 1234 567"
    )
    assert len(thin) == len(plain)


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [(0.203, "20 of 100"), (0.005, "5 of 1 000"), (0.001, "1 of 1 000"), (1.0, "100 of 100"),
     (0.0499, "5 of 100"), (1e-5, "1 of 100 000")],
)  # fmt: skip
def test_p_values_are_told_as_samples(pvalue, text):
    assert words.samples_text(pvalue) == text


def test_numbers_far_from_one_keep_their_digits():
    assert words.number_text(2.887e-16) == "2.89e-16"
    assert words.number_text(-9.2300721e30) == "-9.23e+30"
    assert words.number_text(3.63e14) == "363000000000000"
    assert words.rounded_up(1.2601e-15) == "1.27e-15"
    assert words.comparable_texts(9.23e-30, 8.1e-30) == ("9.23e-30", "8.1e-30")
    assert words.comparable_texts(0.0, 8.1e20) == ("0", "8.1e+20")
    assert words.interval_texts(2.5e-14, 1.5e-14, 3e-14) == ("2.5e-14", "1.5e-14", "3e-14")
    assert words.interval_texts(2.5e20, 1.5e20, 3e20) == ("2.5e+20", "1.5e+20", "3e+20")
    # Next to others a rounding error is nothing.
    assert words.comparable_texts(0.3, -1e-17) == ("0.300", "0")


def test_a_rounding_error_does_not_lengthen_the_numbers_beside_it():
    assert words.comparable_texts(2e-17, 0.007269360269) == ("0", "0.00727")
    assert words.comparable_texts(0.0001, 0.5) == ("0.000100", "0.50000")

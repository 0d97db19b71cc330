"""Numbers and plurals in text."""

from __future__ import annotations

import pytest

from calibrant import words


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (0.5, "0.50"), (0.034, "0.03"), (0.0042, "0.0042"),
     (0.9981, "0.9981"), (1e-9, "1.0e-09"), (1 - 2.0**-30, "1 - 9.3e-10")],
)  # fmt: skip
def test_probabilities_get_the_digits_they_need(value, text):
    assert words.probability_text(value) == text


def test_two_numbers_are_written_so_that_they_differ():
    assert words.distinct_texts(0.2587, 0.2332) == ("0.26", "0.23")
    assert words.distinct_texts(0.2511, 0.2514) == ("0.2511", "0.2514")
    assert words.distinct_texts(0.14, 0.14 + 1e-9) == ("0.14", "0.14")
    assert words.count_text(1, "row") == "1 row"
    assert words.count_text(1234567, "row") == "1 234 567 rows"


def test_what_is_less_than_all_is_not_written_as_all():
    said = [words.percent_text(share) for share in (0.95, 0.9994, 0.9996, 0.999999, 1.0, 1.2345)]
    assert said == ["95 %", "99.9 %", "99.96 %", "99.9999 %", "100 %", "123 %"]

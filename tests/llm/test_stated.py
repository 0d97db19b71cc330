"""Stated confidences: what each text means, and that every decision is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.llm import WORDS, parse_confidences

READ = {
    "90%": 0.9,
    "90 %": 0.9,
    " 90 percent. ": 0.9,
    "about 85 percent": 0.85,
    "~85 per cent": 0.85,
    "I'd say 85%!": 0.85,
    "85,5 %": 0.855,
    "\uff19\uff10\uff05": 0.9,
    "1%": 0.01,
    "0.5%": 0.005,
    "100%": 1.0,
    "0%": 0.0,
    "0.9": 0.9,
    ".9": 0.9,
    "0,9": 0.9,
    "1": 1.0,
    "1.0": 1.0,
    "9e-1": 0.9,
    "9/10": 0.9,
    "9 out of 10": 0.9,
    "4.5/5": 0.9,
    "**0.9**": 0.9,
    "<90%>": 0.9,
    "50/50": 0.5,
    "50 out of 50": 1.0,
    "not sure, 20%": 0.2,
    "90%, though I could be wrong": 0.9,
    "less than 50%, say 40%": 0.4,
    "90% (i.e. 0.9)": 0.9,
    "almost certain": 0.97,
    "Very likely": 0.875,
    "likely": 0.675,
    "very unlikely": 0.125,
    0.25: 0.25,
    1: 1.0,
    0: 0.0,
}
DENIED = "a confidence that is denied, or in being wrong"
UNREAD = {
    None: "nothing stated",
    "": "nothing stated",
    "N/A": "nothing stated",
    float("nan"): "nothing stated",
    "80-90%": "a range",
    "between 80 and 90 percent": "a range",
    "80% to 90%": "a range",
    "80\u201390": "a range",
    "90% or 50/100": "a range",
    "less than 50%": "a range",
    "> 90%": "a range",
    "\u226590%": "a range",
    "at most 0.2": "a range",
    "40/60": "several values",
    "not 100% sure": DENIED,
    "80% wrong": DENIED,
    "10% chance that I'm wrong": DENIED,
    "9/10 chance it\u2019s incorrect": DENIED,
    "probability of error: 10%": DENIED,
    "90%, 80%": "several values",
    "120%": "a value outside 0 to 1",
    "-5%": "a value outside 0 to 1",
    "11/10": "a value outside 0 to 1",
    "1/0": "a value outside 0 to 1",
    "0.9 0.8": "several values",
    "quite sure": "no number and no word of the table",
    "not likely": DENIED,
    True: "no number and no word of the table",
    "3/4/2020": "no number and no word of the table",
}
STATED = {
    "4\nConfidence: 90%": 0.9,
    "**Confidence:** 90%": 0.9,
    '{"answer": "4", "confidence": 0.9, "steps": 3}': 0.9,
    "confidence_score = .7": 0.7,
    "Confidence (0 to 1): 0.8": 0.8,
    "I am 95% sure that it was 1969.": 0.95,
    "My confidence is about 60 percent": 0.6,
    "Confidence: very likely": 0.875,
    "Confidence: 9/10. It is 42.": 0.9,
    "90% of people die. Confidence: 0.3": 0.3,
    "I'm not 100% sure. Confidence: 70%": 0.7,
}
UNSAID = {
    "It was 1969.": "nothing stated",
    "90% of people agree.": "nothing stated",
    "Confidence: 90%. On reflection, confidence: 40%": "several values",
    "I'm not 100% sure, but Paris.": DENIED,
    "I can\u2019t be 100% certain.": DENIED,
    "I'm 99% certain I'm wrong": DENIED,
    "The probability of being wrong is 5%": "nothing stated",
    "My confidence of being wrong is 5%": DENIED,
    "I am less than 50% confident.": "a range",
    "Confidence: high": "no number and no word of the table",
}
# Sentences that a careless reader takes for another confidence: the right value, or None.
TRAPS = {
    # denials
    "I don't think it's likely": None,
    "I do not believe this is at all likely": None,
    "it isn't very likely": None,
    "nothing makes this likely": None,
    "I wouldn't say 90%": None,
    "not more than 90%": None,
    "cannot be 80% certain": None,
    "never 100%": None,
    "no chance of 90%": None,
    "I'm not certain, but 60%": 0.6,
    "not only 90% but 95%": 0.95,
    "nicht 90 %": None,
    "pas 90 %": None,
    "\u4e0d\u662f90%": None,
    # being wrong, and words for it
    "uncertainty: 10%": None,
    "uncertainty (10%)": None,
    "uncertainty of about 10 percent": None,
    "10% uncertainty": None,
    "doubt = 0.2": None,
    "20% doubtful": None,
    "error rate 5%": None,
    "expected error: 0.05": None,
    "5% error": None,
    "risk of failure 15%": None,
    "there is a 15% risk that this fails": None,
    "likely wrong": None,
    "very likely incorrect": None,
    "unlikely to be wrong": None,
    "likely not correct": None,
    "0.1 chance of a mistake": None,
    "90% sure that I am mistaken": None,
    "10% wrong, 90% right": 0.9,
    "Unsicherheit: 10 %": None,
    "incertitude : 10 %": None,
    "probabilidad de error: 5%": None,
    "\u9519\u8bef\u7387: 5%": None,
    # words that are changed
    "more likely than not": None,
    "as likely as not": None,
    "less likely": None,
    "highly likely": None,
    "most likely": None,
    # revisions
    "was 90%, now 50%": None,
    "90% -> 50%": None,
    "0.9 => 0.5": None,
    "90 \u2192 50": None,
    # ranges and bounds
    "80~90%": None,
    "80..90%": None,
    "80 through 90%": None,
    "80, 90%": None,
    "90% \u00b1 5%": None,
    "90 \u00b1 5%": None,
    "90% +/- 5": None,
    "90%+": None,
    "90+%": None,
    "90% or more": None,
    "90% at best": None,
    "as low as 10%": None,
    "maximum of 40%": None,
    "80 bis 90 Prozent": None,
    # odds
    "1:1": None,
    "odds of 3:1": None,
    "3 to 1": None,
    "1 in 10": None,
    # other units, and numbers of something else
    "90\u2030": None,
    "1\u2030": None,
    "9 per mille": None,
    "0.9 percentage points": None,
    "1 sigma": None,
    "95% CI": None,
    "95% confidence interval": None,
    "20% more likely": None,
    "90% of people say so": None,
    "right 90% of the time": 0.9,
    "1 question": None,
    "question 1": None,
    "1) Paris": None,
    "#1": None,
    "%1": None,
    "minus 5%": None,
    "\u20135%": None,
    # thousands and decimal commas
    "1,000%": None,
    "1,000": None,
    "1 000 %": None,
    "1'000%": None,
    "1.000,5%": None,
    "1,000.5%": None,
    "85,500 %": None,
    "85,5 Prozent": 0.855,
    "0,9 Prozent": 0.009,
    "0,925": 0.925,
    "99,9%": 0.999,
    "0,1 %": 0.001,
    "\u0669\u0660\u066a": 0.9,
    # fractions
    "\u00be": 0.75,
    "1\u00bd": None,
    "80/90%": None,
    "9/10 chance that it's false": None,
    "9/10 and rising": 0.9,
}
TRAPS_IN_TEXT = {
    "I was 90% sure, now 50%": None,
    "I was 90% sure, now I am 50% sure": 0.5,
    "Initially I was 90% confident.": None,
    "Initial confidence: 90%\nFinal: 50%": None,
    "Confidence: 90%, now 50%": None,
    "Confidence: 90%. Actually, make it 50%.": None,
    "Confidence: 90%, revised to 0.5": None,
    "Confidence: 90% -> 50%": None,
    "The 95% confidence interval is wide.": None,
    "Uncertainty: 10%": None,
    "Lack of confidence: 80%": None,
    "I have no confidence of 90%": None,
    "Confidence (1-10): 8": None,
    "Confidence on a scale: 1:1": None,
    "The probability is 1/6.": None,
    "The probability of rain is 30%": None,
    "The probability of rain is 30%. Confidence: 80%": 0.8,
    "I'm 90% sure this isn't right": None,
    "I'm 90% sure that it was not 1969.": 0.9,
    "It is not Rome (confidence: 90%)": 0.9,
    "It is not Rome - confidence: 90%": 0.9,
    "It is not Rome. Confidence: 90%": 0.9,
    "Confidence: 90% that I'm wrong": None,
    "Confidence: 0.9, error: 0.1": 0.9,
    '{"error": null, "confidence": 0.9}': 0.9,
    "My confidence is not 90%": None,
    "We are 5% certain or less": None,
}


@pytest.mark.parametrize(("text", "value"), TRAPS.items(), ids=ascii)
@pytest.mark.parametrize("scale", ["mixed", "unit"])
def test_a_trap_is_read_right_or_missing(text, value, scale):
    found = parse_confidences([text], scale=scale).values[0]
    assert np.isnan(found) if value is None else found == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(("text", "value"), TRAPS_IN_TEXT.items(), ids=ascii)
def test_a_trap_in_an_answer_is_read_right_or_missing(text, value):
    found = parse_confidences([text], scale="mixed", in_text=True).values[0]
    assert np.isnan(found) if value is None else found == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(("text", "value"), READ.items(), ids=repr)
def test_what_a_statement_means(text, value):
    assert parse_confidences([text]).values[0] == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(("text", "reason"), UNREAD.items(), ids=repr)
def test_what_has_no_value_is_missing_for_a_reason(text, reason):
    found = parse_confidences([text])
    assert np.isnan(found.values[0])
    assert found.counts == {reason: 1}
    assert "1 of 1 confidence could not be read and are missing" in str(found)
    assert reason in str(found)


@pytest.mark.parametrize(("text", "value"), STATED.items(), ids=repr)
def test_statements_are_found_in_answers(text, value):
    assert parse_confidences([text], in_text=True).values[0] == pytest.approx(value)


@pytest.mark.parametrize(("text", "reason"), UNSAID.items(), ids=repr)
def test_answers_without_one_statement_have_no_confidence(text, reason):
    found = parse_confidences([text], in_text=True)
    assert np.isnan(found.values[0])
    assert found.counts == {reason: 1}


def test_bare_numbers_above_one_are_refused_without_a_scale():
    with pytest.raises(InvalidForecastsError, match=r"2 of 3 bare numbers above 1, such as 85, 90"):
        parse_confidences(["90", 85, 1])
    with pytest.raises(InvalidForecastsError, match="some lie between 0 and 1"):
        parse_confidences(["90", 0.4])


def test_a_scale_says_what_bare_numbers_are_and_nothing_else():
    given = ["90", 0.5, 1, "40%", "9/10"]
    percent = parse_confidences(given, scale="percent")
    assert percent.values.tolist() == [0.9, 0.005, 0.01, 0.4, 0.9]
    assert "bare numbers were read as per cent (3, 1 of them below 1 %)" in percent.sentences
    mixed = parse_confidences(given, scale="mixed")
    assert mixed.values.tolist() == [0.9, 0.5, 1.0, 0.4, 0.9]
    assert "1 times a bare 1 was read as certainty" in str(mixed)
    unit = parse_confidences(given, scale="unit")
    assert np.isnan(unit.values[0])
    assert "1 above 1 are missing" in str(unit)
    with pytest.raises(InvalidOptionError, match="scale must be"):
        parse_confidences(given, scale="permille")


def test_a_percent_sign_means_what_it_says_where_all_values_are_small():
    assert parse_confidences(["1%", "0.9%", "0.5 %"]).values.tolist() == [0.01, 0.009, 0.005]


def test_the_table_of_words_is_the_users():
    own = parse_confidences(["quite sure", "likely"], words={**WORDS, "Quite  sure": 0.8})
    assert own.values.tolist() == [0.8, 0.675]
    assert "'quite sure' = 0.8 (1)" in str(own)
    assert parse_confidences(["likely"], words={}).missing == 1
    with pytest.raises(InvalidOptionError, match="between 0 and 1"):
        parse_confidences(["likely"], words={"likely": 70})


def test_one_text_is_no_list():
    with pytest.raises(InvalidForecastsError, match="must be a list"):
        parse_confidences("90%")


def test_long_answers_are_looked_at_from_both_ends():
    long = "x " * 500_000
    assert parse_confidences([f"{long}\nConfidence: 0.4"], in_text=True).values[0] == 0.4


@given(st.lists(st.one_of(st.text(), st.integers(0, 100).map(lambda n: f"{n}%"), st.none())))
def test_any_text_is_read_or_counted(statements):
    found = parse_confidences(statements, scale="mixed")
    assert sum(found.counts.values()) == found.values.size == len(statements)
    known = found.values[~np.isnan(found.values)]
    assert ((known >= 0) & (known <= 1)).all()
    again = parse_confidences(statements[::-1], scale="mixed")
    np.testing.assert_array_equal(again.values, found.values[::-1])

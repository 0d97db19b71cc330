"""Answers of language models: logs of evaluations become confidences and outcomes."""

from calibrant.answers.answers import Answers
from calibrant.answers.judges import JudgedRate, judged_rate
from calibrant.answers.reading import are_logs as are_logs, read
from calibrant.answers.stated import StatedConfidences, parse_confidences
from calibrant.answers.versus import COMPARED as COMPARED, ModelComparison, compare_models
from calibrant.answers.votes import Votes, vote_shares
from calibrant.answers.wording import WORDS

__all__ = [
    "WORDS",
    "Answers",
    "JudgedRate",
    "ModelComparison",
    "StatedConfidences",
    "Votes",
    "compare_models",
    "judged_rate",
    "parse_confidences",
    "read",
    "vote_shares",
]

"""Answers of language models: logs of evaluations become confidences and outcomes."""

from calibrant.llm.answers import Answers
from calibrant.llm.judges import JudgedRate, judged_rate
from calibrant.llm.reading import are_logs as are_logs, read
from calibrant.llm.stated import StatedConfidences, parse_confidences
from calibrant.llm.versus import COMPARED as COMPARED, ModelComparison, compare_models
from calibrant.llm.votes import Votes, vote_shares
from calibrant.llm.wording import WORDS

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

"""Answers of DuckDB are fetched to their end: since version 2 a connection waits for that."""

from pathlib import Path

import calibrant
from calibrant.data.databases import first_row


class Connection:
    """A connection that knows whether its last answer was fetched whole."""

    def __init__(self, rows):
        self.rows, self.finished = rows, True

    def execute(self, query):
        self.finished = False
        return self

    def fetchall(self):
        self.finished = True
        return self.rows


def test_the_first_row_leaves_no_answer_unfinished():
    for rows, expected in (([(1, "a"), (2, "b")], (1, "a")), ([], None)):
        connection = Connection(rows)
        assert first_row(connection, "select") == expected
        assert connection.finished


def test_nobody_fetches_one_row_of_an_answer():
    sources = Path(calibrant.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "fetchone" in path.read_text(encoding="utf-8")] == []

"""Small files, written as users have them."""

from __future__ import annotations

import gzip
import json


def written(path, text):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.write(text)
    return path


def csv(names, rows):
    return "\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n"


def json_lines(names, rows):
    keys = names.split(",")
    return "\n".join(json.dumps(dict(zip(keys, row, strict=True))) for row in rows) + "\n"


WRITERS = {"rows.csv": csv, "rows.csv.gz": csv, "rows.jsonl": json_lines}
KINDS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "parquet": lambda frame, path: frame.to_parquet(path),
}

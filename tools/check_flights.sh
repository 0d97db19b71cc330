#!/bin/sh
# Rebuild the forecasts that ship with the versions their script pins, and compare.
set -eu
place=build/flights
[ -x "$place/bin/python" ] || "$1" -m venv "$place"
"$place/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade pip
sed -n 's/^#     "\(.*==.*\)",$/\1/p' tools/make_flights.py > "$place/requirements.txt"
"$place/bin/python" -m pip install --quiet -r "$place/requirements.txt"
"$place/bin/python" tools/make_flights.py --check

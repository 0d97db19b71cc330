#!/bin/sh
# Build the kernels with the address and undefined-behaviour sanitizers and run on them the tests
# that feed them random, adversarial and hostile input.
set -eu
python=.venv/bin/python
seconds=900 # for one test; one that takes longer ends the run with the stacks of all threads
place=build/sanitized
rm -rf "$place"
$python -m pip install --quiet --disable-pip-version-check --no-deps --target "$place" \
    -C build-dir=build/sanitized-objects -C cmake.define.CALIBRANT_SANITIZE=ON .
# The sanitizer must find the C++ runtime when it starts, to follow exceptions. Java does not start
# under its loader. Python keeps its own allocator for small objects: arrays, which kernels read and
# write, come from malloc either way, and the run takes half the time.
LD_PRELOAD="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
    PYTHONPATH="$place" \
    $python -m pytest -q -n 2 --dist loadfile -p no:cacheprovider --capture=sys -k "not spark" \
    -o faulthandler_timeout=$seconds -o faulthandler_exit_on_timeout=true \
    tests/test_kernels.py tests/test_families.py tests/laws tests/data/test_input.py \
    tests/joint tests/measures tests/binning tests/decisions tests/multiclass tests/recalibration \
    tests/groups tests/monitoring tests/online

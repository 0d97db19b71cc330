#!/bin/sh
# Make sure that what a build needs beyond Python's own packages is there: a C++ compiler, the
# venv module, Python's headers. As root on Debian install what is missing, otherwise name it.
set -eu
python="$1"
missing=""
command -v c++ >/dev/null 2>&1 || missing="$missing g++"
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
"$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' \
    || missing="$missing python3-dev"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing
else
    echo "calibrant needs these to build, please install them first:$missing" >&2
    exit 1
fi

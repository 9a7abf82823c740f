#!/bin/sh
# make_venv.sh FOLDER [PYTHON]: a virtual environment from PYTHON, or from the first Python >= 3.11 on the path.
set -eu
folder=$1
wanted=${2:-}

recent() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

python=
for candidate in ${wanted:-python3 python3.13 python3.12 python3.11 python}; do
    if recent "$candidate"; then
        python=$candidate
        break
    fi
done

if [ -z "$python" ]; then
    name=${wanted:-python3}
    if command -v "$name" >/dev/null; then
        echo "error: no Python 3.11 or newer: $name is $("$name" --version 2>&1 | head -n 1)" >&2
    else
        echo "error: no Python 3.11 or newer: there is no $name" >&2
    fi
    echo "       install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2
    exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "error: $python has no venv module; on Debian and Ubuntu: apt install python3-venv" >&2
    exit 1
fi

echo "making $folder with $("$python" --version)"
"$python" -m venv --clear "$folder" || { rm -rf "$folder"; exit 1; }

#!/usr/bin/env bash
# Prints every command of docs/first-run.md with its output; that page is made from it.
#   examples/first_run.sh [auto|cuda|emulator]
# Needs warpfold installed in the active environment (or PYTHON, its interpreter); works in a scratch folder.
set -euo pipefail

device="${1:-auto}"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
python="${PYTHON:-python3}"
"$python" -c 'import warpfold' || {
    echo "first_run.sh: $python has no warpfold: activate the environment where it is installed" >&2
    exit 1
}
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cp "$here/make_data.py" "$here/monoids.py" "$scratch"
cd "$scratch"
export WARPFOLD_CACHE_DIR=cache

# Shows a command and runs it, with its exit code if it fails.
try() {
    printf '\n$ %s\n' "$*"
    "$@" 2>&1 || printf '(exit code %d)\n' "$?"
}
python() { "$python" "$@"; }
warpfold() { "$python" -m warpfold.cli "$@"; }

try python make_data.py
try warpfold run mean --input temperature.npy --axis 0,1 --output mean.npy --device "$device"
try warpfold run sum --shape 4096x1024 --axis 1 --device "$device"
try warpfold run sum --shape 4096x1024 --axis 1 --device "$device"
try warpfold run argmax --input temperature.npy --device "$device"
try warpfold run monoids.py:span --input temperature.npy --axis 0,1 --device "$device"
try warpfold run monoids.py:moving_level --input temperature.npy --axis 0 --device "$device"
try warpfold run monoids.py:degree_hours --input temperature.npy --param base=15 --device "$device"
try warpfold check monoids.py:degree_hours
try warpfold explain monoids.py:span --shape 365x24x100 --axis 0,1
try warpfold explain sum --shape 8192x8192 --axis 0
try warpfold compile sum --shape 4096x1024 --axis 1 --emit program
try warpfold compile sum --shape 4096x1024 --axis 1 --emit ptx -o sum.ptx
try grep -c shfl.sync sum.ptx
try warpfold run summ
try warpfold run sum --axis 5 --device "$device"

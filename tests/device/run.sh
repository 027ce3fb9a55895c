#!/usr/bin/env bash
# The whole run on a machine with a GPU: build, contract tests on its OpenCL, the command line, benchmarks beside peers.
#
#     tests/device/run.sh [--packages FOLDER] [--results FOLDER] [--device SELECTOR] [--without STEPS]
#
# --packages: .deb files to unpack over the system first, for a machine without a network (as root).
# --results: where logs and JSON go (default: build-device/results). --without: names of steps to leave out, such as
# "bench vs_clpeak". The exit status is not 0 when anything failed.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 1
build=$root/build-device
results=$build/results
packages=
device=gpu
without=
while [ $# -gt 1 ]; do
    case $1 in
    --packages) packages=$2 ;;
    --results) results=$2 ;;
    --device) device=$2 ;;
    --without) without=$2 ;;
    *) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done
mkdir -p "$results"
failed=0

step() { # NAME COMMAND...: runs it, keeps what it prints, and goes on
    local name=$1 begin=$SECONDS status
    shift
    case " $without " in *" $name "*) return ;; esac
    echo "== $name"
    "$@" >"$results/$name.txt" 2>&1
    status=$?
    tail -n "${lines:-12}" "$results/$name.txt"
    echo "-- $name: exit $status after $((SECONDS - begin)) s"
    [ $status -eq 0 ] || failed=1
}

if [ -n "$packages" ]; then
    for package in "$packages"/*.deb; do
        dpkg -x "$package" / || exit 1
    done
    ldconfig
    # RMM as its package for Python has it, headers and library, where that was unpacked beside.
    if [ -d "$packages/rmm" ]; then
        CPATH=$(cd "$packages/rmm" && pwd)/include:$(cd "$packages/rmm" && pwd)/include/rapids
        LIBRARY_PATH=$(cd "$packages/rmm" && pwd)/lib64
        export CPATH LIBRARY_PATH LD_LIBRARY_PATH="$LIBRARY_PATH"
    fi
fi

machine() {
    date -u +%Y-%m-%dT%H:%M:%SZ
    uname -srm
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    gcc --version | head -n 1
    nvcc --version | tail -n 2
    git log -1 --format=%h 2>/dev/null
}
lines=20 step machine machine

configure() {
    meson setup "$build" -Dbuildtype=release -Dtest_runtimes=system || meson configure "$build"
}
step configure configure
step build ninja -C "$build"
export STRATA_DEVICE=$device
step contract meson test -C "$build" --suite contract --suite unit --print-errorlogs --timeout-multiplier 0.3
lines=60 step info "$build/strata" info
lines=120 step bench timeout 290 "$build/strata" bench --json "$results/bench.json"

probes() {
    gcc -std=gnu11 -O2 -Wno-deprecated-declarations tests/device/probe.c -o "$build/probe" -lOpenCL && "$build/probe"
}
lines=80 step probes probes

sums() {
    head -c 64000000 /dev/urandom >"$build/random.i32"
    "$build/strata" reduce "$build/random.i32" --op sum --type i32 --json
    "$build/strata" reduce "$build/random.i32" --op sum --type i32 --json
}
step reduce sums

if ninja -C "$build" tests/bench/vs_cuda >"$results/vs_cuda-build.txt" 2>&1; then
    lines=80 step vs_cuda "$build/tests/bench/vs_cuda" "$device"
else
    tail -n 20 "$results/vs_cuda-build.txt"
    failed=1
fi
if ninja -C "$build" tests/bench/vs_pools >"$results/vs_pools-build.txt" 2>&1; then
    lines=80 step vs_pools "$build/tests/bench/vs_pools" "$device"
else
    tail -n 20 "$results/vs_pools-build.txt"
    failed=1
fi
if command -v clpeak >/dev/null; then
    step vs_clpeak python3 tests/bench/vs_clpeak.py "$build/strata" "${CLPEAK_PLATFORM:-NVIDIA}"
fi
if ninja -C "$build" tests/contract/test_large >"$results/large-build.txt" 2>&1; then
    step large "$build/tests/contract/test_large"
fi
[ $failed -eq 0 ] && echo "device run: all passed" || echo "device run: something failed"
exit $failed

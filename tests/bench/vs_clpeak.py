"""Reads of global memory by strata bench beside clpeak, by turns, at each vector width.

vs_clpeak.py STRATA [PLATFORM [ROUNDS [CLPEAK]]]: PLATFORM is a part of a platform's name (default: NVIDIA). Prints the
medians and their ratio."""

import json
import re
import statistics
import subprocess
import sys

WIDTHS = {"float": 1, "float2": 2, "float4": 4, "float8": 8, "float16": 16}
PLATFORMS_MOST = 8


def output(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def clpeak(program, index):
    """The GB/s by width, and what it printed."""
    text = output([program, "-p", str(index), "-d", "0", "--global-bandwidth"])
    return {WIDTHS[name]: float(rate) for name, rate in re.findall(r"(?m)^ +(float\d*) *: ([0-9.]+)$", text)}, text


def platform_index(program, wanted):
    for index in range(PLATFORMS_MOST):
        try:
            text = clpeak(program, index)[1]
        except subprocess.CalledProcessError:
            continue
        if re.search(r"(?m)^Platform: .*%s" % re.escape(wanted), text):
            return index
    sys.exit("clpeak finds no platform with '%s' in its name" % wanted)


def strata(program, wanted):
    document = json.loads(output([program, "bench", "--device", wanted, "--filter", "width.read.*", "--json", "-"]))
    return {int(figure["x"]): figure["median"] for figure in document["devices"][0]["figures"]}


def main(program, wanted="NVIDIA", rounds="5", peer="clpeak"):
    index = platform_index(peer, wanted)
    found = {width: ([], []) for width in WIDTHS.values()}
    for _ in range(int(rounds)):
        for place, rates in enumerate([strata(program, wanted), clpeak(peer, index)[0]]):
            for width, rate in rates.items():
                found[width][place].append(rate)
    print("words  strata GB/s  clpeak GB/s  ratio   (medians of %s rounds by turns)" % rounds)
    for width, (own, other) in found.items():
        own, other = statistics.median(own), statistics.median(other)
        print("%5d  %11.1f  %11.1f  %5.2f" % (width, own, other, own / other))


if __name__ == "__main__":
    main(*sys.argv[1:])

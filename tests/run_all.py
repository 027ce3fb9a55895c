"""Builds and runs all tests, each phase in a build folder of its own: run_all.py BUILD_FOLDER.

The last line is "N passed, N failed, N skipped" over all phases. Exit status 1 when one failed or none passed.
"""

import collections
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# `suites` empty means all of them. `sanitizers` is what -fsanitize gets. `patience` multiplies each test's time limit.
Phase = collections.namedtuple("Phase", "title folder options suites sanitizers patience")
Phase.__new__.__defaults__ = ([], "", 1)

# Fortified, as distributions build: the C library then ends a program that overruns a buffer it knows the size of.
# rusticl is left out under ThreadSanitizer: its locks cannot be seen, so that a report means nothing, and it is slow.
PHASES = [
    Phase("all tests, and the kernels under Oclgrind's checks", "", ["-Dc_args=-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"]),
    Phase("AddressSanitizer and UndefinedBehaviorSanitizer", "asan", ["-Db_sanitize=address,undefined"],
          ["unit", "contract"], "address,undefined", 3),
    Phase("ThreadSanitizer", "tsan", ["-Db_sanitize=thread", "-Dtest_runtimes=pocl,oclgrind"],
          ["unit", "contract"], "thread", 6),
]

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
OUTCOMES = {"OK": PASSED, "EXPECTEDFAIL": PASSED, "SKIP": SKIPPED}


def say(text):
    print(text, flush=True)


def options_of(phase):
    options = ["-Dtests=true", "-Dwerror=true"]
    if os.environ.get("STRATA_TEST_RUNTIMES"):
        options.append("-Dtest_runtimes=" + os.environ["STRATA_TEST_RUNTIMES"])
    if phase.sanitizers:
        # Clang links the sanitizer into programs only, so a shared library has open symbols.
        options.append("-Db_lundef=false")
    given = {option.split("=")[0]: option for option in options}
    for option in phase.options:
        given.setdefault(option.split("=")[0], option)
    return list(given.values())


def as_meson_prints(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return (" " if any(item.startswith("-") for item in value) else ",").join(value)
    return str(value)


def configured(folder, options):
    """Sets the folder up. One that has the options already is left alone, for the sake of a quick second run."""
    try:
        with open(os.path.join(folder, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
            current = {option["name"]: as_meson_prints(option["value"]) for option in json.load(file)}
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        return quietly(["meson", "setup", folder, ROOT] + options)
    wanted = dict(option[len("-D"):].split("=", 1) for option in options)
    if all(current.get(name) == value for name, value in wanted.items()):
        return True
    return quietly(["meson", "configure", folder] + options)


def quietly(command):
    """Runs a step whose words matter only when it fails."""
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        say(result.stdout)
        say("failed: " + " ".join(command))
    return result.returncode == 0


def sanitizer_prefix(sanitizers):
    """What a sanitized program must be started with: nothing, or setarch where the kernel's address randomization
    leaves no room for the sanitizer's map. None where no such program can run."""
    compiler = os.environ.get("CC", "cc").split()
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "main.c"), os.path.join(folder, "main")
        with open(source, "w", encoding="ascii") as file:
            file.write("int main(void) { return 0; }\n")
        build = subprocess.run(compiler + ["-fsanitize=" + sanitizers, source, "-o", program], capture_output=True)
        if build.returncode != 0:
            return None
        prefixes = [[]]
        if shutil.which("setarch"):
            prefixes.append(["setarch", platform.machine(), "-R"])
        for prefix in prefixes:
            if subprocess.run(prefix + [program], capture_output=True).returncode == 0:
                return prefix
    return None


def results(folder):
    """Pairs of outcome and test name from the log of the last run."""
    found = []
    with open(os.path.join(folder, "meson-logs", "testlog.json"), encoding="utf-8") as file:
        for line in file:
            test = json.loads(line)
            found.append((OUTCOMES.get(test["result"], FAILED), test["name"].split(" / ")[-1], test.get("stdout", "")))
    return found


def run(phase, build):
    """The results of one phase; a phase that cannot run is itself one skipped or failed result."""
    prefix = sanitizer_prefix(phase.sanitizers) if phase.sanitizers else []
    if prefix is None:
        return [(SKIPPED, phase.title, "skipped: programs built with -fsanitize=%s do not run here" % phase.sanitizers)]
    folder = os.path.join(build, phase.folder)
    if not configured(folder, options_of(phase)) or not quietly(["ninja", "-C", folder]):
        return [(FAILED, "build of " + folder, "")]
    log = os.path.join(folder, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.remove(log)
    command = prefix + ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs"]
    command += ["--timeout-multiplier", str(phase.patience)]
    for suite in phase.suites:
        command += ["--suite", suite]
    status = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode
    found = results(folder) if os.path.exists(log) else []
    if status != 0 and not any(outcome == FAILED for outcome, _, _ in found):
        found.append((FAILED, "meson test in " + folder, ""))
    return found


def main(build):
    total = collections.Counter()
    notes = []
    for phase in PHASES:
        say("\n== %s" % phase.title)
        for outcome, name, output in run(phase, build):
            total[outcome] += 1
            if outcome != PASSED:
                mark = "skipped: "
                reason = next((line[len(mark):] for line in output.splitlines() if line.startswith(mark)), "")
                notes.append("%s: %s (%s)" % (outcome, name, phase.title) + (": " + reason if reason else ""))
    say("\n" + "\n".join(notes))
    say("%d passed, %d failed, %d skipped" % (total[PASSED], total[FAILED], total[SKIPPED]))
    return 0 if total[PASSED] > 0 and total[FAILED] == 0 else 1


if __name__ == "__main__":
    try:
        sys.exit(main(os.path.abspath(sys.argv[1])))
    except KeyboardInterrupt:
        sys.exit(130)

"""Runs one test on one OpenCL runtime, away from the user's home and caches: run_on.py RUNTIME FOLDER COMMAND...

RUNTIME is a name of runtimes.py; "oclgrind-strict" is Oclgrind that watches for data races and uninitialized memory,
and then a single complaint fails the test. FOLDER is the test's own: "work" in it is emptied before each run, and the
caches of the runtime's compiler beside it stay. The test gets HOME, TMPDIR and STRATA_CACHE_DIR in there. Exit
status: the command's, or 77 (skipped) where the runtime is not installed.
"""

import os
import shutil
import subprocess
import sys

import runtimes

SKIPPED = 77
STRICT = "-strict"

# What would steer strata, a loader or a runtime from outside. On "system" the loader's and the runtimes' may stay.
STRATA_PREFIXES = ("STRATA_", "XDG_")
RUNTIME_PREFIXES = ("POCL_", "OCLGRIND_", "RUSTICL_", "OCL_ICD_", "OPENCL_LAYERS")


def clean_environment(name, folder):
    foreign = STRATA_PREFIXES if name == "system" else STRATA_PREFIXES + RUNTIME_PREFIXES
    kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    work = os.path.join(folder, "work")
    shutil.rmtree(work, ignore_errors=True)
    for key, name in (("HOME", "home"), ("TMPDIR", "tmp"), ("STRATA_CACHE_DIR", "cache")):
        kept[key] = os.path.join(work, name)
        os.makedirs(kept[key], mode=0o700)
    return kept


def run_strictly(command, environment, log):
    """Oclgrind itself never fails a program, so what it wrote to its log decides as well."""
    # One check at a time: together they are slower than one after the other. The check for uninitialized memory of
    # Oclgrind 21.10 keeps wrong books of vectors taken apart, and crashes on float4: STRATA_TEST_SCALAR asks the
    # test for scalar code alone.
    checks = ({"OCLGRIND_DATA_RACES": "1"}, {"OCLGRIND_UNINITIALIZED": "1", "STRATA_TEST_SCALAR": "1"})
    worst = 0
    for check in checks:
        if os.path.exists(log):
            os.remove(log)
        status = subprocess.run(command, env=dict(environment, OCLGRIND_LOG=log, **check)).returncode
        complaints = ""
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as file:
                complaints = file.read().strip()
        if complaints:
            print("Oclgrind complains:\n" + complaints)
        worst = worst or status or (1 if complaints else 0)
    return worst


def main(runtime, folder, command):
    strict = runtime.endswith(STRICT)
    name = runtime[:-len(STRICT)] if strict else runtime
    if name not in runtimes.NAMES:
        sys.exit("run_on.py: no runtime is called " + name)
    environment = clean_environment(name, folder)
    selected = runtimes.environment(name, folder)
    if selected is None:
        print("skipped: the OpenCL runtime %s is not installed" % name)
        return SKIPPED
    environment.update(selected)
    if strict:
        return run_strictly(command, environment, os.path.join(folder, "oclgrind.log"))
    sys.stdout.flush()
    os.execvpe(command[0], command, environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]))

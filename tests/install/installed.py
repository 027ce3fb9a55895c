"""An installed copy of strata in a folder of its own, and a consumer program that is built against it and run.

The build folder, prefix, libdir and version come in the environment: STRATA_BUILD, STRATA_PREFIX, STRATA_LIBDIR and
STRATA_VERSION. The copy is not at its prefix, so a consumer also shows that an installation can be moved.
"""

import glob
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer")
COMPILERS = {"c": "STRATA_CC", "c++": "STRATA_CXX"}


class Failure(Exception):
    """What went wrong, for a reader of the log."""


class Skip(Exception):
    """Why the test cannot run here."""


def run(command, environment=None):
    """What the command wrote to standard output. A command that fails ends the test."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise Failure("failed (%d): %s\n%s%s" % (done.returncode, " ".join(command), done.stdout, done.stderr))
    return done.stdout


def compiler(language):
    words = os.environ[COMPILERS[language]].split()
    if not words:
        raise Skip("this build has no C++ compiler")
    return words


def install(folder, *options):
    """Installs into the folder, and answers where the prefix and the libraries are then."""
    run(["meson", "install", "-C", os.environ["STRATA_BUILD"], "--no-rebuild", "--quiet", "--destdir", folder]
        + list(options))
    prefix = os.path.join(folder, os.environ["STRATA_PREFIX"].lstrip("/"))
    libraries = os.path.join(folder, os.path.join(os.environ["STRATA_PREFIX"], os.environ["STRATA_LIBDIR"]).lstrip("/"))
    if not os.path.isdir(prefix) or not os.path.isdir(libraries):
        raise Failure("nothing was installed into %s and %s" % (prefix, libraries))
    return prefix, libraries


def remove_shared(libraries):
    """A linker takes the shared library where it finds both, and the loader must not find it either."""
    for path in glob.glob(os.path.join(libraries, "libstrata.*")):
        if not path.endswith(".a"):
            os.remove(path)


def check_program(program, folder, environment=None):
    """Runs the consumer without a device, and compares what it says with what it must."""
    vendors = os.path.join(folder, "no-vendors")
    os.makedirs(vendors, exist_ok=True)
    output = run([program], {"OCL_ICD_VENDORS": vendors, **(environment or {})})
    start = "strata %s, 4 bytes, " % os.environ["STRATA_VERSION"]
    # A loader that does not know the variable finds the devices of this machine.
    if output not in (start + "NO_DEVICE\n", start + "OK\n"):
        raise Failure("the consumer said %r instead of %r" % (output, start + "NO_DEVICE\n"))
    print("%s: %s" % (os.path.basename(program), output), end="")


def main(check, *arguments):
    """Calls check(folder, *arguments) with a temporary folder; answers the exit status."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            check(folder, *arguments)
    except Skip as reason:
        print("skipped: %s" % reason)
        return SKIPPED
    except Failure as reason:
        print(reason)
        return 1
    return 0


def script(check):
    sys.exit(main(check, *sys.argv[1:]))

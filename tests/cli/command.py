"""Runs the program strata for the tests: what it printed, how it ended, and a terminal for its messages."""

import json
import os
import pty
import select
import subprocess
import sys
import unittest

# A first start compiles kernels, and Oclgrind interprets them.
PATIENCE = 120

PROGRAM = None

DONE, CHECK, USAGE, NO_DEVICE, DEVICE, FILE = 0, 1, 2, 3, 4, 5


def variables(changes):
    """The environment with `changes`; None takes a variable away."""
    result = dict(os.environ)
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def strata(*arguments, **options):
    """Runs strata to its end. `env` holds changes, `data` is its standard input."""
    env = variables(options.pop("env", {}))
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    if "data" in options:
        options["input"] = options.pop("data")
    elif "stdin" not in options:
        options["stdin"] = subprocess.DEVNULL
    result = subprocess.run([PROGRAM] + list(arguments), env=env, timeout=PATIENCE, **options)
    result.out = result.stdout.decode("utf-8") if result.stdout is not None else ""
    result.err = result.stderr.decode("utf-8") if result.stderr is not None else ""
    return result


def start(*arguments, **options):
    """Starts strata and does not wait."""
    env = variables(options.pop("env", {}))
    return subprocess.Popen([PROGRAM] + list(arguments), env=env, **options)


class Terminal:
    """A terminal of 80 columns for the messages of a program that was started."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        self.seen = b""

    def read_until(self, enough, seconds=PATIENCE):
        """Collects what is written until `enough(seen)`; whether it came to that in time."""
        while not enough(self.seen):
            ready, _, _ = select.select([self.master], [], [], seconds)
            if not ready:
                return False
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                piece = b""
            if not piece:
                return enough(self.seen)
            self.seen += piece
        return True

    def close_slave(self):
        os.close(self.slave)

    def close(self):
        os.close(self.master)


class Case(unittest.TestCase):
    maxDiff = None

    def check(self, result, code, words="", out=None):
        """The exit code, words on standard error, and standard output, which is empty after a failure."""
        self.assertEqual(result.returncode, code, result.err + result.out)
        if out is not None:
            self.assertEqual(result.out, out)
        if code != DONE:
            self.assertEqual(result.out, "")
            self.assertTrue(result.err.startswith("strata: "), result.err)
        self.assertIn(words, result.err)

    def json(self, *arguments, **options):
        result = strata(*arguments, **options)
        self.assertEqual(result.returncode, DONE, result.err)
        return json.loads(result.out)


def main():
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    module = sys.modules["__main__"]
    unittest.main(module=module, verbosity=1)

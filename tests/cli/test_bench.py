"""The command bench: the table, the JSON, an interrupt, wrong results, and what cannot be measured or written."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import command
from command import CHECK, DONE, FILE, NO_DEVICE, USAGE, Terminal, start, strata

UTF8 = {"LC_ALL": "C.UTF-8"}
ASCII = {"LC_ALL": "C"}
INTERRUPTED = 130

KINDS = ["pageable", "pinned", "wrapped", "shared"]
STRIDES = [1, 2, 4, 8, 16, 32, 64]
IDS = (["global.read", "global.write", "global.copy", "local.read-write", "constant.same", "constant.different"]
       + [kind + way for kind in KINDS for way in (".to-device", ".from-device")]
       + ["reduction.naive", "reduction.strided", "reduction.strata"] + ["stride.%d" % stride for stride in STRIDES])

# A runtime that answers every launch at once and does nothing.
IDLE_RUNTIME = """
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint count, const cl_event *events,
                              cl_event *event) {
    (void)kernel, (void)dimensions, (void)offset, (void)global, (void)local;
    return clEnqueueMarkerWithWaitList(queue, count, events, event);
}
"""


def figures_of(document):
    return {figure["id"]: figure for figure in document["devices"][0]["figures"]}


class Quick(command.Case):
    """One run for all that can be seen in it."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bench.json")
            cls.result = strata("bench", "--quick", "--json", path, env=UTF8)
            with open(path, encoding="utf-8") as file:
                cls.document = json.load(file)
        cls.figures = figures_of(cls.document)

    def test_ends_well(self):
        self.check(self.result, DONE)
        self.assertEqual(self.result.err, "")

    def test_table_fits_and_has_all_kinds(self):
        for line in self.result.out.splitlines():
            self.assertLessEqual(len(line), 100, line)
        for kind in ["global", "local", "constant", "reduce"] + KINDS:
            self.assertRegex(self.result.out, r"(?m)^%s  +\S" % kind)
        self.assertRegex(self.result.out, r"(?m)^one word of every +1 +2 +4 +8 +16 +32 +64$")
        self.assertIn("Use here: ", self.result.out)

    def test_table_and_json_agree(self):
        for figure in self.figures.values():
            if figure["median"] is None or figure["topic"] == "stride":
                continue
            kind, what = figure["name"].split(", ", 1)
            with self.subTest(figure["id"]):
                line = re.search(r"(?m)^%s  +%s[ ,].*$" % (kind, what), self.result.out).group(0)
                shown = float(re.search(r"  +(\d+\.?\d*)\*? ", line).group(1))
                self.assertAlmostEqual(shown, figure["median"], delta=max(0.005 * figure["median"], 0.0001))

    def test_every_figure_or_the_reason(self):
        self.assertEqual(list(self.figures), IDS)
        for name, figure in self.figures.items():
            with self.subTest(name):
                self.assertEqual(figure["unit"], "GB/s")
                self.assertTrue(figure["convention"].startswith("bytes "))
                if figure["median"] is None:
                    self.assertGreater(len(figure["reason"]), 10)
                    self.assertFalse(figure["checked"])
                    continue
                self.assertIsNone(figure["reason"])
                self.assertTrue(figure["checked"])
                self.assertLessEqual(figure["p5"], figure["median"])
                self.assertLessEqual(figure["median"], figure["p95"])
                self.assertTrue(0 < figure["median"] < 1e6)
                self.assertGreaterEqual(figure["n"], 3)
                self.assertEqual(figure["spread"], "percentiles" if figure["n"] >= 20 else "range")

    def test_bytes_are_what_the_convention_says(self):
        device = self.document["devices"][0]
        size, exchange = device["global_bytes"], device["exchange_bytes"]
        self.assertEqual(size & (size - 1), 0)
        expected = {"global.read": size, "global.write": size, "global.copy": 2 * size, "reduction.naive": size,
                    "reduction.strided": size, "reduction.strata": size}
        expected.update({kind + way: exchange for kind in KINDS for way in (".to-device", ".from-device")})
        expected.update({"stride.%d" % stride: size // stride for stride in STRIDES})
        for name, count in expected.items():
            if self.figures[name]["median"] is not None:
                self.assertEqual(self.figures[name]["bytes"], count, name)

    def test_never_more_than_half_of_the_memory(self):
        device = self.document["devices"][0]
        memory = self.json("info", "--json", "--device", str(device["index"]))["devices"][0]["memory"]
        self.assertLessEqual(device["global_bytes"], memory["global"]["max_buffer_bytes"])
        self.assertLessEqual(2 * device["global_bytes"] + 2 * device["exchange_bytes"], memory["global"]["bytes"] // 2)

    def test_says_where_and_how(self):
        self.assertRegex(self.document["date"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
        self.assertTrue(self.document["command"].startswith("strata bench --quick --json "))
        self.assertTrue(self.document["quick"])
        self.assertFalse(self.document["interrupted"])
        self.assertGreater(self.document["machine"]["cores"], 0)
        self.assertRegex(self.document["version"], r"\A\d+\.\d+\.\d+\Z")
        for key in ["name", "platform", "driver_version"]:
            self.assertGreater(len(self.document["devices"][0][key]), 0)


class Interrupt(command.Case):
    def interrupt(self, enough, *arguments):
        """Runs the bench until `enough` is seen on its terminal, and answers its standard output."""
        terminal = Terminal()
        process = start("bench", *arguments, env=dict(ASCII, TERM="xterm"), stdout=subprocess.PIPE,
                        stderr=terminal.slave)
        terminal.close_slave()
        self.assertTrue(terminal.read_until(lambda seen: enough in seen), terminal.seen)
        process.send_signal(signal.SIGINT)
        out = process.stdout.read().decode()
        self.assertEqual(process.wait(timeout=command.PATIENCE), INTERRUPTED)
        process.stdout.close()
        terminal.read_until(lambda seen: seen.endswith(b"\r\x1b[K"), 10)
        self.assertTrue(terminal.seen.endswith(b"\r\x1b[K"), terminal.seen)
        terminal.close()
        return out

    def test_keeps_what_was_measured(self):
        document = json.loads(self.interrupt(b"local and constant memory  [", "--json", "-"))
        figures = figures_of(document)
        self.assertTrue(document["interrupted"])
        self.assertFalse(document["quick"])
        self.assertEqual(list(figures), IDS)
        self.assertIsNone(figures["stride.64"]["median"])
        reasons = [figure["reason"] for figure in figures.values()]
        self.assertEqual(reasons.count("interrupted"), 1)
        at = reasons.index("interrupted")
        self.assertGreaterEqual(at, 3)
        self.assertEqual(set(reasons[:at]), {None})
        self.assertEqual(set(reasons[at + 1:]), {"not measured"})

    def test_prints_the_table(self):
        out = self.interrupt(b" %")
        self.assertTrue(out.startswith("Device "), out)
        self.assertRegex(out, r"(?m)^n/a: [a-z]+, .*: interrupted$")


class WrongResults(command.Case):
    def test_are_no_figures(self):
        compiler = os.environ.get("CC", "cc").split()
        if shutil.which(compiler[0]) is None:
            self.skipTest("there is no compiler")
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "idle.c"), os.path.join(folder, "idle.so")
            with open(source, "w", encoding="ascii") as file:
                file.write(IDLE_RUNTIME)
            subprocess.run(compiler + ["-shared", "-fPIC", "-o", library, source, "-lOpenCL"], check=True)
            # A sanitizer wants to come first, but does not need to.
            options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
            result = strata("bench", "--quick", "--json", "-", env={"LD_PRELOAD": library, "ASAN_OPTIONS": options})
        self.assertEqual(result.returncode, CHECK, result.err)
        self.assertIn("strata: global, read: wrong result: ", result.err)
        figures = figures_of(json.loads(result.out))
        for name in ["global.read", "global.write", "global.copy", "local.read-write", "reduction.strata", "stride.1"]:
            with self.subTest(name):
                self.assertIsNone(figures[name]["median"])
                self.assertFalse(figures[name]["checked"])
                self.assertRegex(figures[name]["reason"], "wrong result|not credible")


class Mistakes(command.Case):
    def test_no_such_device(self):
        for arguments in [[], ["--json", "-"]]:
            self.check(strata("bench", "--quick", "--device", "nothing like it", *arguments), NO_DEVICE)

    def test_a_file_that_cannot_be_written_is_told_before_measuring(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in [folder, os.path.join(folder, "missing", "bench.json")]:
                begun = time.monotonic()
                self.check(strata("bench", "--json", path), FILE, "%s: cannot write: " % path)
                self.assertLess(time.monotonic() - begun, 10)

    def test_a_failure_leaves_the_file_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            old, new = os.path.join(folder, "old.json"), os.path.join(folder, "new.json")
            with open(old, "w", encoding="ascii") as file:
                file.write("precious")
            for path in [old, new]:
                self.check(strata("bench", "--device", "nothing like it", "--json", path), NO_DEVICE)
            with open(old, encoding="ascii") as file:
                self.assertEqual(file.read(), "precious")
            self.assertFalse(os.path.exists(new))

    def test_usage(self):
        for arguments, words in [(["--fast"], "there is no option --fast"), (["--json"], "--json needs a value"),
                                 (["--quick", "--quick"], "--quick is given twice"),
                                 (["extra"], "the argument 'extra' is one too many")]:
            self.check(strata("bench", *arguments), USAGE, words)


if __name__ == "__main__":
    command.main()

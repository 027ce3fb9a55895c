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
TIMES = {"local.latency": "ns", "launch": "us", "map": "us", "create.device": "us", "create.pinned": "us",
         "create.wrapped": "us", "create.shared": "us"}
OPERATIONS = ["private.registers", "private.indexed", "atomics.one", "atomics.many"]
QUICK_CHAINS = ["4KiB", "64KiB", "1MiB", "16MiB"]
# What --quick measures.
IDS = (["global.read", "global.write", "global.copy", "global.triad", "global.gather", "local.read-write",
        "constant.same", "constant.different", "private.registers", "private.indexed"]
       + [kind + way for kind in KINDS for way in (".to-device", ".from-device", ".both-ways")
          if way != ".both-ways" or kind in ("pageable", "pinned")]
       + list(TIMES) + ["create.touched", "atomics.one", "atomics.many"]
       + ["reduction.naive", "reduction.strided", "reduction.strata"] + ["stride.%d" % stride for stride in STRIDES]
       + ["latency." + size for size in QUICK_CHAINS])


def unit_of(name):
    if name.startswith("latency."):
        return "ns"
    return TIMES.get(name, "Gop/s" if name in OPERATIONS else "GB/s")


def all_ids():
    return [line.split()[0] for line in strata("bench", "--list").out.splitlines()]


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
            if figure["median"] is None or figure["topic"] in ("stride", "latency"):
                continue
            kind, what = figure["name"].split(", ", 1)
            with self.subTest(figure["id"]):
                line = re.search(r"(?m)^%s  +%s[ ,].*$" % (re.escape(kind), re.escape(what)), self.result.out).group(0)
                shown = float(re.search(r"  +(\d+\.?\d*)\*? ", line).group(1))
                self.assertAlmostEqual(shown, figure["median"], delta=max(0.0051 * figure["median"], 0.0001))

    def test_every_figure_or_the_reason(self):
        self.assertEqual(list(self.figures), IDS)
        for name, figure in self.figures.items():
            with self.subTest(name):
                self.assertEqual(figure["unit"], unit_of(name))
                self.assertEqual(figure["unit"] == "GB/s", figure["convention"].startswith("bytes "))
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

    def test_work_is_what_the_convention_says(self):
        device = self.document["devices"][0]
        size, exchange = device["global_bytes"], device["exchange_bytes"]
        self.assertEqual(size & (size - 1), 0)
        expected = {"global.read": size, "global.write": size, "global.copy": 2 * size, "global.gather": size,
                    "global.triad": 3 * size // 2, "launch": 1, "create.pinned": 1, "reduction.naive": size,
                    "reduction.strided": size, "reduction.strata": size}
        expected.update({kind + way: exchange for kind in KINDS for way in (".to-device", ".from-device")})
        expected.update({kind + ".both-ways": 2 * exchange for kind in KINDS[:2]})
        expected.update({"stride.%d" % stride: size // stride for stride in STRIDES})
        for name, count in expected.items():
            if self.figures[name]["median"] is not None:
                self.assertEqual(self.figures[name]["work"], count, name)

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
        document = json.loads(self.interrupt(b"memory on the chip  [", "--json", "-"))
        figures = figures_of(document)
        self.assertTrue(document["interrupted"])
        self.assertFalse(document["quick"])
        self.assertEqual(list(figures), all_ids())
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


class Choice(command.Case):
    def ids(self, *arguments):
        result = strata("bench", "--list", *arguments, env={"OCL_ICD_VENDORS": "/nonexistent"})
        self.check(result, DONE)
        return [line.split()[0] for line in result.out.splitlines()]

    def test_list(self):
        everything = self.ids()
        self.assertEqual(len(set(everything)), len(everything))
        self.assertEqual(self.ids("--quick"), IDS)
        self.assertEqual([name for name in everything if name in IDS], IDS)
        self.assertEqual([name for name in everything if name.startswith("offset.")],
                         ["offset.%d" % offset for offset in range(32)])
        self.assertEqual([name for name in everything if name.startswith("conflicts.")],
                         ["conflicts.%d" % stride for stride in range(1, 34)])
        for access in ["read", "write", "copy", "triad"]:
            for width in [1, 2, 4, 8, 16]:
                self.assertIn("width.%s.%d" % (access, width), everything)

    def test_filter(self):
        self.assertEqual(self.ids("--filter", "stride.1"), ["stride.1"])
        self.assertEqual(self.ids("--quick", "--filter", "latency"),
                         ["local.latency"] + [name for name in all_ids() if name.startswith("latency.")])
        self.assertEqual(self.ids("--filter", "to-device"), [kind + ".to-device" for kind in KINDS])
        self.assertEqual(self.ids("--filter", "stride.?,map"), ["map", "stride.1", "stride.2", "stride.4", "stride.8"])
        self.assertEqual(self.ids("--filter", "offset.7", "--quick"), ["offset.7"])
        for nothing in ["nonsense", "", ",", "stride.[3]"]:
            self.check(strata("bench", "--filter", nothing), USAGE, "fits none of the figures")

    def test_points_of_every_sweep_on_all_devices(self):
        names = ["width.read.2", "width.write.16", "width.copy.8", "width.triad.1", "offset.3", "conflicts.32",
                 "latency.8KiB", "size.pinned-to-device.64KiB", "size.pageable-from-device.4KiB"]
        result = strata("bench", "--quick", "--device", "all", "--filter", ",".join(names), "--json", "-")
        self.check(result, DONE)
        for device in json.loads(result.out)["devices"]:
            figures = {figure["id"]: figure for figure in device["figures"]}
            self.assertEqual(set(names), set(figures))
            for name, figure in figures.items():
                with self.subTest(name):
                    self.assertIsNotNone(figure["median"], figure["reason"])
                    self.assertTrue(figure["checked"])

    def test_a_sweep_says_where_half_is_reached(self):
        result = strata("bench", "--quick", "--filter", "size.pinned-to-device.4KiB,size.pinned-to-device.1MiB")
        self.check(result, DONE)
        self.assertRegex(result.out, r"(?m)^Half of the best rate from (4KiB|1MiB) on\.$")
        self.assertRegex(result.out, r"(?m)^pinned to device +4KiB +1MiB$")


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
        for name in ["global.read", "global.write", "global.copy", "global.triad", "global.gather", "local.read-write",
                     "atomics.one", "reduction.strata", "stride.1", "latency.4KiB"]:
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

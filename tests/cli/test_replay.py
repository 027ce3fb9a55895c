"""strata replay: what it counts, the timeline that it writes, files that are no traces, and traces of the program's own
runs."""

import json
import os
import random
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import command
import trace_files
from command import DONE, FILE, USAGE, start, strata

MIB = 1 << 20


def sample():
    """One of everything: 3 MiB alive at most in pool 1, and memory of its own beside."""
    trace = trace_files.Trace()
    trace.pool(1, "textures")
    trace.grow(1, 1, 4 * MIB)
    first = trace.create(MIB, pool=1, name="first \"n\u00e9\"")
    second = trace.create(2 * MIB, pool=1, name="second", thread=2)
    trace.fail(1 << 40, pool=1)
    trace.wait(1, thread=2)
    trace.destroy(first, thread=2)
    trace.create(MIB, pool=1, flags=trace_files.REUSED)
    trace.create(512 * 1024)
    wrapped = trace.create(4096, kind=2)
    trace.destroy(second)
    trace.destroy(wrapped)
    trace.trim(1, 1, 4 * MIB)
    return trace


class Files(command.Case):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)

    def path(self, name):
        return os.path.join(self.holder.name, name)

    def write(self, data, name="a.trace"):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)


class Replay(Files):
    def test_counts_what_the_trace_has(self):
        run = self.json("replay", self.write(sample().bytes()), "--json", "--repeat", "2")
        self.assertEqual(run["trace"]["device"], "a device")
        self.assertFalse(run["trace"]["cut"])
        for key, value in [("creates", 5), ("failures", 1), ("reused", 1), ("grown", 1), ("trimmed", 1), ("waits", 1),
                           ("left_out", 1), ("peak_live_bytes", 3 * MIB + 512 * 1024 + 4096)]:
            self.assertEqual(run["trace"][key], value, key)
        self.assertEqual([result["with"] for result in run["results"]], ["pool", "dedicated", "driver"])
        for result in run["results"]:
            self.assertEqual(result["creates"], 4)
            self.assertEqual(result["failures"], 0)
            self.assertEqual(result["peak_live_bytes"], 3 * MIB + 512 * 1024)
            self.assertGreater(result["seconds"], 0)
            self.assertAlmostEqual(result["ns_per_pair"], result["seconds"] * 1e9 / 4, delta=1)
            self.assertGreaterEqual(result["peak_reserved_bytes"], result["peak_live_bytes"])
            self.assertAlmostEqual(result["reserved_over_live"],
                                   result["peak_reserved_bytes"] / result["peak_live_bytes"])
        self.assertEqual(run["results"][1]["peak_reserved_bytes"], 3 * MIB + 512 * 1024)

    def test_table(self):
        result = strata("replay", self.write(sample().bytes()), "-w", "pool")
        self.check(result, DONE)
        self.assertIn("5 buffers (1 in a kept piece), 1 failed\n", result.out)
        self.assertIn("1 buffers without memory of strata's are left out\n", result.out)
        self.assertRegex(result.out, r"(?m)^with +ms +ns a pair +peak live +peak reserved +over live +failures")
        self.assertRegex(result.out, r"(?m)^pool +[0-9.]+ +[0-9]+ +3\.5 MiB +[0-9.]+ MiB +[0-9.]+ +0 +[1-9] +0$")
        self.assertNotIn("\ndriver ", result.out)

    def test_standard_input(self):
        result = strata("replay", "-", "--with", "driver", data=sample().bytes())
        self.check(result, DONE)
        self.assertRegex(result.out, r"(?m)^driver ")

    def test_a_limit_makes_failures_and_no_fault(self):
        run = self.json("replay", self.write(sample().bytes()), "--json", "--limit", "2MiB", "--repeat", "1")
        for result in run["results"]:
            self.assertEqual(result["failures"], 1, result)
            self.assertLessEqual(result["peak_live_bytes"], 2 * MIB)
        self.assertLessEqual(run["results"][0]["peak_reserved_bytes"], 2 * MIB)

    def test_more_than_the_device_has(self):
        trace = trace_files.Trace()
        huge = trace.create(1 << 60)
        small = trace.create(1000)
        trace.destroy(huge)
        trace.destroy(small)
        run = self.json("replay", self.write(trace.bytes()), "--json", "--repeat", "1")
        for result in run["results"]:
            self.assertEqual((result["failures"], result["creates"], result["peak_live_bytes"]), (1, 2, 1000))

    def test_sizes_of_pools(self):
        trace = trace_files.Trace()
        for number in [trace.create(100 * 1024) for _ in range(40)]:
            trace.destroy(number)
        path = self.write(trace.bytes())
        one = self.json("replay", path, "--json", "--with", "pool", "--block", "8MiB")["results"][0]
        many = self.json("replay", path, "--json", "--with", "pool", "--block", "1MiB", "--max-block",
                         "1MiB")["results"][0]
        own = self.json("replay", path, "--json", "--with", "pool", "--dedicated-from", "64KiB")["results"][0]
        self.assertEqual((one["blocks"], many["blocks"], own["blocks"]), (1, 4, 40))
        self.assertEqual(one["peak_reserved_bytes"], 8 * MIB)
        self.assertEqual(own["peak_reserved_bytes"], 40 * 100 * 1024)

    def test_kinds(self):
        trace = trace_files.Trace()
        for kind in (0, 1, 3):
            trace.destroy(trace.create(10000, kind=kind))
        run = self.json("replay", self.write(trace.bytes()), "--json", "--lazy")
        for result in run["results"]:
            self.assertEqual((result["creates"], result["failures"]), (3, 0))

    def test_many_events_are_fast(self):
        trace, generator, live = trace_files.Trace(), random.Random(7), []
        for _ in range(50000):
            if live and generator.random() < 0.4:
                trace.destroy(live.pop(generator.randrange(len(live))))
            else:
                live.append(trace.create(generator.randrange(1, 16384)))
        path = self.write(trace.bytes())
        begin = time.monotonic()
        result = self.json("replay", path, "--json", "--with", "pool", "--repeat", "1")["results"][0]
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(result["creates"], trace.buffers)
        self.assertLess(result["reserved_over_live"], 1.25)

    def test_interrupt(self):
        trace = trace_files.Trace()
        for _ in range(20000):
            trace.destroy(trace.create(4096))
        process = start("replay", self.write(trace.bytes()), "--with", "dedicated", "--repeat", "1000",
                        stdout=-1, stderr=-1)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=command.PATIENCE)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(out, b"")


class Chrome(Files):
    def draw(self, trace):
        result = strata("replay", self.write(trace.bytes()), "--chrome", self.path("a.json"))
        self.check(result, DONE, out="")
        with open(self.path("a.json"), encoding="utf-8") as file:
            return json.load(file)["traceEvents"]

    def test_every_event_is_well_formed(self):
        events = self.draw(sample())
        self.assertEqual({event["ph"] for event in events}, {"M", "b", "e", "C", "i", "X"})
        for event in events:
            self.assertGreaterEqual(event["ts"], 0)
            self.assertEqual(event["pid"], 1)
            self.assertTrue(event["name"])
        self.assertEqual(sorted(event["ts"] for event in events if event["ph"] != "X"),
                         [event["ts"] for event in events if event["ph"] != "X"])

    def test_lives_are_pairs(self):
        begun, ended = {}, {}
        for event in self.draw(sample()):
            if event["ph"] == "b":
                self.assertNotIn(event["id"], begun)
                begun[event["id"]] = event
            elif event["ph"] == "e":
                self.assertNotIn(event["id"], ended)
                self.assertEqual(event["name"], begun[event["id"]]["name"])
                self.assertGreaterEqual(event["ts"], begun[event["id"]]["ts"])
                ended[event["id"]] = event
        self.assertEqual(begun.keys(), ended.keys())
        self.assertEqual([begun[i]["name"] for i in range(5)],
                         ["first \"n\u00e9\"", "second", "unnamed", "unnamed", "unnamed"])
        self.assertEqual(begun[0]["args"], {"bytes": MIB, "given": MIB, "kind": "DEVICE", "reused": False, "pool": 1})
        self.assertEqual(begun[3]["args"]["pool"], 0)
        # Created 3 microseconds after the first event, and destroyed 8 after it.
        self.assertEqual((begun[0]["ts"], ended[0]["ts"]), (3, 8))

    def test_counters_instants_and_waits(self):
        events = self.draw(sample())
        counters = {}
        for event in events:
            if event["ph"] == "C":
                counters.setdefault(event["name"], []).append(event["args"]["bytes"])
        self.assertEqual(counters, {
            "pool 1 textures (DEVICE): reserved": [4 * MIB, 0],
            "pool 1 textures (DEVICE): live": [MIB, 3 * MIB, 2 * MIB, 3 * MIB, MIB],
            "memory of its own: live": [512 * 1024, 512 * 1024 + 4096, 512 * 1024]})
        self.assertEqual([event["name"] for event in events if event["ph"] == "i"],
                         ["grow", "create failed: OUT_OF_MEMORY", "trim"])
        waits = [event for event in events if event["ph"] == "X"]
        self.assertEqual([(wait["ts"], wait["dur"], wait["tid"]) for wait in waits], [(6, 1, 2)])

    def test_standard_output(self):
        result = strata("replay", self.write(sample().bytes()), "-c", "-")
        self.check(result, DONE)
        self.assertTrue(json.loads(result.out)["traceEvents"])

    def test_file_that_cannot_be_written(self):
        path = self.path("none/a.json")
        self.check(strata("replay", self.write(sample().bytes()), "--chrome", path), FILE, path + ": cannot write: ")


class Wrong(Files):
    def test_files_that_are_no_traces(self):
        for data, words in [(b"", "it is empty"), (b"{\"devices\": []}", "it is no trace of strata"),
                            (trace_files.head(), "the trace was cut before its first events"),
                            (trace_files.head(2), "it is a trace of version 2, and this strata reads version 1")]:
            path = self.write(data)
            for more in ([], ["--chrome", "-"]):
                result = strata("replay", path, *more)
                self.check(result, FILE, "%s: %s" % (path, words))
                self.assertEqual(result.err.count("\n"), 1)
        self.check(strata("replay", self.holder.name), FILE, "cannot read: it is a folder")
        self.check(strata("replay", self.path("missing")), FILE, "cannot open: there is no such file")

    def test_a_cut_file_is_read_up_to_its_last_whole_chunk(self):
        trace = trace_files.Trace()
        for _ in range(1000):
            trace.destroy(trace.create(256))
        path = self.write(trace.bytes()[:-1])
        result = strata("replay", path, "--json", "--with", "driver")
        self.assertEqual(result.returncode, DONE, result.err)
        self.assertEqual(result.err, "strata: %s: the trace was cut or damaged behind its first 2000 events\n" % path)
        self.assertTrue(json.loads(result.out)["trace"]["cut"])

    def test_usage(self):
        path = self.write(sample().bytes())
        self.check(strata("replay"), USAGE, "TRACE is missing")
        self.check(strata("replay", path, "--repeat", "0"), USAGE, "--repeat can be 1 to 1000")
        self.check(strata("replay", path, "--with", "pol"), USAGE, "did you mean pool?")
        self.check(strata("replay", path, "--device", "no such device"), command.NO_DEVICE)


class Own(Files):
    """The environment's STRATA_TRACE with a program of strata's."""

    def test_trace_of_a_reduction(self):
        numbers, path = self.write(bytes(4 * 100000), "zeros.f32"), self.path("own.trace")
        self.check(strata("reduce", numbers, "--op", "sum", "--type", "f32", env={"STRATA_TRACE": path}), DONE)
        run = self.json("replay", path, "--json")
        self.assertFalse(run["trace"]["cut"])
        self.assertGreaterEqual(run["trace"]["creates"], 3)
        self.assertEqual(run["trace"]["failures"], 0)
        events = json.loads(strata("replay", path, "--chrome", "-").out)["traceEvents"]
        names = {event["name"] for event in events if event["ph"] == "b"}
        self.assertLessEqual({"piece", "staging"}, names)

    def test_file_that_cannot_be_written_is_a_warning(self):
        numbers = self.write(bytes(4000), "zeros.f32")
        result = strata("reduce", numbers, "--op", "sum", "--type", "f32", env={"STRATA_TRACE": "/nowhere/at/all"})
        self.check(result, DONE, "/nowhere/at/all")
        self.assertIn("0.0", result.out)


if __name__ == "__main__":
    command.main()

"""Stored runs: bench --compare, the page of bench --html and strata report, and files that are no runs."""

import copy
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import command
from command import CHECK, DONE, FILE, USAGE, strata

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
FIGURES = "stride,launch,latency.4KiB,latency.64KiB,global.read"


class Page(html.parser.HTMLParser):
    """What a page refers to, and the text of its elements."""

    def __init__(self, text):
        super().__init__()
        self.references, self.texts, self.tag = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tag = tag
        self.references += [value for name, value in attributes if name in ("src", "href", "srcset", "action")]

    def handle_data(self, data):
        if self.tag not in ("script", "style"):
            self.texts.append(data)


class Stored(command.Case):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = cls.holder.name
        cls.path = os.path.join(cls.folder, "run.json")
        result = strata("bench", "--quick", "--filter", FIGURES, "--json", cls.path)
        assert result.returncode == DONE, result.err
        with open(cls.path, encoding="utf-8") as file:
            cls.run_before = json.load(file)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def changed(self, name, factor, wanted=lambda figure: True):
        """The stored run with all figures that are wanted `factor` times as fast."""
        run = copy.deepcopy(self.run_before)
        for figure in run["devices"][0]["figures"]:
            if figure["median"] is not None and wanted(figure):
                for key in ("p5", "median", "p95"):
                    figure[key] *= 1 / factor if figure["unit"] in ("ns", "us") else factor
        return self.write(name, run)


class Compare(Stored):
    def compare(self, old, *arguments):
        return strata("bench", "--quick", "--filter", FIGURES, "--compare", old, *arguments)

    def test_slower_beyond_both_spreads(self):
        result = self.compare(self.changed("fast.json", 100))
        self.assertEqual(result.returncode, CHECK, result.err)
        self.assertRegex(result.out, r"(?m)^device +figure +before +now +slower by$")
        for name in ["stride.1", "global.read", "latency.4KiB", "launch"]:
            self.assertRegex(result.out, r"(?m) %s +[0-9.e+]+ +[0-9.e+]+ +(GB/s|ns|us) +[0-9.]+ %%$" % re.escape(name))
        self.assertRegex(result.out, r"(?m)^11 figures compared, 11 slower and 0 faster beyond both spreads and 5 %$")

    def test_faster_is_no_fault(self):
        result = self.compare(self.changed("slow.json", 0.01))
        self.check(result, DONE)
        self.assertRegex(result.out, r"(?m)^11 figures compared, 0 slower and 11 faster ")

    def test_threshold(self):
        result = self.compare(self.changed("fast.json", 100), "--threshold", "1000000")
        self.check(result, DONE)
        self.assertIn("0 slower", result.out)

    def test_one_figure_is_enough(self):
        old = self.changed("one.json", 100, lambda figure: figure["id"] == "latency.64KiB")
        result = self.compare(old, "--json", "-", "--threshold", "400")
        self.assertEqual(result.returncode, CHECK, result.err)
        self.assertIn("latency.64KiB", result.err)
        self.assertNotIn("stride", result.err)
        self.assertEqual(len(json.loads(result.out)["devices"][0]["figures"]), 11)

    def test_nothing_in_common(self):
        other = copy.deepcopy(self.run_before)
        other["devices"][0]["name"] = "something else"
        path = self.write("other.json", other)
        result = self.compare(path)
        self.assertEqual(result.returncode, FILE)
        self.assertIn("%s has no figure in common with this run" % path, result.err)

    def test_files_that_are_no_runs(self):
        none = copy.deepcopy(self.run_before)
        none["devices"][0]["figures"][0]["median"] = "much"
        for content, words in [("", "it is empty"), ("{", "it is no JSON"), ("[]", "no run of strata bench"),
                               ("{\"devices\": [{}]}", "device 0 has no name"), (none, "figure 0 of device 0")]:
            path = self.write("bad.json", content)
            self.check(self.compare(path), FILE, "%s: " % path)
            self.check(self.compare(path), FILE, words)
        self.check(self.compare(self.folder), FILE, "cannot read: it is a folder")
        self.check(self.compare(os.path.join(self.folder, "missing")), FILE, "there is no such file")


class Pages(Stored):
    def setUp(self):
        self.page = os.path.join(self.folder, "page.html")
        result = strata("report", self.path, "--html", self.page)
        if "built without Chart.js" in result.err:
            self.skipTest("this build has no charting library")
        self.check(result, DONE, out="")

    def read(self):
        with open(self.page, encoding="utf-8") as file:
            return file.read()

    def browse(self, path):
        """The document after its scripts have run, and what they said on the console."""
        browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
        if browser is None:
            self.skipTest("there is no Chromium")
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile,
                                   "--virtual-time-budget=10000", "--enable-logging=stderr", "--dump-dom",
                                   "file://" + path], capture_output=True, text=True, timeout=120, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


class Report(Pages):
    def test_needs_nothing_but_itself(self):
        self.assertEqual(Page(self.read()).references, [])
        self.assertNotIn("@RUNS@", self.read())

    def test_all_charts_are_drawn(self):
        document, console = self.browse(self.page)
        self.assertEqual(console, [])
        self.assertIn('data-charts="3" data-drawn="3"', document)
        text = " ".join(Page(document).texts)
        for words in [self.run_before["devices"][0]["name"], "Bandwidth by kind of memory", "Strided reads",
                      "Latency of a chain of loads", "What it costs", self.run_before["command"]]:
            self.assertIn(words, text)

    def test_runs_lie_over_each_other(self):
        old = self.changed("old.json", 2)
        self.check(strata("report", old, self.path, "--html", self.page), DONE)
        document, console = self.browse(self.page)
        self.assertEqual(console, [])
        self.assertEqual(document.count(self.run_before["command"]), 2 + 2)  # in the data and in the text
        runs = json.loads(re.search(r'(?s)id="runs">(.*?)</script>', self.read()).group(1))
        medians = [run["devices"][0]["figures"][0]["median"] for run in runs]
        median = self.run_before["devices"][0]["figures"][0]["median"]
        self.assertEqual(medians, [2 * median, median])

    def test_bench_writes_it_too(self):
        self.check(strata("bench", "--quick", "--filter", FIGURES, "--compare", self.changed("slow.json", 0.01),
                          "--html", self.page), DONE)
        document, console = self.browse(self.page)
        self.assertEqual(console, [])
        self.assertIn('data-charts="3" data-drawn="3"', document)

    def test_names_cannot_break_out(self):
        run = copy.deepcopy(self.run_before)
        run["devices"][0]["name"] = "</script><script>console.error('out')</script><!--"
        self.check(strata("report", self.write("evil.json", run), "--html", self.page), DONE)
        self.assertNotIn("<script>console.error", self.read())
        document, console = self.browse(self.page)
        self.assertEqual(console, [])
        self.assertIn('data-charts="3" data-drawn="3"', document)

    def test_mistakes(self):
        self.check(strata("report", "--html", self.page), USAGE, "FILE.json... is missing")
        self.check(strata("report", self.path), USAGE, "--html FILE is missing")
        self.check(strata("report", self.path, "--html", self.folder), FILE, "cannot write")
        self.check(strata("report", self.write("empty.json", ""), "--html", self.page), FILE, "it is empty")
        self.check(strata("report", *[self.path] * 17, "--html", self.page), USAGE, "one too many")


def a_dump():
    ranges = [{"offset": 0, "bytes": 4096, "state": "live", "requested": 4000, "name": "</svg><b>weights", "site": "a.c:7"},
              {"offset": 4096, "bytes": 4096, "state": "kept"}, {"offset": 8192, "bytes": 4096, "state": "pending"}]
    # A thousand pieces that are too small to be seen one by one, and a hole behind them.
    ranges += [{"offset": 12288 + 256 * i, "bytes": 256, "state": "live", "requested": 256, "name": ""}
               for i in range(1000)]
    ranges += [{"offset": 12288 + 256000, "bytes": (4 << 20) - 268288, "state": "hole"}]
    pool = {"name": "textures", "kind": "device", "live_bytes": 260000, "live_buffers": 1001, "reserved_bytes": 4 << 20,
            "peak_reserved_bytes": 4 << 20, "free_bytes": ranges[-1]["bytes"], "largest_free": ranges[-1]["bytes"],
            "limit_bytes": 0, "blocks": [{"number": 1, "bytes": 4 << 20, "dedicated": False, "plain": False,
                                          "ranges": ranges}]}
    kind = {"kind": "device", "live_bytes": 260000, "peak_bytes": 260000, "live_buffers": 1001, "total_buffers": 1001}
    return {"format": "strata-memory", "version": 1, "device": {"name": "A device", "platform": "P",
                                                                "global_bytes": 1 << 34},
            "kinds": [kind], "pending_bytes": 0, "pools": [pool], "buffers": [
                {"kind": "wrapped", "bytes": 9999872, "plain": False, "requested": 9999872, "name": "frame"}]}


class Map(Pages):
    """Dumps of a device's memory, drawn."""

    def test_map(self):
        dump = self.write("dump.json", a_dump())
        self.check(strata("report", dump, "--html", self.page), DONE, out="")
        document, console = self.browse(self.page)
        self.assertEqual(console, [])
        self.assertIn('data-maps="1"', document)
        drawn = re.search(r'(?s)<svg [^>]*class="map".*?</svg>', document).group(0)
        # One for each of the first three, a few hundred that were too narrow in one, and the hole.
        counts = {state: len(re.findall(r'<rect[^>]* class="%s"' % state, drawn)) for state in ("live", "kept", "hole")}
        self.assertEqual(counts["hole"], 1)
        self.assertLess(counts["live"], 600)
        merged = sum(int(count) for count in re.findall(r">(\d+) small pieces and holes", drawn))
        self.assertEqual(merged + drawn.count("live, 256 B at"), 1000)
        self.assertIn("&lt;/svg&gt;&lt;b&gt;weights', live, 4 KiB at 0 B of block 1, created at a.c:7", drawn)
        text = " ".join(Page(document).texts)
        for words in ["Memory of A device", "Pool 'textures', device memory", "frame", "memory of its own, wrapped"]:
            self.assertIn(words, text)

    def test_with_a_run(self):
        self.check(strata("report", self.path, self.write("dump.json", a_dump()), "--html", self.page), DONE)
        document, console = self.browse(self.page)
        self.assertEqual(console, [])
        self.assertIn('data-maps="1" data-charts="3" data-drawn="3"', document)

    def test_damaged_dumps(self):
        for path, words in [(["device"], "it has no device"), (["buffers"], "no lists of pools and buffers"),
                            (["pools", 0, "kind"], "pool 0 has no name, no kind"),
                            (["pools", 0, "blocks", 0, "bytes"], "block 0 of pool 0 has no size"),
                            (["pools", 0, "blocks", 0, "ranges", 2, "state"], "or a range without one")]:
            dump = a_dump()
            at = dump
            for step in path[:-1]:
                at = at[step]
            del at[path[-1]]
            self.check(strata("report", self.write("bad.json", dump), "--html", self.page), FILE,
                       "it is a dump of memory, but ")
            self.check(strata("report", self.write("bad.json", dump), "--html", self.page), FILE, words)


if __name__ == "__main__":
    command.main()

"""The command info: the drawing, the table of kinds, JSON with null for what is not known, and no device at all."""

import os
import re
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import command
from command import DONE, NO_DEVICE, strata

UTF8 = {"LC_ALL": "C.UTF-8"}
ASCII = {"LC_ALL": "C"}
KINDS = ["device", "pinned", "wrapped", "shared", "constant", "local", "private"]


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def frame(out):
    """The lines of the drawings."""
    return [line for line in out.splitlines() if re.match(r"  [│┌└|+]", line)]


class Text(command.Case):
    def test_drawing_and_kinds_of_each_device(self):
        result = strata("info", env=UTF8)
        self.check(result, DONE)
        self.assertEqual(result.err, "")
        count = len(self.json("info", "--json")["devices"])
        self.assertGreater(count, 0)
        self.assertEqual(len(re.findall(r"^Device \d+: ", result.out, re.M)), count)
        self.assertEqual(result.out.count("┌─ host ─"), count)
        for kind in KINDS:
            self.assertEqual(len(re.findall(r"^  %s  +\S" % kind, result.out, re.M)), count, kind)
        self.assertEqual(result.out.count(", the default\n"), 1)

    def test_frames_are_straight(self):
        for environment in [UTF8, ASCII]:
            lines = frame(strata("info", env=environment).out)
            self.assertGreater(len(lines), 0)
            self.assertEqual({columns(line) for line in lines}, {80})

    def test_plain_letters_where_the_locale_has_no_others(self):
        lines = frame(strata("info", env=ASCII).out)
        self.assertGreater(len(lines), 0)
        self.assertTrue(all(line.isascii() for line in lines))

    def test_one_device(self):
        result = strata("info", "--device", "0", env=UTF8)
        self.check(result, DONE)
        self.assertEqual(len(re.findall(r"^Device \d+: ", result.out, re.M)), 1)

    def test_a_device_in_the_environment_hides_none(self):
        count = len(self.json("info", "--json")["devices"])
        devices = self.json("info", "--json", env={"STRATA_DEVICE": "no such device"})["devices"]
        self.assertEqual(len(devices), count)
        self.assertFalse(any(device["default"] for device in devices))


class Json(command.Case):
    def test_shape(self):
        info = self.json("info", "--json")
        self.assertRegex(info["version"], r"\A\d+\.\d+\.\d+\Z")
        self.assertEqual([device["index"] for device in info["devices"]], list(range(len(info["devices"]))))
        self.assertEqual(sum(device["default"] for device in info["devices"]), 1)
        for device in info["devices"]:
            self.assertIn(device["type"], ["cpu", "gpu", "accelerator", "other"])
            self.assertGreater(len(device["name"]), 0)
            self.assertEqual(set(device["memory"]),
                             {"global", "cache", "local", "constant", "private", "base_alignment_bytes"})
            self.assertEqual(set(device["kinds"]), {"device", "pinned", "wrapped", "shared"})
            self.assertLessEqual(set(device["kinds"]["shared"]["modes"]), {"coherent", "mapped", "mirrored"})

    def test_unknown_is_null(self):
        for device in self.json("info", "--json")["devices"]:
            memory = device["memory"]["global"]
            self.assertGreater(memory["bytes"], 0)
            self.assertLess(memory["bytes"], 2**63)
            self.assertTrue(memory["free_bytes"] is None or 0 < memory["free_bytes"] <= memory["bytes"])
            for value in [device["memory"]["private"]["registers"], device["compute"]["sub_group_size"],
                          device["link"]["pcie_lanes"]]:
                self.assertTrue(value is None or 0 < value < 2**31, value)

    def test_one_device_by_each_selector(self):
        device = self.json("info", "--json")["devices"][0]
        selectors = ["0", device["type"], device["platform"][:8], device["name"]]
        selectors += [device[key] for key in ["uuid", "pci"] if device[key] is not None]
        for selector in selectors:
            with self.subTest(selector=selector):
                self.assertEqual(self.json("info", "--json", "--device", selector)["devices"][0]["name"],
                                 device["name"])


class NoDevice(command.Case):
    def test_of_that_name(self):
        for selector in ["nothing like it", "99", "accelerator:7"]:
            self.check(strata("info", "--device", selector), NO_DEVICE)

    def test_at_all(self):
        with tempfile.TemporaryDirectory() as empty:
            for arguments in [["info"], ["info", "--json"], ["info", "--device", "gpu"]]:
                self.check(strata(*arguments, env={"OCL_ICD_VENDORS": empty}), NO_DEVICE, empty)


if __name__ == "__main__":
    command.main()

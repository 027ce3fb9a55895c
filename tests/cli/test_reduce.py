"""The command reduce: values checked against Python's own, every form of file, every mistake, pipes, signals."""

import array
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import command
from command import DEVICE, DONE, FILE, NO_DEVICE, USAGE, strata

# Python's codes of struct, and NumPy's.
CODES = {"i32": ("i", "i4"), "u32": ("I", "u4"), "i64": ("q", "i8"), "u64": ("Q", "u8"), "f32": ("f", "f4"),
         "f64": ("d", "f8")}
OPS = ["sum", "product", "min", "max", "arg-min", "arg-max"]
FULL_SPEED = os.environ.get("STRATA_TEST_RUNTIME") in ["pocl", "system"]
INTERPRETED = os.environ.get("STRATA_TEST_RUNTIME") == "oclgrind"


def pack(kind, values, order="<"):
    return struct.pack("%s%d%s" % (order, len(values), CODES[kind][0]), *values)


def npy(descr, shape, data, version=1, fortran=False, text=None):
    if text is None:
        text = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    header = text.encode("utf-8" if version == 3 else "latin-1")
    size = 10 if version == 1 else 12
    header += b" " * (-(size + len(header) + 1) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def result_type(op, kind):
    if op.startswith("arg"):
        return "u64"
    if op in ["sum", "product"] and kind[0] in "iu":
        return kind[0] + "64"
    return kind


def wrap(value, kind):
    """As a 64-bit integer, modulo 2^64."""
    value &= 2**64 - 1
    return value - 2**64 if kind == "i64" and value >= 2**63 else value


def expected(op, kind, values):
    if op == "sum":
        return wrap(sum(values), result_type(op, kind)) if kind[0] in "iu" else math.fsum(values)
    if op == "product":
        product = math.prod(values)
        return wrap(product, result_type(op, kind)) if kind[0] in "iu" else product
    if op in ["min", "max"]:
        return {"min": min, "max": max}[op](values)
    return values.index({"arg-min": min, "arg-max": max}[op](values))


class Reduce(command.Case):
    @classmethod
    def setUpClass(cls):
        cls.device = command.json.loads(strata("info", "--json", "--device", "0").out)["devices"][0]

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, data, name="numbers"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def types(self):
        return [kind for kind in CODES if kind != "f64" or self.device["compute"]["fp64"]]

    def value(self, path, op, *arguments, **options):
        return self.json("reduce", path, "--op", op, "--json", *arguments, **options)["result"]


class Values(Reduce):
    def test_every_operation_on_every_type(self):
        # Powers of two and their sums are exact in every type, whatever the order.
        samples = {"i": [5, -3, 7, 7, -3, 0, 1], "u": [5, 3, 4000000000, 4000000000, 3, 9],
                   "f": [0.5, -3.0, 8.0, 8.0, -3.0]}
        for kind in self.types():
            values = samples[kind[0]]
            path = self.file(pack(kind, values))
            for op in OPS:
                with self.subTest(kind=kind, op=op):
                    result = self.json("reduce", path, "--op", op, "--type", kind, "--json")
                    self.assertEqual(result["result"], expected(op, kind, values))
                    self.assertEqual(result["count"], len(values))
                    self.assertEqual(result["op"], op)
                    self.assertEqual(result["type"], kind)
                    self.assertEqual(result["result_type"], result_type(op, kind))
                    self.assertEqual(result["device"], self.device["name"])
                    self.assertGreater(result["seconds"], 0)
                    self.assertGreater(result["gbps"], 0)
                    if op.startswith("arg"):
                        self.assertEqual(result["value"], values[result["result"]])

    def test_integers_beyond_2_to_63_stay_exact(self):
        path = self.file(pack("u64", [2**64 - 2, 1]))
        self.assertEqual(self.value(path, "sum", "--type", "u64"), 2**64 - 1)
        self.assertEqual(self.value(path, "max", "--type", "u64"), 2**64 - 2)
        self.assertIn("\nvalue    18446744073709551614\n", strata("reduce", path, "--op=arg-max", "--type=u64").out)
        path = self.file(pack("i64", [-2**63, 2**63 - 1, 5]))
        self.assertEqual(self.value(path, "min", "--type", "i64"), -2**63)
        self.assertEqual(self.value(path, "sum", "--type", "i64"), 4)
        # They wrap modulo 2^64.
        self.assertEqual(self.value(self.file(pack("i32", [2**31 - 1] * 3)), "product", "--type", "i32"),
                         wrap((2**31 - 1)**3, "i64"))

    def test_floats_that_json_has_no_numbers_for(self):
        nan, inf = float("nan"), float("inf")
        for values, op, wanted in [([1.0, nan, 2.0], "sum", "NaN"), ([1.0, nan], "max", "NaN"),
                                   ([1.0, inf], "sum", "Infinity"), ([1.0, -inf], "min", "-Infinity"),
                                   ([inf, -inf], "sum", "NaN")]:
            self.assertEqual(self.value(self.file(pack("f32", values)), op, "--type", "f32"), wanted)
        self.assertEqual(self.value(self.file(pack("f32", [1.0, nan, 2.0])), "arg-max", "--type", "f32"), 1)
        minus = self.value(self.file(pack("f32", [-0.0, -0.0])), "sum", "--type", "f32")
        self.assertEqual(math.copysign(1, minus), -1)

    def test_digits_read_back_the_same(self):
        for value in [0.1, 1 / 3, 1e30, 3.0]:
            single = struct.unpack("f", struct.pack("f", value))[0]
            written = self.value(self.file(pack("f32", [value])), "sum", "--type", "f32")
            self.assertEqual(struct.pack("f", written), struct.pack("f", single))
        text = strata("reduce", self.file(pack("f32", [0.1])), "--op", "sum", "--type", "f32").out
        self.assertTrue(text.startswith("sum     0.1\n"), text)

    def test_many_pieces(self):
        count = 70001 if INTERPRETED else 3_500_003
        generator = random.Random(7)
        values = array.array("i", (generator.randrange(-2**31, 2**31) for _ in range(count)))
        data = values.tobytes()
        path, raw = self.file(npy("'<i4'", "(%d,)" % count, data), "a.npy"), self.file(data, "a.raw")
        for op in ["sum", "min", "max", "arg-min", "arg-max"]:
            wanted = expected(op, "i32", values)
            self.assertEqual(self.value(path, op), wanted)
            self.assertEqual(self.value(raw, op, "--type", "i32"), wanted)

    def test_a_sum_of_floats_is_within_an_ulp_and_the_same_from_every_source(self):
        count = 20001 if INTERPRETED else 2_500_001
        generator = random.Random(8)
        values = array.array("f", (generator.uniform(0, 1) for _ in range(count)))
        path = self.file(npy("'<f4'", "(%d,)" % count, values.tobytes()))
        found = self.value(path, "sum")
        self.assertLessEqual(abs(found - math.fsum(values)), math.fsum(values) * 2**-23)
        with open(path, "rb") as stream:
            self.assertEqual(self.value("-", "sum", data=stream.read()), found)
        values.byteswap()
        big = self.file(npy("'>f4'", "(%d,)" % count, values.tobytes()))
        self.assertEqual(self.value(big, "sum"), found)

    def test_a_sparse_file_beyond_4_gib(self):
        if not FULL_SPEED:
            self.skipTest("this runtime would take too long")
        path = os.path.join(self.folder, "sparse")
        last = 2**32 + 1000
        with open(path, "wb") as file:
            file.truncate(4 * (last + 1))
            file.seek(4 * last)
            file.write(pack("u32", [41]))
            if os.stat(path).st_blocks > 1000:
                self.skipTest("this file system has no sparse files")
        found = self.json("reduce", path, "--op", "arg-max", "--type", "u32", "--json")
        self.assertEqual(found["result"], last)
        self.assertEqual(found["count"], last + 1)
        self.assertEqual(found["value"], 41)

    def test_a_decimal_comma_changes_nothing(self):
        if shutil.which("localedef") is None or not os.path.exists("/usr/share/i18n/locales/de_DE"):
            self.skipTest("there is nothing to make a locale from")
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(self.folder, "de_DE.UTF-8")])
        self.assertEqual(made.returncode, 0)
        path = self.file(pack("f32", [0.5, 1.25]))
        comma = {"LOCPATH": self.folder, "LC_ALL": "de_DE.UTF-8"}
        self.assertEqual(self.value(path, "sum", "--type", "f32", env=comma), 1.75)
        self.assertTrue(strata("reduce", path, "--op=sum", "--type=f32", env=comma).out.startswith("sum     1.75\n"))


class Files(Reduce):
    def test_npy_in_each_version_and_byte_order(self):
        values = [3, 1, 2]
        for version in [1, 2, 3]:
            for order in "<>":
                for kind in self.types():
                    with self.subTest(version=version, order=order, kind=kind):
                        data = npy("'%s%s'" % (order, CODES[kind][1]), "(3,)", pack(kind, values, order), version)
                        path = self.file(data)
                        self.assertEqual(self.value(path, "sum"), 6)
                        found = self.json("reduce", path, "--op=arg-min", "--json", "--type", kind)
                        self.assertEqual((found["result"], found["value"]), (1, 1))

    def test_npy_shapes(self):
        data = pack("i32", [1, 2, 3, 4, 5, 6])
        self.assertEqual(self.value(self.file(npy("'<i4'", "(2, 3)", data)), "sum"), 21)
        self.assertEqual(self.value(self.file(npy("'<i4'", "()", pack("i32", [7]))), "sum"), 7)
        column = self.file(npy("'<i4'", "(2, 3)", data, fortran=True))
        self.assertEqual(self.value(column, "product"), 720)
        self.check(strata("reduce", column, "--op", "arg-max"), FILE, "column by column")
        line = self.file(npy("'<i4'", "(6,)", data, fortran=True))
        self.assertEqual(self.value(line, "arg-max"), 5)

    def test_npy_that_is_refused(self):
        for data, words in [
            (npy("'|O'", "(1,)", b"\x80\x04N."), "Python objects"),
            (npy("[('a', '<f4'), ('b', '<f4')]", "(1,)", bytes(8)), "structured"),
            (npy("[('gr\u00f6\u00dfe\u4e00', '<f4')]", "(1,)", bytes(4), version=3), "structured"),
            (npy("'<c8'", "(1,)", bytes(8)), "complex"),
            (npy("'<f2'", "(1,)", bytes(2)), "half precision"),
            (npy("'|b1'", "(1,)", bytes(1)), "truth values"),
            (npy("'<U3'", "(1,)", bytes(12)), "text"),
            (npy("'|u1'", "(4,)", bytes(4)), "integers of 8 bits"),
            (npy("'<i2'", "(2,)", bytes(4)), "astype('int32')"),
            (npy("'<f4'", "(2,)", bytes(7)), "8 bytes in all, but 7 bytes follow the header; the file was cut short"),
            (npy("'<f4'", "(2,)", bytes(9)), "but 9 bytes follow the header; only one array can be read"),
            (npy("'<f4'", "(2,)", b"")[:40], "the file ends after 30 of them"),
            (npy("'<f4'", "(4294967296, 4294967296)", b""), "does not fit 64 bits"),
            (npy("", "", b"", text="{'descr': '<f4'}"), "'fortran_order' is missing"),
            (b"\x93NUMPY\x09\x00" + bytes(100), "version 9.0"),
        ]:
            with self.subTest(words=words):
                result = strata("reduce", self.file(data), "--op", "sum")
                self.check(result, FILE, words)
                self.assertIn("numbers", result.err)
                self.assertEqual(result.err.count("\n"), 1)

    def test_a_type_that_contradicts_the_header(self):
        path = self.file(npy("'<f4'", "(1,)", bytes(4)))
        self.check(strata("reduce", path, "--op", "sum", "--type", "i32"), USAGE, "a .npy file of f32")

    def test_raw(self):
        path = self.file(b"0123456789")
        self.check(strata("reduce", path, "--op", "sum"), USAGE, "--type T")
        self.check(strata("reduce", path, "--op", "sum", "--type", "i32"), FILE,
                   "its 10 bytes are not a multiple of the element size of 4 bytes")
        # The first bytes decide, not the name.
        path = self.file(pack("i32", [1, 2]), "raw.npy")
        self.assertEqual(self.value(path, "sum", "--type", "i32"), 3)

    def test_empty(self):
        for data, arguments in [(b"", ["--type", "i32"]), (npy("'<i4'", "(0,)", b""), []),
                                (npy("'<f4'", "(3, 0)", b""), [])]:
            path = self.file(data)
            self.assertEqual(self.value(path, "sum", *arguments), 0)
            self.assertEqual(self.value(path, "product", *arguments), 1)
            self.assertIsNone(self.json("reduce", path, "--op=sum", "--json", *arguments)["gbps"])
            for op in ["min", "max", "arg-min", "arg-max"]:
                self.check(strata("reduce", path, "--op", op, *arguments), FILE, "of nothing is no value")

    def test_that_cannot_be_read(self):
        missing = os.path.join(self.folder, "missing")
        self.check(strata("reduce", missing, "--op", "sum", "--type", "i32"), FILE, "there is no such file")
        self.check(strata("reduce", self.folder, "--op", "sum", "--type", "i32"), FILE, "this is a folder")
        self.check(strata("reduce", "-", "--op=sum", "--type=i32", preexec_fn=lambda: os.close(0)), FILE,
                   "standard input: cannot")

    def test_a_result_that_cannot_be_written(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        path = self.file(pack("i32", [1]))
        for arguments in [[], ["--json"]]:
            with open("/dev/full", "wb") as full:
                result = strata("reduce", path, "--op", "sum", "--type", "i32", *arguments, stdout=full)
            self.check(result, FILE, "cannot write to standard output")


class Pipes(Reduce):
    def test_npy_from_a_pipe(self):
        data = npy("'>i4'", "(3,)", pack("i32", [4, 5, 6], ">"))
        found = self.json("reduce", "-", "--op=max", "--json", data=data)
        self.assertEqual((found["result"], found["count"]), (6, 3))
        # The element cannot be looked up again.
        found = self.json("reduce", "-", "--op=arg-max", "--json", data=data)
        self.assertEqual((found["result"], found["value"]), (2, None))

    def test_npy_of_another_length_than_it_says(self):
        data = npy("'<i4'", "(3,)", bytes(12))
        self.check(strata("reduce", "-", "--op=sum", data=data[:-1]), FILE,
                   "standard input: 12 bytes of data were expected, but it ended after 11")
        self.check(strata("reduce", "-", "--op=sum", data=data + b"x"), FILE, "there is more after the 12 bytes")

    def test_raw_from_a_pipe_has_no_known_length(self):
        self.check(strata("reduce", "-", "--op=sum", "--type=i32", data=bytes(4096)), FILE,
                   "does not tell how many will come")

    def test_a_file_as_standard_input(self):
        path = self.file(b"head" + pack("i32", [10, 20]))
        with open(path, "rb", buffering=0) as file:
            file.read(4)
            found = self.json("reduce", "-", "--op=arg-max", "--type=i32", "--json", stdin=file)
        self.assertEqual((found["result"], found["value"]), (1, 20))

    def test_a_named_pipe(self):
        path = os.path.join(self.folder, "pipe")
        os.mkfifo(path)
        running = command.start("reduce", path, "--op=sum", "--json", stdout=subprocess.PIPE)
        with open(path, "wb") as pipe:
            pipe.write(npy("'<i4'", "(2,)", pack("i32", [8, 9])))
        out, _ = running.communicate(timeout=command.PATIENCE)
        self.assertEqual(command.json.loads(out)["result"], 17)


class Endless(Reduce):
    """A pipe that promises far more than it brings."""

    def begin(self, **options):
        running = command.start("reduce", "-", "--op=sum", stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.addCleanup(running.stdout.close)
        # More than the pipe can hold: when all is gone, the program reads.
        running.stdin.write(npy("'<i4'", "(10000000000,)", bytes(1 << 20)))
        running.stdin.flush()
        return running

    def test_signals_end_it_cleanly(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            with self.subTest(number=number):
                running = self.begin(stderr=subprocess.PIPE)
                running.send_signal(number)
                self.assertEqual(running.wait(command.PATIENCE), 128 + number)
                self.assertEqual(running.stderr.read(), b"strata: standard input: reading was interrupted\n")
                self.assertEqual(running.stdout.read(), b"")
                running.stdin.close()
                running.stderr.close()

    def test_an_ignored_signal_stays_ignored(self):
        running = self.begin(stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        running.send_signal(signal.SIGINT)
        running.stdin.close()
        self.assertEqual(running.wait(command.PATIENCE), FILE)
        self.assertIn(b"but it ended after", running.stderr.read())
        running.stderr.close()

    def test_progress_on_a_terminal(self):
        terminal = command.Terminal()
        self.addCleanup(terminal.close)
        running = self.begin(stderr=terminal.slave, env={"TERM": "xterm", "LC_ALL": "C"})
        terminal.close_slave()
        # A bar is drawn when some time has passed and more data comes.
        for _ in range(200):
            running.stdin.write(bytes(8 << 20))
            running.stdin.flush()
            if terminal.read_until(lambda seen: b"GB/s" in seen, 0.05):
                break
        self.assertIn(b"\rsum  [                        ]   0 %  ", terminal.seen)
        running.send_signal(signal.SIGTERM)
        self.assertTrue(terminal.read_until(lambda seen: seen.endswith(b"interrupted\r\n")), terminal.seen)
        self.assertEqual(running.wait(command.PATIENCE), 128 + signal.SIGTERM)
        running.stdin.close()
        # The last bar is wiped out before the message, which stands alone in its line.
        self.assertEqual(terminal.seen.split(b"\r\x1b[K")[-1], b"strata: standard input: reading was interrupted\r\n")

    def test_no_progress_on_a_dumb_terminal(self):
        terminal = command.Terminal()
        self.addCleanup(terminal.close)
        running = self.begin(stderr=terminal.slave, env={"TERM": "dumb"})
        terminal.close_slave()
        for _ in range(8):
            running.stdin.write(bytes(1 << 20))
            running.stdin.flush()
            self.assertFalse(terminal.read_until(lambda seen: seen != b"", 0.08), terminal.seen)
        running.stdin.close()
        self.assertEqual(running.wait(command.PATIENCE), FILE)
        self.assertTrue(terminal.read_until(lambda seen: seen.endswith(b"\r\n")))
        self.assertNotIn(b"\x1b", terminal.seen)


class Devices(Reduce):
    def test_selection(self):
        path = self.file(pack("i32", [1, 2]))
        self.assertEqual(self.value(path, "sum", "--type=i32", "--device=0"), 3)
        self.assertEqual(self.value(path, "sum", "--type=i32", env={"STRATA_DEVICE": "0"}), 3)
        self.check(strata("reduce", path, "--op=sum", "--type=i32", "--device=nothing like it"), NO_DEVICE)
        self.check(strata("reduce", path, "--op=sum", "--type=i32", env={"OCL_ICD_VENDORS": self.folder}), NO_DEVICE)

    def test_f64_where_the_device_has_none(self):
        if self.device["compute"]["fp64"]:
            self.skipTest("this device has f64")
        self.check(strata("reduce", self.file(bytes(8)), "--op=sum", "--type=f64"), DEVICE)

    def test_the_second_start_compiles_nothing(self):
        path = self.file(pack("i32", [1, 2]))
        cache = os.path.join(self.folder, "cache")
        found = []
        for _ in range(2):
            self.assertEqual(self.value(path, "sum", "--type=i32", env={"STRATA_CACHE_DIR": cache}), 3)
            found.append(sorted(name for _, _, names in os.walk(cache) for name in names))
        self.assertGreater(len(found[0]), 0)
        self.assertEqual(found[0], found[1])


if __name__ == "__main__":
    command.main()

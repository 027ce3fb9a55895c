"""What all commands share: help, version, usage mistakes, standard output that cannot be written."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import command
from command import DONE, FILE, USAGE, strata

COMMANDS = ["info", "bench", "reduce", "replay"]


class Help(command.Case):
    def test_every_form_says_the_same(self):
        expected = strata("--help")
        self.check(expected, DONE)
        for name in COMMANDS:
            self.assertIn("\n  " + name + " ", expected.out)
        for arguments in [["-h"], ["help"], ["help", "help"], ["help", "--help"]]:
            self.check(strata(*arguments), DONE, out=expected.out)

    def test_of_each_command(self):
        for name in COMMANDS:
            expected = strata(name, "--help")
            self.check(expected, DONE)
            self.assertIn("Usage: strata " + name, expected.out)
            self.check(strata("help", name), DONE, out=expected.out)
            self.check(strata(name, "-h"), DONE, out=expected.out)

    def test_fits_a_terminal(self):
        for arguments in [["--help"]] + [["help", name] for name in COMMANDS]:
            for line in strata(*arguments).out.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_version_with_features(self):
        result = strata("--version")
        self.check(result, DONE)
        self.assertRegex(result.out, r"\Astrata \d+\.\d+\.\d+\nfeatures: .*\bopencl\b.*\n\Z")
        self.check(strata("-V"), DONE, out=result.out)


class Mistakes(command.Case):
    def test_are_one_sentence_and_exit_code_2(self):
        for arguments, words in [
            ([], "no command is given"),
            (["inf"], "there is no command 'inf'; did you mean info?"),
            (["redcue", "x"], "did you mean reduce?"),
            (["somersault"], "there is no command 'somersault' (see"),
            (["--verison"], "there is no option '--verison'"),
            (["help", "bnech"], "did you mean bench?"),
            (["help", "info", "reduce"], "help takes one command"),
            (["info", "--jsn"], "there is no option --jsn; did you mean --json?"),
            (["info", "--json", "--json"], "--json is given twice"),
            (["info", "--json=yes"], "--json takes no value"),
            (["info", "--device"], "--device needs a value"),
            (["info", "extra"], "the argument 'extra' is one too many"),
            (["reduce"], "FILE is missing"),
            (["reduce", "x"], "--op OP is missing"),
            (["reduce", "x", "--op", "summ"], "did you mean sum?"),
            (["reduce", "x", "--op", "sum", "--type", "f16"], "--type 'f16' is not known"),
        ]:
            with self.subTest(arguments=arguments):
                result = strata(*arguments)
                self.check(result, USAGE, words)
                self.assertEqual(result.err.count("\n"), 1, result.err)

    def test_do_not_reach_the_terminal_raw(self):
        self.check(strata("info", "\x1b[31mred"), USAGE, "'?[31mred'")


class Output(command.Case):
    def test_a_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with open("/dev/full", "wb") as full:
            self.check(strata("--help", stdout=full), FILE, "cannot write to standard output: ")

    def test_closed(self):
        for arguments in ["--help", "--version"]:
            result = strata(arguments, stdout=None, preexec_fn=lambda: os.close(1))
            self.check(result, FILE, "cannot write to standard output: ")

    def test_a_reader_that_left_is_not_worth_a_word(self):
        reader, writer = os.pipe()
        os.close(reader)
        result = strata("--help", stdout=writer)
        os.close(writer)
        self.assertEqual(result.returncode, FILE)
        self.assertEqual(result.err, "")

    def test_all_files_closed(self):
        result = subprocess.run([command.PROGRAM, "--help"], close_fds=True, preexec_fn=lambda: os.closerange(0, 3))
        self.assertEqual(result.returncode, FILE)


if __name__ == "__main__":
    command.main()

"""The man pages and completions have the commands and options that the program's help has, and no others.

check_options.py PROGRAM DATA_FOLDER

An option is compared by its letter, by whether it takes a value, and by the words that its value can be.
"""

import collections
import os
import re
import subprocess
import sys

# What the program itself takes goes by the command "-". `value` is a name, or "" for none; `text` has the words.
Option = collections.namedtuple("Option", "letter value text")

HELP_ROW = re.compile(r"^  (?:-(\w), |    )--([\w-]+)(?: (\S+))?(?:  |$)", re.MULTILINE)
HELP_COMMAND = re.compile(r"^  (\w+) {2,}", re.MULTILINE)
CHOICES = re.compile(r"it can be (.*?)(?:;|\s\(see)")
USAGE_OPTION = re.compile(r"(\[?)--([\w-]+)(?:=([^\]\s]+))?")

MAN_SYNOPSIS = re.compile(r"^\.(Op )?Fl -([\w-]+)(?: Ar (\S+))?$", re.MULTILINE)
MAN_ITEM = re.compile(r"^\.It (?:Fl (\w) , )?Fl -([\w-]+)(?: Ar (\S+))?\n(.*?)(?=^\.It|^\.El)", re.MULTILINE | re.DOTALL)
MAN_COMMAND = re.compile(r"^\.It Cm (\w+)$", re.MULTILINE)

BASH_ROW = re.compile(r"^(\w+|-) +--([\w-]+) +-(\w?) +(\S+)$", re.MULTILINE)
BASH_COMMANDS = re.compile(r'^_strata_commands="(.*)"$', re.MULTILINE)

ZSH_FUNCTION = re.compile(r"^_strata(?:_(\w+))?\(\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
ZSH_ROW = re.compile(r"(?:\{-(\w)\+?,)?--([\w-]+)(=?)[}\[](.*)")
ZSH_COMMAND = re.compile(r"^    '([a-z]+):", re.MULTILINE)

FISH_ROW = re.compile(r"^complete \$(\w+)(?: -s (\w))? -l ([\w-]+)(?: (-[rx]\S*))?(.*)$", re.MULTILINE)
FISH_COMMAND = re.compile(r"^complete \$first -a (\w+)", re.MULTILINE)


def ask(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def words(text):
    return set(re.findall(r"[\w-]+", text))


def choices(program, command, option):
    """The words that the value can be, where they are a fixed list. --help keeps the command from doing anything."""
    complaint = ask(program, command, "--%s=?" % option, "--help").stderr
    listed = CHOICES.search(complaint)
    return words(listed[1]) - {"or"} if listed else set()


def section(text, title, end):
    return text.split(title, 1)[1].split(end, 1)[0]


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def of_help(program):
    """The options by command, and the synopses: triples of whether it is optional, name and value."""
    text = ask(program, "--help").stdout
    commands = HELP_COMMAND.findall(section(text, "Commands:\n", "\n\n"))
    options, synopses = {}, {}
    for command in ["-"] + commands:
        if command != "-":
            text = ask(program, command, "--help").stdout
            synopses[command] = {(bracket == "[", name, value)
                                 for bracket, name, value in USAGE_OPTION.findall(section(text, "Usage:", "\n\n"))}
        options[command] = {name: Option(letter, value, " ".join(choices(program, command, name) if value else ()))
                            for letter, name, value in HELP_ROW.findall(text)}
    return options, synopses


def of_man(text):
    options = {name: Option(letter, value, body) for letter, name, value, body in MAN_ITEM.findall(text)}
    synopsis = {(optional != "", name, value)
                for optional, name, value in MAN_SYNOPSIS.findall(section(text, ".Sh SYNOPSIS", ".Sh DESCRIPTION"))}
    return options, synopsis


def of_bash(text):
    options = collections.defaultdict(dict)
    for command, name, letter, value in BASH_ROW.findall(text):
        options[command][name] = Option(letter, "" if value == "none" else value, value)
    return options, set(BASH_COMMANDS.search(text)[1].split())


def of_zsh(text):
    options = {}
    for command, body in ZSH_FUNCTION.findall(text):
        rows = {name: Option(letter, value, rest) for letter, name, value, rest in ZSH_ROW.findall(body)}
        if rows:
            options[command or "-"] = rows
    return options, set(ZSH_COMMAND.findall(text))


def of_fish(text):
    options = collections.defaultdict(dict)
    for command, letter, name, value, rest in FISH_ROW.findall(text):
        options["-" if command == "first" else command][name] = Option(letter, value, rest)
    return options, set(FISH_COMMAND.findall(text))


def compare_sets(where, what, wanted, found):
    return (["%s lacks the %s %s" % (where, what, item) for item in sorted(wanted - found)] +
            ["%s has the %s %s, which the help has not" % (where, what, item) for item in sorted(found - wanted)])


def compare(where, wanted, found):
    """The options of one command with those of the help."""
    faults = compare_sets(where, "option", {"--" + name for name in wanted}, {"--" + name for name in found})
    for name in sorted(wanted.keys() & found.keys()):
        if wanted[name].letter != found[name].letter:
            faults.append("%s: the letter of --%s is %r, not %r" % (where, name, wanted[name].letter,
                                                                    found[name].letter))
        if (wanted[name].value == "") != (found[name].value == ""):
            faults.append("%s: --%s takes %s value" % (where, name, "a" if wanted[name].value else "no"))
        lost = words(wanted[name].text) - words(found[name].text)
        faults += ["%s: --%s can be %s, too" % (where, name, word) for word in sorted(lost)]
    return faults


def main(program, folder):
    wanted, synopses = of_help(program)
    commands = set(wanted) - {"-"} | {"help"}
    faults = compare_sets("strata.1", "command", commands, set(MAN_COMMAND.findall(read(folder, "man", "strata.1"))))
    for command in wanted:
        page = "strata.1" if command == "-" else "strata-%s.1" % command
        if not os.path.exists(os.path.join(folder, "man", page)):
            faults.append("there is no " + page)
            continue
        found, synopsis = of_man(read(folder, "man", page))
        faults += compare(page, wanted[command], found)
        if command != "-" and synopsis != synopses[command]:
            faults.append("the synopsis of %s differs in %s" % (page, sorted(synopsis ^ synopses[command])))
    for name, reader in (("strata.bash", of_bash), ("_strata", of_zsh), ("strata.fish", of_fish)):
        found, found_commands = reader(read(folder, "completions", name))
        faults += compare_sets(name, "command", commands, found_commands)
        faults += compare_sets(name, "list of options for", set(wanted), set(found))
        for command in sorted(wanted.keys() & found.keys()):
            faults += compare("%s, command %s" % (name, command), wanted[command], found[command])
    count = sum(len(options) for options in wanted.values())
    if len(commands) < 2 or count < len(wanted):
        faults.append("the help was not understood: %d commands with %d options" % (len(commands), count))
    print("\n".join(faults) if faults else "%d options are in all man pages and completions" % count)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

"""The man pages and the completions have the options that the program has: check_data.py STRATA DATA_FOLDER COMMAND."""

import os
import re
import subprocess
import sys


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def of_help(program, command):
    text = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(?m)^ +(?:-\w, +)?--([a-z-]+)", text))


def of_man(data, command):
    return set(re.findall(r"(?m)^\.It Fl (?:\w , Fl )?\\-([a-z-]+)", read(data, "man", "strata-%s.1" % command)))


def of_bash(data, command):
    match = re.search(r'(?m)^    %s\) options="([^"]*)"' % command, read(data, "completions", "strata.bash"))
    return set(re.findall(r"--([a-z-]+)", match.group(1))) if match else set()


def of_zsh(data, command):
    match = re.search(r"(?s)\n    %s\)(.*?);;" % command, read(data, "completions", "_strata"))
    block = match.group(1) if match else ""
    names = set(re.findall(r"'--([a-z-]+)", block)) | set(re.findall(r",--([a-z-]+)\}", block))
    return names | ({"device"} if "$device" in block else set())


def of_fish(data, command):
    lines = re.findall(r'(?m)^complete -c strata -n "__fish_seen_subcommand_from %s" -l ([a-z-]+)' % command,
                       read(data, "completions", "strata.fish"))
    return set(lines) | {"help"}  # which every command has


def main(program, data, command):
    wanted = of_help(program, command)
    faults = [] if "help" in wanted else ["%s --help shows no options" % command]
    for name, found in [("the man page", of_man(data, command)), ("bash", of_bash(data, command)),
                        ("zsh", of_zsh(data, command)), ("fish", of_fish(data, command))]:
        faults += ["%s of %s lacks --%s" % (name, command, option) for option in sorted(wanted - found)]
        faults += ["%s of %s has --%s, which there is not" % (name, command, option)
                   for option in sorted(found - wanted)]
    print("\n".join(faults) if faults else "%d options everywhere" % len(wanted))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""A shell can read its completion, and bash and fish offer what they should: check_shell.py SHELL PROGRAM COMPLETION.

Exit 77 without the shell. What zsh offers can be seen in a terminal only, so its file is just parsed.
"""

import os
import shutil
import subprocess
import sys

PARSE = {"bash": ["-n"], "zsh": ["-f", "-n"], "fish": ["--no-config", "-n"]}

# A function that writes what is offered behind the words of a line, one a line.
OFFER = {
    "bash": ["-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _strata; '
             'printf "%s\\n" "${COMPREPLY[@]}"', "bash"],
    "fish": ["--no-config", "-c", "source $argv[1]; complete -C (string join ' ' -- $argv[2..-1])"],
}

# The words of a line, what must be offered, and what must not.
LINES = [
    (["strata", ""], ["info", "bench", "help"], ["--help"]),
    (["strata", "--"], ["--version"], ["--quick"]),
    (["strata", "bench", "--"], ["--quick", "--help"], ["--op"]),
    (["strata", "reduce", "--op", "arg"], ["arg-min", "arg-max"], ["sum"]),
    (["strata", "reduce", "-t", ""], ["f32"], ["sum"]),
    (["strata", "bench", "--filter", "glo"], ["global.read"], ["global", "local.read"]),
    (["strata", "help", ""], ["reduce"], ["--help"]),
]


def offered(shell, tool, program, completion, line):
    path = os.path.dirname(program) + os.pathsep + os.environ.get("PATH", "")
    done = subprocess.run([tool, *OFFER[shell], completion, *line], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": path})
    # fish adds a description behind a tab.
    return {word.split("\t")[0] for word in done.stdout.splitlines()}, done.stderr


def main(shell, program, completion):
    tool = shutil.which(shell)
    if tool is None:
        print("skipped: there is no %s" % shell)
        return 77
    parsed = subprocess.run([tool, *PARSE[shell], completion], capture_output=True, text=True, check=False)
    faults = [parsed.stdout + parsed.stderr] if parsed.returncode != 0 else []
    for line, wanted, unwanted in LINES if shell in OFFER else []:
        found, complaint = offered(shell, tool, program, completion, line)
        if complaint:
            faults.append("%s complains about %r: %s" % (shell, line, complaint))
        if set(wanted) - found or set(unwanted) & found:
            faults.append("%s offers %s behind %r" % (shell, sorted(found), line))
    print("\n".join(faults) if faults else "%s reads its completion" % shell)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))

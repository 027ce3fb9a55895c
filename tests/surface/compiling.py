"""Compiles small programs against the public headers, as a user of the library would."""

import json
import os
import subprocess
import tempfile

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic-errors"]


def include_options(build_folder):
    """The include folders of the library's own compile command, less the private ones."""
    with open(os.path.join(build_folder, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    command = next(c for c in commands if c["file"].endswith("src/core/error.c"))
    options = []
    for word in command["command"].replace("'", "").replace('"', "").split():
        for prefix in ("-isystem", "-I"):
            if word.startswith(prefix) and len(word) > len(prefix):
                folder = os.path.normpath(os.path.join(command["directory"], word[len(prefix):]))
                if os.path.basename(folder) != "src" and ".p" not in folder:
                    options += [prefix, folder]
    return options


def compiler(standard):
    """The words of the command, or None where this build has no such compiler."""
    words = os.environ["STRATA_CXX" if "++" in standard else "STRATA_CC"].split()
    return words + ["-std=" + standard] if words else None


def compile_text(text, standard, build_folder, more=()):
    """None when it compiles, else what the compiler said. Unless `more` links, nothing is kept."""
    suffix = ".cpp" if "++" in standard else ".c"
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "program" + suffix)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        command = compiler(standard) + STRICT + include_options(build_folder) + [source, "-o", source + ".out"]
        result = subprocess.run(command + list(more), capture_output=True, text=True)
    return None if result.returncode == 0 else result.stderr

"""Builds and runs a consumer with pkg-config's flags: check_pkgconfig.py c|c++ shared|static."""

import os
import shlex
import shutil

import installed

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic-errors"]
SOURCES = {"c": ["-std=c99", "consumer.c"], "c++": ["-std=c++17", "consumer.cpp"]}


def move(package, prefix):
    """Writes the prefix of the copy into the package file: pkgconf's own options would change OpenCL's, too."""
    with open(package, encoding="utf-8") as file:
        lines = file.read().splitlines()
    moved = ["prefix=" + prefix if line.startswith("prefix=") else line for line in lines]
    if moved == lines:
        raise installed.Failure("%s has no line with the prefix" % package)
    with open(package, "w", encoding="utf-8") as file:
        file.write("\n".join(moved) + "\n")


def check(folder, language, kind):
    tool = shutil.which("pkg-config")
    if tool is None:
        raise installed.Skip("there is no pkg-config")
    words = installed.compiler(language)
    prefix, libraries = installed.install(os.path.join(folder, "copy"))
    packages = os.path.join(libraries, "pkgconfig")
    move(os.path.join(packages, "strata.pc"), prefix)
    paths = os.pathsep.join(path for path in (packages, os.environ.get("PKG_CONFIG_PATH")) if path)
    static = ["--static"] if kind == "static" else []
    if static:
        installed.remove_shared(libraries)
    command = [tool] + static + ["--cflags", "--libs", "strata"]
    flags = shlex.split(installed.run(command, {"PKG_CONFIG_PATH": paths}))
    standard, source = SOURCES[language]
    program = os.path.join(folder, "consumer")
    installed.run(words + [standard] + STRICT + [os.path.join(installed.CONSUMER, source), "-o", program] + flags)
    installed.check_program(program, folder, {} if static else {"LD_LIBRARY_PATH": libraries})


if __name__ == "__main__":
    installed.script(check)

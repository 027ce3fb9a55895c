"""Builds and runs consumers that have strata as a meson subproject, shared and static: check_subproject.py SOURCE_ROOT.

The subproject must bring no tests along."""

import json
import os
import shutil

import installed

LANGUAGES = {"c": "consumer_c", "c++": "consumer_cpp"}


def lay_out(folder, source_root):
    project = os.path.join(folder, "project")
    shutil.copytree(installed.CONSUMER, project)
    os.mkdir(os.path.join(project, "subprojects"))
    os.symlink(source_root, os.path.join(project, "subprojects", "strata"))
    return project


def check(folder, source_root):
    programs = [LANGUAGES["c"]]
    compilers = {"CC": " ".join(installed.compiler("c"))}
    if os.environ[installed.COMPILERS["c++"]]:
        programs.append(LANGUAGES["c++"])
        compilers["CXX"] = os.environ[installed.COMPILERS["c++"]]
    else:
        print("only in C, since this build has no C++ compiler")
    project, build = lay_out(folder, source_root), os.path.join(folder, "build")
    # Without debugging and optimization: the library is compiled once more for this.
    installed.run(["meson", "setup", build, project, "--buildtype=plain", "-Dstrata:cli=disabled"], compilers)
    tests = json.loads(installed.run(["meson", "introspect", "--tests", build]))
    if tests:
        raise installed.Failure("the subproject brings tests along: %s" % tests[0]["name"])
    for kind in ("shared", "static"):
        installed.run(["meson", "configure", build, "-Ddefault_library=" + kind])
        installed.run(["ninja", "-C", build] + programs)
        for program in programs:
            installed.check_program(os.path.join(build, program), folder)


if __name__ == "__main__":
    installed.script(check)

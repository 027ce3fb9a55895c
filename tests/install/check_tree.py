"""What an installation holds is all that it should, and nothing else: check_tree.py SOURCE_ROOT with|without-program.

Headers, man pages and schemas are those of the source tree, so that a new one that is not installed is seen.
"""

import os

import installed

COMPLETIONS = [
    "share/bash-completion/completions/strata",
    "share/fish/vendor_completions.d/strata.fish",
    "share/zsh/site-functions/_strata",
]
SCHEMAS = "share/strata/schemas/"
LIBRARY_SCHEMAS = ["strata-memory.schema.json", "strata-offsets.schema.json"]


def names(*folder):
    return sorted(os.listdir(os.path.join(*folder)))


def wanted(source_root, with_program):
    version = os.environ["STRATA_VERSION"]
    libraries = ["a", "so", "so." + version.split(".")[0], "so." + version]
    files = ["libdir/libstrata." + ending for ending in libraries]
    files += ["libdir/pkgconfig/strata.pc"]
    files += ["libdir/cmake/strata/strataConfig%s.cmake" % part for part in ("", "Version")]
    headers = [name for name in names(source_root, "include", "strata") if name.endswith(".h")]
    files += ["include/strata/" + name for name in headers + ["version.h"]]
    pages = [name for name in names(source_root, "src", "data", "man") if with_program or name.endswith(".3")]
    files += ["share/man/man%s/%s" % (name[-1], name) for name in pages]
    schemas = names(source_root, "src", "data", "schemas")
    files += [SCHEMAS + name for name in schemas if with_program or name in LIBRARY_SCHEMAS]
    if with_program:
        files += ["bin/strata"] + COMPLETIONS
    return set(files)


def found(prefix, libraries):
    files = set()
    for folder, _, contents in os.walk(prefix):
        for name in contents:
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, libraries)
            files.add(os.path.relpath(path, prefix) if inside.startswith("..") else os.path.join("libdir", inside))
    return files


def check(folder, source_root, program):
    # A library that strata needs may itself be built from subprojects/.
    prefix, libraries = installed.install(folder, "--skip-subprojects")
    has, needs = found(prefix, libraries), wanted(source_root, program == "with-program")
    faults = ["%s is not installed" % name for name in sorted(needs - has)]
    faults += ["%s is installed, but should not be" % name for name in sorted(has - needs)]
    if faults:
        raise installed.Failure("\n".join(faults))
    print("%d files" % len(has))


if __name__ == "__main__":
    installed.script(check)

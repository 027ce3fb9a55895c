"""strata.3 speaks of what the headers have, of each header, and its example compiles.

check_overview.py PAGE BUILD_FOLDER SHARED_LIBRARY HEADER...
"""

import os
import re
import sys

import compiling

NAME = re.compile(r"^\.(?:Pq )?(?:It )?(?:Fn|Dv|Vt)(?: enum)? (\w+)", re.MULTILINE)
INCLUDE = re.compile(r"^\.It In strata/([\w.]+)$", re.MULTILINE)
EXAMPLE = re.compile(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", re.MULTILINE | re.DOTALL)


def main(page, build_folder, library, headers):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    declarations = ""
    for header in headers:
        with open(header, encoding="utf-8") as file:
            declarations += file.read()
    known = set(re.findall(r"\w+", declarations))
    names, faults = NAME.findall(text), []
    faults += ["the page speaks of %s, which no header has" % name for name in sorted(set(names) - known)]
    differing = set(INCLUDE.findall(text)) ^ {os.path.basename(header) for header in headers}
    faults += ["%s is listed without being a header, or the other way round" % name for name in sorted(differing)]
    # \e is the backslash of man pages.
    example = EXAMPLE.search(text)[1].replace("\\e", "\\")
    options = [library, "-Wl,-rpath-link," + os.path.dirname(library)]
    complaint = compiling.compile_text(example, "c11", build_folder, options)
    if complaint:
        faults.append("the example does not compile:\n" + complaint)
    if not names:
        faults.append("no name was found in the page")
    print("\n".join(faults) if faults else "%d names are right, and the example compiles" % len(names))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], sys.argv[4:]))

"""The shared library exports what the headers declare and nothing else; the static one defines only strata_ names.

check_exports.py SHARED STATIC HEADER...
"""

import os
import re
import subprocess
import sys

# The version nodes of src/strata.map are symbols as well.
VERSION_NODE = re.compile(r"STRATA_\d+$")
PROTOTYPE = re.compile(r"\bSTRATA_API\b[^;{}()]*?\b(\w+)\s*\(")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def declared(headers):
    names = set()
    for path in headers:
        with open(path, encoding="utf-8") as file:
            text = COMMENT.sub("", file.read())
        text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        names.update(PROTOTYPE.findall(text))
    return names


def defined(*arguments):
    output = subprocess.run([os.environ["STRATA_NM"], *arguments], capture_output=True, text=True, check=True).stdout
    # "address type name"; an archive's members have head lines of their own.
    rows = (line.split() for line in output.splitlines())
    return {row[2].split("@")[0] for row in rows if len(row) == 3}


def main(shared, static, headers):
    faults = []
    wanted = declared(headers)
    exported = {name for name in defined("-D", "--defined-only", shared) if not VERSION_NODE.match(name)}
    faults += ["the shared library exports %s, which no header declares" % name for name in sorted(exported - wanted)]
    faults += ["%s is declared STRATA_API but not exported" % name for name in sorted(wanted - exported)]
    faults += ["the header's %s lacks the prefix" % name for name in sorted(wanted) if not name.startswith("strata_")]
    strangers = {name for name in defined("-g", "--defined-only", static) if not name.startswith("strata_")}
    faults += ["the static library defines the global symbol %s" % name for name in sorted(strangers)]
    if not wanted:
        faults.append("no STRATA_API prototype was found in the headers")
    print("\n".join(faults) if faults else "%d functions are declared and exported" % len(wanted))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))

"""Compiles one public header alone: check_headers.py BUILD_FOLDER STANDARD HEADER. Exit 77 without a compiler."""

import sys

import compiling


def main(build_folder, standard, header):
    if compiling.compiler(standard) is None:
        print("skipped: this build has no C++ compiler")
        return 77
    # Twice, so that the include guard is tried too.
    text = '#include "strata/%s"\n' % header * 2 + "int main(void) { return 0; }\n".replace(
        "void", "" if "++" in standard else "void")
    complaint = compiling.compile_text(text, standard, build_folder, ["-c"])
    if complaint:
        print("strata/%s does not compile alone as %s:\n%s" % (header, standard, complaint))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))

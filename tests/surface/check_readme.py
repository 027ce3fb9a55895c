"""Compiles and links the code blocks of the README that a reader is meant to copy.

check_readme.py README BUILD_FOLDER SHARED_LIBRARY

A block counts when the line before its fence is `<!-- compile -->`. A ```c block is C11 and a ```cpp block C++17; there
must be one of each at least. A block without main becomes the body of one, and its #include lines move to the top,
unless it defines functions of its own;
names that it leaves to the reader are given in `<!-- compile: size_t n = 4; float samples[4] = {0}; -->`.
"""

import os
import re
import sys

import compiling

BLOCK = re.compile(r"^<!-- compile(?::(?P<given>.*?))? -->\n```(?P<tag>\w*)\n(?P<code>.*?)^```$",
                   re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"^\w[^;=]*\) \{$", re.MULTILINE)
STANDARDS = {"c": "c11", "cpp": "c++17"}


def program(code, given):
    if re.search(r"\bint\s+main\s*\(", code):
        return code
    if FUNCTION.search(code):
        return code + "int main(void) { return 0; }\n"
    lines = code.splitlines()
    includes = [line for line in lines if line.lstrip().startswith("#include")]
    body = [line for line in lines if line not in includes]
    return "\n".join(includes + ["int main(int argc, char **argv) {", "(void)argc, (void)argv;", given] + body +
                     ["return 0;", "}", ""])


def main(readme, build_folder, library):
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    # Names that a short example sets and does not use are fine.
    options = ["-Wno-unused", library, "-Wl,-rpath-link," + os.path.dirname(library)]
    seen, faults = set(), []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start("code")) + 1
        standard = STANDARDS.get(block["tag"])
        if standard is None:
            faults.append("line %d: a compiled block must be tagged c or cpp" % line)
            continue
        seen.add(block["tag"])
        if compiling.compiler(standard) is None:
            print("line %d: not compiled, since this build has no C++ compiler" % line)
            continue
        text_to_compile = program(block["code"], block["given"] or "")
        complaint = compiling.compile_text(text_to_compile, standard, build_folder, options)
        if complaint:
            faults.append("line %d: the block does not compile as %s:\n%s" % (line, standard, complaint))
    if text.count("<!-- compile") != len(BLOCK.findall(text)):
        faults.append("a <!-- compile --> is not directly before a fenced block")
    faults += ["there is no compiled block tagged " + tag for tag in sorted(STANDARDS.keys() - seen)]
    print("\n".join(faults) if faults else "all compiled blocks are right")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))

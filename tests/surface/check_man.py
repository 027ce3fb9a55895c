"""The man pages are without faults of markup: check_man.py PAGE... Exit 77 where there is neither mandoc nor groff."""

import shutil
import subprocess
import sys

# Below a warning, mandoc reports a matter of taste, such as a page of another package that is not there.
TOOLS = [["mandoc", "-Tlint", "-Wwarning"], ["groff", "-mandoc", "-ww", "-z", "-Tutf8"]]


def main(pages):
    tool = next((command for command in TOOLS if shutil.which(command[0])), None)
    if tool is None:
        print("skipped: there is neither mandoc nor groff")
        return 77
    faulty = False
    for page in pages:
        done = subprocess.run(tool + [page], capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stdout or done.stderr:
            print(done.stdout + done.stderr, end="")
            faulty = True
    if not faulty:
        print("%s finds nothing wrong in %d pages" % (tool[0], len(pages)))
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

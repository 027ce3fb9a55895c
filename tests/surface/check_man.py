"""A man page is formatted without a warning: check_man.py GROFF PAGE."""

import subprocess
import sys


def main(groff, page):
    done = subprocess.run([groff, "-mdoc", "-ww", "-Tutf8", page], capture_output=True, text=True, check=False)
    print(done.stderr, end="")
    return 1 if done.returncode != 0 or done.stderr or "STRATA" not in done.stdout else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

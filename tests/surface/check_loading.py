"""Loads the shared library at run time, opens a device, closes all, unloads it and ends: check_loading.py SHARED.

The program's own exit status must come through, in time (shared libraries of drivers may have threads by then)."""

import subprocess
import sys

OWN_STATUS = 42
PATIENCE_S = 60

PROGRAM = """
import _ctypes, ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.strata_device_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
library.strata_device_close.argtypes = [ctypes.c_void_p]
device = ctypes.c_void_p()
status = library.strata_device_open(None, None, ctypes.byref(device))
print("opened" if status == 0 else "no device (%d)" % status)
library.strata_device_close(ctypes.byref(device))
_ctypes.dlclose(library._handle)
sys.exit(int(sys.argv[2]))
"""


def main(shared):
    command = [sys.executable, "-c", PROGRAM, shared, str(OWN_STATUS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    print(done.stdout + done.stderr, end="")
    if done.returncode != OWN_STATUS:
        print("the program ended with %d instead of its own %d" % (done.returncode, OWN_STATUS))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Finds the OpenCL runtimes that the tests know by name, and makes a loader see one of them only."""

import glob
import os
import shutil

VENDOR_FOLDERS = [
    "/etc/OpenCL/vendors",
    "/usr/share/OpenCL/vendors",
    "/usr/local/etc/OpenCL/vendors",
    "/opt/homebrew/etc/OpenCL/vendors",
]

# "system" is whatever the loader finds by itself, and "none" is a machine without a runtime.
NAMES = ["pocl", "rusticl", "oclgrind", "system", "none"]


def icd_line(pattern):
    """What the first .icd file of that name says: the library to load."""
    for folder in VENDOR_FOLDERS:
        for path in sorted(glob.glob(os.path.join(folder, pattern))):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if line.strip():
                        return line.strip()
    return None


def oclgrind_library():
    """Oclgrind is installed without an .icd: its library lies in a folder beside its program."""
    program = shutil.which("oclgrind")
    if program is None:
        return None
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    for pattern in ["lib*/oclgrind", "lib/*/oclgrind", "lib*", "lib/*"]:
        for path in sorted(glob.glob(os.path.join(prefix, pattern, "liboclgrind-rt-icd.*"))):
            return path
    return None


def library(name):
    """The library of a runtime as an .icd names it, or None."""
    if name == "oclgrind":
        return icd_line("oclgrind*.icd") or oclgrind_library()
    return icd_line(name + "*.icd")


def environment(name, folder):
    """The variables that select runtime `name` alone, with its files below `folder`; None where it is not installed.

    OCL_ICD_VENDORS names a folder, since both ocl-icd and the Khronos loader take one. The caches below `folder` are
    the runtime's own compilers' and stay from run to run.
    """
    variables = {
        "STRATA_TEST_RUNTIME": name,
        "POCL_CACHE_DIR": os.path.join(folder, "pocl"),
        "MESA_SHADER_CACHE_DIR": os.path.join(folder, "mesa"),
    }
    os.makedirs(variables["POCL_CACHE_DIR"], exist_ok=True)
    os.makedirs(variables["MESA_SHADER_CACHE_DIR"], exist_ok=True)
    if name == "system":
        return variables
    vendors = os.path.join(folder, "vendors")
    os.makedirs(vendors, exist_ok=True)
    if name != "none":
        icd = library(name)
        if icd is None:
            return None
        with open(os.path.join(vendors, name + ".icd"), "w", encoding="utf-8") as file:
            file.write(icd + "\n")
    variables["OCL_ICD_VENDORS"] = vendors
    if name == "rusticl":
        variables["RUSTICL_ENABLE"] = "llvmpipe"
    return variables

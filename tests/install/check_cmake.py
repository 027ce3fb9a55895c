"""Builds and runs a consumer with CMake's find_package(strata): check_cmake.py c|c++ shared|static."""

import os
import shutil

import installed

LANGUAGES = {"c": ("C", "CC"), "c++": ("CXX", "CXX")}
TARGETS = {"shared": "strata::strata", "static": "strata::strata_static"}


def check(folder, language, kind):
    tool = shutil.which("cmake")
    if tool is None:
        raise installed.Skip("there is no cmake")
    words = installed.compiler(language)
    prefix, libraries = installed.install(os.path.join(folder, "copy"))
    name, variable = LANGUAGES[language]
    build = os.path.join(folder, "build")
    # CMake looks through the folders that this system uses for libraries. The build may have been told another one.
    paths = prefix + ";" + os.path.join(libraries, "cmake")
    # A compiler that is several words, "ccache gcc" say, is understood in the environment only.
    installed.run([tool, "-S", installed.CONSUMER, "-B", build, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + paths,
                   "-DLANGUAGE=" + name, "-DTARGET=" + TARGETS[kind], "-DVERSION=" + os.environ["STRATA_VERSION"]],
                  {variable: " ".join(words)})
    installed.run([tool, "--build", build])
    if kind == "static":
        installed.remove_shared(libraries)
    installed.check_program(os.path.join(build, "consumer"), folder)


if __name__ == "__main__":
    installed.script(check)

"""Uses an installed copy as others would: check_install.py KIND BUILD_FOLDER SOURCE_FOLDER PREFIX LIBDIR.

KIND is pkg-config, cmake or subproject. The copy lies in a folder of its own, not where its prefix says. Exit 77 where
the tool is missing."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit("%s\nended with %d:\n%s%s" % (shlex.join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout


def check_program(path, library_folder, version):
    environment = dict(os.environ, LD_LIBRARY_PATH=library_folder)
    printed = run([path], env=environment)
    if not printed.endswith("strata %s\n" % version):
        sys.exit("%s printed %r" % (path, printed))


def is_linked_with(path, name):
    return name in run(["ldd", path], env=dict(os.environ, LD_LIBRARY_PATH=""))


class Copy:
    def __init__(self, folder, build, prefix, libdir):
        run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", folder])
        self.folder = folder
        self.prefix = folder + prefix
        self.library_folder = os.path.join(self.prefix, libdir)
        with open(os.path.join(build, "meson-info", "intro-projectinfo.json"), encoding="utf-8") as file:
            self.version = json.load(file)["version"]


def check_pkg_config(copy):
    if shutil.which("pkg-config") is None:
        return SKIPPED
    where = dict(os.environ, PKG_CONFIG_PATH=os.path.join(copy.library_folder, "pkgconfig"))
    ask = ["pkg-config", "--define-variable=prefix=" + copy.prefix]
    if run(ask + ["--modversion", "strata"], env=where).strip() != copy.version:
        sys.exit("pkg-config has another version")
    for variable, options in [("STRATA_CC", ["-x", "c", "-std=c99"]), ("STRATA_CXX", ["-x", "c++", "-std=c++17"])]:
        compiler = os.environ[variable].split()
        for static in (False, True):
            words = run(ask + ["--cflags", "--libs"] + ["--static"] * static + ["strata"], env=where).split()
            if static:
                place = words.index("-lstrata")
                words[place:place + 1] = ["-Wl,-Bstatic", "-lstrata", "-Wl,-Bdynamic"]
            if compiler:
                program = os.path.join(copy.folder, "app")
                run(compiler + options + [os.path.join(HERE, "app.c"), "-x", "none", "-o", program] + words)
                check_program(program, copy.library_folder, copy.version)
                if is_linked_with(program, "libstrata") == static:
                    sys.exit("%s, static %s: it is linked with the wrong library" % (variable, static))
    return 0


def check_cmake(copy):
    if shutil.which("cmake") is None or not os.environ["STRATA_CXX"]:
        print("skipped: there is no CMake, or no C++ compiler")
        return SKIPPED
    for wanted, fits in [(copy.version, True), ("", True), ("99.0", False)]:
        folder = os.path.join(copy.folder, "cmake" + wanted)
        command = ["cmake", "-S", HERE, "-B", folder, "-DCMAKE_PREFIX_PATH=" + copy.prefix, "-DWANTED_VERSION=" + wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if (done.returncode == 0) != fits:
            sys.exit("version '%s':\n%s%s" % (wanted, done.stdout, done.stderr))
        if not fits and "99.0" not in done.stderr:
            sys.exit("the wrong version is not said: " + done.stderr)
        if wanted == copy.version:
            run(["cmake", "--build", folder])
            for name in ["c_strata", "c_strata_static", "cpp_strata", "cpp_strata_static"]:
                check_program(os.path.join(folder, name), copy.library_folder, copy.version)
    return 0


def check_subproject(source, version):
    with tempfile.TemporaryDirectory() as folder:
        for name in ["meson.build", "app.c"]:
            shutil.copy(os.path.join(HERE, name), folder)
        os.mkdir(os.path.join(folder, "subprojects"))
        os.symlink(source, os.path.join(folder, "subprojects", "strata"))
        build = os.path.join(folder, "build")
        run(["meson", "setup", build, folder, "--force-fallback-for=strata"])
        tests = json.loads(run(["meson", "introspect", "--tests", build]))
        if tests:
            sys.exit("a subproject brings its tests along: %s" % [test["name"] for test in tests][:3])
        run(["ninja", "-C", build, "app"])
        check_program(os.path.join(build, "app"), "", version)
    return 0


def main(kind, build, source, prefix, libdir):
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(folder, build, prefix, libdir)
        if kind == "pkg-config":
            return check_pkg_config(copy)
        if kind == "cmake":
            return check_cmake(copy)
        return check_subproject(source, copy.version)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Set-up on any machine: the search for a Python, the virtual environment, the lock, the wheel."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LOCK = ROOT / "requirements.lock"

SHIM = 'echo "pyenv: ${0##*/}: command not found" >&2\nexit 127\n'


def script(path: Path, body: str) -> Path:
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + body, encoding="utf-8")
    path.chmod(0o755)
    return path


def stand_in(
    path: Path,
    *,
    version: tuple[int, int] = (3, 13),
    implementation: str = "cpython",
    free_threaded: bool = False,
    missing: tuple[str, ...] = (),
) -> Path:
    """Write a Python that passes for another: this one, told what to say of itself."""
    disguise = path.with_name(f".{path.name}.disguise")
    script(path, f'exec "{sys.executable}" -S "{disguise}" "$@"\n')
    disguise.write_text(
        "import sys, sysconfig, ctypes, ensurepip, ssl, venv\n"
        f"sys.version_info = {version}\n"
        f"sys.implementation.name = {implementation!r}\n"
        f"sys._base_executable = {str(path)!r}\n"
        f"sysconfig.get_config_var = lambda name: {int(free_threaded)}\n"
        f"sys.modules.update(dict.fromkeys({missing!r}))\n"
        "exec(sys.argv[2])\n",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def machine(tmp_path):
    """Directories of a machine without any Python; their names hold a space."""
    home = tmp_path / "the home"
    commands = tmp_path / "the commands"
    home.mkdir()
    commands.mkdir()
    for tool in ("sort", "sh"):
        (commands / tool).symlink_to(shutil.which(tool))
    return {"PATH": commands, "HOME": home}


def find_python(machine, **variables):
    """Run the search in that machine."""
    environment = {name: str(value) for name, value in (machine | variables).items()}
    return subprocess.run(
        [ROOT / ".ci" / "find-python"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def assert_found(done, path):
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{path}\n", "")


def assert_none(done, *words):
    """One line on stderr that says what to do, nothing else."""
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"[^\n]+\n", done.stderr)
    for word in words:
        assert word in done.stderr


def test_find_python_passes_over_a_command_that_refuses_to_run(machine):
    script(machine["PATH"] / "python3.14", SHIM)
    expected = stand_in(machine["PATH"] / "python3.13")
    stand_in(machine["PATH"] / "python3.12", version=(3, 12))
    assert_found(find_python(machine), expected)


def test_find_python_passes_over_a_plain_python3_that_is_too_old(machine):
    stand_in(machine["PATH"] / "python3", version=(3, 11))
    expected = stand_in(machine["HOME"] / ".pyenv/versions/3.12.1/bin/python", version=(3, 12))
    assert_found(find_python(machine), expected)


def test_find_python_takes_a_plain_python3_where_no_other_name_runs(machine):
    script(machine["PATH"] / "python3.13", SHIM)
    expected = stand_in(machine["PATH"] / "python3", version=(3, 12))
    assert_found(find_python(machine), expected)


@pytest.mark.parametrize("minor", range(10, 17))
def test_find_python_takes_the_versions_of_requires_python(machine, minor):
    python = stand_in(machine["PATH"] / "python3", version=(3, minor))
    if f"3.{minor}" in SpecifierSet(PROJECT["requires-python"]):
        assert_found(find_python(machine), python)
    else:
        assert_none(find_python(machine))


@pytest.mark.parametrize(
    "flaw",
    [
        {"missing": ("ensurepip",)},
        {"missing": ("venv",)},
        {"implementation": "pypy"},
        {"free_threaded": True},
    ],
    ids=str,
)
def test_find_python_refuses_one_that_cannot_be_set_up(machine, flaw):
    stand_in(machine["PATH"] / "python3.13", **flaw)
    assert_none(find_python(machine))


def test_find_python_takes_the_newest_usable_version_of_pyenv(machine):
    versions = machine["PATH"].parent / "py env" / "versions"
    script(versions / "3.13.0" / "bin" / "python", SHIM)
    expected = stand_in(versions / "3.12.10" / "bin" / "python", version=(3, 12))
    for older in ("3.12.9", "3.12.1", "3.9.18"):
        minor = int(older.split(".")[1])
        stand_in(versions / older / "bin" / "python", version=(3, minor))
    assert_found(find_python(machine, PYENV_ROOT=versions.parent), expected)


def test_find_python_without_any_says_so_in_one_line(machine):
    assert_none(find_python(machine), "Python 3.12", "install")


def test_find_python_without_a_home_says_so_in_one_line(machine):
    del machine["HOME"]
    assert_none(find_python(machine), "install")


def test_find_python_takes_the_one_that_PYTHON_names(machine):
    stand_in(machine["PATH"] / "python3.13")
    expected = stand_in(machine["HOME"] / "my python", version=(3, 12))
    assert_found(find_python(machine, PYTHON=expected), expected)


@pytest.mark.parametrize("body", [SHIM, "exit 0\n", None], ids=["refuses", "silent", "absent"])
def test_find_python_stops_at_a_PYTHON_that_is_unusable(machine, body):
    stand_in(machine["PATH"] / "python3.13")
    chosen = machine["HOME"] / "my python"
    if body is not None:
        script(chosen, body)
    assert_none(find_python(machine, PYTHON=chosen), f"PYTHON={chosen}")


def fake_uv(machine, *, has: bool = False, installs: bool = True) -> Path:
    """Write a uv that knows or can install one Python; each call is logged."""
    python = stand_in(machine["HOME"] / "uv" / "python")
    known = machine["HOME"] / "installed"
    if has:
        known.touch()
    install = f': > "{known}"' if installs else "exit 2"
    script(
        machine["PATH"] / "uv",
        f'echo "$*" >> "{machine["HOME"]}/uv.log"\n'
        f'case "$1 $2" in\n"python find") [ -e "{known}" ] || exit 2; echo "{python}" ;;\n'
        f'"python install") {install} ;;\nesac\n',
    )
    return python


def uv_calls(machine):
    return (machine["HOME"] / "uv.log").read_text(encoding="utf-8")


def test_find_python_asks_uv_last(machine):
    expected = fake_uv(machine, has=True)
    assert_found(find_python(machine), expected)
    assert "install" not in uv_calls(machine)
    on_path = stand_in(machine["PATH"] / "python3.12", version=(3, 12))
    assert_found(find_python(machine), on_path)


def test_find_python_fetches_one_with_uv_where_there_is_none(machine):
    expected = fake_uv(machine)
    done = find_python(machine)
    assert (done.returncode, done.stdout) == (0, f"{expected}\n")
    assert re.fullmatch(r"Fetching [^\n]+\n", done.stderr)
    assert "python install" in uv_calls(machine)


def test_find_python_says_what_to_install_where_uv_fails(machine):
    fake_uv(machine, installs=False)
    done = find_python(machine)
    assert (done.returncode, done.stdout) == (1, "")
    assert "install one" in done.stderr.splitlines()[-1]


@pytest.fixture
def clone(tmp_path):
    """A clone in a directory with a space, and a Python whose environments only log their calls."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    directory = tmp_path / "a clone"
    (directory / ".ci").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "requirements.lock", ".ci/find-python"):
        shutil.copy(ROOT / name, directory / name)
    log = tmp_path / "log"
    log.touch()
    inner = script(
        tmp_path / "inner python",
        f'echo "$*" >> "{log}"\ncase "$*" in *install*) [ ! -e "{tmp_path}/broken" ] ;; esac\n',
    )
    script(
        tmp_path / "python",
        'if [ "$1" = -c ]; then echo "$0"; exit; fi\n'
        f'echo "$*" >> "{log}"\nmkdir -p .venv/bin && cp "{inner}" .venv/bin/python\n',
    )
    return directory


def make(clone, target=".venv/ready"):
    """Run make there, apart from the make that may be running these tests; return the log."""
    log = clone.parent / "log"
    log.write_text("", encoding="utf-8")
    done = subprocess.run(
        ["make", target],
        cwd=clone,
        env={"PATH": os.environ["PATH"], "PYTHON": str(clone.parent / "python")},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    calls = log.read_text(encoding="utf-8").splitlines()
    return done, [call for call in calls if call != "-c import pip"]


def test_setup_makes_the_environment_and_installs_only_what_is_pinned(clone):
    done, calls = make(clone)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1
    made, pinned, project = calls
    assert made == "-m venv .venv"
    assert "--require-hashes --only-binary :all: -r requirements.lock" in pinned
    assert "--no-deps --no-build-isolation --editable ." in project


def test_setup_is_done_once(clone):
    make(clone)
    done, calls = make(clone)
    assert (done.returncode, calls) == (0, [])


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_setup_installs_again_where_a_pin_changed(clone, name):
    make(clone)
    later = (clone / ".venv/ready").stat().st_mtime + 5
    os.utime(clone / name, (later, later))
    done, calls = make(clone)
    assert done.returncode == 0
    assert len(calls) == 2
    assert not any("venv" in call for call in calls)


def test_setup_that_was_interrupted_is_taken_up_again(clone):
    broken = clone.parent / "broken"
    broken.touch()
    done, _ = make(clone)
    assert done.returncode != 0
    assert not (clone / ".venv/ready").exists()
    broken.unlink()
    done, calls = make(clone)
    assert done.returncode == 0
    assert len(calls) == 2


def test_setup_that_fails_after_a_change_leaves_no_stamp(clone):
    make(clone)
    later = (clone / ".venv/ready").stat().st_mtime + 5
    os.utime(clone / "requirements.lock", (later, later))
    (clone.parent / "broken").touch()
    done, _ = make(clone)
    assert done.returncode != 0
    assert not (clone / ".venv/ready").exists()


def test_setup_is_made_anew_where_the_clone_moved(clone):
    make(clone)
    moved = clone.rename(clone.with_name("another name"))
    done, calls = make(moved)
    assert done.returncode == 0
    assert calls[0] == "-m venv .venv"
    assert make(moved)[1] == []


def test_setup_is_made_anew_where_the_interpreter_vanished(clone):
    make(clone)
    (clone / ".venv/bin/python").unlink()
    done, calls = make(clone)
    assert done.returncode == 0
    assert calls[0] == "-m venv .venv"


def test_setup_without_a_python_stops_before_the_old_environment_is_removed(clone):
    make(clone)
    (clone / ".venv/path").write_text("elsewhere\n", encoding="utf-8")
    (clone.parent / "python").unlink()
    done, calls = make(clone)
    assert done.returncode != 0
    assert "PYTHON=" in done.stderr
    assert calls == []
    assert (clone / ".venv/bin/python").exists()


def pins() -> list[str]:
    """The lock's requirements, one a line, with their hashes."""
    text = LOCK.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]


def test_lock_pins_every_line_to_a_version_and_hashes():
    pinned = re.compile(r"[a-z0-9._-]+==[0-9][\w.!+]*( +; [^#]+?)?( +--hash=sha256:[0-9a-f]{64})+")
    assert len(pins()) > 50
    assert [line for line in pins() if not pinned.fullmatch(line)] == []


def test_lock_satisfies_what_the_project_requires():
    locked = dict(line.split()[0].split("==") for line in pins())
    required = [
        *PROJECT["dependencies"],
        *(name for extra in PROJECT["optional-dependencies"].values() for name in extra),
        *PYPROJECT["build-system"]["requires"],
    ]
    for requirement in map(Requirement, required):
        assert locked[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.fixture(scope="module")
def repository_files():
    """Every file that is tracked, or will be, with its content."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if not (ROOT / ".git").exists() or listed.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    files = {
        path: path.read_text(encoding="utf-8", errors="replace") for path in paths if path.is_file()
    }
    assert ROOT / "pyproject.toml" in files
    return files


PACKAGE_INDEX = re.compile(
    r"pypi\.org|pythonhosted\.org|registry\.npmjs|--(extra-)?index-url|--find[-]links"
    r"|https?://\S*/(simple\b|packages/[0-9a-f]{2}/)"
)


def test_no_file_names_a_package_index(repository_files):
    assert [path for path, text in repository_files.items() if PACKAGE_INDEX.search(text)] == []


@pytest.mark.parametrize(
    "line",
    [
        "--" + "index-url x",
        "--" + "extra-index-url=x",
        "https://mirror.example/all/" + "simple/numpy/",
        "http://mirror.example/" + "packages/0a/bc/numpy.whl",
    ],
)
def test_package_index_is_recognised(line):
    assert PACKAGE_INDEX.search(line)
    assert not PACKAGE_INDEX.search("--no-emit-" + "index-url https:" + "//example.org/simpler")


def test_no_file_names_a_path_of_this_machine(repository_files):
    common = {Path("/"), Path(tempfile.gettempdir())}
    places = {ROOT.parent, Path.home()} - common
    assert [
        (path, place)
        for path, text in repository_files.items()
        for place in places
        if f"{place}/" in text
    ] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that `pip install .` installs."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    directory = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    [path] = directory.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_wheel_holds_the_packages_and_no_tests(wheel):
    packages = {"model", "priors", "decision", "studies", "reports"}
    top = {name.partition("/")[0] for name in wheel.namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} <= packages
    expected = {
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert expected <= set(wheel.namelist())
    assert any(name.endswith(".yaml") for name in expected)


def test_wheel_declares_the_console_script(wheel):
    [entry_points] = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "fundworthy = decision.cli:main" in wheel.read(entry_points).decode()

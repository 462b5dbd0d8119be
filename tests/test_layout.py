"""The direction of flow: who may import whom, and who may print."""

import ast
from pathlib import Path

import pytest

from decision.cli import COMMANDS

ROOT = Path(__file__).parents[1]

MAY_IMPORT = {
    "model": {"model"},
    "priors": {"model", "priors"},
    "decision": {"model", "priors", "decision"},
    "studies": {"model", "priors", "decision", "studies"},
    "reports": {"reports"},
}
OURS = {*MAY_IMPORT, "tests"}

MODULES = sorted(path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))


def defines_main(tree: ast.Module) -> bool:
    """Whether the module is a command."""
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)


def forbidden_imports(source: str, package: str) -> list[str]:
    """Imports of ours against the direction of flow, and relative ones, outside `main`."""
    tree = ast.parse(source)
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.FunctionDef) and node.name == "main")
    ]
    imported = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                imported += [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(name), level=0):
                imported.append(name)
            case ast.ImportFrom(module=name, level=level):
                imported.append("." * level + (name or ""))
    return [
        name
        for name in imported
        if name.startswith(".") or name.partition(".")[0] in OURS - MAY_IMPORT[package]
    ]


def prints_outside_commands(source: str) -> list[int]:
    """Lines that use `print` in a module without `main`."""
    tree = ast.parse(source)
    if defines_main(tree):
        return []
    return [
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "print"
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_along_the_flow(path):
    assert (
        forbidden_imports(path.read_text(encoding="utf-8"), path.relative_to(ROOT).parts[0]) == []
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_prints_only_as_a_command(path):
    assert prints_outside_commands(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_command_module_defines_main(name):
    path = ROOT / COMMANDS[name].module.replace(".", "/")
    assert defines_main(ast.parse(path.with_suffix(".py").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("package", "source", "expected"),
    [
        ("model", "import priors.draws", ["priors.draws"]),
        ("model", "import numpy, decision.ranking as r", ["decision.ranking"]),
        ("priors", "from decision import ranking", ["decision"]),
        ("decision", "def value():\n    from studies.execution import run", ["studies.execution"]),
        ("studies", "if TYPE_CHECKING:\n    from reports.memo import Memo", ["reports.memo"]),
        ("reports", "from model.scenario import Scenario", ["model.scenario"]),
        ("reports", "class Page:\n    def main(self):\n        import model", ["model"]),
        ("decision", "from tests.oracles import scalar_model", ["tests.oracles"]),
        ("model", "from . import step", ["."]),
        ("model", "from ..priors import draws", ["..priors"]),
    ],
)
def test_forbidden_imports_finds_what_it_should(package, source, expected):
    assert forbidden_imports(source, package) == expected


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("priors", "from model.scenario import Scenario"),
        ("studies", "import decision.ranking, priors.draws, model.step"),
        ("decision", "def main(argv=None):\n    from reports.memo import write"),
        ("model", "import modeller, numpy"),
    ],
)
def test_forbidden_imports_passes_what_is_allowed(package, source):
    assert forbidden_imports(source, package) == []


def test_prints_outside_commands_tells_a_command_from_a_module():
    helper = "def show():\n    print('x')\n"
    assert prints_outside_commands(helper) == [2]
    assert prints_outside_commands(helper + "def main(argv=None):\n    show()\n") == []
    assert prints_outside_commands("def blueprint():\n    console.print('x')\n") == []

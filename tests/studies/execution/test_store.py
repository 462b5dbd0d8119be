"""The directory of a study: whose it is, whole parts, nothing that runs."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import studies.execution.study
from model.errors import InputError
from studies.execution.options import Execution
from studies.execution.store import unfinished
from studies.execution.study import run_study
from tests.studies.execution.test_study import digest
from tests.studies.execution.work import row_tasks, runs

ANEW = Execution(resume=False)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    path = tmp_path / "marks"
    path.mkdir()
    return path


def test_unfinished_study_lies_beside_its_place() -> None:
    assert unfinished(Path("runs/a.b")) == Path("runs/a.b.unfinished")


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"study": "other"}, "study was test and is now other"),
        ({"facts": {"seed": 2}}, "facts seed was 1 and is now 2"),
        ({"facts": {}}, "facts seed was 1 and is now absent"),
        ({"tasks": row_tasks(4)}, "tasks count was 3 and is now 4"),
        ({"tasks": row_tasks(3, seed=2)}, "tasks digest was "),
        ({"tasks": row_tasks(3)[::-1]}, "tasks digest was "),
        ({"shared": {"shift": np.ones(3)}}, "shared shift was "),
    ],
)
def test_other_study_is_refused_with_what_differs(
    change: dict[str, object], difference: str, tmp_path: Path
) -> None:
    same = {
        "tasks": row_tasks(3),
        "study": "test",
        "facts": {"seed": 1},
        "shared": {"shift": np.zeros(3)},
    }
    run_study(directory=tmp_path / "s", **same)  # type: ignore[arg-type]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    with pytest.raises(InputError) as raised:
        run_study(directory=tmp_path / "s", **{**same, **change})  # type: ignore[arg-type]
    assert difference in str(raised.value)
    assert "--no-resume starts anew and discards its finished tasks" in str(raised.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")} == before
    anew = {**same, **change, "execution": ANEW}
    assert run_study(directory=tmp_path / "s", **anew).resumed == 0  # type: ignore[arg-type]


def test_study_of_other_code_or_versions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_study(row_tasks(3), tmp_path / "s", study="test")
    monkeypatch.setattr(studies.execution.study, "code_digest", lambda: "0" * 64)
    with pytest.raises(InputError, match=r"code was [0-9a-f]{12}… and is now 000000000000…"):
        run_study(row_tasks(3), tmp_path / "s", study="test")
    monkeypatch.undo()
    manifest = tmp_path / "s" / "manifest.json"
    content = json.loads(manifest.read_text())
    content["versions"]["numpy"] = "1.0.0"
    manifest.write_text(json.dumps(content))
    now = f"versions numpy was 1.0.0 and is now {np.__version__}"
    with pytest.raises(InputError, match=now):
        run_study(row_tasks(3), tmp_path / "s", study="test")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 99}', "\x80"])
@pytest.mark.parametrize("execution", [Execution(), ANEW])
def test_directory_of_something_else_is_left_alone(
    content: str, execution: Execution, tmp_path: Path
) -> None:
    directory = tmp_path / "s"
    directory.mkdir()
    (directory / "manifest.json").write_text(content)
    (directory / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="no unfinished study: it is left alone"):
        run_study(row_tasks(3), directory, study="test", execution=execution)
    assert len(list(directory.iterdir())) == 2


def damage(part: Path, how: str) -> None:
    content = bytearray(part.read_bytes())
    match how:
        case "cut":
            content = content[: len(content) // 2]
        case "empty":
            content = bytearray()
        case "flipped":
            # Within the first data page: the footer is at the end.
            content[60] ^= 0xFF
        case "other task":
            content = bytearray(part.with_name("000002.parquet").read_bytes())
        case "bare":
            pq.write_table(pa.table({"task": [1]}), part)
            return
    part.write_bytes(content)


@pytest.mark.parametrize("how", ["cut", "empty", "flipped", "other task", "bare"])
def test_damaged_part_is_computed_again(how: str, tmp_path: Path, marks: Path) -> None:
    directory = tmp_path / "s"
    first = run_study(row_tasks(4, marks=marks), directory, study="test")
    before = digest(first.table())
    damage(directory / "parts" / "000001.parquet", how)
    with pytest.raises(InputError, match="damaged or gone"):
        first.table()
    again = run_study(row_tasks(4, marks=marks), directory, study="test")
    assert again.resumed == 3
    assert runs(marks) == {0: 1, 1: 2, 2: 1, 3: 1}
    assert digest(again.table()) == before


class Bomb:
    """What runs code wherever it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.target,)


def test_nothing_in_the_directory_is_ever_unpickled(tmp_path: Path) -> None:
    directory, trap = tmp_path / "s", tmp_path / "trap"
    run_study(row_tasks(3), directory, study="test")
    bomb = pickle.dumps(Bomb(trap))
    schema = pa.schema({"task": pa.int64()}, metadata={"ARROW:schema": bomb, "pandas": bomb})
    for path in (directory / "parts").iterdir():
        path.write_bytes(bomb)
    pq.write_table(pa.table({"task": [1]}, schema=schema), directory / "parts" / "000000.parquet")
    assert run_study(row_tasks(3), directory, study="test").resumed == 0
    assert not trap.exists()
    # Negative control: the trap works.
    pickle.loads(bomb)
    assert trap.exists()


def test_table_over_many_row_groups_does_not_depend_on_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_study(row_tasks(12), tmp_path / "a", study="test")
    monkeypatch.setattr("studies.execution.store.ROWS_OF_A_GROUP", 5)
    table = run_study(row_tasks(12), tmp_path / "b", study="test").table()
    # Parts of 1, 2, 3, 4 rows: after 6, 6, 6, and so on.
    assert pq.read_metadata(table).num_row_groups == 6
    assert pq.read_table(table).equals(pq.read_table(whole.table()))


def test_study_that_is_being_run_is_not_discarded(tmp_path: Path) -> None:
    outcome = run_study(row_tasks(3), tmp_path / "s", study="test")
    with (
        outcome.store.opened(resume=True),
        pytest.raises(InputError, match="this study is being run"),
    ):
        run_study(row_tasks(3), tmp_path / "s", study="test", execution=ANEW)
    assert outcome.store.finished() == 3


def test_facts_that_are_tuples_are_the_same_when_read_back(tmp_path: Path) -> None:
    facts = {"only": ("a", "b"), "share": 0.1}
    for _ in range(2):
        outcome = run_study(row_tasks(2), tmp_path / "s", study="test", facts=facts)
    assert outcome.resumed == 2


def test_study_that_was_moved_goes_on(tmp_path: Path) -> None:
    run_study(row_tasks(3), tmp_path / "s", study="test")
    shutil.move(tmp_path / "s", tmp_path / "elsewhere")
    assert run_study(row_tasks(3), tmp_path / "elsewhere", study="test").resumed == 3

"""Draws: their streams, and files of draws good and bad."""

import numpy as np
import pandas as pd
import pytest

from model.errors import InputError
from priors.catalogue import read_catalogue
from priors.draws import prior_draws, read_draws

KERNEL, DETECT = "kernel.kernel_efficiency", "reliability.detect_time_s"


def test_prior_draws_follow_their_priors():
    from scipy import stats

    catalogue = read_catalogue()
    draws = prior_draws(catalogue, 4000, seed=3)

    assert draws.paths == tuple(catalogue.entries)
    assert draws.chain is None
    # Eleven tests at a fixed seed; each fails by chance once in 10,000.
    for path, entry in catalogue.entries.items():
        assert stats.kstest(entry.prior.cdf(draws.columns[path]), "uniform").pvalue > 1e-4


def test_prior_draws_are_independent_between_parameters():
    columns = np.array(list(prior_draws(read_catalogue(), 4000, seed=3).columns.values()))
    correlation = np.corrcoef(columns) - np.eye(len(columns))

    # Standard error 1/sqrt(4000) = 0.016; 4.5 of them cover 55 pairs.
    assert np.abs(correlation).max() < 0.07


def test_prior_draws_do_not_move_when_others_are_known_or_more_are_asked_for():
    catalogue = read_catalogue()
    base = prior_draws(catalogue, 100, seed=5)
    known = prior_draws(catalogue.with_fixed({KERNEL: 0.5}), 100, seed=5)
    longer = prior_draws(catalogue, 250, seed=5)

    np.testing.assert_array_equal(known.columns[DETECT], base.columns[DETECT])
    np.testing.assert_array_equal(known.columns[KERNEL], 0.5)
    np.testing.assert_array_equal(longer.columns[DETECT][:100], base.columns[DETECT])


def test_prior_draws_differ_between_seeds():
    first, second = (prior_draws(read_catalogue(), 50, seed=s).columns[KERNEL] for s in (1, 2))

    assert not np.any(first == second)


def test_columns_cannot_be_changed():
    column = prior_draws(read_catalogue(), 5, seed=1).columns[KERNEL]

    with pytest.raises(ValueError, match="read-only"):
        column[0] = 1.0


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "draw": range(7),
            KERNEL: rng.uniform(0.4, 0.7, 7),
            DETECT: [30, 60, 90, 20, 10, 15, 5],
            "winner": ["a"] * 7,
        }
    )


def write(table, path):
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    return path


@pytest.mark.parametrize("name", ["draws.csv", "draws.parquet", "no_suffix"])
def test_read_draws_keeps_order_and_every_bit(table, tmp_path, name):
    draws = read_draws(write(table, tmp_path / name))

    assert draws.paths == (KERNEL, DETECT)
    assert len(draws) == 7
    for path in draws.paths:
        np.testing.assert_array_equal(draws.columns[path], table[path])
        assert draws.columns[path].dtype == np.float64
    assert draws.chain is None
    [note] = draws.notes
    assert "2 columns: draw, winner" in note


def test_read_draws_takes_chains(table, tmp_path):
    draws = read_draws(write(table.assign(chain=[0, 0, 0, 1, 1, 1, 1]), tmp_path / "d.csv"))

    np.testing.assert_array_equal(draws.chain, [0, 0, 0, 1, 1, 1, 1])


def test_read_draws_accepts_two_rows(table, tmp_path):
    assert len(read_draws(write(table.head(2), tmp_path / "d.csv"))) == 2


def spoil(table, column, row, value):
    table = table.astype({column: object})
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        (lambda t: t.drop(columns=[KERNEL, DETECT]), ["no column is named by the dotted path"]),
        (lambda t: t.drop(columns=[KERNEL]), [KERNEL, "column is missing"]),
        (lambda t: t.head(1), ["1 row of draws", "at least 2"]),
        (lambda t: t.head(0), ["no rows of draws"]),
        (lambda t: spoil(t, KERNEL, 3, None), [KERNEL, "nothing in row 4"]),
        (lambda t: spoil(t, KERNEL, 3, "NaN"), [KERNEL, "row 4"]),
        (lambda t: spoil(t, KERNEL, 3, "inf"), [KERNEL, "row 4"]),
        (lambda t: spoil(t, KERNEL, 2, "fast"), [KERNEL, "'fast' in row 3", "(0, 1]"]),
        (lambda t: spoil(t, KERNEL, 5, 1.5), [KERNEL, "1.5 in row 6", "(0, 1]"]),
        (lambda t: spoil(t, DETECT, 0, -1), [DETECT, "-1.0 in row 1"]),
        (lambda t: t.assign(**{KERNEL: True}), [KERNEL, "True in row 1"]),
        (lambda t: t.assign(chain=[0, 0, 0.5, 1, 1, 1, 1]), ["chain", "0.5 in row 3"]),
        (lambda t: t.assign(chain="first"), ["chain", "'first' in row 1"]),
    ],
)
def test_bad_table_is_named_by_row_and_column(table, tmp_path, change, fragments):
    file = write(change(table), tmp_path / "draws.csv")

    with pytest.raises(InputError) as caught:
        read_draws(file, required=[KERNEL, DETECT])

    for fragment in [str(file), *fragments]:
        assert fragment in str(caught.value)


def test_problems_of_a_table_are_reported_together(table, tmp_path):
    bad = spoil(spoil(table, KERNEL, 1, 7.0), DETECT, 2, "slow")

    with pytest.raises(InputError) as caught:
        read_draws(write(bad, tmp_path / "d.csv"), required=["reliability.restart_time_s"])

    assert len(caught.value.problems) == 3


def test_column_that_is_there_twice_is_refused(tmp_path):
    file = tmp_path / "d.csv"
    file.write_text(f"{KERNEL},{KERNEL}\n0.5,0.6\n0.5,0.6\n")

    with pytest.raises(InputError, match="there twice"):
        read_draws(file)


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (b"", "empty"),
        (b"  \n\n", "empty"),
        (b"a,b\x00\x01", "binary"),
        (b"PAR1 this is not one", "not a readable Parquet file"),
        (b"\xff\xfe\x41\x42\n\xe9", "not a UTF-8 text"),
        (f"{KERNEL}\n0.5,1\n0.6,2,3\n".encode(), "not a readable CSV table"),
    ],
)
def test_file_that_is_no_table_is_refused(tmp_path, content, fragment):
    file = tmp_path / "draws"
    file.write_bytes(content)

    with pytest.raises(InputError, match=fragment):
        read_draws(file)


def test_directory_and_missing_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="this is a directory"):
        read_draws(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_draws(tmp_path / "absent.csv")

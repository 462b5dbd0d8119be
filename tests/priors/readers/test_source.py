"""Text of any encoding, ending and compression as numbered lines."""

import bz2
import gzip
import io
import lzma
import sys

import pytest

from model.errors import InputError
from priors.readers import source as module
from priors.readers.source import TextSource, expand
from priors.readers.text import number_of, seconds_of, split_rank
from tests.priors.readers.files import MEGATRON_MS, megatron, reading, values_of

TEXT = megatron(MEGATRON_MS)


def zstd(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


COMPRESSORS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd,
    "plain": bytes,
}


def lines_of(tmp_path, data):
    path = tmp_path / "x"
    path.write_bytes(data)
    return list(TextSource(str(path)).lines())


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_compression_is_recognised_by_content(tmp_path, kind):
    found = reading(tmp_path, COMPRESSORS[kind](TEXT.encode()), name="any.name")
    assert values_of(found)["step_mean_s"] == pytest.approx(5.6180, abs=5e-5)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_torn_compression_is_refused(tmp_path, kind):
    data = COMPRESSORS[kind](TEXT.encode() * 50)
    with pytest.raises(InputError, match=r"cannot be read|no step|empty|no format"):
        reading(tmp_path, data[: len(data) // 2][:40])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_encodings_are_tolerated(tmp_path, encoding):
    text = "Müller é\n".encode(encoding) if encoding == "latin-1" else b""
    found = reading(tmp_path, text + TEXT.encode(encoding))
    assert values_of(found)["step_mean_s"] == pytest.approx(5.6180, abs=5e-5)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_numbers_count_lines_of_any_ending(tmp_path, ending):
    got = lines_of(tmp_path, ending.join(["a", "b", "", "c", ""]).encode())
    assert [(number, text) for number, text in got if text] == [(1, "a"), (2, "b"), (4, "c")]


def test_progress_bars_share_the_number_of_their_line(tmp_path):
    assert lines_of(tmp_path, b"a\n1%\r2%\r3%\nb\n") == [
        (1, "a"), (2, "1%"), (2, "2%"), (2, "3%"), (3, "b"),
    ]  # fmt: skip


@pytest.mark.parametrize("size", range(1, 12))
def test_colours_across_blocks_are_removed(tmp_path, monkeypatch, size):
    monkeypatch.setattr(module, "BLOCK_BYTES", size)
    data = "x\x1b[38;2;1;2;3mré\x1b[0md\x1b]0;title\x07!\r\nnext".encode()
    assert lines_of(tmp_path, data) == [(1, "xréd!"), (2, "next")]


def test_long_lines_are_cut_and_counted(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"a" * 5_000_000 + b"\nb\n")
    source = TextSource(str(path))
    assert max(len(text) for _, text in source.lines()) == module.MAX_LINE
    assert source.cut_lines_over_length > 0


def test_standard_input_is_read(monkeypatch):
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(TEXT.encode())))
    monkeypatch.setattr(sys, "stdin", stdin)
    source = TextSource("-")
    assert len(source.head()) == len(list(source.lines())) == 9


def test_globs_are_files_in_order(tmp_path):
    for name in ("b.log", "a.log", "c.txt"):
        (tmp_path / name).write_text("x")
    assert expand([str(tmp_path / "*.log")]) == [str(tmp_path / "a.log"), str(tmp_path / "b.log")]
    with pytest.raises(InputError, match="no file"):
        expand([str(tmp_path / "*.csv")])


def test_zstd_without_its_package_says_what_to_do(tmp_path, monkeypatch):
    data = zstd(b"x")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InputError, match="zstandard"):
        reading(tmp_path, data)


@pytest.mark.parametrize(
    ("text", "thousands", "value"),
    [
        ("5,857", True, 5857.0),
        ("5,857", False, None),
        ("1,234,567", False, 1234567.0),
        ("5,857.25", False, 5857.25),
        ("5912,1", False, 5912.1),
        ("1e-7", False, 1e-7),
        ("nan", False, None),
        ("-inf", False, None),
        ("N/A", True, None),
        ("1e999", False, None),
    ],
)
def test_numbers_are_read_in_one_way_or_not_at_all(text, thousands, value):
    assert number_of(text, thousands=thousands) == value


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93784.0),
        ("1 day, 2:03:04", 93784.0),
        ("03:04.5", 184.5),
        ("90 min", 5400.0),
        ("1 h 5 min", 3900.0),
        ("250 ms", 0.25),
        ("12.5", None),
        ("12:99", None),
        ("soon", None),
    ],
)
def test_durations_need_a_form_or_a_unit(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("line", "label", "rest"),
    [
        ("[rank0]:[titan] x", "[rank0]:", "[titan] x"),
        ("[default7]: x", "[default7]:", " x"),
        ("[1,0]<stdout>:x", "[1,0]<stdout>:", "x"),
        (" 3: x", "3:", " x"),
        ("node12: 3: x", "node12: 3:", " x"),
        ("(Worker pid=12, ip=10.0.0.1) x", "(Worker pid=12, ip=10.0.0.1)", " x"),
        ("step: 10 loss", "", "step: 10 loss"),
        ("[2025-01-01 10:00:00] x", "", "[2025-01-01 10:00:00] x"),
        ("10:00:00 x", "", "10:00:00 x"),
    ],
)
def test_prefixes_of_launchers_are_labels(line, label, rest):
    assert split_rank(line) == (label, rest)

"""The page for the meeting as a file: closed, whole, and of its run alone."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import tomllib
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from priors.catalogue import read_catalogue
from priors.draws import prior_draws
from reports import page
from tests.reports.summaries import clear_winner, funded, summary
from tests.runs import rank_into

HOSTILE = "</script><!--\u2028{scenario} $data & \u202e<b>"


def movable(base, name=None):
    """Made by hand: the form of what moving costs takes, without its bytes."""
    options = ["do_nothing", *(o["option"] for o in base["options"] if o["option"] != "do_nothing")]
    return {
        "currency": name or "",
        "price": None,
        "price_over_horizon": None,
        "budget": None,
        "risk_tolerance": None,
        "span": 3.0,
        "answers": [
            {
                "regime": base["regime"],
                "options": options,
                "reach": 3000.0,
                "error": 2e-6,
                "rows": 2000,
                "data": "",
            }
        ],
    }


def rendered(base, **fields):
    return page.render_page(summary(base, **fields), movable(base))


def data_of(text):
    [found] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found)


def test_policy_allows_what_is_inside_and_nothing_else():
    text = rendered(funded())
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        [inside] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_page_refers_to_nothing_outside():
    text = rendered(funded())
    text = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|(src|href)=\"(?!data:)|@import|url\(", text)


def test_hostile_text_ends_nothing_and_is_kept():
    base = funded()
    names = {o["option"]: f"{HOSTILE}{i}" for i, o in enumerate(base["options"])}
    names["do_nothing"] = "do_nothing"
    for one in (*base["options"], *base["economics"]["options"]):
        one["option"] = names[one["option"]]
        one["description"] = HOSTILE
    base["economics"]["decision"]["option"] = names[base["economics"]["decision"]["option"]]
    text = page.render_page(
        summary(base, question={"scenario": HOSTILE}), movable(base, name=HOSTILE)
    )
    assert text.count("</script>") == 2
    assert "<!--" not in text.partition("</head>")[2]
    content = data_of(text)
    assert [o["key"] for o in content["options"][1:]] == [
        name for name in names.values() if name != "do_nothing"
    ]
    assert "<b>" not in text
    assert "{scenario} $data" in text


def test_alarms_stand_before_the_first_number():
    sampler = {
        "converged": False,
        "reasons": ["R-hat 1.4"],
        "rhat_max": 1.4,
        "ess_bulk_min": 20.0,
        "ess_tail_min": 30.0,
        "divergences": 3,
        "chains": 4,
        "chain_draws": 500,
    }
    [answer] = data_of(rendered(clear_winner(), sampler=sampler))["answers"]
    assert any("NOT CONVERGED" in alarm for alarm in answer["alarms"])
    assert any("no costs" in alarm for alarm in answer["alarms"])
    assert answer["chosen"] is None
    [calm] = data_of(rendered(funded()))["answers"]
    assert not any("costs" in alarm for alarm in calm["alarms"])
    assert calm["chosen"] == funded()["economics"]["decision"]["option"]


def test_every_word_is_used_and_every_use_has_a_word():
    templates = files("reports").joinpath("templates")
    words = tomllib.loads(templates.joinpath("page_en.toml").read_text())
    script = templates.joinpath("page.js").read_text()
    makers = script + files("reports").joinpath("page.py").read_text()
    for prefix in ("unsound_", *re.findall(r"`(\w+_)\$\{", makers)):
        makers += " ".join(f" {name} " for name in words["script"] if name.startswith(prefix))
    assert [name for name in words["script"] if not re.search(rf"\b{name}\b", makers)] == []
    used = set(re.findall(r'(?:words\.|say\("|sentence\(")(\w+)', script))
    assert used - set(words["script"]) == {"alarms"}
    shell = templates.joinpath("page.html").read_text()
    placed = set(re.findall(r"\$(\w+)", shell))
    assert set(words["page"]) - {"commit"} <= placed
    fields = {"language", "policy", "style", "script", "data"}
    assert placed - fields <= set(words["page"])


def test_script_is_valid():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; the browser reads the script too")
    script = files("reports").joinpath("templates/page.js").read_text()
    subprocess.run([node, "--check", "-"], input=script, text=True, check=True)


def test_command_writes_the_same_page_again_and_says_where(tmp_path, capsys):
    run = rank_into(tmp_path / "run", "--draws", "60", "--only", "fast_restart,flat_fabric")
    assert page.main([str(run)]) == 0
    target = tmp_path / "meeting.html"
    assert page.main([str(run), "--out", str(target)]) == 0
    assert capsys.readouterr().out.splitlines() == [str(run / page.PAGE), str(target)]
    assert target.read_bytes() == (run / page.PAGE).read_bytes()
    assert len(data_of(target.read_text())["options"]) == 3


def test_command_says_what_it_cannot_read_or_write(tmp_path, capsys):
    assert page.main([str(tmp_path)]) == 2
    assert "not a finished run" in capsys.readouterr().err
    run = rank_into(tmp_path / "run", "--draws", "20", "--only", "fast_restart")
    assert page.main([str(run), "--out", str(tmp_path / "gone" / "x.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    columns = dict(prior_draws(read_catalogue(), 30, 1).columns)
    columns["reliability.spare_fraction"] = np.linspace(0.02, 0.05, 30)
    pd.DataFrame(columns).to_csv(tmp_path / "draws.csv", index=False)
    draws = ("--parameter-draws", str(tmp_path / "draws.csv"), "--only", "fast_restart")
    other = rank_into(tmp_path / "other", *draws)
    assert page.main([str(other)]) == 2
    assert "differs between draws" in capsys.readouterr().err

"""Small summaries, written by hand: the form of ``summary.json`` and nothing of its making."""

import copy

FATES = {
    "productive": (0.538, 0.449, 0.537, 0.627),
    "blocked": (0.345, 0.279, 0.345, 0.410),
    "discarded": (0.088, 0.044, 0.085, 0.137),
    "unavailable": (0.029, 0.028, 0.029, 0.030),
}


def spread(mean, p10, p50, p90):
    return {"mean": mean, "p10": p10, "p50": p50, "p90": p90}


def quantile(value, mcse=None, status="attainable"):
    return {"value": value, "mcse": mcse, "status": status}


UNATTAINABLE = quantile(None, None, "unattainable")
HARMFUL = quantile(None, None, "unattainable downward")


def option(name, p_first, sea, *, gain, regret, description="Change something", **fields):
    """An option; `sea` holds three values, None for unattainable, or records."""
    records = [
        value
        if isinstance(value, dict)
        else UNATTAINABLE
        if value is None
        else quantile(value, max(abs(value) / 50, 0.1))
        for value in sea
    ]
    return {
        "option": name,
        "description": description,
        "p_first": p_first,
        "p_first_mcse": (p_first * (1 - p_first) / 5000) ** 0.5,
        "p_first_in_scope": p_first,
        "p_first_prior": p_first / 2,
        "p_tied": 0.0,
        "sea": dict(zip(("p10", "p50", "p90"), records, strict=True)),
        "p_unattainable": 0.0,
        "p_positive": 1.0,
        "gain_mean": gain,
        "gain_mcse": abs(gain) / 150,
        "expected_regret": regret,
        "expected_regret_mcse": regret / 60,
        "regret_p90": 2.5 * regret,
        "ranks": [],
        **fields,
    }


def nothing(p_first=0.0, *, regret=1064.0):
    zero = quantile(0.0, 0.0)
    return option(
        "do_nothing",
        p_first,
        (zero, zero, zero),
        gain=0.0,
        regret=regret,
        description="Change nothing",
        p_positive=0.0,
    )


def separated(first, second):
    """How two options are told apart, their gains by their own expectations."""
    return {
        "first": first["option"],
        "second": second["option"],
        "share_difference": first["p_first"] - second["p_first"],
        "share_difference_mcse": 0.0119,
        "p_beats": 0.9,
        "p_beats_mcse": 0.0042,
        "gain_difference": first["gain_mean"] - second["gain_mean"],
        "gain_difference_mcse": 5.25,
        "material": 16.876,
    }


def answer(options, **fields):
    """An answer whose derived fields follow from its options unless given."""
    first, second = options[0], options[1] if len(options) > 1 else None
    for row, one in enumerate(options):
        if not one["ranks"]:
            rest = (1 - one["p_first"]) / max(1, len(options) - 1)
            one["ranks"] = [one["p_first"]] + [rest] * (len(options) - 1)
        one["ranks"] = one["ranks"][: len(options)] or [float(row == 0)]
    chosen = min(options, key=lambda one: one["expected_regret"])
    separation = None if second is None else separated(first, second)
    separation_recommended = None if chosen is first else separated(chosen, first)
    productive, *_ = FATES.values()
    return {
        "regime": "",
        "baseline": {
            "accelerators": 16384,
            "pool": 16876,
            "below_indicative": False,
            "fates": {fate: spread(*values) for fate, values in FATES.items()},
            "ucf": spread(*productive),
            "ettr": spread(0.778, 0.661, 0.781, 0.891),
            "productive_accelerators": spread(9078.0, 7580.0, 9075.0, 10577.0),
            "marginal_accelerator": spread(0.3767, 0.2602, 0.3749, 0.4938),
            "recovery_pressure": spread(0.18, 0.078, 0.175, 0.292),
            "point": {
                "fates": {
                    "productive": 0.6274,
                    "blocked": 0.2986,
                    "discarded": 0.0446,
                    "unavailable": 0.0294,
                },
                "ucf": 0.6274,
                "ettr": 0.8885,
                "mfu": 0.377,
                "productive_accelerators": 10587.8,
                "marginal_accelerator": 0.5028,
                "recovery_pressure": 0.082,
            },
        },
        "options": options,
        "leader": first["option"],
        "leader_in_scope": first["option"],
        "recommended": chosen["option"],
        "separation": separation,
        "separation_recommended": separation_recommended,
        "p_out_of_scope": 0.21,
        "p_past_peak": 0.0,
        "tied_draws": 0.0,
        "effective_draws": 5000.0,
        **fields,
    }


def parameter(path="kernel.kernel_efficiency", meaning="achieved share of the peak", **fields):
    return {
        "path": path,
        "unit": "1",
        "meaning": meaning,
        "prior": spread(0.575, 0.475, 0.575, 0.675),
        "posterior": spread(0.571, 0.541, 0.570, 0.602),
        "basis": "published",
        "source": "Nanyonga 2026, uncertainty study",
        "rationale": "range of the study",
        "owner": "performance engineering",
        **fields,
    }


def summary(*answers, question=None, **fields):
    """A run with the given answers."""
    return copy.deepcopy(
        {
            "format": 1,
            "question": {
                "scenario": "reference_405b_16k",
                "stack": "llama3",
                "fleet": "mine",
                "window_days": 30.0,
                "scaling_mode": "strong",
                "scale": None,
                "overrides": {},
                "solver": "exact",
                "draws": 5000,
                "seed": 1,
                "source": "posterior",
                "draws_file": None,
                "evidence": ["published"],
                "priors": "published",
                "interventions": "published",
                **(question or {}),
            },
            "notes": [],
            "warnings": [],
            "answers": list(answers),
            "parameters": [parameter()],
            "sampler": {
                "converged": True,
                "accepted": False,
                "rhat_max": 1.003,
                "ess_bulk_min": 1736.0,
                "ess_tail_min": 1500.0,
                "divergences": 0,
                "chains": 4,
                "reasons": [],
            },
            "provenance": {
                "version": "0.1.0",
                "git_commit": "abcdef0",
                "digest": "0123456789abcdef" * 4,
                "seed": 1,
            },
            **fields,
        }
    )


def clear_winner():
    return answer(
        [
            option("halve_failures", 0.83, (920.0, 2560.0, 6200.0), gain=910.0, regret=41.0),
            option("fast_restart", 0.17, (243.0, 1530.0, 5700.0), gain=658.0, regret=293.0),
            nothing(regret=951.0),
        ]
    )


def split_decision():
    """The leader by share is not the option with the least expected regret."""
    base = answer(
        [
            option("fast_checkpoint", 0.372, (578.0, 2176.0, 5347.0), gain=803.0, regret=260.0),
            option("halve_failures", 0.337, (924.0, 2558.0, 6198.0), gain=911.0, regret=153.0),
            option("fast_restart", 0.291, (243.0, 1527.0, 5726.0), gain=658.0, regret=406.0),
            nothing(),
        ]
    )
    base["separation"] |= {"p_beats": 0.432, "gain_difference": -108.0}
    return base


def nothing_worth_funding():
    return answer(
        [
            nothing(1.0, regret=0.0),
            option(
                "add_spares",
                0.0,
                (-396.0, -396.0, -396.0),
                gain=-151.0,
                regret=151.0,
                description="Hold more spares",
                p_positive=0.0,
            ),
        ]
    )


def unattainable():
    return answer(
        [
            option(
                "halve_failures",
                0.62,
                (None, None, None),
                gain=7779.0,
                regret=1075.0,
                p_unattainable=0.995,
            ),
            option(
                "fast_restart",
                0.38,
                (7810.0, None, None),
                gain=6466.0,
                regret=2389.0,
                p_unattainable=0.736,
            ),
            option("add_spares", 0.0, (HARMFUL, -2637.0, None), gain=-37.6, regret=8817.0),
            nothing(regret=8854.0),
        ],
        p_past_peak=0.782,
    )


def many_options(names=None):
    """Eleven options, as many as the published study has."""
    names = names or [f"intervention_{i}" for i in range(10)]
    shares = [0.37, 0.33, 0.15, 0.13, 0.01, 0.01, 0.0, 0.0, 0.0, 0.0]
    options = [
        option(
            name,
            share,
            (100.0 * (11 - i), 300.0 * (11 - i), 600.0 * (11 - i)),
            gain=100.0 * (10 - i),
            regret=100.0 + 90.0 * i,
        )
        for i, (name, share) in enumerate(zip(names, shares, strict=True))
    ]
    return answer([*options, nothing(regret=1100.0)])


def estimate(value, mcse=None):
    return {"value": value, "mcse": abs(value) / 100 if mcse is None else mcse}


def appraisal(name, cost, *, pays=0.9, net=100.0, best=0.2, loss=300.0, sea=(900.0, 500.0, 200.0)):
    """An option at its cost; a cost of two numbers is uncertain between them."""
    low, high = cost if isinstance(cost, tuple) else (cost, cost)
    baseline = name == "do_nothing"
    return {
        "option": name,
        "feasible": loss is not None,
        "cost": {"mean": (low + high) / 2, "p10": low, "p50": (low + high) / 2, "p90": high},
        "p_pays": None if baseline else estimate(pays, 0.004),
        "break_even": {
            level: UNATTAINABLE
            if value is None
            else HARMFUL
            if value == "harmful"
            else quantile(value, abs(value) / 50)
            for level, value in zip(("50%", "80%", "95%"), sea, strict=True)
        },
        "net_value": {**estimate(net), "p10": net - 80.0, "p50": net, "p90": net + 80.0},
        "utility": estimate(9000.0 + net),
        "p_best": None if loss is None else estimate(best, 0.006),
        "expected_loss": None if loss is None else estimate(loss),
        "loss_p90": None if loss is None else 2.5 * loss,
        "cvar": estimate(7000.0 + net),
        "certainty_equivalent": None,
    }


def with_costs(base, appraisals, *, study=None, budget=900.0, tolerance=None, **fields):
    """An answer with a decision at costs, which follows from its appraisals unless given."""
    feasible = [one for one in appraisals if one["feasible"]]
    order = sorted(feasible, key=lambda one: one["expected_loss"]["value"])
    chosen, rival = order[0], order[1] if len(order) > 1 else None
    factors = [0.0, 0.5, 1.0, 2.0, 3.0]
    names = [one["option"] for one in appraisals]
    frontier = [chosen["option"]] * 4 + ["do_nothing"]
    share = {one["option"]: (one["p_best"] or estimate(0.0))["value"] for one in appraisals}
    loss = {one["option"]: (one["expected_loss"] or {"value": None})["value"] for one in appraisals}
    verdict = "do_not_fund" if chosen["option"] == "do_nothing" else "fund"
    if tolerance is not None:
        for one in appraisals:
            one["certainty_equivalent"] = estimate(8000.0 + one["net_value"]["value"])
    return base | {
        "economics": {
            "horizon_days": 1095.0,
            "budget": budget,
            "stated_budget": False,
            "risk_tolerance": tolerance,
            "options": appraisals,
            "decision": {
                "verdict": "measure_first" if study else verdict,
                "option": chosen["option"],
                "rival": rival and rival["option"],
                "lead": rival
                and estimate(chosen["net_value"]["value"] - rival["net_value"]["value"], 4.0),
                "study": study,
            },
            "perfect_information": chosen["expected_loss"],
            "feasible": [one["option"] for one in feasible],
            "p_beats": [[0.5] * len(feasible)] * len(feasible),
            "dominance": [],
            "curves": {
                "factors": factors,
                "p_best": {name: [share[name]] * len(factors) for name in names},
                "frontier": {"option": frontier, "p_best": [share[name] for name in frontier]},
                "expected_loss": {name: [loss[name]] * len(factors) for name in names},
            },
            "own_curves": [],
            **fields,
        }
    }


STUDY = {
    "name": "timed_restarts",
    "size": 20,
    "unit": "restarts",
    "value": estimate(77.0, 4.0),
    "cost": 12.0,
}


def funded():
    return with_costs(
        split_decision(),
        [
            appraisal("do_nothing", 0.0, net=0.0, best=0.01, loss=851.0, sea=(0.0, 0.0, 0.0)),
            appraisal("fast_checkpoint", 120.0, pays=0.971, net=655.0, best=0.526, loss=196.0),
            appraisal(
                "halve_failures", (500.0, 900.0), pays=0.753, net=392.0, best=0.25, loss=459.0
            ),
            appraisal("fast_restart", 140.0, pays=0.886, net=485.0, best=0.214, loss=366.0),
        ],
    )


def measured_first():
    base = funded()
    return with_costs(split_decision(), base["economics"]["options"], study=STUDY)


def bought_instead():
    """At these costs accelerators bring more; one option is beyond the budget."""
    return with_costs(
        split_decision(),
        [
            appraisal("do_nothing", 0.0, net=0.0, best=0.8, loss=20.0, sea=(0.0, 0.0, 0.0)),
            appraisal("fast_checkpoint", 800.0, pays=0.3, net=-90.0, best=0.15, loss=110.0),
            appraisal(
                "halve_failures", 5000.0, pays=0.1, net=-700.0, loss=None, sea=(None, None, 924.0)
            ),
            appraisal(
                "fast_restart", 600.0, pays=0.2, net=-150.0, best=0.05, loss=170.0,
                sea=(900.0, -5.0, "harmful"),
            ),
        ],
        budget=800.0,
        stated_budget=True,
    )  # fmt: skip


def averse():
    base = funded()
    return with_costs(split_decision(), base["economics"]["options"], tolerance=500.0)


def free_and_useless():
    """No budget: what is free gains nothing."""
    return with_costs(
        nothing_worth_funding(),
        [
            appraisal("do_nothing", 0.0, net=0.0, best=1.0, loss=0.0, sea=(0.0, 0.0, 0.0)),
            appraisal(
                "add_spares", 0.0, pays=0.0, net=-140.0, best=0.0, loss=140.0,
                sea=(-396.0, -396.0, -396.0),
            ),
        ],
        budget=0.0,
    )  # fmt: skip


def many_priced(names=None):
    base = many_options(names)
    return with_costs(
        base,
        [
            appraisal(
                one["option"], 100.0 * k, net=600.0 - 60.0 * k, best=0.09, loss=100.0 + 60.0 * k
            )
            for k, one in enumerate(base["options"])
        ],
        study=STUDY,
    )


WRITE, RATE = "reliability.checkpoint_write_s", "reliability.failure_rate_per_node_day"


def driven():
    """A split decision with what drives it and where it would switch."""
    base = split_decision()
    base["drivers"] = {
        "method": "shapley",
        "index": "shapley",
        "winner": [
            {"factor": WRITE, "value": 0.331, "error": 0.011},
            {"factor": RATE, "value": 0.182, "error": 0.012},
            {"factor": "topology.net_efficiency", "value": 0.012, "error": 0.004},
        ],
        "options": {one["option"]: None for one in base["options"]},
        "switching": [
            {
                "parameter": WRITE,
                "unit": "s",
                "reading": "set",
                "low": 5.4,
                "high": 89.4,
                "flips": [
                    {
                        "value": 41.4,
                        "low": 39.7,
                        "high": 43.0,
                        "found": 1.0,
                        "below": "halve_failures",
                        "above": "fast_checkpoint",
                    }
                ],
                "holding": [
                    {"option": "halve_failures", "share": 0.6},
                    {"option": "fast_checkpoint", "share": 0.4},
                ],
            },
            {
                "parameter": RATE,
                "unit": "1/(node d)",
                "reading": "set",
                "low": 0.0005,
                "high": 0.056,
                "flips": [],
                "holding": [{"option": "halve_failures", "share": 1.0}],
            },
        ],
    }
    return base


def compared():
    """What changed since another run, in the form of ``studies.compare``."""
    costs = [{"input": "costs", "value": -113.2, "mcse": 2.2, "alone": -113.2, "last": -113.2}]
    worth = {
        "before": estimate(515.2, 7.1),
        "after": estimate(402.0, 6.0),
        "change": estimate(-113.2, 2.2),
        "parts": costs,
        "interaction": 0.0,
    }
    names = ("code", "draws", "scenario", "interventions", "priors", "evidence", "costs")
    change = {
        "path": "interventions.fast_restart",
        "before": "60",
        "after": "90",
        "unit": "",
        "meaning": "",
    }
    return {
        "format": 1,
        "run": {"path": "runs/august", "digest": "0123456789abcdef" * 4},
        "other": {"path": "runs/july", "digest": "fedcba9876543210" * 4},
        "inputs": [
            {
                "input": name,
                "changed": name == "costs",
                "changes": [change] if name == "costs" else [],
                "left_out": 2 if name == "costs" else 0,
            }
            for name in names
        ],
        "parts_of": ["costs"],
        "answers": [
            {
                "regime": "",
                "before": {"option": "fast_restart"},
                "after": {"option": "fast_checkpoint"},
                "decisive": [
                    {"input": "costs", "alone": "fast_checkpoint", "without": "fast_restart"}
                ],
                "options": [
                    {
                        "option": "fast_restart",
                        "status": "both",
                        "rank_before": 1,
                        "rank_after": 3,
                        "values": {"gain": worth, "net_value": worth},
                    },
                    {
                        "option": "new_network",
                        "status": "new",
                        "rank_before": None,
                        "rank_after": 2,
                        "values": {},
                    },
                ],
            }
        ],
        "notes": ["the studies on offer differ"],
    }


CASES = {
    "clear_winner": clear_winner,
    "split_decision": split_decision,
    "nothing_worth_funding": nothing_worth_funding,
    "unattainable": unattainable,
    "many_options": many_options,
    "funded": funded,
    "measured_first": measured_first,
    "bought_instead": bought_instead,
    "averse": averse,
    "free_and_useless": free_and_useless,
    "many_priced": many_priced,
}

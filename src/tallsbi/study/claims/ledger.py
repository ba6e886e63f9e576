"""All claims on the data of a run: one row per claim, and per variant where a fidelity switch may decide it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tallsbi.study.claims.kinds import Data, evidence
from tallsbi.study.claims.select import describe
from tallsbi.study.claims.spec import leaves
from tallsbi.study.claims.verdicts import ALPHA, Evidence, Parts, Verdict, judge
from tallsbi.study.claims.views import SOURCES

COLUMNS = (
    "id",
    "section",
    "claim",
    "variant",
    "headline",
    "printed",
    "measured",
    "uncertainty",
    "count",
    "verdict",
    "reading",
    "test",
    "data",
)


def ledger(content: Mapping[str, Any], data: Data, fidelity: Mapping[str, Any]) -> pd.DataFrame:
    """`content`: the checked claims; `data`: the views of the run; `fidelity`: its switches."""
    made = [row for claim in content["claims"] for row in _rows(claim, content["variants"], data, fidelity)]
    return pd.DataFrame(made, columns=list(COLUMNS))


def _rows(
    claim: Mapping[str, Any], variants: Mapping[str, Any], data: Data, fidelity: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for name, headline, test in _variants(claim, variants, fidelity):
        try:
            found = evidence(test, data)
        except ValueError as error:
            raise ValueError(f"{claim['id']} ({name or 'as it is'}): {error}") from error
        except KeyError as error:
            raise ValueError(
                f"{claim['id']} ({name or 'as it is'}): no column {error} in the data of the test; correct its "
                "`value`, or rerun the rule that makes the data"
            ) from error
        tree = found if isinstance(found, Parts) else Parts((found,))
        measured = _measured(tree, judge(tree))
        yield {
            "id": claim["id"],
            "section": claim["section"],
            "claim": claim["claim"],
            "variant": name,
            "headline": headline,
            "printed": claim["printed"],
            **measured,
            "verdict": str(judge(tree)),
            "reading": " ".join(filter(None, [measured["reading"], _switches(claim, fidelity)])),
            "test": in_words(claim["test"]),
            "data": ", ".join(dict.fromkeys(s for leaf in leaves(test) for s in SOURCES[leaf["data"]][0])),
        }


def _variants(
    claim: Mapping[str, Any], variants: Mapping[str, Any], fidelity: Mapping[str, Any]
) -> list[tuple[str, bool, Mapping[str, Any]]]:
    """(name, whether it is the run's own, test): as the run's switches say, then each switch turned by itself."""
    switches = [variants[name] for name in claim.get("variants", [])]
    own = [
        next(option for option in switch["options"] if option["value"] == fidelity[switch["switch"]])
        for switch in switches
    ]
    chosen = [own]
    for i, switch in enumerate(switches):
        others = [option for option in switch["options"] if option is not own[i]]
        chosen += [[*own[:i], other, *own[i + 1 :]] for other in others]
    made = []
    for options in chosen:
        test = claim["test"]
        for switch, option in zip(switches, options, strict=True):
            test = _narrowed(test, switch["data"], option["where"])
        turned = [option["name"] for option, mine in zip(options, own, strict=True) if option is not mine]
        names = turned or [option["name"] for option in own]
        made.append((", ".join(names), options is own, test))
    return made


def _narrowed(test: Mapping[str, Any], data: list[str], where: Mapping[str, Any]) -> dict[str, Any]:
    """The test on the rows of a variant; a test that has a condition on the same column keeps it."""
    if "of" in test:
        return {**test, "of": [_narrowed(part, data, where) for part in test["of"]]}
    if test["data"] not in data:
        return dict(test)
    return {**test, "where": {**where, **test.get("where", {})}}


def _measured(tree: Parts, verdict: Verdict) -> dict[str, Any]:
    """The evidence that decides, in numbers and words."""
    found = tree.told()
    by = {kind: [entry for entry in found if entry[1] == kind] for kind in Verdict}
    decisive = by[verdict] or by[Verdict.UNDECIDED] or found
    told = [entry for entry in decisive if not entry[0].missing] or decisive
    leaf, _ = min(told, key=lambda entry: entry[0].room())
    return {
        "measured": _number(leaf.estimate),
        "uncertainty": _uncertainty(leaf),
        "count": leaf.count,
        "reading": _reading(leaf, verdict, by, len(found)) + _lacking(leaf, verdict, by),
    }


def _uncertainty(leaf: Evidence) -> str:
    low, high = leaf.interval(ALPHA)
    if leaf.exact:
        ends = list(dict.fromkeys(map(_number, (low, high))))
        return "exact" if len(ends) == 1 else f"exact, {' to '.join(ends)}"
    if leaf.missing and leaf.count == 0:
        return "–"
    if high == np.inf and low in (0.0, -np.inf):
        return "no interval"
    return f"{100 * (1 - ALPHA):g} % [{_number(low)}, {_number(high)}]"


def _reading(leaf: Evidence, verdict: Verdict, by: Mapping[Verdict, list], count: int) -> str:
    """One line: how many comparisons say what, and the one that decides."""
    tally = ""
    if count > 1:
        names = {Verdict.HOLDS: "as claimed", Verdict.FAILS: "against", Verdict.UNDECIDED: "open"}
        tally = f"{count} comparisons: " + ", ".join(
            f"{len(by[kind])} {word}" for kind, word in names.items()
        )
        tally += "; "
    if leaf.missing:
        return f"{tally}{leaf.label + ': ' if leaf.label else ''}{leaf.missing}."
    which = {Verdict.HOLDS: "closest", Verdict.FAILS: "clearest", Verdict.UNDECIDED: "open"}[verdict]
    about = f"{which} " if count > 1 else ""
    detail = f" ({leaf.detail})" if leaf.detail else ""
    label = f"{leaf.label} " if leaf.label else ""
    return f"{tally}{about}{label}{_number(leaf.estimate)}{detail}, expected {_range(leaf.expected)}."


def _lacking(leaf: Evidence, verdict: Verdict, by: Mapping[Verdict, list]) -> str:
    """What data another open comparison lacks, for a reader who wonders what a larger run would add."""
    others = [each for each, _ in by[Verdict.UNDECIDED] if each.missing and each is not leaf]
    if verdict != Verdict.UNDECIDED or leaf.missing or not others:
        return ""
    return f" Lacking: {others[0].label + ': ' if others[0].label else ''}{others[0].missing}."


def _switches(claim: Mapping[str, Any], fidelity: Mapping[str, Any]) -> str:
    """Switches that may decide a claim and of which a run has one value only."""
    named = [f"{key} = {fidelity[key]}" for key in claim.get("switches", [])]
    return f"Run with {', '.join(named)} only." if named else ""


def in_words(test: Mapping[str, Any]) -> str:
    """A test in one line."""
    if "of" in test:
        return f"{test['kind']} of: " + "; ".join(
            f"({i}) {in_words(part)}" for i, part in enumerate(test["of"], 1)
        )
    words = {
        "compare": "ratio" if test.get("scale", "ratio") == "ratio" else "difference",
        "trend": "slope",
        "value": "value",
        "share": "share",
        "shares": "difference of shares",
        "exact": "exact value",
    }[test["kind"]]
    what = describe(test["condition"]) if "condition" in test else test["value"]
    sides = f" of {_side(test['left'])} to {_side(test['right'])}" if "left" in test else ""
    expect = (
        test["expect"]
        if isinstance(test["expect"], str)
        else " ".join(f"{word} {number}" for word, number in test["expect"].items())
    )
    parts = [
        f"{words} of {what}{sides} {expect}",
        f"in log {test['x']}" if "x" in test else "",
        f"where {describe(test['where'])}" if test.get("where") else "",
        f"for each {', '.join(test['each'])}" if "each" in test else "",
        f"for some {', '.join(test['some'])}" if "some" in test else "",
        f"over {' x '.join(test['unit'])}" if "unit" in test else "",
    ]
    return " ".join(filter(None, parts))


def _side(side: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in side.items() if key != "method"}
    method = side.get("method", "")
    method = "/".join(method) if isinstance(method, list) else method
    return " ".join(filter(None, [method, describe(rest)]))


def _range(expected: tuple[float, float]) -> str:
    low, high = expected
    if np.isinf(low):
        return f"below {_number(high)}"
    return f"above {_number(low)}" if np.isinf(high) else f"{_number(low)} to {_number(high)}"


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3g}"

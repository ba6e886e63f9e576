"""All claims on the data of a run: one row per claim, and per variant where a fidelity switch may decide it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tallsbi.study.analysis.hardware import timed_on
from tallsbi.study.claims.kinds import Data, evidence
from tallsbi.study.claims.select import NoRows, describe
from tallsbi.study.claims.spec import Claim, Combination, Conditions, Option, Test, Variant, single_tests
from tallsbi.study.claims.verdicts import ALPHA, DECIDED, CombinedEvidence, Evidence, Verdict, judge
from tallsbi.study.claims.views import SOURCES

Switches = Mapping[str, Any]
"""The fidelity switches of the run."""
_NUMBERS = {  # what the number of a test is, by kind
    "compare": "difference",  # or "ratio"
    "trend": "slope",
    "value": "value",
    "share": "share",
    "shares": "difference of shares",
    "exact": "exact value",
}


def ledger(claims: Sequence[Claim], data: Data, switches: Switches) -> pd.DataFrame:
    """The verdicts on the views `data` of a run."""
    return pd.DataFrame([row for claim in claims for row in _rows(claim, data, switches)])


def _rows(claim: Claim, data: Data, switches: Switches) -> Iterator[dict[str, Any]]:
    for name, headline, test in _variants(claim, switches):
        try:
            tree = evidence(test, data)
        except ValueError as error:
            raise ValueError(f"{claim.id} ({name or 'as it is'}): {error}") from error
        except KeyError as error:
            raise ValueError(
                f"{claim.id} ({name or 'as it is'}): no column {error} in the data of the test; correct its "
                "`value`, or rerun the rule that makes the data"
            ) from error
        tree = tree if isinstance(tree, CombinedEvidence) else CombinedEvidence((tree,))
        measured = _measured(tree, judge(tree))
        sentences = [measured.pop("reading"), _hardware(test, data), claim.note, _switches(claim, switches)]
        yield {
            "id": claim.id,
            "section": claim.section,
            "claim": claim.claim,
            "variant": name,
            "headline": headline,
            "printed": claim.printed,
            **measured,
            "verdict": str(judge(tree)),
            "reading": " ".join(filter(None, sentences)),
            "test": in_words(claim.test),
            "data": ", ".join(
                dict.fromkeys(source for single in single_tests(test) for source in SOURCES[single.data][0])
            ),
        }


def _variants(claim: Claim, switches: Switches) -> list[tuple[str, bool, Test]]:
    """(name, whether it is the run's own, test): as the run's switches say, then each switch turned by itself."""
    headline = [
        next(option for option in variant.options if option.value == switches[variant.switch])
        for variant in claim.variants
    ]
    tests = [(", ".join(option.name for option in headline), True, _test_under(claim, headline))]
    for i, variant in enumerate(claim.variants):
        for option in variant.options:
            if option is not headline[i]:
                turned = [*headline[:i], option, *headline[i + 1 :]]
                tests.append((option.name, False, _test_under(claim, turned)))
    return tests


def _test_under(claim: Claim, options: Sequence[Option]) -> Test:
    """The test of a claim on the rows of one option per variant."""
    test = claim.test
    for variant, option in zip(claim.variants, options, strict=True):
        test = _narrowed(test, variant, option.where)
    return test


def _narrowed(test: Test, variant: Variant, where: Conditions) -> Test:
    """The test on the rows of an option; a test that has a condition on the same column keeps it."""
    if isinstance(test, Combination):
        return replace(test, of=tuple(_narrowed(inner, variant, where) for inner in test.of))
    return replace(test, where={**where, **test.where}) if test.data in variant.data else test


def _measured(tree: CombinedEvidence, verdict: Verdict) -> dict[str, Any]:
    """The evidence that decides, in numbers and words."""
    entries = tree.decisive()
    by_verdict = {kind: [entry for entry in entries if entry[1] == kind] for kind in Verdict}
    candidates = by_verdict[verdict] or by_verdict[Verdict.UNDECIDED] or entries
    candidates = [entry for entry in candidates if not entry[0].missing] or candidates
    leaf, _ = min(candidates, key=lambda entry: entry[0].room_inside())
    return {
        "measured": _number(leaf.estimate),
        "quantity": "" if np.isnan(leaf.estimate) else leaf.quantity,
        "uncertainty": _uncertainty(leaf),
        "count": leaf.count,
        "units": leaf.units if leaf.count and not leaf.exact else "",
        "reading": _reading(leaf, verdict, by_verdict, len(entries)) + _limits(leaf, tree),
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


def _reading(leaf: Evidence, verdict: Verdict, by_verdict: Mapping[Verdict, list], count: int) -> str:
    """One line: how many comparisons say what, and the one that decides."""
    tally = ""
    if count > 1:
        names = {Verdict.HOLDS: "as claimed", Verdict.FAILS: "against", Verdict.UNDECIDED: "open"}
        tally = f"{count} comparisons: " + ", ".join(
            f"{len(by_verdict[kind])} {word}" for kind, word in names.items()
        )
        tally += "; "
    if leaf.missing:
        return f"{tally}{leaf.label + ': ' if leaf.label else ''}{leaf.missing}."
    rank = {Verdict.HOLDS: "closest", Verdict.FAILS: "clearest", Verdict.UNDECIDED: "open"}[verdict]
    rank = f"{rank} " if count > 1 else ""
    detail = f" ({leaf.detail})" if leaf.detail else ""
    label = f"{leaf.label} " if leaf.label else ""
    return f"{tally}{rank}{label}{_number(leaf.estimate)}{detail}, expected {_range(leaf.expected)}."


def _limits(shown: Evidence, tree: CombinedEvidence) -> str:
    """What the data lack to give both answers, and the answer that is left."""
    possible = tree.possible_verdicts(ALPHA, ALPHA)
    if possible == DECIDED:
        return ""
    leaf = tree.blocking(Verdict.FAILS if Verdict.HOLDS in possible else Verdict.HOLDS)
    if leaf is None or (leaf is shown and leaf.missing):
        lack = ""
    else:
        needed = leaf.missing or f"more than {leaf.count} {leaf.units}"
        lack = f" Lacking: {leaf.label + ': ' if leaf.label else ''}{needed}."
    return lack + "".join(f' It can only come out as "{verdict}".' for verdict in possible)


def _hardware(test: Test, data: Data) -> str:
    """Where the times behind a test were measured, as their own table says."""
    names = []
    for leaf in single_tests(test):
        with suppress(NoRows):
            if "hardware" in (frame := data(leaf.data)):
                names.append(timed_on(frame))
    return f"Timed on {'; '.join(dict.fromkeys(names))}." if names else ""


def _switches(claim: Claim, switches: Switches) -> str:
    """Switches that may decide a claim and have one value per run."""
    values = [f"{key} = {switches[key]}" for key in claim.switches]
    return f"Run with {', '.join(values)} only." if values else ""


def in_words(test: Test) -> str:
    """A test in one line."""
    if isinstance(test, Combination):
        return f"{test.kind} of: " + "; ".join(
            f"({i}) {in_words(inner)}" for i, inner in enumerate(test.of, 1)
        )
    number = "ratio" if test.kind == "compare" and test.logarithmic else _NUMBERS[test.kind]
    value = describe(test.condition) if test.condition else test.value
    sides = f" of {_side(test.left)} to {_side(test.right)}" if test.left else ""
    expect = (
        test.expect
        if isinstance(test.expect, str)
        else " ".join(f"{word} {bound}" for word, bound in test.expect.items())
    )
    parts = [
        f"{number} of {value}{sides} {expect}",
        f"in log {test.x}" if test.x else "",
        f"where {describe(test.where)}" if test.where else "",
        f"for each {', '.join(test.each)}" if test.each else "",
        f"for some {', '.join(test.some)}" if test.some else "",
        f"over {' x '.join(test.unit)}" if test.unit else "",
    ]
    return " ".join(filter(None, parts))


def _side(side: Conditions) -> str:
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

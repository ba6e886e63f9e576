"""Algorithms that are known to the tests of the stages only."""

import pytest
from cost_study import CALLS, Known

from tallsbi import algorithms


@pytest.fixture
def known(monkeypatch):
    """The algorithms KNOWN and OTHER; the list of their calls."""
    monkeypatch.setitem(algorithms._REGISTERED, "KNOWN", Known)
    monkeypatch.setitem(algorithms._REGISTERED, "OTHER", Known)
    CALLS.clear()
    return CALLS

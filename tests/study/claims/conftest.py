"""The files of the claims are found from the root of the repository."""

import pytest
from paths import ROOT


@pytest.fixture(scope="module", autouse=True)
def at_root():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        yield

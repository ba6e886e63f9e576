"""The distances that can be compared.

A run that is lost has none, and MMD² and C2ST have none where the comparison is invalid (`tallsbi.metrics.validity`
defines both). All code that ranks, averages or draws distances of the sbibm part reads them through `comparable`, so
that what is lost or invalid can never be best.
"""

import pandas as pd

from tallsbi.metrics.validity import BLOWN_UP, FAR_OFF, LOST_SHARE, is_lost

# The bounded distances, and the column that says whether each means anything.
VALIDITY_COLUMNS = {"mmd": "mmd_valid", "c2st": "c2st_valid"}

# As the notes of tables say it.
LOST_MEANING = (
    f"more than {LOST_SHARE:.0%} of the draws are not finite, or more than {FAR_OFF:.0f} prior standard deviations "
    "from the prior's mean"
)
INVALID_MEANING = (
    f"the draws are more than {BLOWN_UP:.0f} times as wide as the reference, or the classifier of C2ST has too few "
    "samples for the dimension"
)


def comparable(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with NaN for the distances of lost runs and for invalid comparisons."""
    lost = is_lost(frame.lost_share)
    bounded = {
        name: frame[name].mask(lost | ~frame[valid].astype(bool)) for name, valid in VALIDITY_COLUMNS.items()
    }
    return frame.assign(sw=frame.sw.mask(lost), **bounded)

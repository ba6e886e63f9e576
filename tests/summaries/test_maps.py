"""Maps that make networks learn easily."""

import torch

from tallsbi.summaries.maps import ColumnMap, Whitening


def test_whitened_rows_have_unit_covariance():
    rows = torch.randn(5000, 3, generator=torch.Generator().manual_seed(0)) @ torch.tensor(
        [[2.0, 0.0, 0.0], [1.9, 0.3, 0.0], [0.0, 0.0, 50.0]]
    )
    assert torch.allclose(torch.cov(Whitening.of(rows)(rows).mT), torch.eye(3), atol=0.01)


def test_heavy_tails_are_drawn_in_and_normal_columns_stay():
    normal = torch.randn(4000, generator=torch.Generator().manual_seed(0))
    x = torch.stack([normal, (2 * normal.roll(1)).exp()], 1)
    mapped = ColumnMap.of(x)
    assert float(mapped.scale[0]) == 0
    assert mapped(x).abs().max() < 6
    assert (x[:, 1] / x[:, 1].std()).max() > 15


def test_constant_column_becomes_zero_and_any_number_is_taken():
    x = torch.cat([torch.randn(500, 1).exp(), torch.full((500, 1), 7.0)], 1)
    mapped = ColumnMap.of(x)
    assert mapped(x)[:, 1].abs().max() == 0
    assert mapped(torch.tensor([[-1e6, 7.0]])).isfinite().all()

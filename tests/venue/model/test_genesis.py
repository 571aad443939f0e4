"""The local venue begins with the published margin tables, fees and leverages (docs/published.md, "Trading rules")."""

from __future__ import annotations

from toolkit.venue.model.genesis import default_fee_tiers, default_margin_tables, default_products


def test_margin_tables_are_the_published_ones() -> None:
    shown = {
        table: [(row["minimumValue"], row["maintainMarginRatio"], row["maxLeverage"]) for row in rows]
        for table, rows in default_margin_tables().items()
    }
    assert shown == {
        1: [("0", "0.0125", "40"), ("20000000", "0.025", "20")],
        2: [("0", "0.02", "25"), ("2000000", "0.025", "20"), ("5000000", "0.05", "10")],
        3: [("0", "0.025", "20"), ("1000000", "0.05", "10")],
    }


def test_fee_tiers_are_the_published_ones() -> None:
    shown = [(tier.volume // 10**12, tier.maker, tier.taker) for tier in default_fee_tiers()]
    assert shown == [(5, 8_000, 55_000), (10, 6_000, 50_000), (25, 4_000, 45_000), (500, 2_000, 37_500),
                     (1_250, 1_000, 35_000)]  # fmt: skip


def test_products_are_the_published_examples() -> None:
    shown = {row["symbol"]: (row["code"], row["maxLeverage"], row["marginTableId"]) for row in default_products()}
    assert shown == {
        "BTCUSDC": ("1", "40", 1), "ETHUSDC": ("2", "40", 1), "SOLUSDC": ("3", "25", 2), "XRPUSDC": ("4", "25", 2)
    }  # fmt: skip
    fees = {(row["defaultMakerFeeRate"], row["defaultTakerFeeRate"]) for row in default_products()}
    assert fees == {("0.0001", "0.0006")}
    sizes = {row["symbol"]: (row["tickSize"], row["stepSize"]) for row in default_products()}
    assert sizes["BTCUSDC"] == ("0.1", "0.001")
    assert {row["fundingInterval"] for row in default_products()} == {14_400}

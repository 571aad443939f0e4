"""The audit finds nearly all strategies that know the future, and accuses no honest one."""

from __future__ import annotations

from tests.benchmarks.audit_cases import HONEST, LEAKS, measure_audit


def test_what_looks_ahead_is_found_and_honest_strategies_are_not_accused() -> None:
    found, refused, alarms = measure_audit()
    assert (len(LEAKS), len(HONEST)) == (23, 13)
    assert found.value >= 22, found.note
    assert refused.value >= 10
    assert alarms.value == 0, alarms.note

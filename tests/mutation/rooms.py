"""The rooms that are mutated, and the quick tests of each: the nearest first, no storms, no subprocesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LONG = ("agreement", "documents", "interrupts", "lifetime", "storms", "tx_codes")
"""Words in the names of files that take long for what they notice."""
_REFERENCE = "tests/venue/reference"
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Room:
    """Source files (or a folder of them), and what pytest is to run for them."""

    sources: Sequence[str]
    tests: Sequence[str]
    left_out: Sequence[str] = ()

    def files(self) -> list[Path]:
        """Return the files, in a stable order."""
        found: list[Path] = []
        for source in self.sources:
            path = ROOT / source
            found += [path] if path.is_file() else sorted(path.glob("*.py"))
        return [path for path in found if path.name not in ("__init__.py", *self.left_out)]

    def test_files(self) -> list[str]:
        """Return the files of tests, in the order of `tests`, by their path in the tree; of a folder the quick ones."""
        found: list[Path] = []
        for test in self.tests:
            path = ROOT / test
            inside = (one for one in sorted(path.rglob("test_*.py")) if not any(word in one.name for word in _LONG))
            found += [path] if path.is_file() else inside
        return list(dict.fromkeys(path.relative_to(ROOT).as_posix() for path in found))


ROOMS: dict[str, Room] = {
    "protocol": Room(
        ["toolkit/protocol"],
        [
            "tests/protocol",
            "tests/protocol/documents/test_documents.py",
            "tests/venue/api/test_vectors.py",
            "tests/venue/api/test_gateway.py",
        ],
        ["exchange_pb2.py"],
    ),
    "checks": Room(
        ["toolkit/checks.py"],
        [
            "tests/test_checks.py",
            "tests/venue/trading/test_checks.py",
            "tests/client/orders/test_pretrade.py",
            "tests/venue/trading/test_trigger_orders.py",
            "tests/venue/trading/test_order_rules.py",
        ],
    ),
    "margin": Room(["toolkit/margin.py"], ["tests/test_margin.py", "tests/venue/risk/test_account_margin.py"]),
    "research/live_trading": Room(
        ["toolkit/research/live_trading"], ["tests/research/live_trading", "tests/research/test_context.py"]
    ),
    "research/selection": Room(["toolkit/research/selection"], ["tests/research/selection"]),
    "research/analysis": Room(
        ["toolkit/research/analysis"], ["tests/research/analysis", "tests/research/backtesting/test_vectorised.py"]
    ),
    "research/data": Room(
        ["toolkit/research/data"],
        [
            "tests/research/data/test_bars.py",
            "tests/research/data/test_books.py",
            "tests/research/data/test_events.py",
            "tests/research/data/test_made_orders.py",
            "tests/research/data/test_parts.py",
            "tests/research/data/test_quality.py",
            "tests/research/data/test_recorded_bounds.py",
            "tests/research/data/test_recorder.py",
            "tests/research/data/test_replaying.py",
            "tests/research/data/test_store.py",
            "tests/research/data/formats/test_formats.py",
            "tests/research/backtesting/events/test_event_files.py",
        ],
    ),
    "research/backtesting": Room(
        ["toolkit/research/backtesting"],
        [
            "tests/research/backtesting/test_backtest.py",
            "tests/research/backtesting/test_known_runs.py",
            "tests/research/backtesting/test_vectorised.py",
            "tests/research/backtesting/test_vectorised_frames.py",
            "tests/research/backtesting/test_listing_and_funding.py",
            "tests/research/backtesting/test_market_order_limits.py",
            "tests/research/backtesting/test_quiet.py",
            "tests/research/backtesting/events/test_single_orders.py",
            "tests/research/test_context.py",
        ],
    ),
    "venue/simulation": Room(
        ["toolkit/venue/simulation"],
        [
            "tests/venue/simulation/test_drawn.py",
            "tests/venue/simulation/test_same_commands.py",
            "tests/venue/simulation/test_same_recording.py",
            "tests/venue/simulation/test_controls.py",
            "tests/venue/simulation/test_replay.py",
            "tests/venue/simulation/test_interventions.py",
            "tests/venue/simulation/test_one_market.py",
            "tests/venue/simulation/test_participants.py",
            "tests/venue/simulation/test_past.py",
            "tests/venue/simulation/test_queues.py",
            "tests/venue/simulation/test_recorded.py",
            "tests/venue/simulation/test_unwatched.py",
            "tests/venue/lab/test_control.py",
        ],
    ),
    # What a command does in a process of its own isn't reached by a mistake that is planted in this one.
    "cli": Room(
        ["toolkit/__main__.py", "toolkit/cli", "toolkit/cli/mcp"],
        [
            "tests/cli/test_arguments.py",
            "tests/cli/test_doctor_findings.py",
            "tests/cli/test_serving.py",
            "tests/cli/test_tables_and_files.py",
            "tests/cli/test_doctor.py",
            "tests/cli/test_quickstart.py",
            "tests/cli/test_sign_verify.py",
            "tests/cli/mcp/test_command.py",
            "tests/cli/mcp/test_tools.py",
            "tests/cli/mcp/test_server.py",
        ],
    ),
    # What runs in processes and sandboxes of its own isn't reached by a mistake that is planted in this one.
    "classroom": Room(
        ["toolkit/classroom"],
        [
            "tests/classroom/test_marking.py",
            "tests/classroom/test_teaching.py",
            "tests/classroom/test_class_results.py",
            "tests/classroom/test_joining.py",
            "tests/classroom/test_roster.py",
            "tests/classroom/test_feedback.py",
            "tests/classroom/test_room.py",
            "tests/classroom/test_lesson.py",
        ],
        ["grading.py", "jail.py", "notebook_worker.py"],
    ),
    "learn": Room(["toolkit/learn"], ["tests/learn/test_questions.py", "tests/learn/test_checking.py"]),
    "exchanges": Room(["toolkit/exchanges", "toolkit/following.py"], ["tests/exchanges", "tests/test_following.py"]),
    "gym": Room(["toolkit/gym"], ["tests/gym"]),
    "widgets/order_ticket": Room(["toolkit/widgets/order_ticket"], ["tests/widgets/order_ticket"]),
    "widgets/panels": Room(
        ["toolkit/widgets/base_panel", "toolkit/widgets/panels"], ["tests/widgets/panels", "tests/widgets/base_panel"]
    ),
    "venue/engine": Room(
        ["toolkit/venue/engine"],
        [
            "tests/venue/engine",
            "tests/venue/test_clocks.py",
            "tests/venue/api/test_gateway.py",
            "tests/venue/lab/test_control.py",
            "tests/venue/trading/test_order_rules.py",
        ],
        ["codes.py"],
    ),
    "venue/trading": Room(
        ["toolkit/venue/trading"],
        [
            "tests/venue/trading/test_order_rules.py",
            "tests/venue/trading/test_trigger_orders.py",
            "tests/venue/trading/test_margin_actions.py",
            "tests/venue/trading/test_matching.py",
            "tests/venue/risk/test_order_margin.py",
            "tests/venue/liquidation",
            "tests/venue/lab/test_control.py",
            "tests/venue/risk/test_fees.py",
            "tests/venue/engine/test_events.py",
            "tests/test_info_contract.py",
            _REFERENCE,
        ],
    ),
    "venue/risk": Room(
        ["toolkit/venue/risk"],
        [
            "tests/venue/risk",
            "tests/venue/liquidation",
            "tests/venue/trading/test_margin_actions.py",
            "tests/test_info_contract.py",
            _REFERENCE,
        ],
    ),
    "venue/liquidation": Room(
        ["toolkit/venue/liquidation"],
        ["tests/venue/liquidation", "tests/venue/lab/test_control.py", "tests/test_info_contract.py", _REFERENCE],
    ),
    "venue/programs": Room(
        ["toolkit/venue/programs"],
        [
            "tests/venue/programs",
            "tests/venue/trading/test_margin_actions.py",
            "tests/venue/api/test_gateway.py",
            "tests/venue/lab/test_control.py",
            "tests/test_info_contract.py",
            _REFERENCE,
        ],
    ),
    "venue/served": Room(
        ["toolkit/venue/served"],
        [
            "tests/venue/served/test_application.py",
            "tests/venue/served/test_bounds.py",
            "tests/venue/served/test_boundary.py",
            "tests/venue/served/test_floods.py",
            "tests/venue/served/test_lanes.py",
            "tests/venue/served/test_routes.py",
            "tests/venue/served/test_running.py",
            "tests/venue/served/test_server.py",
            "tests/venue/served/test_turns.py",
        ],
    ),
    "venue/feed": Room(["toolkit/venue/feed"], ["tests/venue/feed"]),
    "venue/lab": Room(
        ["toolkit/venue/lab"],
        [
            "tests/venue/lab",
            "tests/venue/test_clocks.py",
            "tests/test_following.py",
            "tests/venue/simulation/test_recorded.py",
        ],
    ),
    "client/orders": Room(["toolkit/client/orders"], ["tests/client/orders"], ["exchange.py"]),
    "client/stream": Room(["toolkit/client/stream"], ["tests/client/stream", "tests/test_missing_fields.py"]),
    "client/reads": Room(
        ["toolkit/client/reads"],
        ["tests/client/reads", "tests/test_info_contract.py", "tests/test_missing_fields.py"],
        ["info.py"],
    ),
    "client/parent_orders": Room(
        ["toolkit/client/parent_orders"], ["tests/client/parent_orders", "tests/client/limits/test_stopping.py"]
    ),
    "client/limits": Room(
        ["toolkit/client/limits", "toolkit/limits.py"],
        ["tests/test_limits.py", "tests/client/limits", "tests/client/orders/test_pretrade.py"],
    ),
}

REACHED = (
    *("protocol", "checks", "margin", "cli", "classroom", "learn", "exchanges", "gym", "widgets/order_ticket"),
    "widgets/panels",
    *("client/orders", "client/parent_orders", "client/limits", "client/stream", "client/reads"),
    *("venue/engine", "venue/trading", "venue/risk", "venue/liquidation", "venue/programs", "venue/feed"),
    *("venue/served", "venue/lab", "venue/simulation", "research/analysis", "research/selection"),
    *("research/backtesting", "research/live_trading", "research/data"),
)
"""Rooms whose samples have reached the floor, and which take turns in CI. The others are tried by their names."""

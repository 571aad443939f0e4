"""Settings of these tests: state in a temporary folder, and no keys or addresses of the user."""

from __future__ import annotations

from tests.client.conftest import _state_in_a_temporary_folder

__all__ = ["_state_in_a_temporary_folder"]

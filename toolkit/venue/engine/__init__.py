"""The state machine: commands in, outcomes and events out; rules register themselves here."""

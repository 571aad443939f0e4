"""The state machine: commands in, outcomes and events out, the rules of the other rooms register here."""

"""The order ticket: draft, validation, preview, and the tracking of the sent order."""

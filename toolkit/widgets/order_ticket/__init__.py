"""The order ticket: draft, validation, preview, and the order after it was signed."""

"""The laboratory: controls, scripted faults, and the journal."""

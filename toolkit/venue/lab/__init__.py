"""The laboratory: controls, scripted faults, the journal, and the thread that keeps a venue current."""

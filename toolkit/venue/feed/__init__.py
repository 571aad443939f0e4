"""The live feed: subjects, connections, and what each channel sends."""

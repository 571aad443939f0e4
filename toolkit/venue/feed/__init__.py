"""The live feed: subjects, connections, and the data of each channel."""

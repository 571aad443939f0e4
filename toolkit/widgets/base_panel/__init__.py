"""The parts that all panels share: view, lock, refresh, static snapshot, theme and number format."""

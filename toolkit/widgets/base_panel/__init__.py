"""What every panel has: view, lock, refresh, static copy, theme and number format."""

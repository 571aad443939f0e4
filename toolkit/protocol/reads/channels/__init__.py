"""The channels of the feed by subject: each with its subscription, next to the record of its items."""

"""The venue on a socket: HTTP and WebSocket around the gateway and the feed, and the routes of the controls."""

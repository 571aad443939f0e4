"""The venue on a socket: HTTP and WebSocket around the gateway and the feed."""

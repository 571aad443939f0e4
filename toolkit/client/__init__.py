"""The client: transport, exchange calls, Info queries, live feed, order intents."""

"""Commands that trade: run a strategy, look after runs, renew the approval of an agent."""

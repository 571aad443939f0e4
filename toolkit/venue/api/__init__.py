"""Requests and queries as plain values: gateway, Info answers, the in-process transport."""

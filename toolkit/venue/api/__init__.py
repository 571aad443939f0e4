"""Requests and queries as plain values: gateway, admission, Info answers, the in-process transport."""

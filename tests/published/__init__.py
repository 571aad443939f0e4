"""Servers made of the exchange's published files alone, in every form that the files allow, and the toolkit at them."""

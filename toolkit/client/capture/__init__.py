"""What a real venue answers and sends, compared field by field with the declarations."""

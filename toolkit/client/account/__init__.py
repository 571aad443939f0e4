"""What an account holds, by all that its venue shows of it: the reconciled book, and whether its witnesses agree."""

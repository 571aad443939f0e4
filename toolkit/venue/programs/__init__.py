"""Permissions, builders, vaults and referrals."""

"""Prices, statements and budgets: pure rules, decimal arithmetic only."""

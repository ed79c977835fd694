"""Simulated users, who play the scenarios of eval cases."""

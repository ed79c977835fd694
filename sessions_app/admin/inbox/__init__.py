"""Approvals inbox: pending calls and questions of jobs in all sessions."""

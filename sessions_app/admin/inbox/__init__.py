"""Approvals inbox: calls and questions of jobs that wait for an answer, in all sessions."""

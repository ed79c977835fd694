"""Approvals inbox: calls and questions of jobs that wait for somebody, over all sessions."""

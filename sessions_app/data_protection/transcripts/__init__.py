"""Transcripts: a session as a file or a page to read, streamed in batches of events."""

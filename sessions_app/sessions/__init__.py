"""Sessions as people have them: who owns one, share links, feedback, and the list."""

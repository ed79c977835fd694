"""Case files: sessions and events as evidence, with notes, a second reader and a seal."""

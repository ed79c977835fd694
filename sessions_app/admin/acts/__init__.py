"""Page "Who did what": acts of staff, people, API keys and agents in one list."""

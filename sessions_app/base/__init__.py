"""Values that every other package may use: actors, statuses, ids of clients, languages, JSON of the store."""

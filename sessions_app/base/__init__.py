"""Values for every other package: actors, statuses, ids of clients, languages, JSON of the store."""

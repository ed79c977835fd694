"""HTTP APIs: the site's own under `/api/v1/`, the API of google-adk's clients under `/adk/`."""

"""HTTP APIs: the site's own under `/api/v1/`, and the API of google-adk's clients under `/adk/`. Both call use
cases."""

"""Tools of other frameworks, under the import paths of google-adk."""

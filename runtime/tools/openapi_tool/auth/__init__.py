"""Authentication of the requests of OpenAPI tools."""

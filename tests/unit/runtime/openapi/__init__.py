"""OpenAPI tools: requests as a real server receives them."""

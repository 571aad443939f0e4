"""Machine-readable descriptions of the interface, made from its declarations: OpenAPI 3.1 and AsyncAPI 3.0."""

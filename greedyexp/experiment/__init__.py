"""The typed model of a YAML experiment."""

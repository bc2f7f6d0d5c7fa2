"""What a model is asked: one module a role, each with its prompt file, reply schema and parser."""

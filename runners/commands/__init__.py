"""One module a command; only typer is imported at the top of them."""

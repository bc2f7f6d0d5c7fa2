"""The command line and the run engine around `rdforget`."""

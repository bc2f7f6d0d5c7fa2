"""The report of runs: a static site that opens from a folder, and the same site served while a run goes on."""

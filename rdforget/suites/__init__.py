"""Benchmark suites: official files or generated ones in, tasks out."""

"""Grading: a controller that knows everything and runs no student code, and workers of which the opposite is true."""

"""Pages and tables for people, from what was graded."""

"""Answers of the analysis to requests about an open program: one file a kind of question."""

"""Running a step for real: what is run, in which interpreter, in which process, and what is said of it."""

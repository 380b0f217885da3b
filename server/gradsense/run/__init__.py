"""Running the user's step for real, and saying what torch did."""

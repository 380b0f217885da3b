"""Reading programs: text, columns, notebooks, and what is left of broken ones."""

"""From a pasted traceback to its cause: which rule's story it is, on which line, and what mends it."""

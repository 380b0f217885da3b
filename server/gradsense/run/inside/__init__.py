"""What runs in the user's own interpreter: it needs the standard library and torch 2.1 or newer, nothing more."""

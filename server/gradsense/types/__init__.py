"""What names of other packages stand for, read from their source by jedi in a process of its own.

Nothing is imported and nothing is run: see `reading`. The one program that is started, and only in a workspace that is
trusted, is the person's Python, once, to say where its packages are.
"""

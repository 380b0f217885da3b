"""GradSense: what PyTorch's autograd will do to a program, shown while it is written."""

__version__ = "0.1.0"

"""The rules: each one's examples on real torch, and their fixes on faults that nobody wrote them for."""

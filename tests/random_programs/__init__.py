"""Random training programs: written from a seed, run on real torch, and held against what GradSense predicts."""

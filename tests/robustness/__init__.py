"""What GradSense does with input that no one should give it."""

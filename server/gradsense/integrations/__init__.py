"""GradSense inside other programs: pytest and Jupyter, which run the step in their own process."""

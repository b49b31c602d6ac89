"""What holds for the project as a whole: who may import whom, one way out, documentation that matches the code."""

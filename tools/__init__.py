"""Scripts of the build: the environment, the checks, the generated files. Not part of the wheel."""

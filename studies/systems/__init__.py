"""Step times of published training systems: predicted from the others, and scored."""

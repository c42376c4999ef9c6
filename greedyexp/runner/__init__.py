"""The runner: plan, seeds, engine, journal, tidy CSV."""

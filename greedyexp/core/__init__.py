"""Named parts, plugins and errors: what every other package builds on."""

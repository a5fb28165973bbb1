"""The chaos suite; docs/internals/chaos.md explains it."""

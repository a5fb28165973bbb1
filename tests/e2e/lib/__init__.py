"""What the end-to-end tests share: programs, their logs, and databases."""

"""The guardian: settings, what is told once, messages, halting, real logs that grow, real processes and servers."""

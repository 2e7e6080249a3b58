"""From a folder to the one run in it that is read: what lies there, which of it are runs, and which is taken."""

"""The guide to RL post-training as an agent skill: its files, and how they get into a project.

The files lie in `rlprobe/.agents/skills/rl-post-training`, where tools that look for skills in installed packages look.
"""

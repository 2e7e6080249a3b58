"""Questions about what a run recorded: which samples, how one prompt went, where two runs part. Renders nothing."""

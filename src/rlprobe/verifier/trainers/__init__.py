"""Live trainers as pipelines: one file a trainer family."""

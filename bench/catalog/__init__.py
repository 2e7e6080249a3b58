"""What the catalog's pages show and no author can write: charts, real mistakes, names of settings."""

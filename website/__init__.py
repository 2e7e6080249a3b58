"""What makes the site of docs/ and of the texts that ship with the package: `make docs`."""

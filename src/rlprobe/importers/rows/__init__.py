"""From bytes of a table-like log to the columns of a Run: lines, values, layouts, steps, facts."""

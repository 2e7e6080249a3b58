"""What looks alarming and is normal, one file each: `NORMAL = Normal(...)` and `judge(rows) -> Normality`."""

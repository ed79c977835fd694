"""What `make bench` measures; each figure stands beside a floor of the same run. Nothing here is a test."""

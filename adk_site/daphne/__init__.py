"""Changes to Daphne's internals. Each module says which failure it prevents; no change is made for speed."""

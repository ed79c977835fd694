"""Changes to Daphne by its internals. Each module says which failure it prevents; no change is made for speed."""

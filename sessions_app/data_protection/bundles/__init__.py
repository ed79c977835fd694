"""Sealed case files: bundles to hand over, which are checked without the site."""

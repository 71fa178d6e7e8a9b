"""Is the way that a library takes the fastest of the ways that it could take?"""

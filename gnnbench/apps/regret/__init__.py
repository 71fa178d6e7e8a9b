"""Does a library use the fastest of the implementations that it could use?"""

"""The disk cache of compiled programs, at two levels: by what a call reads (`call_index`), by IR (`programs`)."""

"""Tables: tidy frames in, rows and columns as a paper prints them out."""

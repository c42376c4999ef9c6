"""Data generators: parameters and a random stream in, a Problem out."""

"""The data of a problem: designs, responses, moments, chains, their scales and sizes."""

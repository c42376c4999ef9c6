"""The data of a problem.

problem  regression problems, and their construction from arrays
chains   chains of labelled words
moments  second moments of a distribution
radius   the radius of an l1 ball
checks   types of arrays, and checks of values and memory
"""

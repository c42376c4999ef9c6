"""The data of a problem.

problem     regression problems, and their construction from arrays
chains      chains of labelled words
moments     second moments of a distribution, and of variables without a response
pairs       problems whose features are the pairs of variables without a response
scaling     centred and scaled columns, and coefficients in the original units
frames      tables of pandas and Polars as arrays with names
radius      the radius of an l1 ball
checks      types of arrays, and checks of values and memory
"""

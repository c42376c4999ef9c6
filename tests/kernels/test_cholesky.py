import numpy as np
import pytest

from greedyexp.kernels import cholesky


def definite_matrix(rng, size):
    A = rng.standard_normal((size + 3, size))
    return A.T @ A / size


class Followed:
    """A factor kept with the package next to the list of indices it should belong to."""

    def __init__(self, matrix, right):
        size = len(matrix)
        self.matrix, self.right, self.held = matrix, right, []
        self.chol = np.full((size, size), np.nan)
        self.rotated = np.full(size, np.nan)

    def add(self, index):
        size = len(self.held)
        cross = self.matrix[index, self.held]
        sine = cholesky.append(self.chol, size, cross, self.matrix[index, index])
        cholesky.extend_solution(self.chol, size, self.right[index], self.rotated)
        self.held.append(index)
        return sine

    def take_out(self, place):
        cholesky.remove(self.chol, len(self.held), place, self.rotated)
        del self.held[place]

    def check(self):
        size = len(self.held)
        block = self.matrix[np.ix_(self.held, self.held)]
        np.testing.assert_allclose(
            np.tril(self.chol[:size, :size]), np.linalg.cholesky(block), atol=1e-11
        )
        solution = np.empty(size)
        cholesky.solve_transposed(self.chol, size, self.rotated, solution)
        expected = np.linalg.solve(block, self.right[self.held])
        np.testing.assert_allclose(solution, expected, rtol=1e-8, atol=1e-9)
        in_place = self.right[self.held]
        cholesky.solve(self.chol, size, in_place)
        np.testing.assert_allclose(in_place, self.rotated[:size], rtol=1e-8, atol=1e-9)
        cholesky.solve_transposed(self.chol, size, in_place, in_place)
        np.testing.assert_allclose(in_place, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_factor_and_solution_follow_additions_and_removals(seed):
    rng = np.random.default_rng(seed)
    followed = Followed(definite_matrix(rng, 15), rng.standard_normal(15))
    for _ in range(80):
        outside = [i for i in range(15) if i not in followed.held]
        if outside and (not followed.held or rng.random() < 0.6):
            followed.add(rng.choice(outside))
        else:
            followed.take_out(rng.integers(len(followed.held)))
        if followed.held:
            followed.check()


@pytest.mark.parametrize("place", [0, 3, 6])
def test_first_middle_and_last_index_can_go(place):
    rng = np.random.default_rng(9)
    followed = Followed(definite_matrix(rng, 7), rng.standard_normal(7))
    for index in range(7):
        followed.add(index)
    followed.take_out(place)
    followed.check()


def test_append_returns_the_squared_sine_to_the_span():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((10, 4))
    followed = Followed(A.T @ A, np.zeros(4))
    for index in range(3):
        followed.add(index)
    distance = A[:, 3] - A[:, :3] @ np.linalg.lstsq(A[:, :3], A[:, 3], rcond=None)[0]
    expected = distance @ distance / (A[:, 3] @ A[:, 3])
    assert followed.add(3) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("cross", [1.0, 1.5, -1.0])
def test_append_returns_zero_when_not_positive_definite(cross):
    chol = np.array([[1.0, 0.0], [0.0, 0.0]])
    assert cholesky.append(chol, 1, np.array([cross]), 1.0) == 0.0


def test_append_of_a_zero_column_divides_by_nothing():
    chol = np.array([[1.0, 0.0], [0.0, 0.0]])
    assert cholesky.append(chol, 1, np.array([0.0]), 0.0) == 0.0

"""Algorithm 1 of Jalali & Sanghavi (2012) written down again, slowly and from the design.

Every gain, cost and fit is computed from residuals and dense least squares; nothing is shared with
the package. Conventions where the paper leaves a choice: relative ties of 1e-10 go to the row, then
to the lowest (feature, task); an entry whose column lies in the span of its task's support gains
nothing and stays out; a covered entry costs nothing to remove.
"""

from __future__ import annotations

import numpy as np

TIE = 1e-10
SPAN = 1e-10
FLOOR = 1e-20


class SlowGreedyDirty:
    def __init__(self, X, y, w, nu, stack="single"):
        self.X, self.y, self.w, self.nu, self.stack = X, y, w, nu, stack
        self.r, self.p = len(X), X[0].shape[1]
        self.singles, self.rows = set(), set()
        self.active = set()
        self.rewards = []
        self.coef = np.zeros((self.p, self.r))

    def residual(self, j):
        return self.y[j] - self.X[j] @ self.coef[:, j]

    def loss(self):
        return sum(
            self.residual(j) @ self.residual(j) / (2 * len(self.y[j])) for j in range(self.r)
        )

    def columns(self, j):
        return sorted(i for i, task in self.active if task == j)

    def in_span(self, i, j):
        x = self.X[j][:, i]
        if not np.any(x):
            return True
        S = self.columns(j)
        if len(S) >= len(self.y[j]):
            return True
        if not S:
            return False
        A = self.X[j][:, S]
        distance = x - A @ np.linalg.lstsq(A, x, rcond=None)[0]
        return distance @ distance <= SPAN * (x @ x)

    def gain(self, i, j):
        if (i, j) in self.active or self.in_span(i, j):
            return 0.0
        x, n = self.X[j][:, i], len(self.y[j])
        step = x @ self.residual(j) / (x @ x)
        before, after = self.residual(j), self.residual(j) - step * x
        gain = (before @ before - after @ after) / (2 * n)
        exact = (x @ before) ** 2 / (2 * n * (x @ x))
        assert abs(gain - exact) <= 1e-9 * (before @ before) / n
        return exact if exact > FLOOR * (self.y[j] @ self.y[j]) / n else 0.0

    def refit(self):
        self.coef = np.zeros((self.p, self.r))
        for j in range(self.r):
            S = self.columns(j)
            if S:
                self.coef[S, j] = np.linalg.lstsq(self.X[j][:, S], self.y[j], rcond=None)[0]

    def choose(self):
        gains = np.array([[self.gain(i, j) for j in range(self.r)] for i in range(self.p)])
        row_gains = gains.sum(axis=1) / self.w
        for m in self.rows:
            row_gains[m] = 0.0
        best_single, best_row = gains.max(), row_gains.max()
        if max(best_single, best_row) == 0.0:
            return 0.0, None
        if best_row >= best_single * (1 - TIE):
            m = next(m for m in range(self.p) if row_gains[m] >= best_row * (1 - TIE))
            return row_gains[m], ("row", m)
        i, j = next(
            (i, j)
            for i in range(self.p)
            for j in range(self.r)
            if gains[i, j] >= best_single * (1 - TIE)
        )
        return gains[i, j], ("single", i, j)

    def add(self, chosen, reward):
        if chosen[0] == "row":
            m = chosen[1]
            self.rows.add(m)
            for j in range(self.r):
                if not self.in_span(m, j):
                    self.active.add((m, j))
        else:
            self.singles.add(chosen[1:])
            self.active.add(chosen[1:])
        self.rewards.append((chosen[0], reward))
        self.refit()

    def entry_cost(self, i, j):
        x = self.X[j][:, i]
        without = self.residual(j) + self.coef[i, j] * x
        n = len(self.y[j])
        exact = self.coef[i, j] ** 2 * (x @ x) / (2 * n)
        increase = (without @ without - self.residual(j) @ self.residual(j)) / (2 * n)
        assert abs(increase - exact) <= 1e-8 * (without @ without + self.y[j] @ self.y[j]) / n
        return exact

    def cheapest(self):
        """The row with the least weighted cost or the entry with the least cost; rows on ties."""
        singles = {
            (i, j): 0.0 if i in self.rows else self.entry_cost(i, j) for i, j in self.singles
        }
        rows = {m: sum(self.entry_cost(m, j) for j in range(self.r)) / self.w for m in self.rows}
        least_single = min(singles.values(), default=np.inf)
        least_row = min(rows.values(), default=np.inf)
        if rows and least_row <= least_single * (1 + TIE):
            m = min(m for m, cost in rows.items() if cost <= least_row * (1 + TIE))
            return rows[m], ("row", m)
        entry = min(entry for entry, cost in singles.items() if cost <= least_single * (1 + TIE))
        return singles[entry], ("single", *entry)

    def top(self, kind):
        """Place in the list of rewards of the one a removal is compared with."""
        if self.stack == "single":
            return len(self.rewards) - 1
        return max(k for k, (pushed, _) in enumerate(self.rewards) if pushed == kind)

    def remove(self, chosen):
        if chosen[0] == "row":
            self.rows.remove(chosen[1])
            touched = {(chosen[1], j) for j in range(self.r)}
        else:
            self.singles.remove(chosen[1:])
            touched = {chosen[1:]}
        for i, j in touched:
            if (i, j) in self.active and i not in self.rows and (i, j) not in self.singles:
                self.active.remove((i, j))
                for m in sorted(self.rows):
                    if (m, j) not in self.active and not self.in_span(m, j):
                        self.active.add((m, j))
        self.refit()

    def backward(self):
        while self.rewards:
            cost, chosen = self.cheapest()
            top = self.top(chosen[0])
            if cost > self.nu * self.rewards[top][1]:
                return
            self.remove(chosen)
            del self.rewards[top]

    def run(self, epsilon, max_steps=500):
        """Algorithm 1 with this threshold; the rewards met, the last one being at most epsilon."""
        met = []
        for _ in range(max_steps):
            reward, chosen = self.choose()
            met.append(reward)
            if reward <= epsilon:
                return met
            self.add(chosen, reward)
            self.backward()
        raise RuntimeError(f"no end after {max_steps} forward steps")

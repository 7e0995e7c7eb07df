"""Algorithm 1 of the paper, retold as plainly as possible, as an oracle for tests.

Solves the full KKT system densely and keeps its samples in a Python list; no scaling,
no safeguards, no state objects. Slow and fragile on purpose.
"""

from __future__ import annotations

import numpy as np


def kkt_matrix(D, theta, rho, kernel=True):
    """The augmented KKT matrix M of (tobyqa-kkt), and its blocks K and X_aug."""
    m, n = D.shape
    A = 0.5 * (D @ D.T) ** 2 if kernel else np.zeros((m, m))
    K = A + np.eye(m) / rho
    X = np.column_stack([np.ones(m), D, theta])
    p = n + 2
    return np.block([[K, X], [X.T, np.zeros((p, p))]]), K, X


def tobyqa_plain(fun, x0, noise, budget, *, flags=frozenset(), radius=2.0):
    """All queried points of Algorithm 1; `flags` names the ablations."""
    n = len(x0)
    points, t = [], 0

    def query(x):
        nonlocal t
        points.append(np.array(x))
        value = fun(x, t)
        t += 1
        return np.array(x), t - 1, value

    Y = [query(x0)]
    for j in range(n):
        for sign in (1, -1):
            e = np.zeros(n)
            e[j] = sign * radius
            Y.append(query(x0 + e))
    x_k, t_old, F_old = Y[0]
    values = [F for _, _, F in Y]
    s_F = max(values) - min(values)
    tau = max(s_F / radius**2, 1e-8)
    R = max(noise**2, (1e-6 * s_F) ** 2, 1e-16)
    rho = np.clip(tau**2 / R, 1e2, 1e14)
    sigma = max(s_F / radius**3, 1e-8)
    baseline, G_previous = None, np.zeros((n, n))
    while len(points) < budget:
        D = np.array([x - x_k for x, _, _ in Y])
        theta = np.array([ti - t_old for _, ti, _ in Y])
        F = np.array([F for _, _, F in Y])
        if "carried" in flags:
            F = F - 0.5 * np.einsum("ij,jk,ik->i", D, G_previous, D)
        M, K, X = kkt_matrix(D, theta, rho, kernel="no kernel" not in flags)
        solution = np.linalg.solve(M, np.concatenate([F, np.zeros(n + 2)]))
        lam, g, gamma = solution[: len(Y)], solution[len(Y) + 1 : -1], solution[-1]
        G = np.einsum("i,ij,ik->jk", lam, D, D) + G_previous
        if "carried" in flags:
            G_previous = G
        Ki = np.linalg.inv(K)
        Si = np.linalg.inv(X.T @ Ki @ X)
        P = Si @ (X.T @ Ki @ Ki @ X) @ Si
        baseline = np.trace(P) if baseline is None else baseline
        uncertainty = noise * np.sqrt(np.trace(P[1:-1, 1:-1]))
        if np.linalg.norm(g) < 3 * uncertainty and np.trace(P) <= 5 * baseline:
            break
        s = -g / np.sqrt(sigma * np.linalg.norm(g))
        cap = 100 * np.linalg.norm(D, axis=1).max()
        if np.linalg.norm(s) > cap:
            s = s * (cap / np.linalg.norm(s))
        pred = -g @ s
        x_new, t_new, F_new = query(x_k + s)
        ared = F_old - F_new
        if "no compensation" not in flags:
            ared += gamma * (t_new - t_old)
        accepted = ared >= -1.5 * np.sqrt(2 * noise**2)
        if accepted:
            x_k, t_old, F_old = x_new, t_new, F_new
            if ared / pred > 0.75 and "frozen" not in flags:
                sigma = sigma / 2
        elif "frozen" not in flags:
            sigma = sigma * 1.2
        removable = [i for i, (_, ti, _) in enumerate(Y) if accepted or ti != t_old]
        Y.pop(min(removable, key=lambda i: Y[i][1]))
        Y.append((x_new, t_new, F_new))
    return np.array(points)

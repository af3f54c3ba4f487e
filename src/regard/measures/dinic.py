"""Maximum flow in a dense layered graph by Dinic's algorithm (1970), written so that numba can compile it.

One function without calls: it runs in plain Python, and a hundred times faster compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TINY = 1e-12
"""Remaining capacity that counts as zero."""


def flow_to_every_input(
    caps: NDArray[np.float64], enters: NDArray[np.float64], bound: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Run Dinic's algorithm once for each input; caps: (layer, n, n), the last layer first."""
    depth, n, _ = caps.shape
    flows = np.zeros(n)
    flow = np.zeros((depth, n, n))
    left = np.zeros(n)
    dist = np.zeros((depth + 1) * n, np.int64)
    queue = np.zeros((depth + 1) * n, np.int64)
    arc = np.zeros((depth + 1) * n, np.int64)
    path = np.zeros((depth + 1) * n + 1, np.int64)
    for target in range(n):
        flow[:] = 0.0
        left[:] = enters
        end = depth * n + target
        total = 0.0
        while total < bound[target] - TINY:
            # how far every node is from the entrance, along edges that can still carry something
            dist[:] = -1
            head, tail = 0, 0
            for i in range(n):
                if left[i] > TINY:
                    dist[i] = 0
                    queue[tail] = i
                    tail += 1
            while head < tail and dist[end] < 0:
                node = queue[head]
                head += 1
                level, i = node // n, node % n
                further = dist[node] + 1
                if level < depth:
                    for j in range(n):
                        neighbour = (level + 1) * n + j
                        if dist[neighbour] < 0 and caps[level, i, j] - flow[level, i, j] > TINY:
                            dist[neighbour] = further
                            queue[tail] = neighbour
                            tail += 1
                if level > 0:
                    for j in range(n):
                        neighbour = (level - 1) * n + j
                        if dist[neighbour] < 0 and flow[level - 1, j, i] > TINY:
                            dist[neighbour] = further
                            queue[tail] = neighbour
                            tail += 1
            if dist[end] < 0:
                break
            # a blocking flow along edges that lead one step further
            arc[:] = 0
            for start in range(n):
                while left[start] > TINY and dist[start] == 0:
                    length = 0
                    path[0] = start
                    node = start
                    while node != end:
                        level, i = node // n, node % n
                        advanced = False
                        while arc[node] < 2 * n:
                            a = arc[node]
                            if a < n:
                                if level < depth:
                                    neighbour = (level + 1) * n + a
                                    room = caps[level, i, a] - flow[level, i, a]
                                    on_the_way = neighbour == end or dist[neighbour] < dist[end]
                                    advanced = room > TINY and on_the_way and dist[neighbour] == dist[node] + 1
                            elif level > 0:
                                neighbour = (level - 1) * n + a - n
                                room = flow[level - 1, a - n, i]
                                advanced = (
                                    room > TINY and dist[neighbour] < dist[end] and dist[neighbour] == dist[node] + 1
                                )
                            if advanced:
                                break
                            arc[node] += 1
                        if advanced:
                            length += 1
                            path[length] = neighbour
                            node = neighbour
                        else:  # a dead end
                            if length == 0:
                                break
                            length -= 1
                            node = path[length]
                            arc[node] += 1
                    if node != end:
                        break
                    carried = left[start]
                    for k in range(length):
                        one, two = path[k], path[k + 1]
                        if two // n == one // n + 1:
                            room = caps[one // n, one % n, two % n] - flow[one // n, one % n, two % n]
                        else:
                            room = flow[two // n, two % n, one % n]
                        carried = min(carried, room)
                    for k in range(length):
                        one, two = path[k], path[k + 1]
                        if two // n == one // n + 1:
                            flow[one // n, one % n, two % n] += carried
                        else:
                            flow[two // n, two % n, one % n] -= carried
                    left[start] -= carried
                    total += carried
        flows[target] = total
    return flows

"""
The order of tasks: some orders keep fewer bytes alive at a time.

    a: writes A (8 B)                      a, b, c, d: A, B, then C and D: 8 + 8 + 1 bytes at c
    b: writes B (8 B)                      a, c, b, d: A, C, then B and D: 8 + 1 + 1
    c: reads A, writes C (1 B)
    d: reads B, writes D (1 B)
"""

from collections import defaultdict
from collections.abc import Sequence
from heapq import heapify, heappop, heappush


def order_greedily(
    touches: Sequence[Sequence[int]], before: Sequence[Sequence[int]], sizes: Sequence[int]
) -> list[int]:
    """
    An order that takes, of all tasks that may run, one that adds fewest bytes (or frees most), the first such one.

    touches   the buffers that each task reads or writes, each once; a buffer is alive from its first task to its last
    before    the tasks that must run before each task; the order given is one that holds
    sizes     bytes a buffer
    returns   the tasks in order; not always a better one than the order given: compare `lower_bound`
    cost      O((tasks + touches + before) log tasks)
    """
    users: defaultdict[int, list[int]] = defaultdict(list)
    after: defaultdict[int, list[int]] = defaultdict(list)
    for task, buffers in enumerate(touches):
        for buffer in buffers:
            users[buffer].append(task)
        for earlier in set(before[task]):
            after[earlier].append(task)

    waiting = [len(set(b)) for b in before]
    left = {buffer: len(tasks) for buffer, tasks in users.items()}
    # What a task adds to the bytes alive after it: a buffer is new until its first task, and ends with its last.
    growth = [sum(sizes[b] for b in buffers if left[b] > 1) for buffers in touches]
    done = [False] * len(touches)
    ready = [(growth[task], task) for task, count in enumerate(waiting) if count == 0]
    heapify(ready)

    def change(tasks: Sequence[int], by: int) -> None:
        for task in tasks:
            if not done[task]:
                growth[task] += by
                if waiting[task] == 0:
                    heappush(ready, (growth[task], task))

    order: list[int] = []
    while ready:
        bytes_added, task = heappop(ready)
        if done[task] or bytes_added != growth[task]:
            continue
        done[task] = True
        order.append(task)
        for buffer in touches[task]:
            is_first = left[buffer] == len(users[buffer])
            left[buffer] -= 1
            if is_first and left[buffer] > 0:
                change(users[buffer], -sizes[buffer])
            if left[buffer] == 1:
                change(users[buffer], -sizes[buffer])
        for later in after[task]:
            waiting[later] -= 1
            if waiting[later] == 0:
                heappush(ready, (growth[later], later))
    return order

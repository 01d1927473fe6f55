#!/usr/bin/env python3
"""Prints which part of what takes too long for one run of CI the current run takes: `ci_part.py 14` prints 1 to 14.

Each day has the next part, and its second half the part that lies half of all parts further. So one run in each half
of a day takes all fourteen parts in a week, and one run a day takes them in two weeks, at whatever hour it starts.
"""

import sys
import time

DAY = 24 * 3600


def part(seconds, parts):
    """The part, counted from 1, at this time (seconds since 1970)."""
    day, second = divmod(int(seconds), DAY)
    return (day + (parts // 2 if second >= DAY // 2 else 0)) % parts + 1


if __name__ == "__main__":
    print(part(time.time(), int(sys.argv[1])))

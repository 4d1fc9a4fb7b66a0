"""Random choices by a seed."""
import random


class Choices:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, choices):
        return self.random.choice(choices)

    def chance(self, p):
        return self.random.random() < p

    def integer(self, low, high):
        return self.random.randint(low, high)

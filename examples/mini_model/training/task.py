# SPDX-License-Identifier: MIT
"""The ledger task: four values, a program, and a worked trace that answers a question.

    prompt   a3;b7;c1;d9;e=a+c;f=e-b;?f#
    trace    e=a+c;f:a3 c1 3+1=4 e4.ok 4-1=3 4-3=1;f=e-b;?:e4 b7 4-7=7 f7.ok 7+7=4 4-7=7;?f7\\n

One character is one token and arithmetic is modulo 10. Every step of the trace copies a line of the
program with the name of the next one, fetches the two operands, computes, records the result
("e4.") and checks it twice. Later steps need only the recorded pair; the rest is scratch work.
"""

import dataclasses
import random
import string

# The letters o and k are left out: they spell "ok".
NAMES = [letter for letter in string.ascii_lowercase if letter not in "ok"]

# The vocabulary, in the order of the token numbers. Number 0 is the unknown token.
CHARACTERS = sorted({*NAMES, *string.digits, *"+-=:;.?# \nok"})
TOKEN = {character: number for number, character in enumerate(CHARACTERS, start=1)}
VOCABULARY = len(CHARACTERS) + 1
PADDING = 0


@dataclasses.dataclass(frozen=True)
class Problem:
    prompt: str
    trace: str
    answer: str

    @property
    def text(self) -> str:
        return self.prompt + self.trace


@dataclasses.dataclass(frozen=True)
class Step:
    """target = left sign right"""

    target: str
    left: str
    sign: str
    right: str

    def __str__(self) -> str:
        return f"{self.target}={self.left}{self.sign}{self.right};"


def make_problem(rng: random.Random, initial: int, steps: int) -> Problem:
    """Draws a problem with `initial` given values and `steps` lines of program."""
    names = rng.sample(NAMES, initial + steps)
    values = {name: rng.randrange(10) for name in names[:initial]}
    program = []
    for known in range(initial, initial + steps):
        left, right = rng.sample(names[:known], 2)
        program.append(Step(names[known], left, rng.choice("+-"), right))
    question = rng.choice(names[-3:] if steps >= 3 else names)

    given = "".join(f"{name}{value};" for name, value in values.items())
    prompt = given + "".join(map(str, program)) + f"?{question}#"
    following = [step.target for step in program[1:]] + ["?"]
    trace = "".join(_work(step, after, values) for step, after in zip(program, following))
    answer = str(values[question])
    return Problem(prompt, f"{trace}?{question}{answer}\n", answer)


def _work(step: Step, after: str, values: dict) -> str:
    """The trace of one step; its result joins `values`."""
    a, b = values[step.left], values[step.right]
    if step.sign == "+":
        r = (a + b) % 10
        checks = f"{r}-{b}={a} {r}-{a}={b}"
    else:
        r = (a - b) % 10
        checks = f"{r}+{b}={a} {a}-{r}={b}"
    values[step.target] = r
    operands = f"{step.left}{a} {step.right}{b}"
    return f"{step}{after}:{operands} {a}{step.sign}{b}={r} {step.target}{r}.ok {checks};"


def is_recorded(text: str, at: int) -> bool:
    """Whether a character of a trace belongs to a recorded result such as "e4."; only those
    contain a full stop."""
    return "." in text[at : at + 3]

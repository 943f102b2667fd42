# SPDX-License-Identifier: MIT
"""Does the viewer do in a browser what it promises? check_pages.py CHROMIUM FOLDER

FOLDER holds what pages.cpp writes; screenshots are put beside it.
"""

import os
import sys

from chromium import Browser

TOKENS = "document.querySelectorAll('#text .t')"
failures = []


def check(what, got, expected):
    if got != expected:
        failures.append(f"{what}: got {got!r}, expected {expected!r}")


def check_true(what, holds):
    check(what, bool(holds), True)


def move_to(browser, step):
    browser.run(f"(() => {{ const s = document.getElementById('slider'); s.value = {step};"
                "s.dispatchEvent(new Event('input')); })()")


def number_of(browser, name):
    return browser.run(f"document.querySelectorAll('#text .t.{name}').length")


def panel(browser):
    return browser.run("document.getElementById('panel').innerText").replace("\n", " ")


def counts(browser):
    text = browser.run("document.getElementById('counts').innerText")
    return [int(n.replace(",", "")) for n in text.replace("·", " ").split()
            if n.replace(",", "").isdigit()]


def style(browser, name, field):
    return browser.run(f"getComputedStyle(document.querySelector('#text .t.{name}')).{field}")


def check_steps(browser):
    """120 prompt tokens, 400 generated, budget 160, a selection every 16 tokens."""
    check("tokens", browser.run(TOKENS + ".length"), 520)
    check("selections", browser.run("document.getElementById('slider').max"), "25")
    check("at first nothing is evicted", number_of(browser, "now") + number_of(browser, "old"), 0)
    check("and most is yet to come", number_of(browser, "later"), 400)
    for step in (25, 3, 14, 17, 2, 16):  # forth and back, over the ends of what decodes alone
        move_to(browser, step)
        seen = 120 + 16 * step
        old = max(0, seen - 16 - 160)
        now = max(0, seen - 160) - old
        check(f"evicted before step {step}", number_of(browser, "old"), old)
        check(f"evicted at step {step}", number_of(browser, "now"), now)
        check(f"not yet there at step {step}", number_of(browser, "later"), 520 - seen)
        check(f"protected at step {step}", number_of(browser, "inf"), 8)
        check(f"counts at step {step}", counts(browser),
              [min(seen, 160), 160, now, max(0, seen - 160), seen, 520])
    check_true("an evicted token is struck through",
               "line-through" in style(browser, "old", "textDecorationLine"))
    check_true("one evicted now too", "line-through" in style(browser, "now", "textDecorationLine"))
    check("a kept one is not", style(browser, "c11", "textDecorationLine"), "none")
    check_true("high and low scores look different",
               style(browser, "c11", "backgroundColor") != style(browser, "c3", "backgroundColor"))
    check_true("evicted text is pale",
               style(browser, "old", "color") != style(browser, "c11", "color"))


def check_numbers(browser):
    """Every number against the formula that made it: a = -3 b, score = a^3, z is none."""
    wrong = browser.run("""(() => {
      const r = retention, g = r.data.groups[1]; let wrong = 0, seen = 0;
      r.load(g);
      for (const s of [25, 7, 8, 20, 0]) {
        const frame = r.decode(g, s);
        frame.tokens.forEach((t, slot) => {
          const [score, a, b, z] = g.codes.map(c => r.valueOf(c[t]));
          const close = (x, y) => Math.abs(x - y) <= 2e-4 * Math.abs(y);
          const fits = (score === Infinity || close(score, a * a * a)) && close(a, -3 * b) &&
            Number.isNaN(z) && frame.slots.get(t) === slot;
          ++seen;
          if (!fits) ++wrong;
        });
      }
      return [wrong, seen];
    })()""")
    check("numbers that are wrong, and all of them", wrong, [0, 176 + 176 + 176 + 176 + 120])


def check_panel(browser):
    move_to(browser, 16)
    browser.hover(*browser.centre("document.querySelector('#text .t.now')"))
    text = panel(browser)
    check_true("hover shows the fate: " + text, "Evicted at this step" in text)
    for word in ("position", "slot", "score", " a ", " b ", " z none", "prompt"):
        check_true(f"hover shows {word}: {text}", word in text)
    browser.hover(*browser.centre("document.querySelector('#text .t.c11')"))
    before = panel(browser)
    check_true("a kept one: " + before, "In the cache" in before)
    browser.hover(*browser.centre("document.querySelector('#text .t.old')"))
    text = panel(browser)
    check_true("hover shows when it was evicted: " + text, "Evicted at step " in text)
    check_true("and its last score: " + text, "score" in text and "score none" not in text)
    # Looking back at the evicted one must not have changed what is shown for others.
    browser.hover(*browser.centre("document.querySelector('#text .t.c11')"))
    check("the kept one again", panel(browser), before)
    kept = browser.run("document.querySelector('#text .t.c11').token")
    shown = browser.run("document.querySelector('#panel dd').innerText")
    check("its position", shown, str(kept))


def check_keys(browser):
    move_to(browser, 10)
    browser.run("document.querySelector('#text .t').focus()")
    first = panel(browser)
    check_true("focus shows a token: " + first, "position 0" in first)
    browser.key("ArrowRight")
    check_true("right is the next: " + panel(browser), "position 1 " in panel(browser))
    browser.key("ArrowDown")
    below = browser.run("document.activeElement.token")
    check_true("down is on another line",
               browser.run(f"{TOKENS}[{below}].getBoundingClientRect().top >"
                           f"{TOKENS}[1].getBoundingClientRect().top"))
    browser.key("ArrowUp")
    check_true("up is back on the line", browser.run("document.activeElement.token") < below)
    browser.key("End")
    check("End is the last", browser.run("document.activeElement.token"), 519)
    browser.key("Home")
    check("Home is the first", browser.run("document.activeElement.token"), 0)
    check("one stop in the tab order", browser.run(
        "document.querySelectorAll('#text [tabindex=\"0\"]').length"), 1)
    browser.key("Enter", "\r")
    check("Enter holds", browser.run("document.querySelectorAll('.held').length"), 1)
    browser.key(".", ".")
    check("the full stop goes on", browser.run("document.getElementById('slider').value"), "11")
    check_true("and the token is still held: " + panel(browser), "position 0" in panel(browser))
    browser.key(",", ",")
    check("the comma goes back", browser.run("document.getElementById('slider').value"), "10")
    browser.key("Escape")
    check("Escape lets go", browser.run("document.querySelectorAll('.held').length"), 0)
    browser.run("document.getElementById('slider').focus()")
    browser.key("ArrowRight")
    check("arrows move the slider", browser.run("document.getElementById('slider').value"), "11")
    move_to(browser, 20)
    browser.key("p", "p")
    check("p plays", browser.run("document.getElementById('play').innerText"), "Pause")
    browser.wait_for("document.getElementById('slider').value === '25'")
    browser.wait_for("document.getElementById('play').innerText === 'Play'")


def check_choices(browser):
    move_to(browser, 16)
    check("keep-sets", browser.run("document.getElementById('group').length"), 4)
    browser.run("window.before = [...document.querySelectorAll('#text .t')].map(t => t.className)")
    browser.run("(() => { const g = document.getElementById('group'); g.selectedIndex = 3;"
                "g.dispatchEvent(new Event('change')); })()")
    check("another keep-set keeps the step", browser.run("document.getElementById('slider').value"),
          "16")
    check("and as many tokens", number_of(browser, "now"), 16)
    check_true("but others", browser.run("[...document.querySelectorAll('#text .t')]"
                                         ".some((t, i) => t.className !== before[i])"))
    browser.run("(() => { const c = document.getElementById('column'); c.selectedIndex = 3;"
                "c.dispatchEvent(new Event('change')); })()")
    check("a part that is nowhere colours nothing", number_of(browser, "none"), 160)
    browser.run("(() => { const c = document.getElementById('column'); c.selectedIndex = 0;"
                "c.dispatchEvent(new Event('change')); })()")


def check_text(browser):
    texts = browser.run(f"[...{TOKENS}].map(t => t.textContent)")
    for part in ("</script>", " <b>", " &amp;", ' "q"', "\u23ce", "\u21e5\t", "\u2205",
                 " \ufffd\ufffd", " \U0001f419"):
        check_true(f"the text shows {part!r}", part in texts)
    check("no token became markup", browser.run("document.querySelectorAll('#text b').length"), 0)
    check("the title is shown as it is", browser.run("document.querySelector('h1').innerText"),
          "Problem 17: what the cache kept <&>")
    check("and so are the options", browser.run("document.querySelector('.about').innerText"),
          'epikv-q tau=16 recent=32 keep="head"')


def check_phone(browser, page):
    browser.size(390, 844, mobile=True, scale=2)
    browser.open(page)
    move_to(browser, 16)
    check_true("nothing is wider than a phone",
               browser.run("document.documentElement.scrollWidth <= innerWidth"))
    browser.tap(*browser.centre("document.querySelector('#text .t.now')"))
    browser.wait_for("document.querySelector('.held') !== null")
    check_true("a tap shows a token: " + panel(browser), "Evicted at this step" in panel(browser))
    check_true("in view", browser.run("document.getElementById('panel').getBoundingClientRect()"
                                      ".bottom <= innerHeight"))


def run(executable, folder):
    page = os.path.join(folder, "viewer.html")

    def shot(browser, name):
        browser.screenshot(os.path.join(folder, name + ".png"))

    with Browser(executable) as browser:
        for dark in (False, True):
            browser.dark(dark)
            browser.size(1280, 900)
            browser.open(page)
            if not dark:
                check_steps(browser)
                check_numbers(browser)
                check_text(browser)
                browser.open(page)
                check_panel(browser)
                check_keys(browser)
                check_choices(browser)
            ground = browser.run("getComputedStyle(document.body).backgroundColor")
            check("the ground", ground, "rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
            move_to(browser, 16)
            shot(browser, "viewer-dark" if dark else "viewer-light")
            check_phone(browser, page)
            shot(browser, "viewer-phone-dark" if dark else "viewer-phone-light")
        browser.size(1280, 900)
        browser.open(os.path.join(folder, "empty.html"))
        check("an empty trace", browser.run(TOKENS + ".length"), 0)
        for chart in ("accuracy", "heat", "single", "empty", "heat_empty"):
            browser.open(os.path.join(folder, chart + ".svg"))
            check_true(chart + " is drawn", browser.run(
                "document.documentElement.getBoundingClientRect().height > 50 &&"
                "document.querySelector('parsererror') === null"))
            check_true(chart + " keeps its text inside", browser.run(
                "[...document.querySelectorAll('text')].every(t => { const b ="
                "t.getBoundingClientRect(), s = document.documentElement.getBoundingClientRect();"
                "return b.left >= s.left && b.right <= s.right && b.bottom <= s.bottom; })"))
            shot(browser, chart)
        check("console errors, exceptions and requests", browser.problems, [])


def main():
    try:
        run(*sys.argv[1:3])
    except (RuntimeError, TimeoutError, EOFError) as problem:
        failures.append(f"stopped: {problem}")
    print("\n".join(failures))
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

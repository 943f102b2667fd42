# SPDX-License-Identifier: MIT
"""Drives a headless Chromium over its DevTools pipe, with the standard library alone."""

import base64
import json
import os
import select
import subprocess
import tempfile
import time


class Browser:
    """One browser with one page. Messages are JSON, each ended by a zero byte."""

    def __init__(self, executable):
        self.profile = tempfile.TemporaryDirectory(prefix="epikv-browser-",
                                                   ignore_cleanup_errors=True)
        to_child, self.write_end = os.pipe()
        self.read_end, from_child = os.pipe()
        # The browser reads from descriptor 3 and writes to descriptor 4.
        script = f'exec 3<&{to_child} 4>&{from_child}; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "browser", executable, "--headless=new", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking", "--remote-debugging-pipe",
             "--user-data-dir=" + self.profile.name, "about:blank"],
            pass_fds=(to_child, from_child), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        self.next_id = 0
        self.session = None
        self.problems = []  # console errors, exceptions, requests to a network
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.session = None
        try:
            self.call("Browser.close", wait=10)
        except (OSError, EOFError, TimeoutError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, wait=60, **params):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        deadline = time.monotonic() + wait
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._event(answer)

    def _message(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self.read_end, 1 << 20)
            if not chunk:
                raise EOFError("the browser has gone")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _event(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append("exception: " + json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append("console: " + json.dumps(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append("log: " + params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "data:", "about:")):
                self.problems.append("request: " + url)

    def run(self, expression):
        """The value of a JavaScript expression (a promise's value when it resolves)."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def size(self, width, height, mobile=False, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=mobile)
        self.call("Emulation.setTouchEmulationEnabled", enabled=mobile)

    def dark(self, on):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def open(self, path, wait=60):
        # Answers when the new document is there, though not yet loaded.
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("location.protocol === 'file:' && document.readyState === 'complete'", wait)

    def wait_for(self, condition, wait=30):
        deadline = time.monotonic() + wait
        while not self.run(condition):
            if time.monotonic() > deadline:
                raise TimeoutError("never true: " + condition)
            time.sleep(0.05)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def key(self, key, text=""):
        """Presses a key where the focus is."""
        code = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "ArrowUp": 38, "Home": 36,
                "End": 35, "Enter": 13, "Escape": 27, "Tab": 9, " ": 32}.get(key, 0)
        kind = "keyDown" if text else "rawKeyDown"
        params = {"key": key, "windowsVirtualKeyCode": code}
        if text:
            params["text"] = text
        self.call("Input.dispatchKeyEvent", type=kind, **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def centre(self, expression):
        """Where the first line box of an element is, once it is in view."""
        return self.run(f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}});"
                        "const b = e.getClientRects()[0];"
                        "return [b.left + b.width / 2, b.top + b.height / 2]; })()")

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        self.hover(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def tap(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

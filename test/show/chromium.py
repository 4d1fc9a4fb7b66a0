"""A headless Chromium, driven over its debugging pipe: no driver and no package besides Python is needed."""
import base64
import json
import os
import select
import shlex
import shutil
import subprocess
import tempfile
import time


class Failure(Exception):
    """What a page shows is wrong."""


NAMES = ("chromium", "chromium-browser", "google-chrome")


class Chromium:
    """One browser with one page. Every request that the page makes, and every error in it, is kept in a
    list."""

    def __init__(self, width=1400, height=1000):
        command = next((found for found in map(shutil.which, NAMES) if found), None)
        if command is None:
            raise OSError("there is no chromium")
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        reads, self.out = os.pipe()  # its descriptors 3 and 4
        self.into, writes = os.pipe()
        arguments = [command, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
                     f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}",
                     "--remote-debugging-pipe", "about:blank"]
        shell = f"exec 3<&{reads} 4>&{writes}; exec {shlex.join(arguments)}"
        self.process = subprocess.Popen(["/bin/bash", "-c", shell], pass_fds=(reads, writes), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(reads), os.close(writes)
        self.buffer, self.number, self.session = b"", 0, None
        self.requests, self.errors, self.loaded = [], [], False
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.resize(width, height)

    def resize(self, width, height=1000):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        os.close(self.out), os.close(self.into)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def message(self, seconds=60):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(0, end - time.monotonic()))
            part = os.read(self.into, 1 << 20) if ready else b""
            if not part:
                raise OSError("chromium does not answer")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def event(self, message):
        name, what = message.get("method"), message.get("params", {})
        if name == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif name == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(what["exceptionDetails"]))
        elif name == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.errors.append(what["entry"]["text"])
        elif name == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise OSError(f"{method}: {message['error']}")
                return message["result"]
            self.event(message)

    def open(self, path, scheme="light"):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.loaded = False
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.loaded:
            self.event(self.message())

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise ValueError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def hover(self, selector):
        """Moves the mouse pointer to the middle of an element."""
        place = self.evaluate(f"""(() => {{
          const e = document.querySelector({json.dumps(selector)});
          if (!e) return null;
          e.scrollIntoView({{block: "center", inline: "center", behavior: "instant"}});
          const r = e.getBoundingClientRect();
          return [r.x + r.width / 2, r.y + r.height / 2];
        }})()""")
        if place is None:
            raise ValueError(f"the page has no {selector}")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        return place

    def click(self, selector):
        """Clicks in the middle of an element."""
        x, y = self.hover(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text if kind == "keyDown" else "")

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, height=None):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height or 1e6), "scale": 1}
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture))

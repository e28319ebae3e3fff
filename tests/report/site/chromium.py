"""Chromium without a window, driven over a pipe by its DevTools protocol: nothing but the browser is needed."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-dev-shm-usage", "--no-default-browser-check", "--force-color-profile=srgb", "--lang=en",
)  # fmt: skip
LAUNCH = "import os, sys; r, w = map(int, sys.argv[1:3]); os.dup2(r, 13); os.dup2(w, 14); os.dup2(13, 3); " \
         "os.dup2(14, 4); os.execvp(sys.argv[3], sys.argv[3:])"  # fmt: skip
"""The browser reads commands from descriptor 3 and answers on 4."""


def program() -> str | None:
    """Where the browser is, if anywhere."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One page of a browser.

    Attributes:
        errors: what was thrown, or said on the console as an error. requests: the addresses that were asked for.
    """

    def __init__(self, process: subprocess.Popen, commands: Any, answers: Any) -> None:
        self._process, self._commands, self._answers, self._last = process, commands, answers, 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        self._session = ""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            heard = self._hear()
            if heard.get("id") == self._last:
                if "error" in heard:
                    raise RuntimeError(f"{method}: {heard['error']['message']}")
                return heard["result"]

    def _hear(self) -> dict[str, Any]:
        content = bytearray()
        while not content.endswith(b"\0"):
            chunk = self._answers.read1(1) if not content else self._until_zero()
            if not chunk:
                raise RuntimeError(f"the browser ended with status {self._process.poll()}")
            content += chunk
        heard = json.loads(content[:-1])
        self._note(heard.get("method", ""), heard.get("params", {}))
        return heard

    def _until_zero(self) -> bytes:
        """What is there up to the message's end; of a buffered reader, a peek costs nothing."""
        ready = self._answers.peek()
        end = ready.find(b"\0")
        return self._answers.read1(len(ready) if end < 0 else end + 1)

    def _note(self, method: str, said: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.errors.append(str([each.get("value", each.get("description")) for each in said["args"]]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{said['entry']['text']} {said['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True

    def load(self, path: Path, fragment: str = "") -> None:
        """Open a file, and wait until it is loaded."""
        self._loaded = False
        self.ask("Page.navigate", url=path.absolute().as_uri() + fragment)
        while not self._loaded:
            self._hear()

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"].get("exception", {}).get("description", "it failed"))
        return told["result"].get("value")

    def look(self, width: int, dark: bool = False, height: int = 800) -> None:
        """Set the window's size and the colours that the reader prefers."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, whole: bool = True) -> bytes:
        """The page as PNG."""
        options = {"captureBeyondViewport": True} if whole else {}
        if whole:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", **options)["data"])

    def press(self, key: str) -> None:
        """A key, as a reader presses it."""
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key])


KEYS = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "End": 35, "Home": 36}


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """A page of a browser of its own, which ends with it.

    Raises:
        RuntimeError: there is none, or it does not start.
    """
    path = program()
    if path is None:
        raise RuntimeError("none of " + ", ".join(NAMES) + " is installed")
    read_commands, write_commands = os.pipe()
    read_answers, write_answers = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [sys.executable, "-c", LAUNCH, str(read_commands), str(write_answers), path, *OPTIONS,
                   f"--user-data-dir={profile}"]  # fmt: skip
        process = subprocess.Popen(
            command, pass_fds=(read_commands, write_answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read_commands), os.close(write_answers)
        with os.fdopen(write_commands, "wb") as commands, os.fdopen(read_answers, "rb") as answers:
            try:
                yield Page(process, commands, answers)
            finally:
                process.terminate()
                process.wait(timeout=20)

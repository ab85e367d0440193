#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`ringlb top` over a stand-in for the daemon, whose counters rise with each request. TAP."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import socketserver
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

RINGLB = os.path.realpath(os.environ.get("B", "build") + "/ringlb")
TESTS, FAILED = 0, 0


def check(what, good, *details):
    global TESTS, FAILED
    TESTS += 1
    if not good:
        FAILED += 1
    print(f"{'ok' if good else 'not ok'} {TESTS} - {what}")
    if not good:
        for line in "\n".join(map(str, details)).split("\n"):
            print("#", line)
    sys.stdout.flush()


def same(what, got, wanted):
    check(what, got == wanted, f"got:    {got}", f"wanted: {wanted}")


class Daemon:
    """Backend i of pool web gets i packets of 100 bytes between two requests for stats."""

    def __init__(self, path, pid, backends):
        self.path, self.pid, self.rounds, self.n = path, pid, 0, backends
        self.down, self.draining = set(), 0
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                for line in self.rfile:
                    result = getattr(outer, json.loads(line)["command"])()
                    self.wfile.write(json.dumps({"ok": True, "result": result}).encode() + b"\n")

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

            def handle_error(self, request, address):  # top left in the middle of an answer
                pass

        self.server = Server(path, Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        os.unlink(self.path)

    def status(self):
        moving = {"arcs": 12, "share": 0.0588, "flows": 7, "learning_tcp_s": 30,
                  "learning_other_s": 0}
        return {"version": "0.1.0", "pid": self.pid, "uptime_s": 3725, "draining": [
                    {"pool": "web", "name": name, "flows": 3, "arcs": 5}
                    for name in ["old"] + [f"old{i}" for i in range(self.draining)]],
                "pools": [{"name": "web", "forward": "nat", "backends": self.n,
                           "moving": moving},
                          {"name": "idle", "forward": "dr", "backends": 0, "moving": None}]}

    def stats(self):
        self.rounds += 1
        total = self.n * (self.n + 1) // 2
        return {
            "verdicts": [
                {"name": "TX_BACKEND", "action": "TX", "packets": self.rounds * total},
                {"name": "DROP_TTL", "action": "DROP", "packets": self.rounds * 5},
                {"name": "DROP_NO_RING", "action": "DROP", "packets": 77},
                {"name": "PASS_NOT_VIP", "action": "PASS", "packets": self.rounds * 2}],
            "backends": [
                {"pool": "web", "name": f"b{i}", "address": f"10.0.0.{i}:80",
                 "state": "down" if i in self.down else "up", "share": 1 / self.n,
                 "flows": self.n - i, "packets": self.rounds * i, "bytes": self.rounds * i * 100,
                 "check": {"up": False, "reason": "no answer"} if i in self.down else None}
                for i in range(1, self.n + 1)]}


class Terminal:
    """`ringlb top` on a terminal of its own, and what that shows."""

    def __init__(self, path, width, height, *options):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            # Not before the size is known.
            sys.stdin.readline()
            os.execv(RINGLB, [RINGLB, "--socket", path, "top", *options])
        self.resize(width, height)
        self.before = termios.tcgetattr(self.fd)
        self.output = ""
        self.type("\n")

    def resize(self, width, height):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.output += os.read(self.fd, 1 << 20).decode()
            except OSError:
                return False
        return True

    def frame(self):
        """The lines of the last whole frame."""
        frames = re.findall(r"\033\[H(.*?)\033\[J", self.output, re.S)
        return frames[-1].replace("\033[K", "").split("\r\n") if frames else []

    def wait(self, good):
        end = time.monotonic() + 15
        while time.monotonic() < end:
            self.read(0.1)
            if self.frame() and good(self.frame()):
                return True
        return False

    def wait_next(self, good):
        self.output = ""
        return self.wait(good)

    def end(self):
        """Until it ends: its status."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read(0.05)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        return "hangs"

    def is_restored(self):
        return termios.tcgetattr(self.fd) == self.before and \
            self.output.endswith("\033[?25h\033[?1049l")


def run(path, *options):
    done = subprocess.run([RINGLB, "--socket", path, "top", *options], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def names(lines):
    """Backends of a frame, from above."""
    return re.findall(r"^(b\d+) ", "\n".join(lines), re.M)


def fits(lines, width, height):
    return len(lines) <= height and max(map(len, lines)) <= width


def test_once(path):
    daemon = Daemon(path, 41, 4)
    daemon.down = {2}
    status, out, err = run(path, "--once", "--json", "--interval", "100ms")
    frame = json.loads(out)
    seconds = frame["interval_s"]
    same("--once --json: done", (status, err), (0, ""))
    same("rates are what the counters rose by", {
        one["name"]: round(one["packets_per_s"] * seconds, 3) for one in frame["backends"]
    }, {"b1": 1, "b2": 2, "b3": 3, "b4": 4})
    same("bits, too", round(frame["backends"][0]["bits_per_s"] * seconds), 3200)
    same("the share that was seen", {one["name"]: round(one["seen"], 3)
                                     for one in frame["backends"]},
         {"b1": 0.1, "b2": 0.2, "b3": 0.3, "b4": 0.4})
    same("beside the one that should be", {one["share"] for one in frame["backends"]}, {0.25})
    same("sent, dropped, passed", [round(frame[name] * seconds) for name in
                                   ("sent_per_s", "dropped_per_s", "passed_per_s")], [10, 5, 2])
    same("drops that there were, and no others", list(frame["drops_per_s"]), ["DROP_TTL"])
    same("what moves", frame["pools"][0]["moving"]["arcs"], 12)
    same("how many are up", frame["pools"][0]["up"], 3)
    for key, wanted in (("packets", "b4 b3 b2 b1"), ("bits", "b4 b3 b2 b1"),
                        ("share", "b1 b2 b3 b4"), ("deviation", "b1 b4 b2 b3"),
                        ("flows", "b1 b2 b3 b4"), ("health", "b2 b1 b3 b4"),
                        ("name", "b1 b2 b3 b4")):
        status, out, err = run(path, "--once", "--interval", "100ms", "--sort", key)
        got = names(out.split("\n"))
        if key == "deviation":  # |0.1 - 0.25| = |0.4 - 0.25|, in doubles
            got, wanted = sorted(got[:2]) + sorted(got[2:]), "b1 b4 b2 b3"
        same(f"--sort {key}", " ".join(got), wanted)
    check("the reason of what is down", "no answer" in out, out)
    check("what moves and drains is told", "moving: pool web: 12 arcs, 5.88 %, 7 flows" in out and
          "draining: old of pool web: 3 flows, 5 arcs" in out, out)
    status, out, err = run(path, "--once", "--interval", "100ms", "--pool", "idle")
    same("--pool: no others", names(out.split("\n")), [])
    same("a pool that is not there", run(path, "--once", "--pool", "none"),
         (1, "", "ringlb: there is no pool 'none'\n"))
    same("no terminal", run(path), (1, "", "ringlb: top needs a terminal: with --once it prints "
                                    "one frame, with --json one object a line\n"))
    same("too short", run(path, "--once", "--interval", "10ms"),
         (2, "", "ringlb: interval must be 100ms or more, got '10ms'\n"))
    same("no order", run(path, "--once", "--sort", "size"),
         (2, "", "ringlb: sort must be packets, bits, share, deviation, flows, health or name, "
          "got 'size'\n"))
    with subprocess.Popen([RINGLB, "--socket", path, "--json", "top", "--interval", "100ms"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as stream:
        lines = [json.loads(stream.stdout.readline()) for _ in range(2)]
        stream.stdout.close()
        same("--json: one object a line", [one["pid"] for one in lines], [41, 41])
        same("until its reader leaves", stream.wait(timeout=10), 1)
    daemon.stop()
    status, out, err = run(path, "--once")
    check("no daemon: said", status == 1 and err.startswith("ringlb: ") and not out, err)


def test_sizes(path):
    daemon = Daemon(path, 42, 10000)
    top = Terminal(path, 80, 24, "--interval", "300ms")
    check("80 x 24: the busiest first", top.wait(lambda f: names(f)[:1] == ["b10000"]), top.frame())
    check("it fits", fits(top.frame(), 80, 24), len(top.frame()), top.frame())
    same("all lines are used", len(top.frame()), 24)
    shown = names(top.frame())
    check("and says how many do not", f"... and {10000 - len(shown)} more backends" in top.frame(),
          top.frame())
    top.type("n")
    check("n: by name", top.wait(lambda f: names(f)[:2] == ["b1", "b2"]), top.frame())
    top.type("f")
    top.type("p")
    check("p: by packets again", top.wait_next(lambda f: names(f)[:1] == ["b10000"]), top.frame())
    daemon.draining = 1000
    check("however many drain, backends are shown", top.wait(
        lambda f: "... and 997 more that drain" in f and names(f)), top.frame())
    check("and it fits", fits(top.frame(), 80, 24) and len(top.frame()) == 24, top.frame())
    daemon.draining = 0
    top.resize(132, 50)
    check("132 x 50: it follows", top.wait(lambda f: len(f) == 50), len(top.frame()))
    check("it fits", fits(top.frame(), 132, 50), top.frame())
    check("more of them are shown", top.wait(lambda f: len(names(f)) >= len(shown) + 20),
          len(shown), top.frame())
    for width, height in ((20, 5), (1, 1), (3, 2)):
        top.resize(width, height)
        check(f"{width} x {height}: it fits",
              top.wait_next(lambda f, w=width, h=height: fits(f, w, h)), top.frame())
    top.type("q")
    same("q quits", top.end(), 0)
    check("and the terminal is as before", top.is_restored(), repr(top.output[-40:]))
    daemon.stop()


def test_restart(path):
    daemon = Daemon(path, 43, 3)
    top = Terminal(path, 100, 30, "--interval", "100ms")
    check("it shows backends", top.wait(lambda f: len(names(f)) == 3), top.frame())
    daemon.stop()
    check("no daemon: it says so, and shows what it had", top.wait(
        lambda f: any(line.startswith("! trying again: ") for line in f) and len(names(f)) == 3),
          top.frame())
    daemon = Daemon(path, 44, 3)
    check("another daemon: it goes on, and says so", top.wait(
        lambda f: "! ringlbd was restarted: pid 44, before 43" in f and len(names(f)) == 3),
          top.frame())
    top.type("\003")
    same("Ctrl-C quits", top.end(), 0)
    check("and the terminal is as before", top.is_restored(), repr(top.output[-40:]))
    daemon.stop()
    top = Terminal(path, 100, 30, "--interval", "100ms")
    check("a daemon that is not there yet", top.wait(lambda f: "cannot reach" in f[0]), top.frame())
    daemon = Daemon(path, 45, 3)
    check("is waited for", top.wait(lambda f: len(names(f)) == 3), top.frame())
    os.kill(top.pid, signal.SIGTERM)
    same("SIGTERM ends it", top.end(), 0)
    check("and the terminal is as before", top.is_restored(), repr(top.output[-40:]))
    daemon.stop()


def main():
    with tempfile.TemporaryDirectory() as directory:
        test_once(os.path.join(directory, "one"))
        test_sizes(os.path.join(directory, "many"))
        test_restart(os.path.join(directory, "restart"))
    print(f"1..{TESTS}")
    sys.exit(bool(FAILED))


main()
